//! Requests of other nodes, and arriving tokens.

use alloc::vec::Vec;

use super::{Body, Context, Defect, Entry, Forest, Held, Out, QueueEnd, Share, TokenId, Via};
use crate::algorithm::NodeId;

impl Forest {
    pub(super) fn on_request(
        &mut self,
        site: &Context<'_>,
        origin: NodeId,
        token: TokenId,
        end: QueueEnd,
        out: &mut Out<'_>,
    ) {
        if origin == site.me {
            return out.never("a node's own request comes back to it");
        }
        if token >= self.size.tokens && self.on_request_for_retiring(site, origin, token, out) {
            return;
        }
        let fetched = token >= self.size.tokens && origin == site.rules.home;
        if !fetched && self.enqueue(site, origin, Via { token, node: site.me }, end, out) {
            return;
        }
        if self.wait == Some(token) {
            return self.node_queue.push(origin);
        }
        let to = self.pointers.to(token, site.rules.home);
        self.pointers.set(token, origin, site.rules.home);
        self.forgetting = false;
        self.send(site, to, Body::Request { origin, token, front: end == QueueEnd::Front }, out);
    }

    /// Puts a request on the shortest queue here (that of the requested token, if it is one of several), and
    /// sends the token on if it was idle. Returns whether there is a token here.
    pub(super) fn enqueue(
        &mut self,
        site: &Context<'_>,
        node: NodeId,
        via: Via,
        end: QueueEnd,
        out: &mut Out<'_>,
    ) -> bool {
        let order = |held: &Held| (held.busy.is_some(), held.queue.len(), held.token != via.token);
        let Some(index) = (0..self.usable()).min_by_key(|&index| order(&self.held[index])) else {
            return false;
        };
        let held = &mut self.held[index];
        let idle = held.is_idle();
        let via = (held.token != via.token).then_some(via);
        if via.is_some() {
            out.note("a request was turned into one for another token");
        }
        if held.queue.is_empty() {
            let earlier = if site.rules.share == Share::Clients { self.waiters.len() as u32 } else { 0 };
            (held.passed, held.before_queue) = (0, earlier);
        }
        match end {
            QueueEnd::Front => held.queue.insert(0, Entry { node, via }),
            QueueEnd::Back => held.queue.push(Entry { node, via }),
        }
        (held.advertised, held.undisturbed) = (false, 0);
        if idle {
            self.send_on(site, index, out);
        }
        true
    }

    pub(super) fn on_token(
        &mut self,
        site: &Context<'_>,
        token: TokenId,
        version: u64,
        mut queue: Vec<Entry>,
        out: &mut Out<'_>,
    ) {
        if site.has_defect(Defect::IdlePushedHome) && queue.is_empty() {
            return self.take_pushed(token, version);
        }
        let Some(asked) = self.wait.take() else {
            return out.never("a token comes to a node that does not wait");
        };
        if queue.first().map(|entry| entry.node) != Some(site.me) {
            return out.never("a token comes without its receiver at the head of the queue");
        }
        let via = queue.remove(0).via;
        if via.map_or(token, |via| via.token) != asked {
            out.never("another token comes than was asked for, and the tag does not say why");
        }
        if self.waiters.is_empty() {
            out.note("a token came that no client waits for");
        }
        let wanted = !self.waiters.is_empty() || !site.has_defect(Defect::UnwantedKeepsPointer);
        if let Some(via) = via.filter(|_| wanted) {
            // The path to the requested token leads through the node that turned the request aside.
            self.pointers.set(asked, via.node, site.rules.home);
            self.clocks.stamp(site, asked);
        }
        queue.extend(self.node_queue.drain(..).map(|node| Entry { node, via }));
        self.pointers.reset(token);
        self.clocks.stamp(site, token);
        if self.size.tokens > 1 && !core::mem::take(&mut self.invited) {
            self.seen = Some(token);
        }
        // The first of them is not counted as passing the queue.
        let others = match site.rules.share {
            Share::Clients => self.waiters.len().saturating_sub(1),
            Share::Nodes => 0,
        };
        let before_queue = others as u32;
        self.hold(Held { fresh: true, before_queue, queue, ..Held::idle(token, version) });
        if self.uses_tickets(site) && site.me == site.rules.home {
            self.token_came_home(site, token, out);
        }
        self.settle(site, out);
        if site.rules.forget {
            self.forget(site, out);
        }
    }

    /// Inserts a token into the list at its place.
    pub(super) fn hold(&mut self, held: Held) {
        let index = self.held.partition_point(|other| other.token < held.token);
        self.held.insert(index, held);
    }

    /// Only with a defect: a token arrives that this node did not request.
    fn take_pushed(&mut self, token: TokenId, version: u64) {
        self.pointers.reset(token);
        self.hold(Held::idle(token, version));
    }
}
