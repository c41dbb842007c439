//! A node's own lease: which renewals were confirmed, until when the node may grant anything, and when its clients in this process
//! have to be warned. What a node does about it is the core's business.

use std::collections::VecDeque;
use std::time::Duration;

use crate::defect::Defect;
use crate::time::Time;

/// The most renewals without an answer that are remembered. Older ones will not be answered in time anyway.
const MOST_UNANSWERED: usize = 64;

/// How many times a lease is renewed while it lasts.
const RENEWALS: u32 = 6;

/// Clients in this process are warned this long before the lease ends, or a twentieth of what is left if that
/// is longer.
const LEAST_MARGIN: Duration = Duration::from_millis(100);

/// A node's lease, in one incarnation.
///
/// A node whose lease has lapsed grants nothing and answers no keep-alives, but keeps its tokens and its view: with the next
/// confirmation it goes on. The lease only gets longer. For each confirmation there is at most one warning and then at most one
/// lapse, and the warning comes first: `warns_at <= until`.
#[derive(Clone, Debug)]
pub struct Lease {
    incarnation: u64,
    defect: Option<Defect>,
    until: Time,
    /// Clients in this process are warned at this time, unless the lease is renewed.
    warns_at: Time,
    warned: bool,
    lapsed: bool,
    /// How long it was last said to last.
    lasts: Option<Duration>,
    /// The number of the last renewal.
    last: u64,
    /// When each renewal without an answer was sent.
    sent: VecDeque<(u64, Time)>,
}

impl Lease {
    /// A node that has just started, and may grant nothing yet.
    pub fn new(incarnation: u64) -> Lease {
        Lease {
            incarnation,
            defect: None,
            until: Time(0),
            warns_at: Time(0),
            warned: true,
            lapsed: true,
            lasts: None,
            last: 0,
            sent: VecDeque::new(),
        }
    }

    /// For members that are assumed alive.
    pub(crate) fn for_ever() -> Lease {
        let end = Time(u64::MAX);
        Lease { until: end, warns_at: end, warned: false, lapsed: false, ..Lease::new(0) }
    }

    /// The same with a rule left out, to see that it is needed.
    #[must_use]
    pub fn with_defect(self, defect: Option<Defect>) -> Lease {
        Lease { defect, ..self }
    }

    /// The number for a renewal. The clock is read before it is sent.
    pub fn renew(&mut self, now: Time) -> u64 {
        self.last += 1;
        self.sent.push_back((self.last, now));
        if self.sent.len() > MOST_UNANSWERED {
            self.sent.pop_front();
        }
        self.last
    }

    /// A renewal was confirmed: the lease lasts this long from when it was sent, and never ends earlier than
    /// before. An answer to another incarnation, or to a renewal that was never sent, is ignored. Returns
    /// whether the lease ends later than before.
    pub fn confirmed(&mut self, now: Time, incarnation: u64, sequence: u64, lasts: Duration) -> bool {
        let sent = self.sent.iter().find(|(number, _)| *number == sequence);
        let Some(&(_, sent)) = sent.filter(|_| incarnation == self.incarnation) else { return false };
        let from = if self.defect == Some(Defect::CountedFromReceipt) { now } else { sent };
        self.lasts = Some(lasts);
        self.sent.retain(|(number, _)| *number > sequence);
        self.extend(from + lasts, now)
    }

    /// Makes it longer; false if this time is no later than the end was, or has passed.
    fn extend(&mut self, until: Time, now: Time) -> bool {
        if until <= self.until || until <= now {
            return false;
        }
        let margin = LEAST_MARGIN.max((until - now) / 20);
        self.warns_at = Time(until.0.saturating_sub(margin.as_nanos() as u64)).max(now);
        (self.until, self.warned, self.lapsed) = (until, false, false);
        true
    }

    /// How often to renew it, if leases are committed to last this long: several times while it lasts, so
    /// that some renewals may be lost. Before leases become shorter, less is promised than is committed.
    pub fn renewed_every(&self, agreed: Duration) -> Duration {
        self.lasts.map_or(agreed, |lasts| lasts.min(agreed)) / RENEWALS
    }

    /// Until when it lasts, on this node's clock.
    pub fn until(&self) -> Time {
        self.until
    }

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
        [self.warns_at, self.until]
    }

    /// Returns once, when the time has come, by when clients in this process must stop.
    pub(crate) fn take_warning(&mut self, now: Time) -> Option<Time> {
        let warns = now >= self.warns_at && !self.warned;
        self.warned |= warns;
        warns.then_some(self.until)
    }

    /// Returns once that the lease has run out.
    pub(crate) fn take_lapse(&mut self, now: Time) -> bool {
        let lapses = now >= self.until && !self.lapsed;
        self.lapsed |= lapses;
        lapses
    }

    /// It is another incarnation's from now on. No rule allows that.
    pub(crate) fn belong_to(&mut self, incarnation: u64) {
        self.incarnation = incarnation;
    }

    /// What decides about what follows, whatever the renewals are numbered.
    pub(crate) fn state(&self) -> (Time, Time, bool, bool) {
        (self.until, self.warns_at, self.warned, self.lapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A lease until this time.
    fn until(seconds: u64) -> Lease {
        let mut lease = Lease::new(1);
        assert!(lease.extend(Time(seconds * SECOND), Time(0)));
        lease
    }

    #[test]
    fn a_lease_warns_once_and_lapses_once() {
        let mut lease = until(10);
        assert_eq!(lease.moments(), [Time(9_500_000_000), Time(10 * SECOND)]);
        assert_eq!(lease.take_warning(Time(9 * SECOND)), None);
        assert_eq!(lease.take_warning(Time(9_500_000_000)), Some(Time(10 * SECOND)));
        assert_eq!(lease.take_warning(Time(9_900_000_000)), None);
        assert!(lease.covers(Time(10 * SECOND - 1)) && !lease.covers(Time(10 * SECOND)));
        assert!(lease.take_lapse(Time(10 * SECOND)) && !lease.take_lapse(Time(11 * SECOND)));
    }

    #[test]
    fn a_lease_never_gets_shorter() {
        assert!(!Lease::new(1).extend(Time(5), Time(5)), "it is over already");
        let mut lease = until(10);
        assert!(!lease.extend(Time(9 * SECOND), Time(0)));
        assert_eq!(lease.left(Time(0)), Duration::from_secs(10));
    }
}
