//! The client's side of a session, pure as the node's: until when it holds its grants, and what it has to
//! send again after a broken connection.
//!
//! **The contract.** One value is one session. The driver sends what the methods return over the connection,
//! in order; passes everything it hears to [`Client::hear`]; calls [`Client::keep_alive`] every
//! [`Client::pace`]; sends what [`Client::connected`] returns first on every new connection to the same node;
//! and at [`Client::deadline`], on the client's own clock, tells all holders that their grants are lost. That
//! is final: what comes later is for a new session.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::core::{Acquire, RequestOutcome};
use crate::defect::Defect;
pub use crate::grant::Grant;
use crate::label::Label;
use crate::protocol::{ToClient, ToNode};
use crate::refusal::Refusal;
use crate::session::{Promise, SHORTEST_TTL, SessionId};
use crate::session_key::SessionHandle;
use crate::time::Time;

/// Holders are told this long before a promise ends, or a twentieth of it if that is longer: telling them
/// takes time.
const LEAST_MARGIN: Duration = Duration::from_millis(100);

/// A session as its client sees it.
#[derive(Clone, Debug)]
pub struct Client {
    defect: Option<Defect>,
    ttl: Duration,
    label: Option<Label>,
    /// How long the last promise lasted.
    promised: Duration,
    session: Option<SessionHandle>,
    /// When each keep-alive that is not answered was sent.
    sent: BTreeMap<u64, Time>,
    sequence: u64,
    deadline: Option<Time>,
    over: bool,
    last_request: u64,
    asked: BTreeMap<u64, Acquire>,
    held: BTreeMap<u64, Grant>,
    /// The fences of revoked grants, until they are released.
    revoked: BTreeMap<u64, u64>,
    /// Releases and cancels that the node may not have heard of, each with the keep-alive that will confirm it.
    unconfirmed: VecDeque<(u64, ToNode)>,
}

/// An effect of a frame on a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The session is open.
    Opened,
    /// The session cannot be opened.
    NotOpened(Refusal),
    /// A request was granted.
    Granted(u64, Grant),
    /// A request was refused.
    Refused(u64, Refusal),
    /// The grant of this request was revoked, and nothing else is lost. Stop the protected work, and release
    /// it.
    Revoked(u64),
    /// The node does not know the session: everything is lost.
    Lost,
}

impl Client {
    /// A session with this ttl.
    pub fn new(ttl: Duration) -> Client {
        Client {
            defect: None,
            ttl,
            label: None,
            promised: SHORTEST_TTL,
            session: None,
            sent: BTreeMap::new(),
            sequence: 0,
            deadline: None,
            over: false,
            last_request: 0,
            asked: BTreeMap::new(),
            held: BTreeMap::new(),
            revoked: BTreeMap::new(),
            unconfirmed: VecDeque::new(),
        }
    }

    /// The same with a rule left out, to see that it is needed.
    #[must_use]
    pub fn with_defect(self, defect: Option<Defect>) -> Client {
        Client { defect, ..self }
    }

    /// The same, and the node is told who it is.
    #[must_use]
    pub fn with_label(self, label: Option<Label>) -> Client {
        Client { label, ..self }
    }

