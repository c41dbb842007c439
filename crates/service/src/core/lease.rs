//! This node's own lease: it promises nothing beyond it, and grants nothing after it.
//!
//! When the lease has lapsed, the cluster may continue without this node. Remote clients know by themselves,
//! because no promise was longer. Clients in this process are warned a little before, so that they can stop.
//! Tokens stay. When the lease is renewed, the node resumes; when a view has excluded it meanwhile, it starts
//! a new incarnation.

use std::time::Duration;

use super::state::{Due, SessionEnd};
use super::{Core, Effects};
use crate::defect::Defect;
use crate::leases::Lease;
use crate::refusal::Refusal;
use crate::time::Time;

impl Core {
    /// Whether this node may grant anything now.
    pub fn is_leased(&self, now: Time) -> bool {
        self.lease.covers(now)
    }

    /// This node's own lease.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// With [`Defect::ResumesAfterExclusion`]: the lease is another incarnation's from now on.
    pub(crate) fn resume_as(&mut self, incarnation: u64) {
        self.lease.belong_to(incarnation);
    }

    /// The number for a renewal of the lease, which is sent now.
    pub fn renew(&mut self, now: Time) -> u64 {
        self.lease.renew(now)
    }

    /// This renewal of this incarnation was confirmed: the lease lasts this long from when it was sent.
    pub fn renewed(
        &mut self,
        (incarnation, sequence): (u64, u64),
        lasts: Duration,
        now: Time,
        out: &mut Effects,
    ) {
        self.check_lease(now, out);
        let before = self.lease.moments();
        if self.lease.confirmed(now, incarnation, sequence, lasts) {
            before.into_iter().for_each(|at| self.deadlines.cancel(at, Due::Lease));
            self.lease.moments().into_iter().for_each(|at| self.deadlines.plan(at, Due::Lease));
            for client in self.requests.take_asked_again() {
                self.reply_again(client, now, out);
            }
        }
    }

    /// Looks at the clock before the node decides anything: a driver may wake it late.
    pub(super) fn check_lease(&mut self, now: Time, out: &mut Effects) {
        if let Some(until) = self.lease.take_warning(now) {
            self.end_local_sessions(until, out);
        }
        if self.lease.take_lapse(now) {
            self.lapse(now, out);
        }
    }

    /// Ends the sessions of clients in this process. What they hold is free when this time has come.
    pub(super) fn end_local_sessions(&mut self, until: Time, out: &mut Effects) {
        for number in self.sessions.local() {
            if let Some(session) = self.sessions.get_mut(number) {
                session.end_at(until);
            }
            self.deadlines.plan(until, Due::Session(number));
            out.ended.push(self.sessions.id(number));
        }
    }

    /// The lease has lapsed: all waiters are refused.
    fn lapse(&mut self, now: Time, out: &mut Effects) {
        self.refuse_waiters(self.requests.waiting(), Refusal::NoLease, now, out);
        if self.has_defect(Defect::FreedAtLapse) {
            for number in self.sessions.numbers() {
                self.end_session(number, SessionEnd::Expired, now, out);
            }
        }
    }
}
