//! The rules of the node that has the token, the captain: it opens the room for a group and admits others.

use alloc::vec::Vec;

use super::defects::Defect;
use super::message::{Effect, Entry, Message};
use super::mode::Mode;
use super::room::{Context, Room, shares};
use super::rules::{QueueOrder, Rules};
use super::views::FOR_OTHERS;
use crate::algorithm::NodeId;

/// The token at its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Token<M: Mode> {
    /// The waiting requests, the next one first.
    pub(super) queue: Vec<Entry<M>>,
    /// Rises with every opening and every hand-off. Its value at an opening is the fence of that opening.
    pub(super) counter: u64,
    /// How many requests were admitted past the queue since it was this node's turn.
    pub(super) passed: u32,
    /// How many openings this node has had in a row although another node's request was as old.
    pub(super) turns: u32,
    /// The current opening; `None` if the room is not open.
    pub(super) session: Option<Session<M::Group>>,
}

/// An opening of the room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session<G> {
    pub(super) group: G,
    /// The one client inside is exclusive.
    pub(super) alone: bool,
    /// The nodes that were admitted and have not completed, each with the number of its last granted request.
    pub(super) followers: Vec<(NodeId, u64)>,
}

impl<M: Mode> Token<M> {
    pub(super) fn new(queue: Vec<Entry<M>>, counter: u64) -> Token<M> {
        Token { queue, counter, passed: 0, turns: 0, session: None }
    }

    /// Inserts a request into the queue at its place.
    pub(super) fn insert(&mut self, rules: &Rules, mut entry: Entry<M>) {
        if entry.since == 0 {
            // Its node knows of no opening, or has forgotten: the request is as old as its arrival here.
            entry.since = self.counter;
        }
        let index = match rules.queue {
            QueueOrder::Arrival => self.queue.len(),
            QueueOrder::Age => self.queue.partition_point(|earlier| earlier.since <= entry.since),
        };
        self.queue.insert(index, entry);
    }

    /// Puts another node's request before this node's own at the head: it is as old, and this node has had its
    /// turns in a row. Only a captain's clients enter past the queue, so those of a node that is the captain
    /// for ever would have a larger share than others.
    fn take_turns(&mut self, rules: &Rules, me: NodeId, effects: &mut Vec<Effect<M>>) {
        let Some((own, others)) = self.queue.split_first().filter(|(own, _)| own.node == me) else { return };
        let as_old = others.iter().take_while(|other| other.since == own.since).count();
        if as_old == 0 || rules.queue == QueueOrder::Arrival {
            return;
        }
        self.turns += 1;
        if self.turns > rules.turns {
            // Round the ring of node numbers, so that all of them have turns.
            effects.push(Effect::Note("a captain left the turn to another node"));
            let next = (1..=as_old).min_by_key(|&index| self.queue[index].node.wrapping_sub(me));
            self.queue[..=next.unwrap_or(0)].rotate_right(1);
        }
    }

    /// Removes the request of this node from the queue, if it is there.
    pub(super) fn take_out(&mut self, node: NodeId) {
        self.queue.retain(|entry| entry.node != node);
    }

    /// Whether a request with this mode may join the current opening; returns its group and fence. Joining
    /// past a queue counts.
    pub(super) fn joins(
        &mut self,
        rules: &Rules,
        mode: Option<&M>,
        effects: &mut Vec<Effect<M>>,
    ) -> Option<(M::Group, u64)> {
        let session = self.session.as_ref()?;
        let passes = !self.queue.is_empty();
        if !session.accepts(mode) || passes && self.passed >= rules.passes {
            return None;
        }
        if passes {
            effects.push(Effect::Note("a request was admitted past the queue"));
            self.passed += 1;
        }
        Some((session.group, self.counter))
    }
}

impl<G: Copy> Session<G> {
    /// Whether a request with this mode may share the opening. A request without a mode may share any.
    fn accepts<M: Mode<Group = G>>(&self, mode: Option<&M>) -> bool {
        !self.alone && mode.is_none_or(|mode| shares(mode, self.group))
    }
}

impl<M: Mode> Room<M> {
    /// Starts the next opening if this one is over, or hands the token over.
    pub(super) fn settle_captain(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let Some(token) = &mut self.token else { return };
        let mut was_alone = false;
        if let Some(session) = &token.session {
            was_alone = session.alone;
            let awaited = !session.followers.is_empty() && !site.has_defect(Defect::FollowersNotAwaited);
            if self.inside > 0 || awaited {
                if !self.waiters.is_empty() && !self.asked {
                    let own = self.own(site);
                    self.enqueue(site, own, effects);
                }
                return;
            }
            token.session = None;
        }
        token.take_turns(site.rules, site.me, effects);
        if token.queue.first().is_some_and(|head| head.node == site.me) {
            token.queue.remove(0);
            self.asked = false;
        }
        if self.waiters.is_empty() {
            if !token.queue.is_empty() {
                self.send_on(site, effects);
            }
        } else if !self.asked {
            // It is this node's turn.
            token.passed = 0;
            self.open(site, effects);
        } else if site.rules.hand_off
            && was_alone
            && token.passed < site.rules.passes
            && self.waiters.front().is_some_and(|(_, oldest)| oldest.is_writer())
        {
            // No waiter can join a writer, so the next writer here takes over from it, as others would join.
            effects.push(Effect::Note("a writer took over from another past the queue"));
            token.passed += 1;
            self.open(site, effects);
        } else {
            self.send_on(site, effects);
        }
    }

