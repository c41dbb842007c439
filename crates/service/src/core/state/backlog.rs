//! What was begun and takes more than one call.

use std::collections::VecDeque;

use crate::event::Change;
use crate::grant::Grant;
use crate::refusal::Refusal;

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// Its client closed it, or the node leaves and the session was idle.
    Closed,
    /// There was no keep-alive for too long.
    Expired,
}

impl SessionEnd {
    /// What becomes of the grants of the session.
    pub(crate) fn of_grant(self) -> fn(Grant) -> Change {
        match self {
            SessionEnd::Closed => Change::Released,
            SessionEnd::Expired => Change::Lost,
        }
    }
}

/// Something that ends many requests. Requests are named by their numbers here, which are used again: so each is looked at before
/// it is ended.
#[derive(Clone, Debug)]
pub(crate) enum BulkOperation {
    /// A session has ended: its requests end, too.
    EndRequests {
        /// The number of the session.
        session: u64,
        end: SessionEnd,
        clients: VecDeque<u32>,
    },
    /// These are refused, each of this session and if it waits.
    Refuse { clients: VecDeque<(u32, u64)>, refusal: Refusal },
    /// The node leaves: these sessions end, if they neither hold nor wait.
    EndIdle { sessions: VecDeque<u64> },
}

impl BulkOperation {
    /// How much there is to do.
    pub(crate) fn len(&self) -> usize {
        match self {
            BulkOperation::EndRequests { clients, .. } => clients.len(),
            BulkOperation::Refuse { clients, .. } => clients.len(),
            BulkOperation::EndIdle { sessions } => sessions.len(),
        }
    }
}

/// A grant that no client gets: its slot is free again before anything else is done.
#[derive(Clone, Debug)]
pub(crate) struct Unwanted {
    pub(crate) client: u32,
    pub(crate) session: u64,
    pub(crate) refusal: Refusal,
}

/// What is left of what was begun, in the order in which it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    unwanted: VecDeque<Unwanted>,
    /// Something is being done that one call may not finish.
    running: bool,
    rest: VecDeque<BulkOperation>,
}

impl Backlog {
    pub(crate) fn is_empty(&self) -> bool {
        self.unwanted.is_empty() && self.rest.is_empty()
    }

    /// A request was granted what it may not have.
    pub(crate) fn add_unwanted(&mut self, client: u32, session: u64, refusal: Refusal) {
        self.unwanted.push_back(Unwanted { client, session, refusal });
    }

    pub(crate) fn take_unwanted(&mut self) -> Option<Unwanted> {
        self.unwanted.pop_front()
    }

    /// Whether requests that are to end may still be there.
    pub(crate) fn are_under_way(&self) -> bool {
        self.running || !self.rest.is_empty()
    }

    /// A slice of something begins that one call may not finish.
    pub(crate) fn begin_slice(&mut self) {
        self.running = true;
    }

    pub(crate) fn end_slice(&mut self) {
        self.running = false;
    }

    pub(crate) fn push(&mut self, operation: BulkOperation) {
        self.rest.push_back(operation);
    }

    pub(crate) fn push_front(&mut self, operation: BulkOperation) {
        self.rest.push_front(operation);
    }

    pub(crate) fn pop(&mut self) -> Option<BulkOperation> {
        self.rest.pop_front()
    }
}
