//! A count of everything that the properties speak about: who is inside, who waits, where tokens and requests
//! are. Counts of parts add up to the count of the whole, so a driver may keep them per node and channel.

use alloc::vec;
use alloc::vec::Vec;

use crate::algorithm::NodeId;
use crate::seat::Client;

/// Counts over any part of a system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// For each node: 1 if its client waits.
    pub waiting: Vec<u32>,
    /// For each node: in how many places its request stands.
    pub places: Vec<u32>,
    /// Added to node numbers that are counted: where a cluster of a partitioned system begins.
    pub(crate) base: NodeId,
}

impl Census {
    /// All zero.
    pub fn new(nodes: u32, groups: u32) -> Census {
        Census {
            inside_by_group: vec![0; groups as usize],
            waiting: vec![0; nodes as usize],
            places: vec![0; nodes as usize],
            ..Census::default()
        }
    }

    /// All zero again.
    pub fn clear(&mut self) {
        (self.inside, self.tokens_held, self.tokens_moving, self.longest_queue) = (0, 0, 0, 0);
        self.inside_by_group.fill(0);
        self.waiting.fill(0);
        self.places.fill(0);
    }

    /// A token is at the node being counted.
    pub fn token_here(&mut self) {
        self.tokens_held += 1;
    }

    /// The message being counted carries a token.
    pub fn token_moving(&mut self) {
        self.tokens_moving += 1;
    }

    /// The request of this node stands here.
    pub fn request_of(&mut self, node: NodeId) {
        if let Some(places) = self.places.get_mut((self.base + node) as usize) {
            *places += 1;
        }
    }

    /// There is a queue of this length here.
    pub fn queue(&mut self, length: usize) {
        self.longest_queue = self.longest_queue.max(length as u32);
    }

    /// A client's part in the counts.
    pub fn client(&mut self, node: NodeId, client: Client) {
        match client {
            Client::Idle => {}
            Client::Waiting(_) => self.waiting[node as usize] += 1,
            Client::Inside(group) => {
                self.inside += 1;
                self.inside_by_group[group as usize] += 1;
            }
        }
    }

    /// Adds the counts of another part.
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
        for (sum, more) in self.places.iter_mut().zip(&part.places) {
            *sum += more;
        }
    }
}
