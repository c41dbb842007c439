//! Two ends of a link over connections that are cut anywhere: every run at a small size, and thousands from seeds.

use std::collections::{BTreeSet, VecDeque};

use random::Random;

use super::*;
use crate::wire;

const EPOCH: u64 = 3;

/// One end, and what its driver knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    link: Link,
    phase: Phase,
    /// Bytes that came in over the current connection and are not a whole frame yet.
    inlet: Vec<u8>,
    sent: u64,
    delivered: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Disconnected,
    /// Has said hello and waits for the other's.
    Greeting,
    Connected,
}

/// Two ends and what is on its way from each of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    ends: [End; 2],
    /// Bytes on their way from each end.
    pipes: [VecDeque<u8>; 2],
    /// Whether the connection still takes bytes.
    whole: bool,
    /// What is left of the last connection for the end that is called, while it has not seen the new one.
    old: Option<VecDeque<u8>>,
    /// The bytes of the new one that it has seen.
    greeting: Vec<u8>,
    cuts: u32,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    /// The end writes a frame of at most this many bytes.
    Write(usize, usize),
    Acknowledge(usize),
    /// So many bytes arrive at the other end.
    Arrive(usize, usize),
    /// So many bytes arrive at the called end over the connection before.
    ArriveLate(usize),
    /// The connection breaks; this many bytes of each direction still arrive, the rest is lost.
    Cut([usize; 2]),
    /// The end notices that the connection is broken, and that nothing more will come.
    Notice(usize),
    /// The end that calls says hello on a new connection.
    Call,
}

/// The payload of each end with this number: its length differs, so that a confusion shows.
fn payload(end: usize, number: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + ((number as usize * 7 + end * 3) % 23), end as u8);
    bytes
}

impl Pair {
    fn new(limits: Limits, cuts: u32) -> Pair {
        let end = End {
            link: Link::new(EPOCH, limits),
            phase: Phase::Disconnected,
            inlet: Vec::new(),
            sent: 0,
            delivered: 0,
        };
        Pair {
            ends: [end.clone(), end],
            pipes: Default::default(),
            whole: false,
            old: None,
            greeting: Vec::new(),
            cuts,
        }
    }

