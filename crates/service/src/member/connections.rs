//! Connections of clients: which session listens where, and which connections watch.
//!
//! A connection that breaks ends no session. A session listens over the connection over which its client was
//! heard last. A watcher that does not keep up is told how many events it missed, and never makes the node
//! wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Effect;
use crate::auth::Caller;
use crate::event::{Event, Filter};
use crate::limits::{Bound, Limits};
use crate::protocol::ToClient;
use crate::refusal::Refusal;

/// A connection of a client, or a session inside this process. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    last: u64,
    open: BTreeMap<ConnectionId, Connection>,
    /// The connection over which each session listens; each is open, and lists the session.
    listens: BTreeMap<u64, ConnectionId>,
    /// The connections that watch; each is open.
    watchers: BTreeSet<ConnectionId>,
    /// The number of bytes in the filters of all watchers.
    filter_bytes: u64,
    /// The number of questions and orders on their way to the control plane, also of connections that are over.
    control_calls: u64,
}

#[derive(Clone, Debug)]
struct Connection {
    /// Where the client is, and what it has shown.
    caller: Arc<Caller>,
    sessions: BTreeSet<u64>,
    watch: Option<Watch>,
    /// The number of its questions and orders on their way to the control plane.
    control_calls: u64,
}

#[derive(Clone, Debug)]
struct Watch {
    filter: Filter,
    /// What of that the client may read; `None` if nothing.
    readable: Option<Filter>,
    /// When its token expires, in seconds since 1970.
    expires: Option<u64>,
    /// The client has much to read already.
    behind: bool,
    /// This many events were dropped since then.
    missed: u64,
}

impl Watch {
    fn shows(&self, event: &Event, clock: u64) -> bool {
        self.readable.as_ref().is_some_and(|readable| readable.shows(event))
            && self.expires.is_none_or(|expires| clock < expires)
    }
}

/// Whether there is room for one more.
fn within(kept: u64, most: u64, bound: Bound) -> Result<(), Refusal> {
    if kept < most { Ok(()) } else { Err(Refusal::Bound { bound, most }) }
}

impl Connections {
    pub(super) fn open(&mut self, caller: Caller) -> ConnectionId {
        self.last += 1;
        let connection =
            Connection { caller: Arc::new(caller), sessions: BTreeSet::new(), watch: None, control_calls: 0 };
        self.open.insert(ConnectionId(self.last), connection);
        ConnectionId(self.last)
    }

    /// Where the client of a connection is.
    pub(super) fn client(&self, id: ConnectionId) -> &str {
        self.open.get(&id).map_or("", |connection| &connection.caller.address)
    }

    /// The client of a connection, and what it has shown.
    pub(super) fn caller(&self, id: ConnectionId) -> Arc<Caller> {
        self.open.get(&id).map_or_else(Arc::default, |connection| connection.caller.clone())
    }

    /// The connections that watch, with their filters.
    pub(super) fn watched(&self) -> Vec<(ConnectionId, Filter)> {
        let filter = |id: &ConnectionId| Some((*id, self.open.get(id)?.watch.as_ref()?.filter.clone()));
        self.watchers.iter().filter_map(filter).collect()
    }

    /// From now on the client of a connection sees this much of what it watches, until its token expires.
    pub(super) fn narrow(&mut self, id: ConnectionId, readable: Option<Filter>, until: Option<u64>) {
        if let Some(watch) = self.watch_of(id) {
            (watch.readable, watch.expires) = (readable, until);
        }
    }

    /// A connection is over. Returns the sessions that listened there.
    pub(super) fn close(&mut self, id: ConnectionId) -> BTreeSet<u64> {
        let Some(closed) = self.open.remove(&id) else { return BTreeSet::new() };
        closed.sessions.iter().for_each(|session| _ = self.listens.remove(session));
        self.watchers.remove(&id);
        self.filter_bytes -= closed.watch.map_or(0, |watch| watch.filter.bytes());
        closed.sessions
    }

    /// From now on a session listens over this connection.
    pub(super) fn listen(&mut self, session: u64, id: ConnectionId) {
        if self.listens.get(&session) == Some(&id) || !self.open.contains_key(&id) {
            return;
        }
        self.forget_session(session);
        self.listens.insert(session, id);
        if let Some(connection) = self.open.get_mut(&id) {
            connection.sessions.insert(session);
        }
    }

    pub(super) fn of_session(&self, session: u64) -> Option<ConnectionId> {
        self.listens.get(&session).copied()
    }

