//! Sessions: how long a client holds a grant.
//!
//! A grant has no deadline of its own; it lives as long as its session. The client notes when it sent a
//! keep-alive and counts the promise from there, so its deadline never comes later than the node's: the node
//! grants the slot to another client only when the promised time has certainly passed on the client's clock
//! since the last answer. A broken connection ends nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::AccountId;
use crate::defect::Defect;
use crate::label::Label;
use crate::refusal::Refusal;
use crate::session_key::SessionKey;
use crate::time::{Time, certainly};

/// The shortest time to live that a session can have: what is shorter would be lost to a short pause.
pub const SHORTEST_TTL: Duration = Duration::from_millis(500);
/// The longest ttl: what a dead client holds is kept from others for this long.
pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);

/// A client in this process has this long to stop after a revocation.
const TIME_TO_STOP: Duration = Duration::from_secs(1);

/// A session, for ever: nodes never use a number again, and an incarnation is new at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId {
    /// The node that keeps the session.
    pub node: u32,
    /// The incarnation of that node.
    pub incarnation: u64,
    /// The number of the session at that node.
    pub number: u64,
}

impl SessionId {
    /// The same, with a number that no session ever has.
    #[must_use]
    pub(crate) fn of_no_session(self) -> SessionId {
        // Numbers are counted from 1.
        SessionId { number: 0, ..self }
    }
}

/// What a node knows of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// What it makes the node keep counts there; `None` for clients in this process.
    pub(crate) account: Option<AccountId>,
    /// How long it lives without a keep-alive; `None` for clients in this process, which end with it.
    pub ttl: Option<Duration>,
    /// Who its client is, as it says itself.
    label: Option<Box<Label>>,
    /// The principal that opened it, if rights were on then.
    principal: Option<Arc<str>>,
    /// What its client has to show; `None` for clients in this process, which use no connection.
    key: Option<SessionKey>,
    /// Until then the client may hold its grants, whatever its clock.
    promised_until: Time,
    /// Until then what it holds is kept for it, even if less could be promised.
    kept_until: Time,
    /// It ends then, for a client in this process that was told.
    over_at: Option<Time>,
    /// Revoked grants that the client has not released yet: it may not have heard.
    revoked: Vec<u64>,
    /// What it holds and waits for: the client's number for each, upwards, with the node's. A plain list, so that a
    /// client that takes and leaves one thing after another costs no memory.
    requests: Vec<(u64, u32)>,
    /// The highest request number it has used.
    pub highest_request: u64,
    /// Refusals that the client may not have heard, because its connection may be broken: it will ask again.
    refused: VecDeque<(u64, Refusal)>,
}

/// This many refusals are kept at most. A client with more open requests may have to send some again.
const MOST_REFUSED: usize = 1024;

/// The answer to a keep-alive: the client holds its grants for this long, counted from when it sent the
/// keep-alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The number of the keep-alive that is answered.
    pub sequence: u64,
    /// How long the client holds its grants, in nanoseconds.
    pub lasts: u64,
    /// What the session holds is kept for this long, in nanoseconds, as long as its node is not lost: longer
    /// than can be promised, because a node has a lease itself.
    pub kept: u64,
}

impl Session {
    /// A session that begins with its first promise.
    pub fn new(ttl: Option<Duration>) -> Session {
        Session {
            account: None,
            ttl,
            label: None,
            principal: None,
            key: None,
            promised_until: Time(0),
            kept_until: Time(0),
            over_at: None,
            revoked: Vec::new(),
            requests: Vec::new(),
            highest_request: 0,
            refused: VecDeque::new(),
        }
    }

    /// The same, but it counts in this account.
    pub(crate) fn counted_in(self, account: Option<AccountId>) -> Session {
        Session { account, ..self }
    }

    /// The same, of a client that says who it is.
    pub(crate) fn labelled(self, label: Option<Label>) -> Session {
        Session { label: label.map(Box::new), ..self }
    }

    /// The same, of this principal.
    pub(crate) fn of_principal(self, principal: Option<Arc<str>>) -> Session {
        Session { principal, ..self }
    }

