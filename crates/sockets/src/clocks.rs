//! The clocks of machines that know nothing of each other: how far each is ahead of the collector's, and how
//! sure that is.
//!
//! A reading takes a round trip. The node read its clock at some moment within it, so half the round trip bounds
//! the error. Of many readings the quickest is the best. Readings before and after a run bound the drift.

use std::time::Duration;

use super::Report;

/// How far a clock is ahead, and by how much that may be wrong, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    pub(super) ahead: i64,
    pub(super) error: u64,
}

impl Offset {
    /// From the collector's clock before and after a round trip, and the node's clock in between.
    pub(super) fn read(before: u64, theirs: u64, after: u64) -> Offset {
        let half = after.saturating_sub(before) / 2;
        let middle = before.saturating_add(half);
        // Clocks count from the start of a machine: 292 years fit.
        Offset { ahead: theirs as i64 - middle as i64, error: half + 1 }
    }

    /// The surer of two readings.
    pub(super) fn surer(self, other: Offset) -> Offset {
        if other.error < self.error { other } else { self }
    }

    /// An offset that holds for the whole time between two readings.
    pub(super) fn during(self, after: Offset) -> Offset {
        let drift = after.ahead - self.ahead;
        Offset {
            ahead: self.ahead + drift / 2,
            error: self.error.max(after.error) + drift.unsigned_abs() / 2 + 1,
        }
    }

    /// Translates the times of a report to the collector's clock.
    pub(super) fn apply(self, report: &mut Report) {
        let translate = |time: &mut Duration| {
            let nanos = time.as_nanos() as i64 - self.ahead;
            *time = Duration::from_nanos(nanos.max(0) as u64);
        };
        for visit in &mut report.tally.visits {
            translate(&mut visit.asked);
            translate(&mut visit.entered);
            visit.left.iter_mut().for_each(translate);
        }
        report.tally.clock_error = Duration::from_nanos(self.error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tally, Visit};

    #[test]
    fn the_quickest_reading_counts_and_drift_makes_it_less_sure() {
        let slow = Offset::read(1_000, 501_400, 2_000);
        let quick = Offset::read(3_000, 503_050, 3_100);
        assert_eq!(quick, Offset { ahead: 500_000, error: 51 });
        assert_eq!(slow.surer(quick), quick);
        assert_eq!(quick.during(Offset { ahead: 500_200, error: 40 }), Offset { ahead: 500_100, error: 152 });
        assert_eq!(Offset::read(900, 100, 900).ahead, -800);
    }

    #[test]
    fn a_report_comes_to_the_clock_of_the_collector() {
        let at = Duration::from_nanos;
        let visit = Visit { node: 0, group: 0, asked: at(600), entered: at(700), left: Some(at(800)) };
        let mut report = Report { tally: Tally { visits: vec![visit], ..Tally::default() }, record: vec![] };
        Offset { ahead: 500, error: 9 }.apply(&mut report);
        let visit = report.tally.visits[0];
        assert_eq!((visit.asked, visit.entered, visit.left), (at(100), at(200), Some(at(300))));
        assert_eq!(report.tally.clock_error, at(9));
    }
}
