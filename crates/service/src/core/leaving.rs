//! Leaving the cluster: the node grants nothing more. When all promises to clients have certainly run out,
//! the node says goodbye, and the next view is without it.
//!
//! Tokens that other nodes wait for go to them as soon as they are free, as always. A token that lies here
//! idle is nowhere in the next view, and its home mints it.

use super::state::BulkOperation;
use super::{Core, Effects};
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::session::{Session, SessionId};
use crate::time::Time;

impl Core {
    /// This node is to leave: it refuses all waiters and new requests. Sessions that hold something are kept alive
    /// until this time, and expire after it; all others end now. Clients in this process are told now, and have until
    /// then to stop.
    pub fn leave(&mut self, until: Time, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        self.admission.leave(until);
        let waiting = self.requests.waiting();
        // Sessions that only wait are idle when all waiters are refused; whether they are is looked at then.
        let sessions = if waiting.len() > self.slice() { self.sessions.numbers() } else { Vec::new() };
        self.refuse_waiters(waiting, Refusal::Leaving, now, out);
        let sessions = if sessions.is_empty() { self.sessions.idle() } else { sessions };
        self.begin_after_all(BulkOperation::EndIdle { sessions: sessions.into() }, now, out);
        self.end_local_sessions(until, out);
    }

    /// Whether this node is to leave, and all promises to its clients have certainly run out. From then on
    /// the node makes no promise.
    pub fn may_say_goodbye(&mut self, now: Time) -> bool {
        if self.admission.leaves().is_none() {
            return false;
        }
        let finished = !self.sessions.may_hold(now) || self.has_defect(Defect::LeavesWhileBusy);
        if finished {
            self.admission.leave(now);
        }
        finished
    }

    /// Whether this node still promises anything to this session.
    pub(super) fn keeps_alive(&self, id: SessionId, now: Time) -> bool {
        self.admission.keeps_alive(now, || self.sessions.get(id.number).is_some_and(Session::is_in_use))
    }
}
