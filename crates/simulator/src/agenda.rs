//! Pending events, in the order of time; events due at the same time happen in the order in which they were
//! planned.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use algorithms::{ClientId, NodeId};

use crate::time::Ticks;

/// A pending event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client of this node makes a request.
    Request(NodeId),
    /// The client of this number exits, unless its node has crashed since it entered. The last field is the
    /// node's incarnation.
    Exit(NodeId, ClientId, u32),
    /// The letter of this number reaches its receiver.
    Arrive(u32),
    /// The receiver's processor has taken in the letter of this number, unless the receiver has crashed
    /// since. The last field is the receiver's incarnation.
    Handle(u32, u32),
    /// The node's processor may be free for the next message.
    Wake(NodeId),
    /// The timer expires, if it has not been armed again since.
    Expire(NodeId, u8, u32),
    /// The fault of this number begins.
    Fault(u32),
    /// The node that crashed restarts.
    Restart(NodeId),
    /// All nodes make a request at once, or a single client does.
    Round,
}

/// The time of an event and, among events of the same time, its rank: one number, quick to compare.
type Key = u128;

/// After everything.
const LAST: Key = Key::MAX;

/// A pending event in a lane. The lane determines its kind.
#[derive(Clone, Copy)]
struct InLane {
    time: Ticks,
    order: u64,
    /// Its node or letter.
    of: u32,
    /// The number of its client, if it has one.
    client: u32,
    /// The incarnation of its node, where that matters.
    incarnation: u32,
}

impl InLane {
    #[inline]
    fn key(&self) -> Key {
        key(self.time, self.order)
    }
}

#[inline]
fn key(time: Ticks, order: u64) -> Key {
    Key::from(time) << 64 | Key::from(order)
}

struct OnHeap {
    key: Key,
    event: Event,
}

impl Ord for OnHeap {
    /// The earlier, the greater: the heap returns the greatest first.
    fn cmp(&self, other: &OnHeap) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for OnHeap {
    fn partial_cmp(&self, other: &OnHeap) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OnHeap {
    fn eq(&self, other: &OnHeap) -> bool {
        self.key == other.key
    }
}

impl Eq for OnHeap {}

/// The agenda. Most events of one kind take the same time, so they are planned in the order in which they
/// happen. Those wait in lanes that are ordered without sorting, and only the rest needs the heap.
pub(crate) struct Agenda {
    lanes: [VecDeque<InLane>; HEAP],
    heap: BinaryHeap<OnHeap>,
    /// The first of each lane and of the heap.
    first: [Key; HEAP + 1],
    /// The last of each lane.
    last: [Ticks; HEAP],
    planned: u64,
}

/// The lanes of arrivals, of handled letters, and of exits; then the heap.
const ARRIVE: usize = 0;
const HANDLE: usize = 1;
const EXIT: usize = 2;
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

    /// Inlined, so that the kind of event is known and its lane costs nothing to find.
    #[inline(always)]
    pub(crate) fn plan(&mut self, time: Ticks, event: Event) {
        self.planned += 1;
        let (lane, of, client, incarnation) = match event {
            Event::Arrive(letter) => (ARRIVE, letter, 0, 0),
            Event::Handle(letter, incarnation) => (HANDLE, letter, 0, incarnation),
            Event::Exit(node, client, incarnation) => (EXIT, node, client, incarnation),
            _ => return self.put_on_heap(time, event),
        };
        // Otherwise it comes before the last of its lane.
        if self.last[lane] <= time {
            self.last[lane] = time;
            let entry = InLane { time, order: self.planned, of, client, incarnation };
            self.first[lane] = self.first[lane].min(entry.key());
            self.lanes[lane].push_back(entry);
        } else {
            self.put_on_heap(time, event);
        }
    }

    #[inline(never)]
    fn put_on_heap(&mut self, time: Ticks, event: Event) {
        let key = key(time, self.planned);
        self.first[HEAP] = self.first[HEAP].min(key);
        self.heap.push(OnHeap { key, event });
    }

    /// Removes the next event. Inlined, so that the lane leads to the handler in one jump.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(Ticks, Event)> {
        let [arrive, handle, exit, heap] = self.first;
        let (letter, letter_lane) = if handle < arrive { (handle, HANDLE) } else { (arrive, ARRIVE) };
        let (client, client_lane) = if heap < exit { (heap, HEAP) } else { (exit, EXIT) };
        match if client < letter { client_lane } else { letter_lane } {
            ARRIVE => self.take(ARRIVE).map(|next| (next.time, Event::Arrive(next.of))),
            HANDLE => self.take(HANDLE).map(|next| (next.time, Event::Handle(next.of, next.incarnation))),
            EXIT => {
                self.take(EXIT).map(|next| (next.time, Event::Exit(next.of, next.client, next.incarnation)))
            }
            _ => self.take_from_heap(),
        }
    }

    #[inline(always)]
    fn take(&mut self, lane: usize) -> Option<InLane> {
        let queue = &mut self.lanes[lane];
        let next = queue.pop_front();
        self.first[lane] = queue.front().map_or(LAST, InLane::key);
        next
    }

    #[inline(never)]
    fn take_from_heap(&mut self) -> Option<(Ticks, Event)> {
        let next = self.heap.pop();
        self.first[HEAP] = self.heap.peek().map_or(LAST, |next| next.key);
        next.map(|next| ((next.key >> 64) as Ticks, next.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_of_time_and_of_planning() {
        let mut agenda = Agenda::new();
        let planned = [
            (5, Event::Arrive(0)),
            (3, Event::Arrive(1)),
            (5, Event::Arrive(2)),
            (3, Event::Request(3)),
            (4, Event::Exit(4, 1, 2)),
            (3, Event::Handle(5, 0)),
            (9, Event::Exit(6, 0, 0)),
            (6, Event::Exit(7, 3, 4)),
        ];
        for (time, event) in planned {
            agenda.plan(time, event);
        }
        let mut expected = planned.to_vec();
        expected.sort_by_key(|(time, _)| *time);
        let happened: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(happened, expected);
    }
}
