//! More or fewer tokens while the resource is in use.
//!
//! Only the home mints and retires tokens, and only tokens that no node has. When the number shrinks, the
//! tokens with the highest numbers are **retiring**: a client inside by one stays, but no client enters by it
//! any more, and its waiters are told to ask for another. The home fetches it like any idle token, and
//! retires it: only the highest version is kept. When the number grows, retiring tokens are used again,
//! wherever they are; tokens that do not exist are minted at the home, with a version no lower than that of
//! any retired token.
//!
//! The home announces the new number to all nodes. Until a node has heard, it goes on as before: a client may
//! still enter by a token that is retiring elsewhere, and that token retires a little later.

use alloc::vec::Vec;

use super::{
    Body, Context, Entry, Forest, Held, Message, Out, QueueEnd, RemoteToken, ResizeDefect, Size, TokenId, Via,
};
use crate::Origin;
use crate::algorithm::NodeId;

impl Forest {
    /// How many tokens there are, as far as this node knows.
    pub fn size(&self) -> Size {
        self.size
    }

    /// At the home: changes the number of tokens. Every node of an earlier view has reported its tokens. New
    /// tokens start at the floor, or higher.
    pub fn resize(&mut self, site: &Context<'_>, origin: Origin, tokens: u32, out: &mut Out<'_>) {
        if site.me != site.rules.home {
            return out.never("a node that is not the home changes the number of tokens");
        }
        if tokens == self.size.tokens {
            return;
        }
        let before = self.due(site);
        let old = self.size.tokens;
        self.size = Size { stamp: self.size.stamp.max(origin.floor) + 1, tokens };
        let retired = self.home.as_ref().map_or(0, |home| home.retired);
        let floor = if site.rules.resize_defect == Some(ResizeDefect::NoFloor) {
            origin.floor
        } else {
            origin.floor.max(retired)
        };
        for token in old..tokens {
            if self.is_retired(site, token) || site.rules.resize_defect == Some(ResizeDefect::GrowBlindly) {
                self.hold(Held::idle(token, floor));
            }
        }
        self.announce(site, out);
        self.on_size_changed(site, out);
        // A token that is retiring now may be idle at a node that has already said so.
        let tokens = self.size.tokens;
        if let Some(home) = &mut self.home {
            home.may_fetch |=
                home.tickets.iter().any(|ticket| ticket.token >= tokens && ticket.holder != site.me);
        }
        self.finish(site, before, out);
    }

    /// At the home: announces the number of tokens to all nodes.
    pub fn announce(&self, site: &Context<'_>, out: &mut Out<'_>) {
        site.others().for_each(|node| out.send(node, self.how_many()));
    }

    /// The message that announces the number of tokens.
    pub fn how_many(&self) -> Message {
        Message { clock: self.clocks.now(), body: Body::Resized { size: self.size } }
    }

    /// At the home after a view change: a node has retiring tokens, and reports them when the others were
    /// known already.
    pub fn reported_late(&mut self, site: &Context<'_>, late: &[RemoteToken], out: &mut Out<'_>) {
        let before = self.due(site);
        for &RemoteToken { token, holder, version } in late {
            if token < self.size.tokens || !self.is_retired(site, token) {
                return out.never("a slot is at two nodes");
            }
            self.pointers.set(token, holder, site.rules.home);
            self.home().token_left(token, version);
        }
        self.finish(site, before, out);
    }

    /// How many of the tokens here are not retiring: these are the first in the list.
    pub(super) fn usable(&self) -> usize {
        match self.held.last() {
            Some(last) if last.token >= self.size.tokens => {
                self.held.partition_point(|held| held.token < self.size.tokens)
            }
            _ => self.held.len(),
        }
    }

    /// Whether a retiring token is here.
    pub(super) fn has_retiring(&self) -> bool {
        self.held.last().is_some_and(|held| held.token >= self.size.tokens)
    }

    /// Whether this is the home, and the token does not exist.
    pub(super) fn is_retired(&self, site: &Context<'_>, token: TokenId) -> bool {
        let home = site.rules.home;
        let elsewhere = self.wait == Some(token) || self.pointers.to(token, home) != home;
        site.me == home && !elsewhere && self.index_of(token).is_none()
    }