    /// Its id, once it is open.
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|session| session.id)
    }

    /// The ttl: how long the session lives without keep-alives.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// How long to wait between keep-alives: a promise may be shorter than the session, as its node has a lease itself.
    pub fn pace(&self) -> Duration {
        self.promised.min(self.ttl) / 3
    }

    /// When all grants are lost, unless another promise comes; `None` before the first promise.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Whether what it holds it holds now.
    pub fn is_within_promise(&self, now: Time) -> bool {
        !self.over && self.deadline.is_some_and(|deadline| now < deadline)
    }

    /// Whether the deadline has come: then everything is lost, whatever the node says later.
    fn is_late(&self, now: Time) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// The deadline has come, or the client wants nothing more of this session. Returns what to say, if anything.
    pub fn end(&mut self) -> Option<ToNode> {
        self.over = true;
        self.asked.clear();
        self.held.clear();
        self.revoked.clear();
        self.unconfirmed.clear();
        self.session.map(|session| ToNode::Close { session })
    }

    /// Detaches the session: the node keeps its grant until the session has had no keep-alive for its ttl.
    /// `None`, and nothing changes, unless the session holds only by this request, and waits for nothing.
    pub fn detach(&mut self, request: u64) -> Option<(SessionHandle, Grant)> {
        let grant = *self.held.get(&request)?;
        if self.held.len() > 1 || !self.asked.is_empty() {
            return None;
        }
        let session = self.session.take()?;
        self.end();
        Some((session, grant))
    }

    /// There is a connection: what to say first.
    pub fn connected(&mut self, now: Time) -> Vec<ToNode> {
        let Some(session) = self.session else {
            self.sent.insert(0, now);
            return vec![ToNode::Open { ttl: self.ttl, label: self.label.clone() }];
        };
        let mut said: Vec<ToNode> = self.unconfirmed.iter().map(|(_, said)| said.clone()).collect();
        said.extend(self.asked.values().map(|ask| ToNode::Acquire { session, ask: ask.clone() }));
        said.extend(self.keep_alive(now));
        said
    }

    /// A keep-alive.
    pub fn keep_alive(&mut self, now: Time) -> Option<ToNode> {
        let session = self.session.filter(|_| !self.over && !self.is_late(now))?;
        self.sequence += 1;
        self.sent.insert(self.sequence, now);
        let settled = self.asked.keys().next().map_or(self.last_request, |oldest| oldest - 1);
        Some(ToNode::KeepAlive { session, sequence: self.sequence, settled })
    }

    /// Asks for something; the number in `ask` is filled in. Returns that number and what to say.
    pub fn acquire(&mut self, mut ask: Acquire) -> Option<(u64, ToNode)> {
        let session = self.session.filter(|_| !self.over)?;
        self.last_request += 1;
        ask.request = self.last_request;
        self.asked.insert(ask.request, ask.clone());
        Some((ask.request, ToNode::Acquire { session, ask }))
    }

    /// Cancels a request. From now on it does not matter what the node replies.
    pub fn cancel(&mut self, request: u64) -> Option<ToNode> {
        let session = self.session?;
        self.asked.remove(&request)?;
        Some(self.confirm_later(ToNode::Cancel { session, request }))
    }

    /// Releases the grant of a request. Returns the frame to send.
    pub fn release(&mut self, request: u64) -> Option<ToNode> {
        let session = self.session?;
        let held = self.held.remove(&request).map(|grant| grant.fence);
        let fence = held.or_else(|| self.revoked.remove(&request))?;
        Some(self.confirm_later(ToNode::Release { session, request, fence }))
    }

    fn confirm_later(&mut self, said: ToNode) -> ToNode {
        self.unconfirmed.push_back((self.sequence + 1, said.clone()));
        said
    }

    /// What it holds, by request.
    pub fn held(&self) -> &BTreeMap<u64, Grant> {
        &self.held
    }

    /// What it has asked for and not been answered.
    pub fn asked(&self) -> &BTreeMap<u64, Acquire> {
        &self.asked
    }

    /// The node says something.
    pub fn hear(&mut self, heard: &ToClient, now: Time) -> Option<News> {
        if self.over {
            return None;
        }
        if self.is_late(now) {
            self.end();
            return Some(News::Lost);
        }
        match heard {
            ToClient::Opened { session, key, promise } if self.session.is_none() => {
                self.session = Some(SessionHandle { id: *session, key: *key });
                self.promised(*promise, now);
                Some(News::Opened)
            }
            ToClient::NotOpened(refusal) if self.session.is_none() => Some(News::NotOpened(refusal.clone())),
            ToClient::Promise { session, promise } if Some(*session) == self.session() => {
                self.promised(*promise, now);
                None
            }
            ToClient::SessionGone { session } if Some(*session) == self.session() => {
                self.end();
                Some(News::Lost)
            }
            ToClient::Reply(reply) if Some(reply.session) == self.session() => {
                self.replied(reply.request, &reply.outcome)
            }
            _ => None,
        }
    }

    fn promised(&mut self, Promise { sequence, lasts, .. }: Promise, now: Time) {
        let sent = match self.defect {
            Some(Defect::ClientCountsFromReceipt) => Some(now),
            Some(Defect::ReplyNotMatched) => self.sent.values().next_back().copied(),
            _ => self.sent.get(&sequence).copied(),
        };
        let Some(sent) = sent else { return };
        self.promised = Duration::from_nanos(lasts);
        self.deadline = self.deadline.max(Some(promised_until(sent, lasts)));
        self.sent = self.sent.split_off(&(sequence + 1));
        while self.unconfirmed.front().is_some_and(|(confirmed_by, _)| *confirmed_by <= sequence) {
            self.unconfirmed.pop_front();
        }
    }

    fn replied(&mut self, request: u64, outcome: &RequestOutcome) -> Option<News> {
        if *outcome == RequestOutcome::Revoked {
            return self.was_revoked(request);
        }
        self.asked.remove(&request)?;
        match outcome {
            RequestOutcome::Revoked => None,
            RequestOutcome::Refused(refusal) => Some(News::Refused(request, refusal.clone())),
            RequestOutcome::Granted(grant) => {
                self.held.insert(request, *grant);
                Some(News::Granted(request, *grant))
            }
        }
    }
}

