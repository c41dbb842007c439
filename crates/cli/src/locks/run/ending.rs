//! When a command is asked to end, and when it is killed: pure, so that every case can be tested.
//!
//! A lock is held until a deadline, which every renewal moves. A command that has not ended by then is killed, because another
//! client may be granted the lock soon after. It is asked to end first, early enough to have its grace.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use service::Time;

/// What to do with the command when its lock is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnLost {
    /// Ask it to end with SIGTERM, and kill it after the grace.
    Term,
    /// Kill it without asking.
    Kill,
    /// Let it go on. It is left to fences to tell it from the next holder.
    None,
    /// Run this instead of sending SIGTERM, and kill the command after the grace.
    Command(String),
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The command is asked to end.
    Ask,
    /// Everything that the command has started is killed.
    Kill,
}

/// Decides when a command ends.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    on_lost: OnLost,
    grace: Duration,
    held_until: Time,
    /// The longest time that the lock was ever known to be held for.
    longest: Duration,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Holds,
    /// It was asked to end, and is killed then.
    Asked(Time),
    Killed,
}

/// The grace begins before the lock is lost only in the last part of the time that a renewal brings: a short outage must not
/// end a command.
const EARLY: u32 = 4;

impl Ending {
    pub(crate) fn new(on_lost: OnLost, grace: Duration, held_until: Time, now: Time) -> Ending {
        Ending { on_lost, grace, held_until, longest: held_until - now, phase: Phase::Holds }
    }

    /// Whether the command is to end, or has been asked to.
    pub(crate) fn has_begun(&self) -> bool {
        self.phase != Phase::Holds
    }

    /// The lock was renewed.
    pub(crate) fn renewed(&mut self, until: Time, now: Time) {
        self.held_until = self.held_until.max(until);
        self.longest = self.longest.max(until - now);
    }

    /// The lock was revoked, or nothing renews it any more: the grace is what is left, at most.
    pub(crate) fn begin(&mut self, now: Time) -> Option<Act> {
        if self.phase != Phase::Holds || self.on_lost == OnLost::None {
            return None;
        }
        if self.on_lost == OnLost::Kill {
            self.phase = Phase::Killed;
            return Some(Act::Kill);
        }
        self.phase = Phase::Asked((now + self.grace).min(self.held_until));
        Some(Act::Ask)
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Option<Time> {
        match self.phase {
            Phase::Holds if self.on_lost == OnLost::None => None,
            Phase::Holds => Some(self.ask_at()),
            Phase::Asked(until) => Some(until),
            Phase::Killed => None,
        }
    }

    /// Time has passed.
    pub(crate) fn look(&mut self, now: Time) -> Option<Act> {
        match self.phase {
            Phase::Holds if now >= self.ask_at() => self.begin(now),
            Phase::Asked(until) if now >= until => {
                self.phase = Phase::Killed;
                Some(Act::Kill)
            }
            _ => None,
        }
    }

    fn ask_at(&self) -> Time {
        let early = match self.on_lost {
            OnLost::Kill => Duration::ZERO,
            _ => self.grace.min(self.longest / EARLY),
        };
        Time(self.held_until.0.saturating_sub(u64::try_from(early.as_nanos()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(tenths: u64) -> Time {
        Time(tenths * SECOND / 10)
    }

    /// Held from 10 s until 18 s.
    fn ending(on_lost: OnLost, grace: Duration) -> Ending {
        Ending::new(on_lost, grace, at(180), at(100))
    }

    #[test]
    fn a_command_that_keeps_its_lock_is_left_alone() {
        let mut ending = ending(OnLost::Term, Duration::from_secs(1));
        assert_eq!(ending.next(), Some(at(170)));
        ending.renewed(at(200), at(120));
        assert_eq!((ending.look(at(170)), ending.next()), (None, Some(at(190))));
        // News that come late take nothing back.
        ending.renewed(at(190), at(130));
        assert_eq!(ending.next(), Some(at(190)));
    }

    #[test]
    fn without_renewals_it_is_asked_in_time_and_killed_at_the_deadline() {
        let mut ending = ending(OnLost::Term, Duration::from_secs(1));
        assert_eq!(ending.look(at(170)), Some(Act::Ask));
        assert_eq!((ending.look(at(175)), ending.next()), (None, Some(at(180))));
        assert_eq!(ending.look(at(180)), Some(Act::Kill));
        assert_eq!((ending.look(at(181)), ending.next()), (None, None));
    }

    #[test]
    fn a_long_grace_does_not_end_a_command_after_a_short_outage() {
        let mut ending = ending(OnLost::Term, Duration::from_secs(60));
        assert_eq!(ending.next(), Some(at(160)), "a quarter of eight seconds before");
        assert_eq!(ending.look(at(160)), Some(Act::Ask));
        assert_eq!(ending.next(), Some(at(180)));
    }

    #[test]
    fn a_revoked_lock_leaves_the_grace_but_never_more_than_is_left() {
        let mut short = ending(OnLost::Term, Duration::from_secs(1));
        assert_eq!((short.begin(at(110)), short.next()), (Some(Act::Ask), Some(at(120))));
        assert_eq!(short.begin(at(111)), None, "once");
        let mut long = ending(OnLost::Term, Duration::from_secs(60));
        assert_eq!((long.begin(at(110)), long.next()), (Some(Act::Ask), Some(at(180))));
        // Renewed after it was asked to end: it ends all the same.
        long.renewed(at(210), at(130));
        assert_eq!(long.look(at(180)), Some(Act::Kill));
    }

    #[test]
    fn without_grace_it_is_killed_at_once_and_with_none_never() {
        let mut kill = ending(OnLost::Kill, Duration::from_secs(60));
        assert_eq!((kill.next(), kill.look(at(180))), (Some(at(180)), Some(Act::Kill)));
        let mut revoked = ending(OnLost::Kill, Duration::from_secs(60));
        assert_eq!(revoked.begin(at(110)), Some(Act::Kill));
        let mut none = ending(OnLost::None, Duration::from_secs(60));
        assert_eq!((none.next(), none.look(at(900)), none.begin(at(900))), (None, None, None));
    }
}
