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
    /// The receiver's processor has taken in the letter of this number.
    Handle(u32),
    /// The node's processor may be free for the next message.
    Wake(NodeId),
    /// The timer runs out, if it has not been armed anew since.
    Expire(NodeId, u8, u32),
    /// The fault of this number begins.
    Fault(u32),
    /// The node that went down in the fault of this number comes back, or its partition is over.
    Mend(NodeId, u32),
    /// Everybody asks at once, or a single client does.
    Round,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    time: Ticks,
    order: u64,
    happening: Happening,
}

impl Ord for Entry {
    /// The earlier, the greater: the heap gives the greatest first.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.time, other.order).cmp(&(self.time, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The agenda. Most things of one kind take the same time, so they are planned in the order in which they happen:
/// those wait in lanes that are in order by themselves, and only the rest needs the heap.
pub(crate) struct Agenda {
    lanes: [VecDeque<Entry>; LANES],
    heap: BinaryHeap<Entry>,
    planned: u64,
}

const LANES: usize = 3;

impl Agenda {
    pub(crate) fn new() -> Agenda {
        Agenda { lanes: Default::default(), heap: BinaryHeap::new(), planned: 0 }
    }

    pub(crate) fn plan(&mut self, time: Ticks, happening: Happening) {
        self.planned += 1;
        let entry = Entry { time, order: self.planned, happening };
        let lane = match happening {
            Happening::Arrive(_) => 0,
            Happening::Handle(..) => 1,
            Happening::Leave(..) => 2,
            _ => return self.heap.push(entry),
        };
        let lane = &mut self.lanes[lane];
        if lane.back().is_none_or(|last| last.time <= time) {
            lane.push_back(entry);
        } else {
            self.heap.push(entry);
        }
    }

    /// Takes what happens next.
    pub(crate) fn next(&mut self) -> Option<(Ticks, Happening)> {
        let mut first = self.heap.peek();
        let mut from = LANES;
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(entry) = lane.front()
                && first.is_none_or(|first| entry > first)
            {
                (first, from) = (Some(entry), index);
            }
        }
        let entry = if from == LANES { self.heap.pop() } else { self.lanes[from].pop_front() };
        entry.map(|entry| (entry.time, entry.happening))
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
            (3, Happening::Handle(5)),
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