    /// Takes a step if it is possible now; whether it was.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Send(end) => {
                let End { link, sent, .. } = &mut self.ends[end];
                let was_full = link.is_full();
                let taken = link.send(payload(end, *sent + 1)).is_ok();
                assert!(!(was_full && taken), "a full link takes nothing");
                *sent += u64::from(taken);
                taken
            }
            Step::Write(end, most) => {
                let Some(frame) = self.ends[end].link.take_frame(most) else { return false };
                let mut bytes = Vec::new();
                wire::put_frame(1, &frame, &mut bytes);
                self.write(end, &bytes)
            }
            Step::Acknowledge(end) => {
                if !self.ends[end].link.wants_ack() {
                    return false;
                }
                let frame = self.ends[end].link.take_acknowledgement().expect("connected");
                let mut bytes = Vec::new();
                wire::put_frame(1, &frame, &mut bytes);
                self.write(end, &bytes)
            }
            Step::Arrive(0, most) if self.old.is_some() => self.arrive_greeting(most),
            Step::Arrive(from, most) => self.arrive(from, most),
            Step::ArriveLate(most) => self.arrive_late(most),
            Step::Cut(keep) => {
                let possible = self.whole && self.cuts > 0;
                if possible {
                    self.cuts -= 1;
                    self.whole = false;
                    self.pipes[0].truncate(keep[0]);
                    self.pipes[1].truncate(keep[1]);
                }
                possible
            }
            Step::Notice(end) => self.notice(end),
            Step::Call => self.call(),
        }
    }

    /// What is written into a broken connection is lost.
    fn write(&mut self, end: usize, bytes: &[u8]) -> bool {
        if self.whole && !(end == 1 && self.old.is_some()) {
            self.pipes[end].extend(bytes);
        }
        true
    }

    fn notice(&mut self, end: usize) -> bool {
        let broken = !self.whole || (end == 1 && self.old.is_some());
        if !broken || self.ends[end].phase == Phase::Disconnected {
            return false;
        }
        self.drop_connection(end);
        if end == 1 {
            self.old = None;
            self.ends[1].inlet.append(&mut self.greeting);
        }
        true
    }

    fn drop_connection(&mut self, end: usize) {
        self.ends[end].phase = Phase::Disconnected;
        self.ends[end].link.disconnected();
        self.ends[end].inlet.clear();
    }

    /// The first end calls, once it has noticed that the last connection broke. The other may not have noticed yet:
    /// then its old connection, and what is under way on it, ends when the hello arrives.
    fn call(&mut self) -> bool {
        if self.whole || self.ends[0].phase != Phase::Disconnected {
            return false;
        }
        self.whole = true;
        let [old, _] = std::mem::take(&mut self.pipes);
        self.greeting.clear();
        if self.ends[1].phase == Phase::Connected {
            // Of several calls that it has not seen, the last counts; only the first connection can have been in use.
            self.old.get_or_insert(old);
        } else {
            self.drop_connection(1);
        }
        self.ends[0].phase = Phase::Greeting;
        let hello = self.ends[0].link.hello();
        self.pipes[0].extend(hello.to_le_bytes());
        true
    }

    fn arrive_greeting(&mut self, most: usize) -> bool {
        let count = most.min(self.pipes[0].len());
        self.greeting.extend(self.pipes[0].drain(..count));
        if self.greeting.len() >= 8 {
            self.old = None;
            self.drop_connection(1);
            self.ends[1].inlet.append(&mut self.greeting);
            self.read(0);
        }
        count > 0
    }

    fn arrive_late(&mut self, most: usize) -> bool {
        let Some(old) = &mut self.old else { return false };
        let count = most.min(old.len());
        self.ends[1].inlet.extend(old.drain(..count));
        self.read_frames(1, 0);
        count > 0
    }

    fn arrive(&mut self, from: usize, most: usize) -> bool {
        let to = 1 - from;
        // A connection that an end has given up is not read.
        if self.pipes[from].is_empty() || (!self.whole && self.ends[to].phase == Phase::Disconnected) {
            return false;
        }
        let count = most.min(self.pipes[from].len());
        self.ends[to].inlet.extend(self.pipes[from].drain(..count));
        self.read(from);
        true
    }

    /// Makes sense of what has come in from this end.
    fn read(&mut self, from: usize) {
        let to = 1 - from;
        if self.ends[to].phase != Phase::Connected {
            let Some(&hello) = self.ends[to].inlet.first_chunk::<8>() else { return };
            self.ends[to].inlet.drain(..8);
            if to == 1 {
                let answer = self.ends[1].link.hello();
                self.write(1, &answer.to_le_bytes());
            }
            self.ends[to].link.connected(u64::from_le_bytes(hello)).expect("both keep the rules");
            self.ends[to].phase = Phase::Connected;
        }
        self.read_frames(to, from);
    }

    fn read_frames(&mut self, to: usize, from: usize) {
        let End { link, inlet, delivered, .. } = &mut self.ends[to];
        let mut rest: &[u8] = inlet;
        while let Some(body) = wire::first_body(rest, wire::LONGEST_BODY).unwrap() {
            let frame = wire::read_frame(1, body).unwrap();
            for new in link.received(&frame).expect("both keep the rules") {
                *delivered += 1;
                assert_eq!(*new, payload(from, *delivered), "in order, nothing lost, nothing doubled");
            }
            rest = &rest[wire::LENGTH_BYTES + body.len()..];
        }
        *inlet = rest.to_vec();
    }

    /// Lets everything arrive, with no further cuts, and checks that nothing is missing and nothing is kept.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            let steps = (0..2).flat_map(|end| {
                [
                    Step::Notice(end),
                    Step::Arrive(end, usize::MAX),
                    Step::Write(end, 1 << 16),
                    Step::Acknowledge(end),
                ]
            });
            let mut moved = false;
            for step in steps.chain([Step::Call]) {
                moved |= self.step(step);
            }
            if !moved {
                break;
            }
        }
        for (end, other) in [(0, 1), (1, 0)] {
            assert_eq!(self.ends[end].sent, self.ends[other].delivered, "all that was sent has arrived");
            assert_eq!((self.ends[end].link.kept(), self.ends[end].link.kept_bytes()), (0, 0));
        }
    }
}

