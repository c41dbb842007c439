//! Clocks that run too fast or too slow, and that may stop while their owner is paused.

use std::time::Duration;

use service::{Defect, Time};

use crate::plan::Plan;

/// What a clock does while its owner is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhilePaused {
    /// It goes on, as it has to.
    Runs,
    /// It does not count the pause: a defect.
    Stops,
}

impl WhilePaused {
    /// What clocks of one kind do, if `defect` is the defect that stops them.
    pub(crate) fn with(plan: &Plan, defect: Defect) -> WhilePaused {
        if plan.defect == Some(defect) { WhilePaused::Stops } else { WhilePaused::Runs }
    }
}

/// The clock of a node or a client.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// How fast it runs, in thousandths.
    pub(crate) rate: u64,
    /// What it does while its owner is paused.
    while_paused: WhilePaused,
    /// The beginning and the end of the owner's current pause.
    still: (Time, Time),
    /// For how long it stopped before that.
    stood: Duration,
}

impl Clock {
    pub(crate) fn new(rate: u64, while_paused: WhilePaused) -> Clock {
        Clock { rate, while_paused, still: (Time(0), Time(0)), stood: Duration::ZERO }
    }

    /// The time it shows at a moment.
    pub(crate) fn at(&self, truth: Time) -> Time {
        let (from, until) = self.still;
        let stood = match self.while_paused {
            WhilePaused::Runs => Duration::ZERO,
            WhilePaused::Stops => self.stood + (until.min(truth) - from),
        };
        Time(truth.0.saturating_sub(stood.as_nanos() as u64) / 1000 * self.rate)
    }

    /// Pauses the owner from now until then, unless it is paused already: events that wait for the end must
    /// not be overtaken.
    pub(crate) fn pause(&mut self, now: Time, until: Time) {
        let (from, before) = self.still;
        if now >= before {
            self.stood += before - from;
            self.still = (now, until);
        }
    }

    /// The end of the owner's pause.
    pub(crate) fn paused_until(&self) -> Time {
        self.still.1
    }
}