    /// The principal that opened it, if rights were on then.
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        self.principal.as_ref()
    }

    /// The same, and its client has to show this key.
    pub(crate) fn locked_by(self, key: Option<SessionKey>) -> Session {
        Session { key, ..self }
    }

    /// Whether a client that shows this key is its own. No client far away has a session of this process.
    pub(crate) fn is_opened_by(&self, key: &SessionKey) -> bool {
        self.key.as_ref().is_some_and(|own| own == key)
    }

    /// Who its client is.
    pub(crate) fn label(&self) -> Option<Label> {
        self.label.as_deref().cloned()
    }

    /// How long it lives without another keep-alive; `None` for clients in this process.
    pub(crate) fn left(&self, now: Time) -> Option<Duration> {
        self.ends().map(|ends| ends - now)
    }

    /// Takes note of a request; its number is higher than all before.
    pub(crate) fn add_request(&mut self, request: u64, client: u32) {
        self.requests.push((request, client));
    }

    /// The node's number for a request that waits or holds.
    pub(crate) fn client(&self, request: u64) -> Option<u32> {
        let index = self.requests.binary_search_by_key(&request, |(number, _)| *number).ok()?;
        Some(self.requests[index].1)
    }

    /// A request neither waits nor holds any more.
    pub(crate) fn remove_request(&mut self, request: u64) {
        if let Ok(index) = self.requests.binary_search_by_key(&request, |(number, _)| *number) {
            self.requests.remove(index);
        }
    }

    /// Revokes the grant of a request. Returns until when the client may hold it: every later promise comes
    /// after the news.
    pub(crate) fn revoke(&mut self, request: u64, now: Time) -> Time {
        if !self.revoked.contains(&request) {
            self.revoked.push(request);
        }
        match self.ttl {
            Some(_) => self.promised_until,
            // It hears of it at once, and has a moment to stop.
            None => self.over_at.unwrap_or(now + TIME_TO_STOP),
        }
    }

    /// Revoked grants that are not released yet.
    pub(crate) fn revoked(&self) -> &[u64] {
        &self.revoked
    }

    /// The client has released or cancelled what was revoked.
    pub(crate) fn forget_revoked(&mut self, request: u64) {
        self.revoked.retain(|revoked| *revoked != request);
    }

    /// Whether it keeps so many refusals that the next one replaces the oldest.
    pub(crate) fn is_full_of_refusals(&self) -> bool {
        self.refused.len() == MOST_REFUSED
    }

    /// How many refusals it keeps.
    pub(crate) fn refusals(&self) -> usize {
        self.refused.len()
    }

    /// Keeps the refusal of a request, until the client has certainly heard it.
    pub(crate) fn keep_refusal(&mut self, request: u64, refusal: Refusal) {
        if self.is_full_of_refusals() {
            self.refused.pop_front();
        }
        self.refused.push_back((request, refusal));
    }

    /// Why a request was refused, if the client may not have heard it.
    pub(crate) fn refusal(&self, request: u64) -> Option<&Refusal> {
        self.refused.iter().find(|(refused, _)| *refused == request).map(|(_, refusal)| refusal)
    }

    /// The client has heard the answers to all requests up to this one. Returns how many refusals are not kept any more.
    pub(crate) fn drop_refusals(&mut self, request: u64) -> usize {
        let before = self.refused.len();
        self.refused.retain(|(refused, _)| *refused > request);
        before - self.refused.len()
    }

    /// How many of its requests wait or hold.
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// The node's numbers for everything that waits or holds.
    pub(crate) fn clients(&self) -> impl Iterator<Item = u32> {
        self.requests.iter().map(|(_, client)| *client)
    }

    /// Whether it holds or waits for anything.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Whether it is of a client in this process.
    pub(crate) fn is_local(&self) -> bool {
        self.ttl.is_none()
    }

    /// The session ends at this time, in any case.
    pub(crate) fn end_at(&mut self, time: Time) {
        self.over_at = Some(time);
    }

    /// Answers a keep-alive. `lease_left` is how long the node itself may promise anything.
    pub fn promise(
        &mut self,
        sequence: u64,
        now: Time,
        lease_left: Duration,
        defect: Option<Defect>,
    ) -> Promise {
        let lasts = match (self.ttl, defect) {
            (Some(ttl), Some(Defect::BeyondLease)) => ttl,
            (ttl, _) => ttl.unwrap_or(lease_left).min(lease_left),
        };
        let certainly = |time| if defect == Some(Defect::NoMargin) { time } else { certainly(time) };
        self.promised_until = self.promised_until.max(now + certainly(lasts));
        self.kept_until = self.kept_until.max(now + certainly(self.ttl.unwrap_or(lasts)));
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Promise { sequence, lasts: nanos(lasts), kept: nanos(self.ttl.unwrap_or(lasts)) }
    }

    /// When it ends, if no further keep-alive comes: not before the last promise has certainly run out.
    pub fn ends(&self) -> Option<Time> {
        self.over_at.or(self.ttl.map(|_| self.kept_until))
    }

    /// Whether all promises to the client have certainly run out.
    pub(crate) fn is_over_for_client(&self, now: Time) -> bool {
        self.over_at.unwrap_or(self.promised_until) <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_promise_never_exceeds_the_nodes_own_lease() {
        let mut session = Session::new(Some(10 * SECOND));
        let promise = session.promise(1, Time(0), 2 * SECOND, None);
        assert_eq!(promise, Promise { sequence: 1, lasts: 2_000_000_000, kept: 10_000_000_000 });
        assert!(session.ends().unwrap() >= Time(0) + 10 * SECOND * 11 / 9, "it is kept longer than promised");
    }

    #[test]
    fn clients_inside_the_process_do_not_end_before_it() {
        let mut session = Session::new(None);
        session.promise(1, Time(0), SECOND, None);
        assert_eq!(session.ends(), None);
    }
}
