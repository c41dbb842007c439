//! Pending events, in the order of time; events due at the same time happen in the order in which they were
//! planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

use algorithms::{ClientId, NodeId};

use crate::time::{NEVER, Ticks};

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

/// A pending event in a lane. The lane determines its kind.
#[derive(Clone, Copy)]
pub(crate) struct InLane {
    pub(crate) time: Ticks,
    order: u64,
    /// Its node or letter.
    pub(crate) of: u32,
    /// The number of its client, if it has one.
    pub(crate) client: u32,
    /// The incarnation of its node, where that matters.
    pub(crate) incarnation: u32,
}

/// Events that are planned in the order in which they happen: a ring.
struct Lane {
    /// As many as a power of two, so that a mask finds a position.
    ring: Vec<InLane>,
    /// How many events have been taken, and how many planned: the positions of the first and of the next.
    taken: usize,
    planned: usize,
    /// The time of the last event.
    last: Ticks,
}

impl Lane {
    fn new() -> Lane {
        let nothing = InLane { time: 0, order: 0, of: 0, client: 0, incarnation: 0 };
        Lane { ring: vec![nothing; 16], taken: 0, planned: 0, last: 0 }
    }

    #[inline(always)]
    fn index(&self, position: usize) -> usize {
        position & (self.ring.len() - 1)
    }

    #[inline(always)]
    fn push(&mut self, event: InLane) {
        if self.planned - self.taken == self.ring.len() {
            self.grow();
        }
        let end = self.index(self.planned);
        self.ring[end] = event;
        self.last = event.time;
        self.planned += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.index(self.taken);
        self.ring.rotate_left(first);
        (self.taken, self.planned) = (0, self.ring.len());
        self.ring.extend_from_within(..);
    }

    /// Removes the first event. Also returns the time of the one after it.
    #[inline(always)]
    fn pop(&mut self) -> (InLane, Ticks) {
        let first = self.ring[self.index(self.taken)];
        self.taken += 1;
        let then = self.ring[self.index(self.taken)].time;
        (first, select_unpredictable(self.taken == self.planned, NEVER, then))
    }

    /// The order of the first event.
    fn first_order(&self) -> u64 {
        if self.taken == self.planned { u64::MAX } else { self.ring[self.index(self.taken)].order }
    }
}

struct OnHeap {
    /// Its time and its order: one number, quick to compare.
    key: u128,
    event: Event,
}

impl OnHeap {
    #[inline]
    fn time(&self) -> Ticks {
        (self.key >> 64) as Ticks
    }
}

impl Ord for OnHeap {
    /// The earlier, the greater: the heap returns the greatest first.
    #[inline]
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
    lanes: [Lane; HEAP],
    heap: BinaryHeap<OnHeap>,
    /// The time of the first event of each lane and of the heap.
    first: [Ticks; HEAP + 1],
    planned: u64,
}

/// The lanes of arrivals, of handled letters, and of exits; then the heap.
pub(crate) const ARRIVE: usize = 0;
pub(crate) const HANDLE: usize = 1;
pub(crate) const EXIT: usize = 2;
const HEAP: usize = 3;

impl Agenda {
    pub(crate) fn new() -> Agenda {
        Agenda {
            lanes: [Lane::new(), Lane::new(), Lane::new()],
            heap: BinaryHeap::new(),
            first: [NEVER; HEAP + 1],
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
        if self.lanes[lane].last <= time {
            let entry = InLane { time, order: self.planned, of, client, incarnation };
            self.first[lane] = self.first[lane].min(time);
            self.lanes[lane].push(entry);
        } else {
            self.put_on_heap(time, event);
        }
    }

    #[inline(never)]
    fn put_on_heap(&mut self, time: Ticks, event: Event) {
        self.first[HEAP] = self.first[HEAP].min(time);
        let key = u128::from(time) << 64 | u128::from(self.planned);
        self.heap.push(OnHeap { key, event });
    }

    /// The lane of the next event. If it is no lane, the next event is on the heap, if there is one.
    #[inline(always)]
    pub(crate) fn next_lane(&self) -> usize {
        let [arrive, handle, exit, heap] = self.first;
        let (letter, client) = (arrive.min(handle), exit.min(heap));
        if handle == arrive || exit == heap || letter == client {
            return self.next_lane_by_order();
        }
        // Nothing foretells which it is: one jump is left to guess, the one to the handler.
        let letter_lane = select_unpredictable(handle < arrive, HANDLE, ARRIVE);
        let client_lane = select_unpredictable(heap < exit, HEAP, EXIT);
        select_unpredictable(letter < client, letter_lane, client_lane)
    }

    /// As [`Agenda::next_lane`], where several events may be due at the same time.
    #[inline(never)]
    fn next_lane_by_order(&self) -> usize {
        let order = |lane: usize| match self.lanes.get(lane) {
            Some(lane) => lane.first_order(),
            None => self.heap.peek().map_or(u64::MAX, |first| first.key as u64),
        };
        // If there is none at all, it is no lane.
        (0..=HEAP).rev().min_by_key(|&lane| (self.first[lane], order(lane))).unwrap_or(HEAP)
    }

    /// Removes the first event of a lane that is not empty.
    #[inline(always)]
    pub(crate) fn take(&mut self, lane: usize) -> InLane {
        let (next, then) = self.lanes[lane].pop();
        self.first[lane] = then;
        next
    }

    /// Removes the first event on the heap.
    #[inline(never)]
    pub(crate) fn take_from_heap(&mut self) -> Option<(Ticks, Event)> {
        let next = self.heap.pop();
        self.first[HEAP] = self.heap.peek().map_or(NEVER, OnHeap::time);
        next.map(|next| (next.time(), next.event))
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    fn next(agenda: &mut Agenda) -> Option<(Ticks, Event)> {
        let lane = agenda.next_lane();
        if lane == HEAP {
            return agenda.take_from_heap();
        }
        let InLane { time, of, client, incarnation, .. } = agenda.take(lane);
        Some(match lane {
            ARRIVE => (time, Event::Arrive(of)),
            HANDLE => (time, Event::Handle(of, incarnation)),
            _ => (time, Event::Exit(of, client, incarnation)),
        })
    }

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
        let happened: Vec<_> = std::iter::from_fn(|| next(&mut agenda)).collect();
        assert_eq!(happened, expected);
    }

    /// However many are planned, and however many of them at the same time: the earliest comes first, of those
    /// the one planned first.
    #[test]
    fn lanes_and_heap_are_one_queue() {
        for seed in 0..100 {
            let (mut random, mut now) = (Random::new(seed), 0);
            let (mut agenda, mut model) = (Agenda::new(), Vec::new());
            for number in 0..1000 {
                // More and more are planned at first, and at last all are taken.
                if random.below(1000) >= number {
                    let time = now + random.below(1 + seed);
                    let number = number as u32;
                    let event = match random.below(4) {
                        0 => Event::Arrive(number),
                        1 => Event::Handle(number, 7),
                        2 => Event::Exit(number, 8, 9),
                        _ => Event::Request(number),
                    };
                    agenda.plan(time, event);
                    model.push((time, event));
                    continue;
                }
                let first = (0..model.len()).min_by_key(|&index| model[index].0);
                let expected = first.map(|index| model.remove(index));
                assert_eq!(next(&mut agenda), expected, "seed {seed}");
                now = expected.map_or(now, |(time, _)| time);
            }
        }
    }
}
