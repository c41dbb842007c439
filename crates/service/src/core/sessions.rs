//! Sessions: open, keep alive, close.

use std::time::Duration;

use super::state::Due;
use super::{Answer, Core, Out, Reply};
use crate::event::Event;
use crate::refusal::Refusal;
use crate::session::{LONGEST_LIFE, Promise, SHORTEST_LIFE, Session, SessionId};
use crate::time::Time;

impl Core {
    /// Opens a session. Clients inside this process have no time to live.
    pub fn open(&mut self, ttl: Option<Duration>, now: Time) -> Result<(SessionId, Promise), Refusal> {
        if !self.is_leased(now) {
            return Err(Refusal::NoLease);
        }
        self.admission.of_session()?;
        if ttl.is_some_and(|ttl| !(SHORTEST_LIFE..=LONGEST_LIFE).contains(&ttl)) {
            return Err(Refusal::TimeToLive);
        }
        if self.sessions.len() >= self.config.most_sessions {
            return Err(Refusal::TooManySessions(self.config.most_sessions));
        }
        let mut session = Session::new(ttl);
        let promise = session.promise(0, now, self.lease.left(now), self.config.defect);
        let ends = session.ends();
        let number = self.sessions.open(session);
        if let Some(ends) = ends {
            self.agenda.plan(ends, Due::Session(number));
        }
        Ok((self.sessions.id(number), promise))
    }

    /// A client says that it is there, and that it has heard the answers to all requests up to `settled`. It has to
    /// hear what was revoked before it hears the promise: what is in `out` goes first.
    pub fn keep_alive(
        &mut self,
        id: SessionId,
        sequence: u64,
        settled: u64,
        now: Time,
        out: &mut Out,
    ) -> Result<Promise, Refusal> {
        let lease_left = self.lease.left(now);
        if lease_left.is_zero() {
            return Err(Refusal::NoLease);
        }
        if self.sessions.is_own(id) && !self.keeps_alive(id, now) {
            return Err(Refusal::Leaving);
        }
        let defect = self.config.defect;
        let session = self.sessions.find(id)?;
        session.drop_refusals(settled);
        for &request in session.revoked() {
            out.answers.push(Answer { session: id, request, reply: Reply::Revoked });
        }
        Ok(session.promise(sequence, now, lease_left, defect))
    }

    /// A client ends its session, with everything in it.
    pub fn close(&mut self, id: SessionId, now: Time, out: &mut Out) -> Result<(), Refusal> {
        self.check_lease(now, out);
        self.sessions.find(id)?;
        self.end_session(id.number, false, now, out);
        Ok(())
    }

    /// Whether a session is open here.
    pub fn knows(&self, id: SessionId) -> bool {
        self.sessions.contains(id)
    }

    pub(super) fn session_due(&mut self, number: u64, now: Time, out: &mut Out) {
        let Some(ends) = self.sessions.get(number).and_then(Session::ends) else { return };
        if ends > now {
            // There was a keep-alive since this was planned.
            self.agenda.plan(ends, Due::Session(number));
            return;
        }
        self.counts.sessions_ended += 1;
        self.end_session(number, true, now, out);
    }

    pub(super) fn end_session(&mut self, number: u64, ran_out: bool, now: Time, out: &mut Out) {
        let Some(session) = self.sessions.remove(number) else { return };
        out.ended.push(self.sessions.id(number));
        for client in session.clients() {
            self.emit_end(client, ran_out, &Refusal::NoSuchSession, out);
            self.end_request(client, now, out);
        }
        if let Some(events) = &mut out.events {
            events.push(Event::SessionEnded { session: self.sessions.id(number), ran_out });
        }
    }
}
