//! Time as the driver tells it: nanoseconds of a clock that also counts time asleep, from any beginning.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment on the node's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Add<Duration> for Time {
    type Output = Time;

    /// The moment that much later; the end of time if that is beyond it.
    fn add(self, after: Duration) -> Time {
        let nanos = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;

    /// How long after; nothing if it is before.
    fn sub(self, before: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(before.0))
    }
}

/// The most that one clock may run faster than another, in percent of either.
pub const DRIFT_PERCENT: u32 = 10;

/// How long to wait on this clock until so much time has certainly passed on any other.
pub fn certainly(passed: Duration) -> Duration {
    passed.saturating_mul(100 + DRIFT_PERCENT) / (100 - DRIFT_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_waits_long_enough_for_a_fast_one() {
        let wait = certainly(Duration::from_secs(9));
        assert_eq!(wait, Duration::from_secs(11));
        // The slowest clock allowed shows 11 s after 11 / 1.1 = 10 s; the fastest has then seen 9 s and more.
        assert!(wait.as_secs_f64() / 1.1 * 0.9 >= 9.0 - 1e-9);
    }

    #[test]
    fn moments_do_not_wrap() {
        assert_eq!(Time(u64::MAX) + Duration::from_secs(1), Time(u64::MAX));
        assert_eq!(Time(1) - Time(2), Duration::ZERO);
    }
}