impl Client {
    /// A grant was revoked, perhaps before it was known here.
    fn was_revoked(&mut self, request: u64) -> Option<News> {
        if self.asked.remove(&request).is_some() {
            return Some(News::Refused(request, Refusal::ForceReleased));
        }
        let Grant { fence, .. } = self.held.remove(&request)?;
        self.revoked.insert(request, fence);
        Some(News::Revoked(request))
    }
}

/// Until when a client holds its grants, after a keep-alive that it sent at this moment was answered by a
/// promise of this many nanoseconds.
pub fn promised_until(sent: Time, lasts: u64) -> Time {
    let lasts = Duration::from_nanos(lasts);
    sent + lasts.saturating_sub(LEAST_MARGIN.max(lasts / 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Reply, Timeout};
    use crate::name::Definition;
    use crate::session_key::SessionKey;
    use crate::want::Want;

    const SECOND: u64 = 1_000_000_000;
    const ID: SessionId = SessionId { node: 0, incarnation: 1, number: 1 };
    const KEY: SessionKey = SessionKey::new([7; 16]);
    const HANDLE: SessionHandle = SessionHandle { id: ID, key: KEY };

    fn promise(sequence: u64, lasts: u64) -> Promise {
        Promise { sequence, lasts, kept: lasts }
    }

    fn opened() -> Client {
        let mut client = Client::new(Duration::from_secs(10));
        assert_eq!(
            client.connected(Time(5 * SECOND)),
            [ToNode::Open { ttl: Duration::from_secs(10), label: None }]
        );
        let opened = ToClient::Opened { session: ID, key: KEY, promise: promise(0, 10 * SECOND) };
        assert_eq!(client.hear(&opened, Time(9 * SECOND)), Some(News::Opened));
        client
    }

    fn ask() -> Acquire {
        let (name, definition) = ("x".into(), Definition::MUTEX);
        Acquire { request: 0, name, definition, want: Want::Slot, timeout: Timeout::Never }
    }

    fn granted(request: u64) -> ToClient {
        ToClient::Reply(Reply {
            session: ID,
            request,
            outcome: RequestOutcome::Granted(Grant { slot: 0, fence: 7, group: 0 }),
        })
    }

    #[test]
    fn the_deadline_counts_from_when_the_keep_alive_was_sent() {
        let mut client = opened();
        // Sent at 5 s for 10 s, and the holder is told half a second before the end.
        assert_eq!(client.deadline(), Some(Time(14_500_000_000)));
        client.keep_alive(Time(10 * SECOND));
        client.keep_alive(Time(12 * SECOND));
        client.hear(&ToClient::Promise { session: ID, promise: promise(1, 10 * SECOND) }, Time(13 * SECOND));
        assert_eq!(client.deadline(), Some(Time(19_500_000_000)));
        // An answer to something that was never sent, or was answered already, says nothing.
        client.hear(&ToClient::Promise { session: ID, promise: promise(9, 10 * SECOND) }, Time(13 * SECOND));
        client.hear(&ToClient::Promise { session: ID, promise: promise(1, 99 * SECOND) }, Time(13 * SECOND));
        assert_eq!(client.deadline(), Some(Time(19_500_000_000)));
    }

    #[test]
    fn a_grant_after_the_deadline_is_not_believed() {
        let mut client = opened();
        let (request, _) = client.acquire(ask()).unwrap();
        assert_eq!(client.hear(&granted(request), Time(15 * SECOND)), Some(News::Lost));
        assert!(client.held().is_empty());
    }

    #[test]
    fn a_promise_after_the_deadline_brings_nothing_back() {
        let mut client = opened();
        client.keep_alive(Time(14 * SECOND));
        let late = ToClient::Promise { session: ID, promise: promise(1, 10 * SECOND) };
        assert_eq!(client.hear(&late, Time(15 * SECOND)), Some(News::Lost));
        assert!(!client.is_within_promise(Time(15 * SECOND)));
        assert_eq!((client.keep_alive(Time(15 * SECOND)), client.acquire(ask())), (None, None));
    }

    #[test]
    fn a_grant_after_giving_up_is_not_believed() {
        let mut client = opened();
        let (request, _) = client.acquire(ask()).unwrap();
        assert_eq!(client.cancel(request), Some(ToNode::Cancel { session: HANDLE, request }));
        assert_eq!(client.hear(&granted(request), Time(6 * SECOND)), None);
    }

    #[test]
    fn what_may_not_have_been_heard_is_said_again() {
        let mut client = opened();
        let (first, _) = client.acquire(ask()).unwrap();
        client.hear(&granted(first), Time(6 * SECOND));
        let release = client.release(first).unwrap();
        let (_, second) = client.acquire(ask()).unwrap();
        let keep_alive = |sequence| ToNode::KeepAlive { session: HANDLE, sequence, settled: 1 };
        assert_eq!(client.connected(Time(7 * SECOND)), [release, second.clone(), keep_alive(1)]);
        // The answer to that keep-alive confirms the release.
        client.hear(&ToClient::Promise { session: ID, promise: promise(1, SECOND) }, Time(8 * SECOND));
        assert_eq!(client.connected(Time(9 * SECOND)), [second, keep_alive(2)]);
    }

    #[test]
    fn a_session_can_be_left_to_itself_if_it_has_nothing_else() {
        let mut client = opened();
        let (first, _) = client.acquire(ask()).unwrap();
        assert_eq!(client.detach(first), None, "it waits");
        client.hear(&granted(first), Time(6 * SECOND));
        let (second, _) = client.acquire(ask()).unwrap();
        assert_eq!(client.detach(first), None, "it waits for something else");
        client.cancel(second);
        assert_eq!(client.detach(first), Some((HANDLE, Grant { slot: 0, fence: 7, group: 0 })));
        assert!(!client.is_within_promise(Time(6 * SECOND)));
        assert_eq!((client.release(first), client.end()), (None, None), "the node is told nothing");
    }

    #[test]
    fn a_session_that_is_gone_loses_everything_at_once() {
        let mut client = opened();
        let (request, _) = client.acquire(ask()).unwrap();
        client.hear(&granted(request), Time(6 * SECOND));
        assert_eq!(client.hear(&ToClient::SessionGone { session: ID }, Time(7 * SECOND)), Some(News::Lost));
        assert!(client.held().is_empty() && !client.is_within_promise(Time(7 * SECOND)));
        assert_eq!(client.acquire(ask()), None);
    }
}
