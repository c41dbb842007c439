//! What is due when.

use std::collections::BTreeSet;

use algorithms::Timer;

use crate::time::Time;

/// Something that is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The session of this number may have ended.
    Session(u64),
    /// The request of this number stops waiting.
    Request(u32),
    /// A timer of the resource of this number may have expired.
    Timer(u32, Timer),
    /// Idle resources can be forgotten.
    Forget,
    /// The lease of this node is about to run out, or has.
    Lease,
    /// The promise for the revoked grant of this holder has run out.
    Revoked(u32),
}

/// All that is due, the earliest first; what is due at the same time in the order of [`Due`], so that every
/// run of the same calls is the same.
///
/// An entry says only when to look. The part that it is about knows whether something has changed by then: a
/// session may have been kept alive, a timer stopped.
#[derive(Clone, Default)]
pub(crate) struct Deadlines {
    entries: BTreeSet<(Time, Due)>,
}

impl Deadlines {
    /// The time of the first entry.
    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.first().map(|(at, _)| *at)
    }

    /// Takes out the first entry, if it is due by now.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Due> {
        let &(at, due) = self.entries.first()?;
        if at > now {
            return None;
        }
        self.entries.pop_first();
        Some(due)
    }

    /// Enters something. Entering it twice is the same as once.
    pub(crate) fn plan(&mut self, at: Time, due: Due) {
        self.entries.insert((at, due));
    }

    /// Removes something that was entered for this time, if it is still entered.
    pub(crate) fn cancel(&mut self, at: Time, due: Due) {
        self.entries.remove(&(at, due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_time_and_not_before_it() {
        let mut deadlines = Deadlines::default();
        deadlines.plan(Time(5), Due::Forget);
        deadlines.plan(Time(3), Due::Lease);
        deadlines.plan(Time(3), Due::Session(1));
        deadlines.plan(Time(3), Due::Lease);
        assert_eq!((deadlines.next(), deadlines.take_due(Time(2))), (Some(Time(3)), None));
        let due: Vec<Due> = std::iter::from_fn(|| deadlines.take_due(Time(4))).collect();
        assert_eq!(due, [Due::Session(1), Due::Lease]);
        deadlines.cancel(Time(4), Due::Forget);
        assert_eq!(deadlines.next(), Some(Time(5)), "another time is another entry");
        deadlines.cancel(Time(5), Due::Forget);
        assert_eq!(deadlines.next(), None);
    }
}
