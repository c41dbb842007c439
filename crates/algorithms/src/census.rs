//! Counts of everything that the properties are about: clients inside, waiters, tokens and requests. Counts
//! of parts add up to the count of the whole, so a driver may keep them per node and channel. Counts can be
//! subtracted, so a driver may keep one census and update only what a step touched.

use alloc::vec;
use alloc::vec::Vec;

use crate::algorithm::NodeId;
use crate::node::Client;
use crate::renaming::Renaming;

/// Counts over any part of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// Clients inside.
    pub inside: u32,
    /// Clients inside, by group.
    pub inside_by_group: Vec<u32>,
    /// Tokens at running nodes.
    pub tokens_held: u32,
    /// Tokens in messages.
    pub tokens_moving: u32,
    /// The longest queue seen.
    pub longest_queue: u32,
    /// For each node: the number of its waiting clients.
    pub waiting: Vec<u32>,
    /// For each node: its requests, and where they are.
    pub requests: Vec<RequestCount>,
    /// Where slots are told apart, for each slot: how many clients hold it, and how many tokens it has.
    pub slots: Vec<SlotCount>,
    /// Added to the node and slot numbers that are counted: the first node of a cluster in a partitioned
    /// system.
    pub(crate) base: NodeId,
    /// The number of nodes whose requests are not in one place each.
    mismatched: u32,
    /// Added to a count for each thing counted: 1, or -1 while counts are subtracted.
    unit: u32,
}

/// Counts for the requests of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCount {
    /// 1 if it has an outstanding request.
    pub asking: u32,
    /// The number of places that hold its request.
    pub places: u32,
}

/// Counts for one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCount {
    /// Clients that hold it.
    pub inside: u32,
    /// Its tokens, at nodes or in messages.
    pub tokens: u32,
}

impl Census {
    /// All zero.
    pub fn new(nodes: u32, groups: u32) -> Census {
        Census {
            inside: 0,
            inside_by_group: vec![0; groups as usize],
            tokens_held: 0,
            tokens_moving: 0,
            longest_queue: 0,
            waiting: vec![0; nodes as usize],
            requests: vec![RequestCount::default(); nodes as usize],
            slots: Vec::new(),
            base: 0,
            mismatched: 0,
            unit: 1,
        }
    }

    /// From now on, counts are subtracted. `longest_queue` keeps its maximum.
    #[inline]
    pub fn take_back(&mut self) {
        self.unit = 1u32.wrapping_neg();
    }

    /// From now on, counts are added, as at first.
    #[inline]
    pub fn count_up(&mut self) {
        self.unit = 1;
    }

    /// Whether the request of some node is not in exactly one place, or a node without a request has one
    /// somewhere.
    #[inline]
    pub fn has_misplaced_request(&self) -> bool {
        self.mismatched > 0
    }

    /// Adds to the counts of a node's requests, if there is such a node.
    #[inline]
    fn change(&mut self, node: NodeId, asking: u32, places: u32) {
        let Some(count) = self.requests.get_mut(node as usize) else { return };
        let before = u32::from(count.is_mismatched());
        count.asking = count.asking.wrapping_add(asking);
        count.places = count.places.wrapping_add(places);
        self.mismatched = self.mismatched + u32::from(count.is_mismatched()) - before;
    }

    /// Sets all counts to zero.
    pub fn clear(&mut self) {
        (self.inside, self.tokens_held, self.tokens_moving, self.longest_queue) = (0, 0, 0, 0);
        self.inside_by_group.fill(0);
        self.waiting.fill(0);
        self.requests.fill(RequestCount::default());
        self.slots.clear();
        self.mismatched = 0;
    }

    /// The counted node has a token.
    #[inline]
    pub fn token_here(&mut self) {
        self.tokens_held = self.tokens_held.wrapping_add(self.unit);
    }

    /// The counted message carries a token.
    #[inline]
    pub fn token_moving(&mut self) {
        self.tokens_moving = self.tokens_moving.wrapping_add(self.unit);
    }