    /// A message states how many tokens there are.
    pub(super) fn learn(&mut self, site: &Context<'_>, size: Size, out: &mut Out<'_>) {
        if size.stamp <= self.size.stamp {
            return;
        }
        if site.me == site.rules.home {
            return out.never("a node tells the home how many tokens there are");
        }
        self.size = size;
    }

    pub(super) fn on_resized(&mut self, site: &Context<'_>, size: Size, out: &mut Out<'_>) {
        if size.stamp > self.size.stamp {
            self.learn(site, size, out);
            self.on_size_changed(site, out);
        }
    }

    /// The number of tokens has changed.
    fn on_size_changed(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.settle(site, out);
        self.serve_parked(site, out);
        self.serve_hungry(site, out);
    }

    /// Requests are parked only where there is no token: a token that is used again can serve them.
    fn serve_parked(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Some(token) = self.wait.filter(|_| self.usable() > 0) else { return };
        for node in core::mem::take(&mut self.node_queue) {
            self.on_request(site, node, token, QueueEnd::Back, out);
        }
    }

    /// At the home: tickets of retiring tokens may be usable again.
    fn serve_hungry(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let tokens = self.size.tokens;
        while let Some(home) = self.home.as_mut().filter(|home| !home.hungry.is_empty())
            && let Some(ticket) = home.take_ticket(tokens)
        {
            let node = home.hungry.remove(0);
            self.send(site, node, Body::Offer { ticket }, out);
        }
    }

    /// Only the home waits for a retiring token, and the home retires it when no client is inside by it.
    pub(super) fn tidy_retiring(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let home = site.rules.home;
        let mut over = Vec::new();
        let usable = self.usable();
        for held in &mut self.held[usable..] {
            let queue = core::mem::take(&mut held.queue);
            let (stays, goes): (Vec<Entry>, Vec<Entry>) =
                queue.into_iter().partition(|entry| entry.node == home);
            held.queue = stays;
            over.extend(goes.into_iter().map(|entry| (held.token, entry)));
        }
        for (token, Entry { node, via }) in over {
            self.turn_away(site, node, via.unwrap_or(Via { token, node: site.me }), out);
        }
        let free = |held: &Held, tokens: u32| held.token >= tokens && held.busy.is_none();
        let tokens = self.size.tokens;
        if site.me == home {
            let retired = self.held.iter().filter(|held| free(held, tokens)).map(|held| held.version).max();
            self.held.retain(|held| !free(held, tokens));
            if let Some(retired) = retired {
                let home = self.home();
                home.retired = home.retired.max(retired);
                home.tickets.retain(|ticket| ticket.token < tokens || ticket.holder != site.me);
            }
        }
        while let Some(index) = (0..self.held.len())
            .find(|&index| free(&self.held[index], tokens) && !self.held[index].queue.is_empty())
        {
            self.send_on(site, index, out);
        }
    }

    /// A request that waited here for a retiring token moves to another token that is here, or is over.
    fn turn_away(&mut self, site: &Context<'_>, node: NodeId, via: Via, out: &mut Out<'_>) {
        if !self.enqueue(site, node, via, QueueEnd::Back, out) {
            out.note("a request was over because its token is not used any more");
            self.send(site, node, Body::Gone { via, size: self.size }, out);
        }
    }

    /// A request arrives for a retiring token that is here, or for one that does not exist. Returns whether
    /// that is so.
    pub(super) fn on_request_for_retiring(
        &mut self,
        site: &Context<'_>,
        origin: NodeId,
        token: TokenId,
        out: &mut Out<'_>,
    ) -> bool {
        let index = self.index_of(token);
        if let Some(index) = index
            && origin == site.rules.home
        {
            // The home wants to retire it.
            self.held[index].queue.push(Entry { node: origin, via: None });
            self.held[index].advertised = false;
            if self.held[index].busy.is_none() {
                self.send_on(site, index, out);
            }
            return true;
        }
        let here = index.is_some() || self.is_retired(site, token);
        if here {
            self.turn_away(site, origin, Via { token, node: site.me }, out);
        }
        here
    }

    /// This node's request is over, and it asks for another token.
    pub(super) fn on_gone(
        &mut self,
        site: &Context<'_>,
        from: NodeId,
        via: Via,
        size: Size,
        out: &mut Out<'_>,
    ) {
        if size.stamp < self.size.stamp {
            // The sender has not heard yet that the token is used again.
            out.send(from, self.how_many());
        }
        self.learn(site, size, out);
        self.end_request(site, via, out);
    }
}
