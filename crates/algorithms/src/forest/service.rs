//! The interface of a forest for the lock service, apart from steps.

use alloc::vec::Vec;
use core::mem;

use super::{Body, Context, Entry, Forest, Message, Rules, Size, Ticket, TokenId, Via};
use crate::Bounds;
use crate::algorithm::NodeId;
use crate::waiters::Mark;

impl Rules {
    /// The rules of the lock service: idle tokens are found, go home and are forgotten.
    pub const fn service(home: NodeId, passes: u32, linger: u32) -> Rules {
        Rules { passes, forget: true, linger, ..Rules::new(home) }
    }
}

/// A forest as it was before a message, see [`Forest::mark`].
pub struct Before {
    /// Without the waiters, of which there may be very many.
    forest: Forest,
    waiters: Mark<()>,
}

impl Forest {
    /// Marks the state: changes can be undone until [`Forest::keep`].
    pub fn mark(&mut self) -> Before {
        let mut all = mem::take(&mut self.waiters);
        let forest = self.clone();
        let waiters = all.mark();
        self.waiters = all;
        Before { forest, waiters }
    }

    /// Keeps the changes since the mark.
    pub fn keep(&mut self) {
        self.waiters.keep();
    }

    /// Undoes the changes since the mark.
    pub fn undo(&mut self, before: Before) {
        self.waiters.undo(before.waiters);
        *self = Forest { waiters: mem::take(&mut self.waiters), ..before.forest };
    }

    /// The state of its clock.
    pub fn clock(&self) -> u64 {
        self.clocks.now()
    }

    /// How many tokens are in use here, retiring ones excluded.
    pub fn busy(&self) -> u32 {
        self.held[..self.usable()].iter().filter(|held| held.busy.is_some()).count() as u32
    }

    /// The tokens on this node, each with its waiting nodes, in order.
    pub fn tokens_here(&self) -> impl Iterator<Item = (TokenId, Vec<NodeId>)> {
        self.held.iter().map(|held| (held.token, held.queue.iter().map(|entry| entry.node).collect()))
    }

    /// The tokens that are not here, each with the node to which this node would send a request for it; without the token
    /// that this node waits for, whose request is on its way.
    pub fn ways(&self, site: &Context<'_>) -> impl Iterator<Item = (TokenId, NodeId)> {
        let away = |token: &TokenId| self.index_of(*token).is_none() && self.wait != Some(*token);
        let (me, home) = (site.me, site.rules.home);
        let way = move |token| (token, self.pointers.to(token, home));
        (0..self.size.tokens).filter(away).map(way).filter(move |&(_, to)| to != me)
    }

    /// Requests of other nodes that this node keeps until its own has been served.
    pub fn parked(&self) -> impl Iterator<Item = Message> {
        let clock = self.clocks.now();
        let requests = self.node_queue.iter().zip(self.wait.into_iter().cycle());
        requests.map(move |(&origin, token)| Message {
            clock,
            body: Body::Request { origin, token, front: false },
        })
    }
}

impl Message {
    /// Whether all numbers in the message are within the bounds.
    pub fn is_within(&self, bounds: &Bounds) -> bool {
        let via = |via: &Via| bounds.token(via.token) && bounds.node(via.node);
        let size =
            |size: &Size| size.tokens > 0 && size.tokens <= bounds.tokens && bounds.counter(size.stamp);
        let ticket = |ticket: &Ticket| {
            bounds.token(ticket.token) && bounds.node(ticket.holder) && bounds.counter(ticket.version)
        };
        let tokens = |tokens: &[TokenId]| tokens.iter().all(|token| bounds.token(*token));
        self.clock < Bounds::CLOCK
            && match &self.body {
                Body::Request { origin, token, .. } => bounds.node(*origin) && bounds.token(*token),
                Body::Token { token, version, queue, size: of } => {
                    let entry = |entry: &Entry| bounds.node(entry.node) && entry.via.as_ref().is_none_or(via);
                    bounds.token(*token) && bounds.counter(*version) && queue.iter().all(entry) && size(of)
                }
                Body::Hungry => true,
                Body::Invite { token } => bounds.token(*token),
                Body::Idle { ticket: it, .. } | Body::Offer { ticket: it } => ticket(it),
                Body::Move { origin, via: it, token } => {
                    bounds.node(*origin) && via(it) && bounds.token(*token)
                }
                Body::Forget { tokens: them } | Body::Inform { tokens: them } => tokens(them),
                Body::Gone { via: it, size: of } => via(it) && size(of),
                Body::Resized { size: of } => size(of),
            }
    }

    /// The number of tokens that it states.
    pub fn size(&self) -> Option<Size> {
        match self.body {
            Body::Token { size, .. } | Body::Gone { size, .. } | Body::Resized { size } => Some(size),
            _ => None,
        }
    }

    /// The requesting node, if it is a request.
    pub fn origin(&self) -> Option<NodeId> {
        match self.body {
            Body::Request { origin, .. } | Body::Move { origin, .. } => Some(origin),
            _ => None,
        }
    }
}
