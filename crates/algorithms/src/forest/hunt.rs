//! Waiters and idle tokens look for each other and meet at the home. A node with a waiter for a busy token
//! sends HUNGRY, a node with an idle token sends a ticket, and a node that gets a ticket may move one request
//! to that token.

use alloc::vec::Vec;

use super::{Body, Context, Defect, Forest, Held, Out, QueueEnd, Ticket, TokenId, Via};
use crate::algorithm::NodeId;
use crate::renaming::Renaming;

/// The state that only the home has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Home {
    /// For each token at another node, the highest version known, in no particular order.
    known: Vec<(TokenId, u64)>,
    /// Tickets of tokens that are or were idle, the oldest first. While a node is hungry, only those of
    /// retiring tokens.
    pub(super) tickets: Vec<Ticket>,
    /// The nodes that wait for a ticket, first come first served.
    pub(super) hungry: Vec<NodeId>,
    /// Whether fetching a token makes sense: another node had an idle one since the last attempt failed.
    pub(super) may_fetch: bool,
    /// The nodes that wait for an INFORM, each with the token.
    pub(super) forgetting: Vec<(NodeId, TokenId)>,
    /// The highest version of a retired token.
    pub(super) retired: u64,
}

impl Home {
    /// Whether it is the initial state.
    pub(super) fn is_plain(&self) -> bool {
        let Home { known, tickets, hungry, may_fetch, forgetting, retired } = self;
        let quiet = known.is_empty() && tickets.is_empty() && hungry.is_empty() && forgetting.is_empty();
        quiet && !may_fetch && *retired == 0
    }

    pub(super) fn rename(&mut self, renaming: &Renaming) {
        renaming.rename(self.tickets.iter_mut().map(|ticket| &mut ticket.holder));
        renaming.rename(&mut self.hungry);
        renaming.rename(self.forgetting.iter_mut().map(|(node, _)| node));
    }

    /// Whether no node relies on it.
    pub(super) fn is_idle(&self) -> bool {
        self.hungry.is_empty() && self.known.is_empty()
    }

    pub(super) fn token_left(&mut self, token: TokenId, version: u64) {
        self.tickets.retain(|ticket| ticket.token != token);
        self.known.push((token, version));
    }

    pub(super) fn token_came(&mut self, token: TokenId) {
        self.tickets.retain(|ticket| ticket.token != token);
        self.known.retain(|&(known, _)| known != token);
        if self.known.is_empty() {
            self.may_fetch = false;
        }
    }

    /// Takes out the oldest ticket for one of the first `tokens` tokens.
    pub(super) fn take_ticket(&mut self, tokens: u32) -> Option<Ticket> {
        let index = self.tickets.iter().position(|ticket| ticket.token < tokens)?;
        Some(self.tickets.remove(index))
    }

    /// Records a token's version at another node. Returns whether it is at least as new as the one known.
    fn is_news(&mut self, ticket: &Ticket) -> bool {
        let Some((_, known)) = self.known.iter_mut().find(|(token, _)| *token == ticket.token) else {
            return false;
        };
        let news = ticket.version >= *known;
        *known = ticket.version.max(*known);
        news
    }
}

impl Forest {
    pub(super) fn home(&mut self) -> &mut Home {
        self.home.get_or_insert_default()
    }

    /// Whether a waiter here waits for a busy token, others may be idle elsewhere, and the home does not
    /// know.
    pub(super) fn is_hungry(&self, site: &Context<'_>) -> bool {
        let usable = &self.held[..self.usable()];
        let elsewhere = usable.len() < self.size.tokens as usize;
        let waited_for = usable.iter().any(|held| !held.queue.is_empty());
        self.hunts(site) && !self.registered && elsewhere && waited_for
    }

    /// Whether a token is idle here and the home does not know. The home itself looks at its own tokens when
    /// it gets a HUNGRY, so this matters there only while a node is hungry.
    pub(super) fn has_news_for_home(&self, site: &Context<'_>) -> bool {
        let asked = self.home.as_ref().is_some_and(|home| !home.hungry.is_empty());
        let matters = asked || site.me != site.rules.home;
        matters && self.held.iter().any(|held| held.is_idle() && !held.advertised)
    }