/// How many bytes the first frame has.
fn first_frame(bytes: &VecDeque<u8>) -> usize {
    let bytes: Vec<u8> = bytes.iter().copied().collect();
    wire::first_body(&bytes, wire::LONGEST_BODY).unwrap().map_or(0, |body| wire::LENGTH_BYTES + body.len())
}

/// The whole frames (or hellos) at the front of each pipe, as numbers of bytes: an exhaustive search cuts only there.
fn boundaries(pair: &Pair, from: usize) -> Vec<usize> {
    let bytes: Vec<u8> = pair.pipes[from].iter().copied().collect();
    let mut places = vec![0];
    let mut at = 0;
    let greets = pair.ends[1 - from].phase != Phase::Connected || (from == 0 && pair.old.is_some());
    if greets && bytes.len() >= 8 {
        at = 8;
        places.push(at);
    }
    while let Ok(Some(body)) = wire::first_body(&bytes[at..], wire::LONGEST_BODY) {
        at += wire::LENGTH_BYTES + body.len();
        places.push(at);
    }
    places
}

#[test]
fn every_run_of_two_payloads_each_way_with_three_cuts() {
    let first = Pair::new(Limits { payloads: 2, bytes: 1000 }, 3);
    let mut seen = BTreeSet::from([first.clone()]);
    let mut queue = VecDeque::from([first]);
    let (mut resent, mut late) = (0, 0);
    while let Some(pair) = queue.pop_front() {
        assert!(seen.len() < 2_000_000, "the space is finite and small");
        let mut steps = vec![Step::Notice(0), Step::Notice(1), Step::Call];
        if let Some(old) = &pair.old {
            steps.push(Step::ArriveLate(first_frame(old)));
            late += 1;
        }
        let places = [boundaries(&pair, 0), boundaries(&pair, 1)];
        for (end, places) in places.iter().enumerate() {
            if pair.ends[end].sent < 2 {
                steps.push(Step::Send(end));
            }
            steps.extend([Step::Write(end, 1), Step::Acknowledge(end)]);
            if let Some(&next) = places.get(1) {
                steps.push(Step::Arrive(end, next));
            }
        }
        for &a in &places[0] {
            steps.extend(places[1].iter().map(|&b| Step::Cut([a, b])));
        }
        for step in steps {
            let mut next = pair.clone();
            if next.step(step) && seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
        resent += u32::from(pair.ends.iter().any(|end| end.link.handed_out < end.link.ever_handed_out));
        let mut end = pair;
        end.finish();
    }
    assert!(resent > 100, "payloads are sent again");
    assert!(late > 100, "an old connection is read while the new one waits");
}

#[test]
fn thousands_of_runs_cut_at_any_byte() {
    let (mut delivered, mut cuts) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let limits = Limits { payloads: 1 + below(20), bytes: 30 + below(400) };
        let mut pair = Pair::new(limits, u32::MAX);
        for _ in 0..600 {
            let end = below(2);
            let step = match below(40) {
                0..10 => Step::Send(end),
                10..18 => Step::Write(end, below(120)),
                18..21 => Step::Acknowledge(end),
                21..36 => Step::Arrive(end, 1 + below(90)),
                36 => Step::Cut([below(100), below(100)]),
                37 => Step::Notice(end),
                38 => Step::ArriveLate(1 + below(90)),
                _ => Step::Call,
            };
            let taken = pair.step(step);
            cuts += u32::from(taken && matches!(step, Step::Cut(_)));
            for end in &pair.ends {
                assert!(end.link.kept() <= limits.payloads);
                assert!(end.link.kept_bytes() <= limits.bytes.max(31));
            }
        }
        pair.finish();
        delivered += pair.ends[0].delivered + pair.ends[1].delivered;
    }
    assert!(delivered > 100_000 && cuts > 5_000, "{delivered} delivered, {cuts} cuts");
}

fn connected() -> Link {
    let mut link = Link::new(EPOCH, Limits::default());
    link.hello();
    link.connected(0).unwrap();
    link
}

fn frame<'a>(first: u64, acknowledged: u64, payloads: &[&'a [u8]]) -> Frame<'a> {
    Frame { epoch: EPOCH, first, acknowledged, payloads: payloads.to_vec() }
}