    /// Opens the room for the oldest waiter, and admits all waiters that share its group, here and in the
    /// queue.
    fn open(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let Some((_, oldest)) = self.waiters.front() else { return };
        let (group, alone) = (oldest.mode.first(), oldest.is_writer());
        let Some(mut token) = self.token.take() else { return };
        token.counter = token.counter.max(site.rules.floor).saturating_add(1);
        let fence = token.counter;
        self.learn(fence);
        let mut session = Session { group, alone, followers: Vec::new() };
        if alone {
            let oldest = self.waiters.pop_front();
            oldest.into_iter().for_each(|(client, _)| self.enter(client, group, fence, effects));
        } else {
            self.admit_waiters(group, fence, effects);
        }
        token.queue.retain(|entry| {
            let joins = entry.node != site.me && session.accepts(entry.mode.as_ref());
            if joins {
                session.followers.push((entry.node, entry.number));
            }
            !joins
        });
        if self.waiters.is_empty() {
            self.asked = false;
            token.take_out(site.me);
        } else if !self.asked {
            token.insert(site.rules, self.own(site));
        }
        let closed = !token.queue.is_empty();
        for &(to, number) in &session.followers {
            effects.push(Effect::Send { to, message: Message::Start { group, number, fence, closed } });
        }
        token.session = Some(session);
        self.token = Some(token);
    }

    /// Hands the token over to the head of the queue.
    fn send_on(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let Some(mut token) = self.token.take() else { return };
        let (Some(head), Some(last)) = (token.queue.first(), token.queue.last()) else {
            return effects.push(Effect::Never("a token is sent on although its queue is empty"));
        };
        let to = head.node;
        self.pointer = last.node;
        // A receiver of INFORM can then tell whether the token has moved since.
        token.counter = token.counter.max(site.rules.floor).saturating_add(1);
        self.seen = token.counter;
        if to == site.me {
            effects.push(Effect::Never("a token is sent on to its own node"));
        }
        let message = Message::Token { queue: token.queue, counter: token.counter };
        effects.push(Effect::Send { to, message });
    }

    /// Adds a request to the queue during an opening.
    fn enqueue(&mut self, site: &Context<'_>, entry: Entry<M>, effects: &mut Vec<Effect<M>>) {
        let Some(token) = &mut self.token else { return };
        let asker = entry.node;
        let first = token.queue.is_empty();
        token.insert(site.rules, entry);
        if first && site.rules.close {
            let fence = token.counter;
            let followers = token.session.iter().flat_map(|session| &session.followers);
            // A follower that asks for another group has closed the opening for itself.
            for &(to, _) in followers.filter(|(node, number)| *node != asker && *number != FOR_OTHERS) {
                effects.push(Effect::Send { to, message: Message::Close { fence } });
            }
        }
    }

    /// A request reaches the token.
    pub(super) fn request_here(&mut self, site: &Context<'_>, entry: Entry<M>, effects: &mut Vec<Effect<M>>) {
        let Some(token) = &mut self.token else { return };
        if token.session.is_none() {
            token.insert(site.rules, entry);
            return self.send_on(site, effects);
        }
        let Some((group, fence)) = token.joins(site.rules, entry.mode.as_ref(), effects) else {
            return self.enqueue(site, entry, effects);
        };
        let Entry { node: to, number, .. } = entry;
        let closed = !token.queue.is_empty();
        if let Some(session) = &mut token.session {
            // A follower that asks again has not completed as far as this node knows; from now on it
            // completes with this number. The entry by which the home follows for others is not the home's
            // own.
            let own = |follower: &&mut (NodeId, u64)| follower.0 == to && follower.1 != FOR_OTHERS;
            match session.followers.iter_mut().find(own) {
                Some(follower) => follower.1 = number,
                None => session.followers.push((to, number)),
            }
        }
        effects.push(Effect::Send { to, message: Message::Start { group, number, fence, closed } });
    }

    pub(super) fn on_complete(
        &mut self,
        site: &Context<'_>,
        from: NodeId,
        number: u64,
        effects: &mut Vec<Effect<M>>,
    ) {
        let session = self.token.as_mut().and_then(|token| token.session.as_mut());
        let Some(session) = session else {
            return effects.push(Effect::Never("a completion comes to a node that is no captain"));
        };
        let unnumbered = site.has_defect(Defect::CompleteUnnumbered);
        let known = |&(node, granted): &(NodeId, u64)| node == from && (granted == number || unnumbered);
        match session.followers.iter().position(known) {
            Some(index) => _ = session.followers.remove(index),
            None => return effects.push(Effect::Note("a completion came after the next start was sent")),
        }
        self.settle(site, effects);
    }
}
