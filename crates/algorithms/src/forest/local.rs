//! Local clients, and the tokens on this node. A token admits a client, goes to the head of its queue, serves
//! another token's queue, or stays idle.

use super::{Ask, Body, Context, Defect, Entry, Forest, Out, TokenId, Via};
use crate::algorithm::{ClientId, Grant};

impl Forest {
    /// A client cancels. The node's request, if it has one, stays: other nodes may rely on it by now.
    pub(super) fn cancel(&mut self, site: &Context<'_>, client: ClientId, out: &mut Out<'_>) {
        if self.waiters.remove(client).is_none() {
            out.never("a client gives up and does not wait");
        }
        if site.has_defect(Defect::CancelClearsWait) && self.waiters.is_empty() {
            self.wait = None;
        }
    }

    /// A client leaves.
    pub(super) fn release(&mut self, site: &Context<'_>, client: ClientId, out: &mut Out<'_>) {
        let Some(held) = self.held.iter_mut().find(|held| held.busy == Some(client)) else {
            return out.never("a client leaves and there is no token");
        };
        (held.busy, held.fresh) = (None, false);
        self.settle(site, out);
    }

    /// Uses every free token, the one with the shortest queue first, and requests another one if clients
    /// still wait.
    pub(super) fn settle(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.has_retiring() {
            self.tidy_retiring(site, out);
        }
        while let Some(index) = self.free_with_shortest_queue() {
            let held = &mut self.held[index];
            let alone = held.queue.is_empty();
            if alone {
                (held.passed, held.before_queue) = (0, 0);
            }
            let local_first = alone || held.fresh || held.passed < held.passes(site.rules);
            if local_first && let Some((client, ())) = self.waiters.pop_front() {
                self.admit(index, client, out);
                self.invite(site, index, out);
            } else if !alone {
                self.send_on(site, index, out);
            } else if let Some(entry) = self.take_from_longest_queue(site, index) {
                out.note("an idle token served another's queue");
                self.held[index].queue.push(entry);
                self.send_on(site, index, out);
            } else {
                // All idle tokens are equal.
                self.held.iter_mut().filter(|held| held.busy.is_none()).for_each(|held| held.fresh = false);
                break;
            }
        }
        if self.could_use_more() && (self.usable() == 0 || site.rules.ask == Ask::AtOnce) {
            self.ask_for_any(site, out);
        }
    }

    /// Whether clients wait, and this node could request another token.
    pub(super) fn could_use_more(&self) -> bool {
        !self.waiters.is_empty() && self.wait.is_none() && self.usable() < self.size.tokens as usize
    }

    pub(super) fn ask_for_any(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let token = self.choose(out);
        self.ask(site, token, out);
    }

    fn free_with_shortest_queue(&self) -> Option<usize> {
        let free = (0..self.usable()).filter(|&index| self.held[index].busy.is_none());
        free.min_by_key(|&index| self.held[index].queue.len())
    }

    /// Grants the token to a client.
    fn admit(&mut self, index: usize, client: ClientId, out: &mut Out<'_>) {
        let held = &mut self.held[index];
        if !held.queue.is_empty() && !held.fresh {
            held.passed += 1;
            out.note("a local client went before the queue");
        }
        (held.busy, held.fresh) = (Some(client), false);
        held.version = held.version.saturating_add(1);
        out.grant(Grant { client, group: 0, slot: held.token, fence: held.version });
    }

    /// Takes the head of the longest queue here as an entry for the token at this index.
    fn take_from_longest_queue(&mut self, site: &Context<'_>, index: usize) -> Option<Entry> {
        let to = self.held[index].token;
        let (node, via) = self.pop_longest_queue(site)?;
        let retagged = via.token != to && !site.has_defect(Defect::BorrowedUntagged);
        Some(Entry { node, via: retagged.then_some(via) })
    }

    /// Removes the head of the longest queue here. It then counts as a request that was turned aside: by this
    /// node, unless one did so earlier.
    pub(super) fn pop_longest_queue(&mut self, site: &Context<'_>) -> Option<(u32, Via)> {
        let usable = self.usable();
        let waited_for = self.held[..usable].iter_mut().filter(|held| !held.queue.is_empty());
        let longest =
            waited_for.reduce(|best, held| if held.queue.len() > best.queue.len() { held } else { best })?;
        let entry = longest.queue.remove(0);
        Some((entry.node, entry.via.unwrap_or(Via { token: longest.token, node: site.me })))
    }

    /// Sends the token at this index to the head of its queue. If clients wait here, this node joins that
    /// queue.
    pub(super) fn send_on(&mut self, site: &Context<'_>, index: usize, out: &mut Out<'_>) {
        let mut held = self.held.remove(index);
        let leaves = self.leaves_long_queue(site, &held, out);
        let may_join = self.wait.is_none() && !leaves || site.has_defect(Defect::RejoinWhileWaiting);
        if !self.waiters.is_empty() && may_join && held.token < self.size.tokens {
            out.note("a node joined the queue of the token that it sent on");
            held.queue.push(Entry { node: site.me, via: None });
            self.wait = Some(held.token);
        }
        // Later requests go to the last node that gets this token because it asked for it. An entry that was
        // turned aside says nothing about this token's forest.
        let head = held.queue[0].node;
        let asked_for_it = |entry: &&Entry| entry.via.is_none() || site.has_defect(Defect::ExitPointsToLast);
        let last = held.queue.iter().rev().find(asked_for_it).map_or(head, |entry| entry.node);
        self.pointers.set(held.token, last, site.rules.home);
        if self.wait == Some(held.token) {
            self.pointers.reset(held.token);
        }
        held.version = held.version.saturating_add(1);
        if self.uses_tickets(site) && site.me == site.rules.home {
            self.home().token_left(held.token, held.version);
        }
        self.clocks.stamp(site, held.token);
        let body =
            Body::Token { token: held.token, version: held.version, queue: held.queue, size: self.size };
        self.send(site, head, body, out);
    }

    /// The token to request: the one received last, if it is not here, or any other.
    fn choose(&self, out: &mut Out<'_>) -> TokenId {
        let tokens = self.size.tokens;
        if let Some(token) = self.seen.filter(|&token| token < tokens && self.index_of(token).is_none()) {
            return token;
        }
        let usable = &self.held[..self.usable()];
        let mut token = out.pick(tokens - usable.len() as u32);
        for held in usable {
            token += u32::from(held.token <= token);
        }
        token
    }

    /// Requests a token.
    pub(super) fn ask(&mut self, site: &Context<'_>, token: TokenId, out: &mut Out<'_>) {
        let to = self.pointers.to(token, site.rules.home);
        self.wait = Some(token);
        self.forgetting = false;
        self.clocks.stamp(site, token);
        self.pointers.reset(token);
        self.send(site, to, Body::Request { origin: site.me, token, front: false }, out);
    }
}