    /// The counted node has the token of this slot.
    pub fn token_of_slot_here(&mut self, slot: u32) {
        self.token_here();
        let unit = self.unit;
        let count = &mut self.slot(slot).tokens;
        *count = count.wrapping_add(unit);
    }

    /// The counted message carries the token of this slot.
    pub fn token_of_slot_moving(&mut self, slot: u32) {
        self.token_moving();
        let unit = self.unit;
        let count = &mut self.slot(slot).tokens;
        *count = count.wrapping_add(unit);
    }

    fn slot(&mut self, slot: u32) -> &mut SlotCount {
        let slot = (self.base + slot) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, SlotCount::default());
        }
        &mut self.slots[slot]
    }

    /// The node has an outstanding request. Where nodes have one client, that is so while it waits, and is
    /// counted with it.
    pub fn asks(&mut self, node: NodeId) {
        self.change(self.base + node, self.unit, 0);
    }

    /// The request of this node is here.
    #[inline]
    pub fn request_of(&mut self, node: NodeId) {
        self.change(self.base + node, 0, self.unit);
    }

    /// Requests of these nodes are queued here.
    #[inline]
    pub fn queue_of(&mut self, nodes: impl Iterator<Item = NodeId>) {
        let mut length = 0;
        for node in nodes {
            self.request_of(node);
            length += 1;
        }
        self.queue(length);
    }

    /// There is a queue of this length here.
    #[inline]
    pub fn queue(&mut self, length: usize) {
        self.longest_queue = self.longest_queue.max(length as u32);
    }

    /// A client's part in the counts, where a node has one.
    #[inline]
    pub fn client(&mut self, node: NodeId, client: Client) {
        self.client_of_many(node, client);
        if let Client::Waiting(_) = client {
            self.change(node, self.unit, 0);
        }
    }

    /// A client's part in the counts, where a node has several: then the node itself says whether it asks.
    #[inline]
    pub fn client_of_many(&mut self, node: NodeId, client: Client) {
        match client {
            Client::Idle => {}
            Client::Waiting(_) => {
                let waiting = &mut self.waiting[node as usize];
                *waiting = waiting.wrapping_add(self.unit);
            }
            Client::Inside { group, .. } => {
                self.inside = self.inside.wrapping_add(self.unit);
                let in_group = &mut self.inside_by_group[group as usize];
                *in_group = in_group.wrapping_add(self.unit);
            }
        }
    }

    /// A client is inside by this slot.
    pub fn inside_by_slot(&mut self, slot: u32) {
        let unit = self.unit;
        let count = &mut self.slot(slot).inside;
        *count = count.wrapping_add(unit);
    }

    /// The counts after nodes were renamed.
    pub fn renamed(&self, renaming: &Renaming) -> Census {
        let mut census = self.clone();
        renaming.move_entries(&mut census.waiting);
        renaming.move_entries(&mut census.requests);
        census
    }

    /// Compares requests with their places, after the last [`Census::add`].
    pub fn all_added(&mut self) {
        self.mismatched = self.requests.iter().filter(|count| count.is_mismatched()).count() as u32;
    }

    /// Adds the counts of another part. Call [`Census::all_added`] after the last.
    pub fn add(&mut self, part: &Census) {
        self.inside += part.inside;
        self.tokens_held += part.tokens_held;
        self.tokens_moving += part.tokens_moving;
        self.longest_queue = self.longest_queue.max(part.longest_queue);
        for (sum, more) in self.inside_by_group.iter_mut().zip(&part.inside_by_group) {
            *sum += more;
        }
        for (sum, more) in self.waiting.iter_mut().zip(&part.waiting) {
            *sum += more;
        }
        for (sum, more) in self.requests.iter_mut().zip(&part.requests) {
            sum.asking += more.asking;
            sum.places += more.places;
        }
        for (slot, more) in (0..).zip(&part.slots) {
            let sum = self.slot(slot);
            sum.inside += more.inside;
            sum.tokens += more.tokens;
        }
    }
}

impl RequestCount {
    #[inline]
    fn is_mismatched(self) -> bool {
        self.asking != self.places
    }
}
