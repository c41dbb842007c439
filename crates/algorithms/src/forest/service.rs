//! What the lock service asks of a forest beside steps.

use alloc::vec::Vec;

use super::{Body, Forest, Message, Rules, Size, TokenId};
use crate::algorithm::NodeId;

impl Rules {
    /// What the lock service runs: idle tokens are found, go home and are forgotten.
    pub const fn service(home: NodeId, passes: u32, linger: u32) -> Rules {
        Rules { passes, forget: true, linger, ..Rules::new(home) }
    }
}

impl Forest {
    /// Where its clock stands.
    pub fn clock(&self) -> u64 {
        self.clocks.now()
    }

    /// By how many tokens clients are inside here, but for those that are not used any more.
    pub fn busy(&self) -> u32 {
        self.held[..self.usable()].iter().filter(|held| held.busy.is_some()).count() as u32
    }

    /// The tokens that are here, each with the nodes that wait for it, in their order.
    pub fn tokens_here(&self) -> impl Iterator<Item = (TokenId, Vec<NodeId>)> {
        self.held.iter().map(|held| (held.token, held.queue.iter().map(|entry| entry.node).collect()))
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
    /// What it says about how many tokens there are.
    pub fn size(&self) -> Option<Size> {
        match self.body {
            Body::Token { size, .. } | Body::Gone { size, .. } | Body::Resized { size } => Some(size),
            _ => None,
        }
    }

    /// The node that asks for something with this, if it is a request on its way.
    pub fn origin(&self) -> Option<NodeId> {
        match self.body {
            Body::Request { origin, .. } | Body::Move { origin, .. } => Some(origin),
            _ => None,
        }
    }
}
