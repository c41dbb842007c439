//! This node's own lease: it promises nothing beyond it, and grants nothing after it.
//!
//! When it has run out, the cluster may go on without this node. Clients far away know by themselves, because no promise was
//! longer. Clients in this process are told a little before, so that they can stop. Tokens stay, and when the lease is
//! renewed the node goes on; when it was left out of a view meanwhile, it starts anew.

use super::*;

/// Clients in this process are told so long before the lease ends, or a twentieth of what is left if that is longer.
const LEAST_MARGIN: Duration = Duration::from_millis(100);

/// How long this node may promise anything.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    /// Until then.
    pub(super) until: Time,
    /// Clients in this process are told at this time, unless it is renewed.
    told_at: Time,
    told: bool,
    /// It has run out, and everybody who waited was sent away.
    lapsed: bool,
}

impl Lease {
    /// For members that are assumed alive.
    pub(super) const FOR_EVER: Lease =
        Lease { until: Time(u64::MAX), told_at: Time(u64::MAX), told: false, lapsed: false };

    /// One that has not begun.
    pub(super) const NONE: Lease = Lease { until: Time(0), told_at: Time(0), told: true, lapsed: true };
}

impl Core {
    /// How long this node may promise anything.
    pub(super) fn lease_left(&self, now: Time) -> Duration {
        self.lease.until - now
    }

    /// Whether this node may grant anything now.
    pub fn is_leased(&self, now: Time) -> bool {
        now < self.lease.until
    }

    /// The lease was renewed until this time on this node's clock: counted from when the renewal was sent.
    pub fn renewed(&mut self, until: Time, now: Time, out: &mut Out) {
        self.mind_lease(now, out);
        if until <= self.lease.until || until <= now {
            return;
        }
        self.due.remove(&(self.lease.told_at, Due::Lease));
        self.due.remove(&(self.lease.until, Due::Lease));
        let margin = LEAST_MARGIN.max((until - now) / 20);
        let told_at = Time(until.0.saturating_sub(margin.as_nanos() as u64)).max(now);
        self.lease = Lease { until, told_at, told: false, lapsed: false };
        self.due.insert((told_at, Due::Lease));
        self.due.insert((until, Due::Lease));
    }

    /// Looks at the clock before anything is decided: timers may come late.
    pub(super) fn mind_lease(&mut self, now: Time, out: &mut Out) {
        if now >= self.lease.told_at && !self.lease.told {
            self.lease.told = true;
            self.tell_those_in_this_process(self.lease.until, out);
        }
        if now >= self.lease.until && !self.lease.lapsed {
            self.lease.lapsed = true;
            self.lapse(now, out);
        }
    }

    /// Sessions of this process are over; what they hold is free when this time has come.
    pub(super) fn tell_those_in_this_process(&mut self, until: Time, out: &mut Out) {
        let ids: Vec<u64> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.is_near())
            .map(|(number, _)| *number)
            .collect();
        for number in ids {
            if let Some(session) = self.sessions.get_mut(&number) {
                session.ends_at(until);
            }
            self.due.insert((until, Due::Session(number)));
            out.ended.push(self.session_id(number));
        }
    }

    /// Nobody who waits is let in any more.
    fn lapse(&mut self, now: Time, out: &mut Out) {
        let waiting = self.requests.iter().filter(|(_, request)| request.granted.is_none());
        let waiting: Vec<u32> = waiting.map(|(client, _)| client).collect();
        for client in waiting {
            self.send_away(client, Refusal::NoLease, now, out);
        }
        if self.omits(Defect::FreedAtLapse) {
            let numbers: Vec<u64> = self.sessions.keys().copied().collect();
            numbers.into_iter().for_each(|number| self.end_session(number, true, now, out));
        }
    }
}
