//! The behaviour of the numbered parts, cached per thread, and the successors of a state. A cached answer
//! needs no lock.

use std::sync::{Mutex, MutexGuard};

use sync::IgnorePoison;

use crate::fast_hash::FastMap;
use crate::model::{Cause, InboxInfo, Move, ONE_DUPLICATE, ONE_LOSS, Outcome, SlotInfo, Steps, affords};

/// A transition from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// A move of a node, by its index in the list of moves followed by those for silence or its opposite.
    Move { node: usize, index: usize },
    /// A client cancels: a move that progress must not depend on.
    GiveUp { node: usize, index: usize },
    /// A delivery, by its index in the list of outcomes.
    Deliver { node: usize, envelope: u32, index: usize },
    /// A message is lost.
    Lose { node: usize, envelope: u32 },
    /// A message will arrive twice.
    Duplicate { node: usize, envelope: u32 },
    /// Time passes.
    Tick,
}

/// The parts that one thread has cached.
pub(crate) struct Parts<'a> {
    steps: &'a Mutex<dyn Steps>,
    pub(crate) nodes: usize,
    slots: Vec<Option<Box<SlotInfo>>>,
    inboxes: Vec<Option<Box<InboxInfo>>>,
    /// By slot and envelope: the index in `outcomes`.
    delivered: FastMap<u64, usize>,
    outcomes: Vec<Vec<Outcome>>,
    /// By inbox and envelope: the inbox with that message added.
    pushed: FastMap<u64, u32>,
    next: Vec<u32>,
}

/// Whether no message is under way: the empty inbox of a node has the node's number.
pub(crate) fn is_silent(state: &[u32], nodes: usize) -> bool {
    (0..nodes).all(|node| state[nodes + node] == node as u32)
}