#[test]
fn a_peer_that_breaks_the_rules_changes_nothing() {
    let mut link = connected();
    link.received(&frame(1, 0, &[b"a"])).unwrap();
    let before = link.clone();
    let gap = frame(3, 0, &[b"c"]);
    assert_eq!(link.received(&gap), Err(LinkError::Gap { expected: 2, first: 3 }));
    let never_sent = frame(2, 1, &[b"b"]);
    assert_eq!(link.received(&never_sent), Err(LinkError::NeverSent { acknowledged: 1, sent: 0 }));
    let later = Frame { epoch: EPOCH + 1, ..frame(2, 0, &[b"b"]) };
    assert_eq!(link.received(&later), Err(LinkError::LaterView { theirs: EPOCH + 1, ours: EPOCH }));
    let earlier = Frame { epoch: EPOCH - 1, ..frame(2, 9, &[b"b"]) };
    assert_eq!(link.received(&earlier), Ok(&[][..]));
    assert_eq!(link.connected(7), Err(LinkError::NeverSent { acknowledged: 7, sent: 0 }));
    assert_eq!(link, before);
}

#[test]
fn a_peer_that_forgot_is_not_the_same_process() {
    let mut link = connected();
    link.send(vec![1]).unwrap();
    link.take_frame(100).unwrap();
    link.received(&frame(1, 1, &[])).unwrap();
    link.disconnected();
    assert_eq!(link.connected(0), Err(LinkError::Forgotten { received: 0, acknowledged: 1 }));
}

/// A peer may have read more from an old connection than its hello on the new one says.
#[test]
fn what_an_old_connection_carried_may_be_acknowledged_on_a_new_one() {
    let mut link = connected();
    link.send(vec![1]).unwrap();
    link.send(vec![2]).unwrap();
    link.take_frame(100).unwrap();
    link.disconnected();
    assert_eq!(link.connected(0), Ok(2));
    link.received(&frame(1, 1, &[])).unwrap();
    let again = link.take_frame(100).unwrap();
    assert_eq!((again.first, again.payloads), (2, vec![&[2][..]]));
}

#[test]
fn only_what_is_new_of_a_frame_is_delivered() {
    let mut link = connected();
    assert_eq!(link.received(&frame(1, 0, &[b"a", b"b"])).unwrap(), [b"a", b"b"]);
    assert_eq!(link.received(&frame(1, 0, &[b"a", b"b", b"c"])).unwrap(), [b"c"]);
    assert!(link.received(&frame(1, 0, &[b"a"])).unwrap().is_empty());
    assert!(link.wants_ack());
    assert_eq!(link.take_acknowledgement().unwrap().acknowledged, 3);
    assert!(!link.wants_ack());
}

#[test]
fn a_full_link_refuses_and_an_empty_one_takes_any_payload() {
    let mut link = Link::new(EPOCH, Limits { payloads: 2, bytes: 10 });
    link.send(vec![0; 50]).unwrap();
    assert!(link.is_full());
    assert_eq!(link.send(vec![0]), Err(Full));
    link.connected(0).unwrap();
    link.take_frame(1).unwrap();
    link.received(&frame(1, 1, &[])).unwrap();
    link.send(vec![0; 6]).unwrap();
    assert!(!link.is_full());
    assert_eq!(link.send(vec![0; 6]), Err(Full), "six bytes and six are more than ten");
    link.send(vec![0; 4]).unwrap();
    assert_eq!((link.kept(), link.kept_bytes()), (2, 10));
}

#[test]
fn an_acknowledgement_is_urgent_when_the_peer_may_soon_be_stuck() {
    let mut link = Link::new(EPOCH, Limits { payloads: 8, bytes: 1000 });
    link.connected(0).unwrap();
    link.received(&frame(1, 0, &[b"a"])).unwrap();
    assert!(link.wants_ack() && !link.wants_ack_now());
    link.received(&frame(2, 0, &[b"b"])).unwrap();
    assert!(link.wants_ack_now(), "a quarter of the payloads");
    link.take_acknowledgement().unwrap();
    link.received(&frame(3, 0, &[&[0; 250]])).unwrap();
    assert!(link.wants_ack_now(), "a quarter of the bytes");
}