    /// A session has ended. Returns where it listened.
    pub(super) fn forget_session(&mut self, session: u64) -> Option<ConnectionId> {
        let id = self.listens.remove(&session)?;
        if let Some(connection) = self.open.get_mut(&id) {
            connection.sessions.remove(&session);
        }
        Some(id)
    }

    /// All sessions have ended. Returns where each listened.
    pub(super) fn forget_sessions(&mut self) -> BTreeMap<u64, ConnectionId> {
        self.open.values_mut().for_each(|connection| connection.sessions.clear());
        std::mem::take(&mut self.listens)
    }

    /// The address of the client of a connection, without the port.
    pub(super) fn host(&self, id: ConnectionId) -> &str {
        let client = self.client(id);
        client.rsplit_once(':').map_or(client, |(host, _)| host)
    }

    /// Refuses another session over a connection, if it has as many as it may have.
    pub(super) fn has_room_for_session(&self, id: ConnectionId, limits: &Limits) -> Result<(), Refusal> {
        let sessions = self.open.get(&id).map_or(0, |connection| connection.sessions.len() as u64);
        within(sessions, limits.connection_sessions, Bound::ConnectionSessions)
    }

    /// Something of a connection goes to the control plane, unless too much is on its way already.
    pub(super) fn begin_control_call(&mut self, id: ConnectionId, limits: &Limits) -> Result<(), Refusal> {
        within(self.control_calls, limits.control_calls, Bound::ControlCalls)?;
        if let Some(connection) = self.open.get_mut(&id) {
            within(connection.control_calls, limits.connection_control_calls, Bound::ConnectionControlCalls)?;
            connection.control_calls += 1;
        }
        self.control_calls += 1;
        Ok(())
    }

    /// The control plane has seen to something of a connection, which may be over by now.
    pub(super) fn end_control_call(&mut self, id: ConnectionId) {
        self.control_calls = self.control_calls.saturating_sub(1);
        if let Some(connection) = self.open.get_mut(&id) {
            connection.control_calls = connection.control_calls.saturating_sub(1);
        }
    }

    /// From now on a connection receives events; it has one filter at a time.
    pub(super) fn watch(&mut self, id: ConnectionId, filter: Filter, limits: &Limits) -> Result<(), Refusal> {
        filter.validate(limits)?;
        if let Some(connection) = self.open.get_mut(&id) {
            let before = connection.watch.as_ref().map_or(0, |watch| watch.filter.bytes());
            let bytes = self.filter_bytes - before + filter.bytes();
            if bytes > limits.filter_bytes {
                return Err(Refusal::Bound { bound: Bound::FilterBytes, most: limits.filter_bytes });
            }
            self.filter_bytes = bytes;
            let (behind, missed) = connection.watch.as_ref().map_or((false, 0), |it| (it.behind, it.missed));
            let readable = Some(filter.clone());
            connection.watch = Some(Watch { filter, readable, expires: None, behind, missed });
            self.watchers.insert(id);
        }
        Ok(())
    }

    pub(super) fn is_watched(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// How many watch.
    pub(super) fn watchers(&self) -> usize {
        self.watchers.len()
    }

    /// Tells all watchers of an event that they may read at this time, in seconds since 1970; or counts it as missed.
    pub(super) fn tell_watchers(&mut self, event: &Event, clock: u64, effects: &mut Vec<Effect>) {
        for id in &self.watchers {
            let watch = self.open.get_mut(id).and_then(|connection| connection.watch.as_mut());
            let Some(watch) = watch.filter(|watch| watch.shows(event, clock)) else { continue };
            if watch.behind {
                watch.missed += 1;
            } else {
                effects.push(Effect::Tell { connection: *id, frame: ToClient::Event(event.clone()) });
            }
        }
    }

    /// A client has much to read already.
    pub(super) fn fell_behind(&mut self, id: ConnectionId) {
        if let Some(watch) = self.watch_of(id) {
            watch.behind = true;
        }
    }

    /// A client has read everything: it learns how much it missed, if it did.
    pub(super) fn caught_up(&mut self, id: ConnectionId) -> Option<ToClient> {
        let watch = self.watch_of(id)?;
        watch.behind = false;
        let missed = std::mem::take(&mut watch.missed);
        (missed > 0).then_some(ToClient::Missed(missed))
    }

    fn watch_of(&mut self, id: ConnectionId) -> Option<&mut Watch> {
        self.open.get_mut(&id)?.watch.as_mut()
    }
}
