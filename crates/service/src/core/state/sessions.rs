//! The sessions that are open at a node.

use std::collections::BTreeMap;
use std::fmt;

use crate::core::Config;
use crate::defect::Defect;
use crate::label::Label;
use crate::refusal::Refusal;
use crate::session::{Session, SessionId};
use crate::time::Time;

/// The sessions that are open, by their numbers.
///
/// A number is never used again, and an id names this node and this start of it: so an id stands for one session for
/// ever. An id of another node or of an earlier start finds nothing here.
#[derive(Clone)]
pub(crate) struct Sessions {
    node: u32,
    incarnation: u64,
    /// Ids of other nodes are taken for this node's: a defect.
    takes_any_id: bool,
    last: u64,
    open: BTreeMap<u64, Session>,
    /// Who the clients of ended sessions were, until all their requests have ended.
    labels: BTreeMap<u64, Label>,
}

impl Sessions {
    pub(crate) fn new(config: &Config) -> Sessions {
        Sessions {
            node: config.id,
            incarnation: config.incarnation,
            takes_any_id: config.defect == Some(Defect::SessionMoves),
            last: 0,
            open: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The id of the session of this number.
    pub(crate) fn id(&self, number: u64) -> SessionId {
        SessionId { node: self.node, incarnation: self.incarnation, number }
    }

    /// Whether this node gave out the id, since its start.
    pub(crate) fn is_own(&self, id: SessionId) -> bool {
        self.takes_any_id || id.node == self.node && id.incarnation == self.incarnation
    }

    /// Opens a session, and gives it a number.
    pub(crate) fn open(&mut self, session: Session) -> u64 {
        self.last += 1;
        self.open.insert(self.last, session);
        self.last
    }

    /// Ends a session.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Session> {
        let session = self.open.remove(&number)?;
        self.labels.extend(session.label().map(|label| (number, label)));
        Some(session)
    }

    /// All requests of a session that was ended have ended.
    pub(crate) fn forget_label(&mut self, number: u64) {
        self.labels.remove(&number);
    }

    /// Who the client of a session is, or was while its requests end.
    pub(crate) fn label(&self, number: u64) -> Option<Label> {
        self.get(number).map_or_else(|| self.labels.get(&number).cloned(), Session::label)
    }

    /// The session of an id that a client names.
    pub(crate) fn find(&mut self, id: SessionId) -> Result<&mut Session, Refusal> {
        let session = if self.is_own(id) { self.open.get_mut(&id.number) } else { None };
        session.ok_or(Refusal::NoSuchSession)
    }

    /// Whether there is a session of this id.
    pub(crate) fn contains(&self, id: SessionId) -> bool {
        self.is_own(id) && self.open.contains_key(&id.number)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Session> {
        self.open.get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.open.get_mut(&number)
    }

    /// All.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.open.values()
    }

    /// The numbers of all.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.open.keys().copied().collect()
    }

    /// The numbers of those of clients in this process.
    pub(crate) fn local(&self) -> Vec<u64> {
        self.numbers_where(Session::is_local)
    }

    /// The numbers of those that neither hold nor wait.
    pub(crate) fn idle(&self) -> Vec<u64> {
        self.numbers_where(|session| !session.is_in_use())
    }

    fn numbers_where(&self, is_one: impl Fn(&Session) -> bool) -> Vec<u64> {
        self.open.iter().filter(|(_, session)| is_one(session)).map(|(number, _)| *number).collect()
    }

    /// Whether any client may hold something now.
    pub(crate) fn may_hold(&self, now: Time) -> bool {
        self.open.values().any(|session| session.is_in_use() && !session.is_over_for_client(now))
    }
}

/// The sessions alone: nothing else decides about what a node will do to them.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.open.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;

    #[test]
    fn an_id_stands_for_one_session_for_ever() {
        let config = Config { incarnation: 7, ..Config::new(3, View::alone(3)) };
        let mut sessions = Sessions::new(&config);
        let first = sessions.open(Session::new(None));
        let id = sessions.id(first);
        assert_eq!(id, SessionId { node: 3, incarnation: 7, number: 1 });
        assert!(sessions.contains(id) && sessions.find(id).is_ok());
        assert!(sessions.find(SessionId { incarnation: 6, ..id }).is_err(), "of an earlier start");
        assert!(sessions.find(SessionId { node: 4, ..id }).is_err(), "of another node");
        assert!(sessions.remove(first).is_some() && sessions.find(id).is_err());
        assert_eq!(sessions.open(Session::new(None)), 2, "a number is not used again");
    }
}
