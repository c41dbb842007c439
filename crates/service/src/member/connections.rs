//! Connections of clients: which session listens where, and which connections watch.
//!
//! A connection that breaks ends no session. A session listens over the connection over which its client was heard last.
//! A watcher that does not keep up is told how many events it missed, and never makes the node wait.

use std::collections::{BTreeMap, BTreeSet};

use super::Effect;
use crate::event::{Event, Filter};
use crate::protocol::ToClient;

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
}

#[derive(Clone, Debug)]
struct Connection {
    /// Where the client is, for the audit log.
    client: String,
    sessions: BTreeSet<u64>,
    watch: Option<Watch>,
}

#[derive(Clone, Debug)]
struct Watch {
    filter: Filter,
    /// The client has much to read already.
    behind: bool,
    /// So many events were left out since then.
    missed: u64,
}

impl Connections {
    pub(super) fn open(&mut self, client: &str) -> ConnectionId {
        self.last += 1;
        let connection = Connection { client: client.to_owned(), sessions: BTreeSet::new(), watch: None };
        self.open.insert(ConnectionId(self.last), connection);
        ConnectionId(self.last)
    }

    /// Where the client of a connection is.
    pub(super) fn client(&self, id: ConnectionId) -> &str {
        self.open.get(&id).map_or("", |connection| &connection.client)
    }

    /// A connection is over. Returns the sessions that listened there.
    pub(super) fn close(&mut self, id: ConnectionId) -> BTreeSet<u64> {
        let Some(closed) = self.open.remove(&id) else { return BTreeSet::new() };
        closed.sessions.iter().for_each(|session| _ = self.listens.remove(session));
        self.watchers.remove(&id);
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

    /// From now on a connection is told of events; it has one filter at a time.
    pub(super) fn watch(&mut self, id: ConnectionId, filter: Filter) {
        if let Some(connection) = self.open.get_mut(&id) {
            let (behind, missed) = connection.watch.as_ref().map_or((false, 0), |it| (it.behind, it.missed));
            connection.watch = Some(Watch { filter, behind, missed });
            self.watchers.insert(id);
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// Tells all watchers of an event, or counts it as missed.
    pub(super) fn tell_watchers(&mut self, event: &Event, effects: &mut Vec<Effect>) {
        for id in &self.watchers {
            let watch = self.open.get_mut(id).and_then(|connection| connection.watch.as_mut());
            let Some(watch) = watch.filter(|watch| watch.filter.shows(event)) else { continue };
            if watch.behind {
                watch.missed += 1;
            } else {
                effects.push(Effect::Tell { connection: *id, frame: ToClient::Happened(event.clone()) });
            }
        }
    }

    /// A client has much to read already, or has read everything: then it learns how much it missed.
    pub(super) fn keeps_up(&mut self, id: ConnectionId, whether: bool) -> Option<ToClient> {
        let watch = self.open.get_mut(&id)?.watch.as_mut()?;
        watch.behind = !whether;
        let missed = if whether { std::mem::take(&mut watch.missed) } else { 0 };
        (missed > 0).then_some(ToClient::Missed(missed))
    }
}