    /// Tells the home of idle tokens.
    pub(super) fn advertise(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let home = site.rules.home;
        for index in 0..self.held.len() {
            let held = &mut self.held[index];
            if !held.is_idle() || held.advertised {
                continue;
            }
            held.advertised = true;
            if site.has_defect(Defect::IdlePushedHome) && site.me != home {
                let Held { token, version, .. } = self.held.remove(index);
                self.pointers.reset(token);
                let size = self.size;
                return self.send(site, home, Body::Token { token, version, queue: Vec::new(), size }, out);
            }
            let ticket = Ticket { token: held.token, holder: site.me, version: held.version };
            self.send(site, home, Body::Idle { ticket, new: true }, out);
        }
    }

    /// At the home: a node has a waiter for a busy token.
    pub(super) fn on_hungry(&mut self, site: &Context<'_>, node: NodeId, out: &mut Out<'_>) {
        let tokens = self.size.tokens;
        if self.home().tickets.iter().all(|ticket| ticket.token >= tokens) {
            self.advertise(site, out);
        }
        match self.home().take_ticket(tokens) {
            Some(ticket) => self.send(site, node, Body::Offer { ticket }, out),
            None => self.home().hungry.push(node),
        }
    }

    /// At the home: a token is idle.
    pub(super) fn on_idle(&mut self, site: &Context<'_>, ticket: Ticket, new: bool, out: &mut Out<'_>) {
        let here = self.index_of(ticket.token).is_some();
        let mine = ticket.holder == site.me;
        let usable = ticket.token < self.size.tokens;
        let home = self.home();
        let valid = if here || mine { here && mine } else { home.is_news(&ticket) };
        if !valid {
            return out.note("an old ticket was ignored");
        }
        home.may_fetch |= new && !mine;
        home.tickets.retain(|other| other.token != ticket.token);
        if home.hungry.is_empty() || !usable {
            home.tickets.push(ticket);
        } else {
            let node = home.hungry.remove(0);
            self.send(site, node, Body::Offer { ticket }, out);
        }
    }

    /// A ticket arrives at a node that was hungry.
    pub(super) fn on_offer(&mut self, site: &Context<'_>, ticket: Ticket, out: &mut Out<'_>) {
        let home = site.rules.home;
        self.registered = false;
        if self.held[..self.usable()].iter().all(|held| held.queue.is_empty()) {
            out.note("a ticket was not needed");
            // The holder will not send another one.
            return self.send(site, home, Body::Idle { ticket, new: false }, out);
        }
        if ticket.holder == site.me {
            return self.unadvertise(ticket.token);
        }
        let Some((origin, via)) = self.pop_longest_queue(site) else { return };
        let token = ticket.token;
        if site.has_defect(Defect::MoveReversesPath) && self.wait != Some(token) {
            self.pointers.set(token, origin, home);
        }
        let body = if site.has_defect(Defect::MovedAsRequest) {
            Body::Request { origin, token, front: false }
        } else {
            Body::Move { origin, via, token }
        };
        self.send(site, ticket.holder, body, out);
    }

    /// A request arrives that waited for a busy token elsewhere.
    pub(super) fn on_move(
        &mut self,
        site: &Context<'_>,
        origin: NodeId,
        via: Via,
        token: TokenId,
        out: &mut Out<'_>,
    ) {
        self.unadvertise(token);
        if origin == site.me {
            if !site.has_defect(Defect::VoidIgnored) {
                self.end_request(site, via, out);
            }
        } else if self.enqueue(site, origin, via, QueueEnd::Back, out) {
            out.note("a request moved to an idle token");
        } else {
            out.note("a request moved and found no token");
            // This node's own pointer may lead to the requester, so the request goes back to the node that
            // turned it aside.
            let request = Body::Request { origin, token: via.token, front: true };
            let own = self.pointers.to(via.token, site.rules.home);
            let to = if site.has_defect(Defect::FailedMoveForwarded) { own } else { via.node };
            self.send(site, to, request, out);
        }
    }

    /// This node's own request was moved to a token that is already here: it is void.
    pub(super) fn end_request(&mut self, site: &Context<'_>, via: Via, out: &mut Out<'_>) {
        out.note("a request was void");
        if self.wait != Some(via.token) {
            out.never("a request is void that this node has not made");
        }
        self.wait = None;
        self.pointers.set(via.token, via.node, site.rules.home);
        self.clocks.stamp(site, via.token);
        for node in core::mem::take(&mut self.node_queue) {
            self.on_request(site, node, via.token, QueueEnd::Back, out);
        }
        if self.uses_tickets(site) && site.me == site.rules.home {
            self.home().may_fetch = false;
        }
        self.settle(site, out);
    }

    fn unadvertise(&mut self, token: TokenId) {
        if let Some(index) = self.index_of(token) {
            self.held[index].advertised = false;
        }
    }
}
