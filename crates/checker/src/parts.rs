//! The behaviour of the numbered parts, as far as a thread has asked about it, and the successors of a state. An
//! answer that the thread has needs no lock.

use std::sync::Arc;

use crate::fast_hash::FastMap;
use crate::model::{Cause, InboxInfo, Model, Move, NodeInfo, Outcome};
use crate::row::{Budget, Row, RowBuffer, RowLayout};

/// A transition from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// A move of a node, by its index in the list of moves followed by those for silence or its opposite.
    Move { node: usize, index: usize },
    /// A client cancels: a move that progress must not depend on.
    Cancel { node: usize, index: usize },
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
    model: &'a Model,
    pub(crate) layout: RowLayout,
    nodes: Vec<Option<Arc<NodeInfo>>>,
    inboxes: Vec<Option<Arc<InboxInfo>>>,
    /// By the state of a node and an envelope: the index in `outcomes`.
    delivered: FastMap<u64, usize>,
    outcomes: Vec<Arc<[Outcome]>>,
    /// By inbox and envelope: the inbox with that message added.
    pushed: FastMap<u64, u32>,
    next: RowBuffer,
}

impl NodeInfo {
    /// The moves of the node, apart from deliveries.
    pub(crate) fn moves(&self, silent: bool) -> impl Iterator<Item = &Move> {
        self.moves.iter().chain(if silent { &self.when_silent } else { &self.when_busy })
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn known<T>(list: &mut Vec<Option<Arc<T>>>, id: u32, find: impl FnOnce() -> Arc<T>) -> &T {
    let index = id as usize;
    if index >= list.len() {
        list.resize_with(index + 1, || None);
    }
    list[index].get_or_insert_with(find)
}

impl<'a> Parts<'a> {
    pub(crate) fn new(model: &'a Model, layout: RowLayout) -> Parts<'a> {
        Parts {
            model,
            layout,
            nodes: Vec::new(),
            inboxes: Vec::new(),
            delivered: FastMap::default(),
            outcomes: Vec::new(),
            pushed: FastMap::default(),
            next: layout.zeroes(),
        }
    }

    pub(crate) fn node(&mut self, id: u32) -> &NodeInfo {
        known(&mut self.nodes, id, || self.model.node(id))
    }

    pub(crate) fn inbox(&mut self, id: u32) -> &InboxInfo {
        known(&mut self.inboxes, id, || self.model.inbox(id))
    }

    /// The outcomes of a message at a node in this state.
    pub(crate) fn outcomes(&mut self, node: u32, envelope: u32) -> &[Outcome] {
        let index = *self.delivered.entry(pair(node, envelope)).or_insert_with(|| {
            self.outcomes.push(self.model.deliver(node, envelope));
            self.outcomes.len() - 1
        });
        &self.outcomes[index]
    }

    /// Calls `emit` with every successor, and with the outcome unless only the network changed.
    pub(crate) fn expand(&mut self, row: Row<'_>, mut emit: impl FnMut(Link, Row<'_>, Option<&Outcome>)) {
        let (budget, silent) = (row.budget(), row.is_silent());
        let no_requests_yet = (0..self.layout.nodes()).all(|node| self.node(row.node(node)).fresh);
        for node in 0..self.layout.nodes() {
            let Parts { model, nodes, inboxes, delivered, outcomes, pushed, next, .. } = self;
            let mut after = After { model, pushed, next, row };
            let state = row.node(node);
            let info = known(nodes, state, || model.node(state));
            for (index, step) in info.moves(silent).enumerate() {
                if budget.affords(step.cost) && !(step.renamed && no_requests_yet) {
                    let next = after.outcome(node, &step.outcome);
                    next.spend(step.cost);
                    let link = match step.cause {
                        Cause::Cancel(_) => Link::Cancel { node, index },
                        _ => Link::Move { node, index },
                    };
                    emit(link, next.as_row(), Some(&step.outcome));
                }
            }
            if row.is_inbox_empty(node) {
                continue;
            }
            let inbox = known(inboxes, row.inbox(node), || model.inbox(row.inbox(node)));
            for &(envelope, rest) in &inbox.arrivals {
                let place = *delivered.entry(pair(state, envelope)).or_insert_with(|| {
                    outcomes.push(model.deliver(state, envelope));
                    outcomes.len() - 1
                });
                for (index, outcome) in outcomes[place].iter().enumerate() {
                    let next = after.outcome(node, outcome);
                    next.set_inbox(node, rest);
                    emit(Link::Deliver { node, envelope, index }, next.as_row(), Some(outcome));
                }
                if budget.affords(Budget::ONE_LOSS) {
                    emit(Link::Lose { node, envelope }, after.inbox(node, rest, Budget::ONE_LOSS), None);
                }
                if budget.affords(Budget::ONE_DUPLICATE) {
                    let twice = after.push(row.inbox(node), envelope);
                    let next = after.inbox(node, twice, Budget::ONE_DUPLICATE);
                    emit(Link::Duplicate { node, envelope }, next, None);
                }
            }
        }
        if self.tick(row) {
            emit(Link::Tick, self.next.as_row(), None);
        }
    }

    /// Sets `next` to the state after a tick. Returns whether a tick is possible.
    fn tick(&mut self, row: Row<'_>) -> bool {
        if self.node(row.node(0)).ticked.is_none() {
            return false;
        }
        let nodes = self.layout.nodes();
        let states: Vec<u32> = (0..nodes).map_while(|node| self.node(row.node(node)).ticked).collect();
        let inboxes: Vec<u32> = (0..nodes).map_while(|node| self.inbox(row.inbox(node)).ticked).collect();
        let possible = states.len() == nodes && inboxes.len() == nodes;
        if possible {
            self.next = self.layout.buffer(&states, &inboxes, row.budget());
        }
        possible
    }
}

/// Computes the successors of one state.
struct After<'a> {
    model: &'a Model,
    pushed: &'a mut FastMap<u64, u32>,
    next: &'a mut RowBuffer,
    row: Row<'a>,
}

impl After<'_> {
    /// The successor by an outcome at a node.
    fn outcome(&mut self, node: usize, outcome: &Outcome) -> &mut RowBuffer {
        self.next.copy(self.row);
        self.next.set_node(node, outcome.node);
        for &(to, envelope) in &outcome.sends {
            let to = to as usize;
            let inbox = self.push(self.next.as_row().inbox(to), envelope);
            self.next.set_inbox(to, inbox);
        }
        self.next
    }

    /// The successor by a change of a node's inbox.
    fn inbox(&mut self, node: usize, inbox: u32, cost: Budget) -> Row<'_> {
        self.next.copy(self.row);
        self.next.set_inbox(node, inbox);
        self.next.spend(cost);
        self.next.as_row()
    }

    fn push(&mut self, inbox: u32, envelope: u32) -> u32 {
        let find = || self.model.push(inbox, envelope);
        *self.pushed.entry(pair(inbox, envelope)).or_insert_with(find)
    }
}
