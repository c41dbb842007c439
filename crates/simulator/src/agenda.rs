//! Pending events, in the order of time; events due at the same time happen in the order in which they were
//! planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hint::{cold_path, select_unpredictable};

use algorithms::{ClientId, NodeId};

use crate::requests::{FREE_BITS, Key, NO_EVENT, Requests, time_of};
use crate::time::{NEVER, Ticks};

/// A pending event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client of this node makes a request.
    Request(NodeId),
    /// The client of this number exits, unless its node has crashed since it entered. The last field is the
    /// node's incarnation.
    Exit(NodeId, ClientId, u32),
    /// The letter of this number reaches this node.
    Arrive(NodeId, u32),
    /// The node's processor has taken in the letter of this number, unless the node has crashed since. The last
    /// field is the node's incarnation.
    Handle(NodeId, u32, u32),
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
    pub(crate) node: NodeId,
    /// The number of its letter or its client.
    pub(crate) number: u32,
    /// The incarnation of its node, where that matters.
    pub(crate) incarnation: u32,
}

/// Events that are planned in the order in which they happen.
struct Lane {
    /// Those taken, those planned, and at least one place more.
    events: Vec<InLane>,
    /// The positions of the first event and of the next one to be planned.
    taken: usize,
    planned: usize,
    /// The time of the last event.
    last: Ticks,
}

impl Lane {
    fn new() -> Lane {
        let nothing = InLane { time: 0, order: 0, node: 0, number: 0, incarnation: 0 };
        Lane { events: vec![nothing; 64], taken: 0, planned: 0, last: 0 }
    }

    #[inline(always)]
    fn push(&mut self, event: InLane) {
        if self.planned + 1 == self.events.len() {
            self.make_room();
        }
        self.events[self.planned] = event;
        self.last = event.time;
        self.planned += 1;
    }

    /// Moves the events to the front, where others have been taken. There is more room if that did not help much.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.events.copy_within(self.taken..self.planned, 0);
        (self.taken, self.planned) = (0, self.planned - self.taken);
        if self.planned > self.events.len() / 2 {
            self.events.extend_from_within(..);
        }
    }

    /// Removes the first event. Also returns the time of the one after it, or `otherwise`.
    #[inline(always)]
    fn pop(&mut self, otherwise: Ticks) -> (InLane, Ticks) {
        let first = self.events[self.taken];
        self.taken += 1;
        let then = self.events[self.taken].time;
        (first, select_unpredictable(self.taken == self.planned, otherwise, then))
    }

    /// The order of the first event.
    fn first_order(&self) -> u64 {
        if self.taken == self.planned { u64::MAX } else { self.events[self.taken].order }
    }
}

struct OnHeap {
    key: Key,
    event: Event,
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
/// happen. Those wait in lanes that are ordered without sorting. Of the rest, a few requests have places of their own, and
/// all else needs the heap.
pub(crate) struct Agenda {
    lanes: [Lane; REST],
    requests: Requests,
    heap: BinaryHeap<OnHeap>,
    /// The time of the first event of each lane, and of those in no lane.
    first: [Ticks; REST + 1],
    planned: u64,
}

/// The lanes of arrivals, of handled letters, and of exits; then the events in no lane.
pub(crate) const ARRIVE: usize = 0;
pub(crate) const HANDLE: usize = 1;
pub(crate) const EXIT: usize = 2;
const REST: usize = 3;

/// When the first event of an empty lane happens. It is another moment for each lane, so that two empty lanes are not
/// taken for two events at the same time. The last lane's is the earliest: if all are empty, that is the next.
const fn never(lane: usize) -> Ticks {
    NEVER - lane as Ticks
}

impl Agenda {
    pub(crate) fn new() -> Agenda {
        Agenda {
            lanes: [Lane::new(), Lane::new(), Lane::new()],
            requests: Requests::new(),
            heap: BinaryHeap::new(),
            first: [never(ARRIVE), never(HANDLE), never(EXIT), never(REST)],
            planned: 0,
        }
    }

    /// Inlined, so that the kind of event is known and its lane costs nothing to find.
    #[inline(always)]
    pub(crate) fn plan(&mut self, time: Ticks, event: Event) {
        let (lane, node, number, incarnation) = match event {
            Event::Arrive(node, letter) => (ARRIVE, node, letter, 0),
            Event::Handle(node, letter, incarnation) => (HANDLE, node, letter, incarnation),
            Event::Exit(node, client, incarnation) => (EXIT, node, client, incarnation),
            _ => return self.plan_unordered(time, event),
        };
        // Otherwise it comes before the last of its lane.
        if self.lanes[lane].last <= time {
            self.planned += 1;
            let entry = InLane { time, order: self.planned, node, number, incarnation };
            self.first[lane] = self.first[lane].min(time);
            self.lanes[lane].push(entry);
        } else {
            self.plan_unordered(time, event);
        }
    }

