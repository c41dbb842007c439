//! Sessions: open, keep alive, close.

use std::sync::Arc;
use std::time::Duration;

use super::state::{AccountId, BulkOperation, Counted, Due, Request, SessionEnd};
use super::{Core, Effects, Reply, RequestOutcome};
use crate::event::Event;
use crate::label::Label;
use crate::limits::LONG_TTL;
use crate::refusal::Refusal;
use crate::session::{LONGEST_TTL, Promise, SHORTEST_TTL, Session, SessionId};
use crate::session_key::{SessionHandle, SessionKey};
use crate::time::Time;

/// Whether a session outlives its client for long.
fn is_long(ttl: Option<Duration>) -> bool {
    ttl.is_some_and(|ttl| ttl > LONG_TTL)
}

/// What a client says when it opens a session, and what the node knows of it.
#[derive(Clone, Debug, Default)]
pub struct Opening<'a> {
    /// The client's address; `None` for clients in this process.
    pub host: Option<&'a str>,
    /// How long the session lives without a keep-alive; clients in this process have none.
    pub ttl: Option<Duration>,
    /// Who the client is, as it says itself.
    pub label: Option<Label>,
    /// What the client has to show with everything it says about the session.
    pub key: Option<SessionKey>,
    /// The principal whose quotas count, if rights are on.
    pub principal: Option<Arc<str>>,
}

impl Core {
    /// Opens a session. Clients in this process have no ttl.
    pub fn open(&mut self, ttl: Option<Duration>, now: Time) -> Result<(SessionId, Promise), Refusal> {
        self.open_for(Opening { ttl, ..Opening::default() }, now)
    }

    /// Opens a session for a client at an address. What it makes the node keep is bounded together with all others of that
    /// address.
    pub fn open_for(&mut self, opening: Opening<'_>, now: Time) -> Result<(SessionId, Promise), Refusal> {
        let Opening { host, ttl, label, key, principal } = opening;
        label.as_ref().map_or(Ok(()), Label::validate)?;
        if !self.is_leased(now) {
            return Err(Refusal::NoLease);
        }
        self.admission.of_session()?;
        if ttl.is_some_and(|ttl| !(SHORTEST_TTL..=LONGEST_TTL).contains(&ttl)) {
            return Err(Refusal::TimeToLive);
        }
        self.usage.allows_session(principal.as_ref())?;
        let account = self.account_of_session(host, ttl)?;
        self.usage.count_session(principal.as_ref(), true);
        let session = Session::new(ttl).counted_in(account).labelled(label);
        let mut session = session.of_principal(principal).locked_by(key);
        let promise = session.promise(0, now, self.lease.left(now), self.config.defect);
        let ends = session.ends();
        let number = self.sessions.open(session);
        if let Some(ends) = ends {
            self.deadlines.plan(ends, Due::Session(number));
        }
        Ok((self.sessions.id(number), promise))
    }

    /// Counts a session that is about to be opened, and returns the account that it counts in.
    fn account_of_session(
        &mut self,
        host: Option<&str>,
        ttl: Option<Duration>,
    ) -> Result<Option<AccountId>, Refusal> {
        let account = host.map(|host| self.accounts.of(host));
        let mut counted = self.accounts.keep(account, Counted::Sessions, 1);
        if counted.is_ok() && is_long(ttl) {
            counted = self.accounts.keep(account, Counted::LongSessions, 1);
            if counted.is_err() {
                self.accounts.give_back(account, Counted::Sessions, 1);
            }
        }
        account.into_iter().for_each(|account| self.accounts.close_if_empty(account));
        counted.map(|()| account)
    }

    /// A keep-alive of a client, which has heard the answers to all requests up to `settled`. The client has
    /// to hear of revocations before it hears the promise: what is in `out` goes first.
    pub fn keep_alive(
        &mut self,
        id: SessionId,
        sequence: u64,
        settled: u64,
        now: Time,
        out: &mut Effects,
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
        let (account, dropped) = (session.account, session.drop_refusals(settled));
        for &request in session.revoked() {
            out.replies.push(Reply { session: id, request, outcome: RequestOutcome::Revoked });
        }
        let promise = session.promise(sequence, now, lease_left, defect);
        if dropped > 0 {
            self.accounts.give_back(account, Counted::Refusals, dropped as u64);
        }
        Ok(promise)
    }

    /// A client ends its session, with everything in it.
    pub fn close(&mut self, id: SessionId, now: Time, out: &mut Effects) -> Result<(), Refusal> {
        self.check_lease(now, out);
        self.sessions.find(id)?;
        self.end_session(id.number, SessionEnd::Closed, now, out);
        Ok(())
    }

    /// Whether a session is open here, and the key is not its own. Nothing else tells a client that there is such a session.
    pub fn is_of_another(&self, handle: &SessionHandle) -> bool {
        let session = if self.knows(handle.id) { self.sessions.get(handle.id.number) } else { None };
        session.is_some_and(|session| !session.is_opened_by(&handle.key))
    }

    /// Counts a frame about a session with a key that is not its own.
    pub fn count_wrong_key(&mut self) {
        self.counts.wrong_keys += 1;
    }

    /// Whether a session is open here.
    pub fn knows(&self, id: SessionId) -> bool {
        self.sessions.contains(id)
    }

    pub(super) fn session_due(&mut self, number: u64, now: Time, out: &mut Effects) {
        let Some(ends) = self.sessions.get(number).and_then(Session::ends) else { return };
        if ends > now {
            // There was a keep-alive since this was planned.
            self.deadlines.plan(ends, Due::Session(number));
            return;
        }
        self.counts.sessions_ended += 1;
        self.end_session(number, SessionEnd::Expired, now, out);
    }

    pub(super) fn end_session(&mut self, number: u64, end: SessionEnd, now: Time, out: &mut Effects) {
        let Some(session) = self.sessions.remove(number) else { return };
        out.ended.push(self.sessions.id(number));
        self.accounts.give_back(session.account, Counted::Refusals, session.refusals() as u64);
        if is_long(session.ttl) {
            self.accounts.give_back(session.account, Counted::LongSessions, 1);
        }
        self.accounts.give_back(session.account, Counted::Sessions, 1);
        self.usage.count_session(session.principal(), false);
        let mut clients: Vec<u32> = session.clients().collect();
        if clients.len() > self.slice() {
            // What it holds goes first: others wait for that.
            clients.sort_by_key(|client| self.requests.get(*client).is_none_or(Request::waits));
        }
        self.begin(BulkOperation::EndRequests { session: number, end, clients: clients.into() }, now, out);
    }

    /// Tells watchers that a session has ended, with everything in it.
    pub(super) fn emit_session_end(&self, number: u64, end: SessionEnd, out: &mut Effects) {
        if let Some(events) = &mut out.events {
            let (session, ran_out) = (self.sessions.id(number), end == SessionEnd::Expired);
            let label = self.sessions.label(number).map(Box::new);
            events.push(Event::SessionEnded { session, ran_out, label });
        }
    }
}
