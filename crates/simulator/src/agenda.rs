//! What is going to happen, in the order of time; what is due at the same time happens in the order it was planned.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use algorithms::NodeId;

use crate::time::Ticks;

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A client of this node asks.
    Ask(NodeId),
    /// The client inside leaves, unless its node has crashed since it entered: the number of its life.
    Leave(NodeId, u32),
    /// The letter of this number reaches its receiver.
    Arrive(u32),
    /// The receiver's processor has taken in the letter of this number, unless the receiver has crashed since: the
    /// number of its life.
    Handle(u32, u32),
    /// The node's processor may be free for the next message.
    Wake(NodeId),
    /// The timer runs out, if it has not been armed anew since.
    Expire(NodeId, u8, u32),
    /// The fault of this number begins.
    Fault(u32),
    /// The node that went down comes back.
    Mend(NodeId),
    /// Everybody asks at once, or a single client does.
    Round,
}

/// When something happens and, among what happens at the same time, in which order: one number, quick to compare.
type Key = u128;

/// After everything.
const LAST: Key = Key::MAX;

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    happening: Happening,
}

impl Ord for Entry {
    /// The earlier, the greater: the heap gives the greatest first.
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

/// The agenda. Most things of one kind take the same time, so they are planned in the order in which they happen:
/// those wait in lanes that are in order by themselves, and only the rest needs the heap.
pub(crate) struct Agenda {
    lanes: [VecDeque<Entry>; HEAP],
    heap: BinaryHeap<Entry>,
    /// The first of each lane and of the heap.
    first: [Key; HEAP + 1],
    /// The last of each lane.
    last: [Key; HEAP],
    planned: u64,
}

/// The place of the heap, after the lanes.
const HEAP: usize = 3;

impl Agenda {
    pub(crate) fn new() -> Agenda {
        Agenda {
            lanes: Default::default(),
            heap: BinaryHeap::new(),
            first: [LAST; HEAP + 1],
            last: [0; HEAP],
            planned: 0,
        }
    }

    /// Inlined, so that the kind of happening is known and its lane costs nothing to find.
    #[inline]
    pub(crate) fn plan(&mut self, time: Ticks, happening: Happening) {
        self.planned += 1;
        let key = Key::from(time) << 64 | Key::from(self.planned);
        let entry = Entry { key, happening };
        match happening {
            Happening::Arrive(_) => self.put(0, entry),
            Happening::Handle(..) => self.put(1, entry),
            Happening::Leave(..) => self.put(2, entry),
            _ => self.put_on_heap(entry),
        }
    }

    #[inline]
    fn put(&mut self, lane: usize, entry: Entry) {
        if self.first[lane] == LAST {
            self.first[lane] = entry.key;
        } else if self.last[lane] > entry.key {
            // It comes before the last of its lane.
            return self.put_on_heap(entry);
        }
        self.last[lane] = entry.key;
        self.lanes[lane].push_back(entry);
    }

    fn put_on_heap(&mut self, entry: Entry) {
        self.first[HEAP] = self.first[HEAP].min(entry.key);
        self.heap.push(entry);
    }

    /// Takes what happens next.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Ticks, Happening)> {
        let mut place = 0;
        for other in 1..=HEAP {
            if self.first[other] < self.first[place] {
                place = other;
            }
        }
        let (entry, next) = if place == HEAP {
            (self.heap.pop(), self.heap.peek())
        } else {
            let lane = &mut self.lanes[place];
            (lane.pop_front(), lane.front())
        };
        self.first[place] = next.map_or(LAST, |next| next.key);
        entry.map(|entry| ((entry.key >> 64) as Ticks, entry.happening))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_of_time_and_of_planning() {
        let mut agenda = Agenda::new();
        let planned = [
            (5, Happening::Arrive(0)),
            (3, Happening::Arrive(1)),
            (5, Happening::Arrive(2)),
            (3, Happening::Ask(3)),
            (4, Happening::Leave(4, 0)),
            (3, Happening::Handle(5, 0)),
            (9, Happening::Leave(6, 0)),
            (6, Happening::Leave(7, 0)),
        ];
        for (time, happening) in planned {
            agenda.plan(time, happening);
        }
        let mut expected = planned.to_vec();
        expected.sort_by_key(|(time, _)| *time);
        let happened: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(happened, expected);
    }
}