    /// Plans an event that is in no lane.
    #[inline(always)]
    pub(crate) fn plan_unordered(&mut self, time: Ticks, event: Event) {
        self.planned += 1;
        self.first[REST] = self.first[REST].min(time);
        let key = Key::from(time) << 64 | Key::from(self.planned << FREE_BITS);
        match event {
            Event::Request(node) if self.requests.put(key, node) => {}
            event => self.put_on_heap(key, event),
        }
    }

    #[inline(never)]
    fn put_on_heap(&mut self, key: Key, event: Event) {
        self.heap.push(OnHeap { key, event });
    }

    /// The key of the first event that is in no lane.
    #[inline(always)]
    fn first_key(&self) -> Key {
        self.requests.first().min(self.heap.peek().map_or(NO_EVENT, |first| first.key))
    }

    /// What is next. Nothing foretells it, so how it is found out matters: two comparisons, letters against clients
    /// first, cost less than a table of handlers.
    #[inline(always)]
    pub(crate) fn next(&self) -> Next {
        let [arrive, handle, exit, rest] = self.first;
        let (letter, client) = (arrive.min(handle), exit.min(rest));
        if handle == arrive || exit == rest || letter == client {
            cold_path();
            return Next::Other;
        }
        if letter > client {
            if exit < rest {
                Next::Exit
            } else if self.request_is_first() {
                Next::Request
            } else {
                Next::Other
            }
        } else if handle < arrive {
            Next::Handle
        } else {
            Next::Arrive
        }
    }

    /// Whether the first event that is in no lane is a request that has a place.
    #[inline(always)]
    fn request_is_first(&self) -> bool {
        !self.requests.is_empty() && self.heap.peek().is_none_or(|first| self.requests.first() < first.key)
    }

    /// Removes the first event of a lane that is not empty.
    #[inline(always)]
    pub(crate) fn take(&mut self, lane: usize) -> InLane {
        let (next, then) = self.lanes[lane].pop(never(lane));
        self.first[lane] = then;
        next
    }

    /// Removes the first request. There must be one, and it must be the first event that is in no lane.
    #[inline(always)]
    pub(crate) fn take_request(&mut self) -> (Ticks, NodeId) {
        let (key, node) = self.requests.take();
        self.first[REST] = time_of(self.first_key()).min(never(REST));
        (time_of(key), node)
    }

    /// Removes the first event, also where several are due at the same time.
    #[inline(never)]
    pub(crate) fn take_first(&mut self) -> Option<(Ticks, Event)> {
        let order = |lane: usize| match self.lanes.get(lane) {
            Some(lane) => lane.first_order(),
            None => self.first_key() as u64 >> FREE_BITS,
        };
        let lane = (0..=REST).min_by_key(|&lane| (self.first[lane], order(lane))).unwrap_or(REST);
        if lane == REST {
            return self.take_from_rest();
        }
        let InLane { time, node, number, incarnation, .. } = self.take(lane);
        Some(match lane {
            ARRIVE => (time, Event::Arrive(node, number)),
            HANDLE => (time, Event::Handle(node, number, incarnation)),
            _ => (time, Event::Exit(node, number, incarnation)),
        })
    }

    fn take_from_rest(&mut self) -> Option<(Ticks, Event)> {
        if self.request_is_first() {
            let (time, node) = self.take_request();
            return Some((time, Event::Request(node)));
        }
        let OnHeap { key, event } = self.heap.pop()?;
        self.first[REST] = time_of(self.first_key()).min(never(REST));
        Some((time_of(key), event))
    }
}

/// What the next event is.
pub(crate) enum Next {
    Arrive,
    Handle,
    Exit,
    Request,
    /// Anything else, or nothing, or one of several that are due at the same time.
    Other,
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    /// The next event, taken as the loop does.
    fn next(agenda: &mut Agenda) -> Option<(Ticks, Event)> {
        let lane = match agenda.next() {
            Next::Arrive => ARRIVE,
            Next::Handle => HANDLE,
            Next::Exit => EXIT,
            Next::Request => {
                let (time, node) = agenda.take_request();
                return Some((time, Event::Request(node)));
            }
            Next::Other => return agenda.take_first(),
        };
        let InLane { time, node, number, incarnation, .. } = agenda.take(lane);
        Some(match lane {
            ARRIVE => (time, Event::Arrive(node, number)),
            HANDLE => (time, Event::Handle(node, number, incarnation)),
            _ => (time, Event::Exit(node, number, incarnation)),
        })
    }

    #[test]
    fn in_order_of_time_and_of_planning() {
        let mut agenda = Agenda::new();
        let planned = [
            (5, Event::Arrive(9, 0)),
            (3, Event::Arrive(9, 1)),
            (5, Event::Arrive(9, 2)),
            (3, Event::Request(3)),
            (4, Event::Exit(4, 1, 2)),
            (3, Event::Handle(8, 5, 0)),
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
                    let event = match random.below(5) {
                        0 => Event::Arrive(6, number),
                        1 => Event::Handle(5, number, 7),
                        2 => Event::Exit(number, 8, 9),
                        3 => Event::Wake(number),
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
