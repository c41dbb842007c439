//! Clocks that run too fast or too slow, and that may not count the time for which their owner stood still.

use std::time::Duration;

use service::Time;

/// The clock of a node or a client.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// How fast it runs, in thousandths.
    pub(crate) rate: u64,
    /// Whether it stands still together with its owner, as it must not.
    pub(crate) sleeps: bool,
    /// Its owner stands still from then until then.
    still: (Time, Time),
    /// For how long it stood before that.
    stood: Duration,
}

impl Clock {
    pub(crate) fn new(rate: u64, sleeps: bool) -> Clock {
        Clock { rate, sleeps, still: (Time(0), Time(0)), stood: Duration::ZERO }
    }

    /// What it shows at a moment.
    pub(crate) fn at(&self, truth: Time) -> Time {
        let (from, until) = self.still;
        let stood = if self.sleeps { self.stood + (until.min(truth) - from) } else { Duration::ZERO };
        Time(truth.0.saturating_sub(stood.as_nanos() as u64) / 1000 * self.rate)
    }

    /// Its owner stands still from now until then, unless it does already: what waits for the end must not be overtaken.
    pub(crate) fn stand(&mut self, now: Time, until: Time) {
        let (from, before) = self.still;
        if now >= before {
            self.stood += before - from;
            self.still = (now, until);
        }
    }

    /// Until when its owner stands still.
    pub(crate) fn stands_until(&self) -> Time {
        self.still.1
    }
}
