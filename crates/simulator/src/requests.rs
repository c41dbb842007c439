//! A few requests of clients that think.

use std::hint::select_unpredictable;

use algorithms::NodeId;

use crate::time::Ticks;

/// When an event happens: its time, then its order. One number, quick to compare.
pub(crate) type Key = u128;

/// So many of its lowest bits are free.
pub(crate) const FREE_BITS: u32 = 3;

/// Later than all keys of events.
pub(crate) const NO_EVENT: Key = Key::MAX;

#[inline(always)]
pub(crate) fn time_of(key: Key) -> Ticks {
    (key >> 64) as Ticks
}

/// A few requests that clients will make, in no order. To look at all of them takes no branch, so that nothing has to
/// be foretold: that is faster than a heap of so few.
pub(crate) struct Requests {
    /// When they are made, or `NO_EVENT`. The lowest bits of a key are its place.
    keys: [Key; PLACES],
    nodes: [NodeId; PLACES],
    /// The places without a request, one bit for each.
    free: u32,
    /// The earliest key.
    first: Key,
}

const PLACES: usize = 1 << FREE_BITS;
const ALL_PLACES: u32 = (1 << PLACES) - 1;

impl Requests {
    pub(crate) fn new() -> Requests {
        Requests { keys: [NO_EVENT; PLACES], nodes: [0; PLACES], free: ALL_PLACES, first: NO_EVENT }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.free == ALL_PLACES
    }

    /// The earliest key, or `NO_EVENT`.
    #[inline(always)]
    pub(crate) fn first(&self) -> Key {
        self.first
    }

    /// Keeps a request if there is a place. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn put(&mut self, key: Key, node: NodeId) -> bool {
        let place = self.free.trailing_zeros() as usize;
        if place >= PLACES {
            return false;
        }
        self.free &= self.free - 1;
        let key = key | place as Key;
        (self.keys[place], self.nodes[place]) = (key, node);
        self.first = earlier(self.first, key);
        true
    }

    /// Removes the earliest. There must be one.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> (Key, NodeId) {
        let key = self.first;
        let place = key as usize % PLACES;
        self.keys[place] = NO_EVENT;
        self.free |= 1 << place;
        // Pairs, so that no comparison waits for more than two others.
        let [a, b, c, d, e, f, g, h] = self.keys;
        let (left, right) = (earlier(earlier(a, b), earlier(c, d)), earlier(earlier(e, f), earlier(g, h)));
        self.first = earlier(left, right);
        (key, self.nodes[place])
    }
}

#[inline(always)]
fn earlier(one: Key, other: Key) -> Key {
    select_unpredictable(one < other, one, other)
}
