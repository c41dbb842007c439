//! This node's own lease.

use std::time::Duration;

use crate::time::Time;

/// Clients in this process are warned so long before the lease ends, or a twentieth of what is left if that is longer.
const LEAST_MARGIN: Duration = Duration::from_millis(100);

/// How long this node may promise anything.
///
/// The lease only gets longer. For each renewal there is at most one warning and then at most one lapse, and the
/// warning comes first: `told_at <= until`.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    until: Time,
    /// Clients in this process are warned at this time, unless the lease is renewed.
    told_at: Time,
    told: bool,
    lapsed: bool,
}

impl Lease {
    /// For members that are assumed alive.
    pub(crate) const FOR_EVER: Lease =
        Lease { until: Time(u64::MAX), told_at: Time(u64::MAX), told: false, lapsed: false };

    /// One that has not begun.
    pub(crate) const NONE: Lease = Lease { until: Time(0), told_at: Time(0), told: true, lapsed: true };

    /// Whether this node may grant anything now.
    pub(crate) fn covers(&self, now: Time) -> bool {
        now < self.until
    }

    /// How long this node may promise anything.
    pub(crate) fn left(&self, now: Time) -> Duration {
        self.until - now
    }

    /// The times at which to look at it: of the warning and of the end.
    pub(crate) fn moments(&self) -> [Time; 2] {
        [self.told_at, self.until]
    }

    /// Makes it longer; false if this time is no later than the end was, or has passed.
    pub(crate) fn renew(&mut self, until: Time, now: Time) -> bool {
        if until <= self.until || until <= now {
            return false;
        }
        let margin = LEAST_MARGIN.max((until - now) / 20);
        let told_at = Time(until.0.saturating_sub(margin.as_nanos() as u64)).max(now);
        *self = Lease { until, told_at, told: false, lapsed: false };
        true
    }

    /// Says once, when the time has come, that clients in this process must stop, and by when.
    pub(crate) fn take_warning(&mut self, now: Time) -> Option<Time> {
        let warns = now >= self.told_at && !self.told;
        self.told |= warns;
        warns.then_some(self.until)
    }

    /// Says once that the lease has run out.
    pub(crate) fn take_lapse(&mut self, now: Time) -> bool {
        let lapses = now >= self.until && !self.lapsed;
        self.lapsed |= lapses;
        lapses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_lease_warns_once_and_lapses_once() {
        let mut lease = Lease::NONE;
        assert!(lease.renew(Time(10 * SECOND), Time(0)));
        assert_eq!(lease.moments(), [Time(9_500_000_000), Time(10 * SECOND)]);
        assert_eq!(lease.take_warning(Time(9 * SECOND)), None);
        assert_eq!(lease.take_warning(Time(9_500_000_000)), Some(Time(10 * SECOND)));
        assert_eq!(lease.take_warning(Time(9_900_000_000)), None);
        assert!(lease.covers(Time(10 * SECOND - 1)) && !lease.covers(Time(10 * SECOND)));
        assert!(lease.take_lapse(Time(10 * SECOND)) && !lease.take_lapse(Time(11 * SECOND)));
    }

    #[test]
    fn a_lease_never_gets_shorter() {
        let mut lease = Lease::NONE;
        assert!(!lease.renew(Time(5), Time(5)), "it is over already");
        assert!(lease.renew(Time(10 * SECOND), Time(0)));
        assert!(!lease.renew(Time(9 * SECOND), Time(0)));
        assert_eq!(lease.left(Time(0)), Duration::from_secs(10));
    }
}