impl SlotInfo {
    /// The moves of the node, apart from deliveries.
    pub(crate) fn moves(&self, silent: bool) -> impl Iterator<Item = &Move> {
        self.moves.iter().chain(if silent { &self.when_silent } else { &self.when_busy })
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn ask<'a>(steps: &'a Mutex<dyn Steps>) -> MutexGuard<'a, dyn Steps + 'static> {
    // A thread that panics here ends the whole search, so a poisoned lock is never used for long.
    steps.lock().ignore_poison()
}

fn known<T>(list: &mut Vec<Option<Box<T>>>, id: u32, find: impl FnOnce() -> T) -> &T {
    let index = id as usize;
    if index >= list.len() {
        list.resize_with(index + 1, || None);
    }
    list[index].get_or_insert_with(|| Box::new(find()))
}

impl<'a> Parts<'a> {
    pub(crate) fn new(steps: &'a Mutex<dyn Steps>, nodes: usize) -> Parts<'a> {
        Parts {
            steps,
            nodes,
            slots: Vec::new(),
            inboxes: Vec::new(),
            delivered: FastMap::default(),
            outcomes: Vec::new(),
            pushed: FastMap::default(),
            next: Vec::new(),
        }
    }

    pub(crate) fn slot(&mut self, id: u32) -> &SlotInfo {
        known(&mut self.slots, id, || ask(self.steps).slot(id))
    }

    pub(crate) fn inbox(&mut self, id: u32) -> &InboxInfo {
        known(&mut self.inboxes, id, || ask(self.steps).inbox(id))
    }

    /// The outcomes of a message at a node.
    pub(crate) fn outcomes(&mut self, slot: u32, envelope: u32) -> &[Outcome] {
        let index = *self.delivered.entry(pair(slot, envelope)).or_insert_with(|| {
            self.outcomes.push(ask(self.steps).deliver(slot, envelope));
            self.outcomes.len() - 1
        });
        &self.outcomes[index]
    }

    /// Calls `emit` with every successor, and with the outcome unless only the network changed.
    pub(crate) fn expand(&mut self, state: &[u32], mut emit: impl FnMut(Link, &[u32], Option<&Outcome>)) {
        let nodes = self.nodes;
        let budget = state[2 * nodes];
        let silent = is_silent(state, nodes);
        let nobody_asked = (0..nodes).all(|node| self.slot(state[node]).fresh);
        for node in 0..nodes {
            let Parts { steps, slots, inboxes, delivered, outcomes, pushed, next, .. } = self;
            let mut after = After { steps, nodes, pushed, next, state };
            let slot = known(slots, state[node], || ask(steps).slot(state[node]));
            for (index, step) in slot.moves(silent).enumerate() {
                if (step.cost == 0 || affords(budget, step.cost)) && !(step.renamed && nobody_asked) {
                    let next = after.outcome(node, &step.outcome);
                    next[2 * nodes] -= step.cost;
                    let link = match step.cause {
                        Cause::Cancel(_) => Link::GiveUp { node, index },
                        _ => Link::Move { node, index },
                    };
                    emit(link, next, Some(&step.outcome));
                }
            }
            if state[nodes + node] == node as u32 {
                continue;
            }
            let inbox = known(inboxes, state[nodes + node], || ask(steps).inbox(state[nodes + node]));
            for &(envelope, rest) in &inbox.arrivals {
                let place = *delivered.entry(pair(state[node], envelope)).or_insert_with(|| {
                    outcomes.push(ask(steps).deliver(state[node], envelope));
                    outcomes.len() - 1
                });
                for (index, outcome) in outcomes[place].iter().enumerate() {
                    let next = after.outcome(node, outcome);
                    next[nodes + node] = rest;
                    emit(Link::Deliver { node, envelope, index }, next, Some(outcome));
                }
                if affords(budget, ONE_LOSS) {
                    emit(Link::Lose { node, envelope }, after.inbox(node, rest, ONE_LOSS), None);
                }
                if affords(budget, ONE_DUPLICATE) {
                    let twice = after.push(state[nodes + node], envelope);
                    emit(Link::Duplicate { node, envelope }, after.inbox(node, twice, ONE_DUPLICATE), None);
                }
            }
        }
        if self.slot(state[0]).ticked.is_some() && self.tick(state) {
            emit(Link::Tick, &self.next, None);
        }
    }

    /// Sets `next` to the state after a tick, if a tick is possible.
    fn tick(&mut self, state: &[u32]) -> bool {
        let nodes = self.nodes;
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend((0..nodes).map_while(|node| self.slot(state[node]).ticked));
        next.extend((nodes..2 * nodes).map_while(|node| self.inbox(state[node]).ticked));
        next.push(state[2 * nodes]);
        self.next = next;
        self.next.len() == state.len()
    }
}

/// Computes the successors of one state.
struct After<'a> {
    steps: &'a Mutex<dyn Steps>,
    nodes: usize,
    pushed: &'a mut FastMap<u64, u32>,
    next: &'a mut Vec<u32>,
    state: &'a [u32],
}

impl After<'_> {
    /// The successor by an outcome at a node.
    fn outcome(&mut self, node: usize, outcome: &Outcome) -> &mut [u32] {
        self.copy();
        self.next[node] = outcome.slot;
        for &(to, envelope) in &outcome.sends {
            let inbox = self.nodes + to as usize;
            self.next[inbox] = self.push(self.next[inbox], envelope);
        }
        self.next
    }

    /// The successor by a change of a node's inbox.
    fn inbox(&mut self, node: usize, inbox: u32, cost: u32) -> &[u32] {
        self.copy();
        self.next[self.nodes + node] = inbox;
        self.next[2 * self.nodes] -= cost;
        self.next
    }

    fn push(&mut self, inbox: u32, envelope: u32) -> u32 {
        let find = || ask(self.steps).push(inbox, envelope);
        *self.pushed.entry(pair(inbox, envelope)).or_insert_with(find)
    }

    fn copy(&mut self) {
        self.next.clear();
        self.next.extend_from_slice(self.state);
    }
}
