//! What a node measures of its clients: how long they wait and hold, how slots are handed off, and why requests are refused.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::Bound;
use crate::name::Kind;
use crate::refusal::Refusal;

/// The upper bounds of buckets, and how many of their units make one of what is told.
#[derive(Debug, PartialEq, Eq)]
pub struct Scale {
    /// Upwards; what is more than the last is in one more bucket.
    pub bounds: &'static [u64],
    /// Times are kept in nanoseconds and told in seconds.
    pub units: u64,
}

/// Lengths of time.
pub static TIMES: Scale = Scale {
    bounds: &[
        100_000,
        1_000_000,
        5_000_000,
        10_000_000,
        50_000_000,
        100_000_000,
        500_000_000,
        1_000_000_000,
        5_000_000_000,
        10_000_000_000,
        60_000_000_000,
        300_000_000_000,
        1_800_000_000_000,
        7_200_000_000_000,
    ],
    units: 1_000_000_000,
};

/// Lengths of queues.
pub static LENGTHS: Scale = Scale { bounds: &[0, 1, 2, 5, 10, 20, 50, 100, 1_000, 10_000], units: 1 };

/// How often values fell between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Its bounds.
    pub scale: &'static Scale,
    /// For each bound, how often a value was at most that and more than the bound before; the last is for all larger ones.
    pub buckets: Box<[u64]>,
    /// All values together, in the units of the scale.
    pub sum: u128,
}

impl Histogram {
    /// Nothing was measured yet.
    pub fn new(scale: &'static Scale) -> Histogram {
        Histogram { scale, buckets: vec![0; scale.bounds.len() + 1].into(), sum: 0 }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        // Most values are small: the first bound decides.
        let bounds = self.scale.bounds;
        let bucket = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
        self.buckets[bucket] += 1;
        self.sum += u128::from(value);
    }

    /// Counts a length of time.
    pub fn add_time(&mut self, time: Duration) {
        self.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// Where the slot came from that a waiter was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOff {
    /// It was free at this node.
    Local,
    /// Its token came from another node.
    Remote,
}

/// What was measured since the node started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    waits: [Histogram; 3],
    holds: [Histogram; 3],
    queues: Histogram,
    hand_offs: [u64; 2],
    refusals: BTreeMap<&'static str, u64>,
    bounds: BTreeMap<&'static str, u64>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let times = || [(); 3].map(|()| Histogram::new(&TIMES));
        Metrics {
            waits: times(),
            holds: times(),
            queues: Histogram::new(&LENGTHS),
            hand_offs: [0; 2],
            refusals: BTreeMap::new(),
            bounds: BTreeMap::new(),
        }
    }
}

impl Metrics {
    /// A request joined the queue of its name behind this many waiters of the node.
    pub(crate) fn queued(&mut self, behind: u32) {
        self.queues.add(u64::from(behind));
    }

    /// A request was granted after this long.
    pub(crate) fn waited(&mut self, kind: Kind, time: Duration) {
        self.waits[kind as usize].add_time(time);
    }

    /// A grant ended after this long.
    pub(crate) fn held(&mut self, kind: Kind, time: Duration) {
        self.holds[kind as usize].add_time(time);
    }

    /// So many waiters were granted what was handed off like this.
    pub(crate) fn handed_off(&mut self, how: HandOff, grants: u64) {
        self.hand_offs[how as usize] += grants;
    }

    /// A request was refused.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        *self.refusals.entry(refusal.reason()).or_default() += 1;
        self.reached_by(refusal);
    }

    /// A refusal may say that a bound was reached.
    pub(crate) fn reached_by(&mut self, refusal: &Refusal) {
        if let Refusal::Bound { bound, .. } = refusal {
            *self.bounds.entry(Bound::field(*bound)).or_default() += 1;
        }
    }

    /// How many waiters of the node requests found in the queue of their name.
    pub fn queues(&self) -> &Histogram {
        &self.queues
    }

    /// How long requests of all kinds waited until they were granted.
    pub fn all_waits(&self) -> Histogram {
        let mut all = Histogram::new(&TIMES);
        for waits in &self.waits {
            all.buckets.iter_mut().zip(&waits.buckets).for_each(|(all, count)| *all += count);
            all.sum += waits.sum;
        }
        all
    }

    /// How long requests waited until they were granted.
    pub fn waits(&self, kind: Kind) -> &Histogram {
        &self.waits[kind as usize]
    }

    /// How long grants were held.
    pub fn holds(&self, kind: Kind) -> &Histogram {
        &self.holds[kind as usize]
    }

    /// How many waiters were granted what was handed off like this.
    pub fn hand_offs(&self, how: HandOff) -> u64 {
        self.hand_offs[how as usize]
    }

    /// How many requests were refused, by reason.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// How often a bound was reached, by its name.
    pub fn bounds(&self) -> &BTreeMap<&'static str, u64> {
        &self.bounds
    }
}
