//! Backlog: what ends many requests goes in slices, so that no client waits for all of them.
//!
//! A session that ends may have 100,000 requests, and a lapse may refuse a million. A call ends a slice of
//! them; the core then wants to be woken at once, and the next call continues. What is small is done in the
//! call that begins it.
//!
//! Until its turn comes, a request that is to end may be granted: a token comes, or another client releases.
//! Such a grant does not count. No client is told of it, and the next slice ends it first.

use std::collections::BTreeMap;

use super::state::{BulkOperation, Request, SessionEnd};
use super::{Core, Effects};
use crate::event::Change;
use crate::limits::Bound;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::time::Time;

/// To tell this many watchers takes about as long as to end a request.
const WATCHERS_OF_A_REQUEST: usize = 16;

impl Core {
    /// How many requests end in one call. The more clients watch, the fewer: each end is told to all of them.
    pub(super) fn slice(&self) -> usize {
        (self.config.limits.slice / (1 + self.watchers / WATCHERS_OF_A_REQUEST)).max(1)
    }

    /// This many clients receive every event from now on.
    pub fn set_watchers(&mut self, watchers: usize) {
        self.watchers = watchers;
    }

    /// Begins something. What is small is done at once; otherwise a slice of it is, unless something else is not done yet.
    pub(super) fn begin(&mut self, mut operation: BulkOperation, now: Time, out: &mut Effects) {
        let mut left = self.slice();
        let is_large = operation.len() > left;
        if is_large && self.backlog.are_under_way() {
            return self.backlog.push(operation);
        }
        if is_large {
            self.backlog.begin_slice();
        }
        let done = self.go_on(&mut operation, &mut left, now, out);
        if is_large {
            self.backlog.end_slice();
        }
        if !done {
            self.backlog.push_front(operation);
        }
    }

    /// The same, but after everything that is not done yet.
    pub(super) fn begin_after_all(&mut self, operation: BulkOperation, now: Time, out: &mut Effects) {
        match self.backlog.are_under_way() {
            true => self.backlog.push(operation),
            false => self.begin(operation, now, out),
        }
    }

    /// Does a slice of what is left.
    pub(super) fn work_off_backlog(&mut self, now: Time, out: &mut Effects) {
        if self.backlog.is_empty() {
            return;
        }
        let mut left = self.slice();
        self.backlog.begin_slice();
        self.end_unwanted(&mut left, now, out);
        while left > 0
            && let Some(mut operation) = self.backlog.pop()
        {
            if !self.go_on(&mut operation, &mut left, now, out) {
                self.backlog.push_front(operation);
            }
            self.end_unwanted(&mut left, now, out);
        }
        self.backlog.end_slice();
    }

    /// Continues an operation until it or the slice is done. Returns whether the operation is.
    fn go_on(
        &mut self,
        operation: &mut BulkOperation,
        left: &mut usize,
        now: Time,
        out: &mut Effects,
    ) -> bool {
        match operation {
            BulkOperation::EndRequests { session, end, clients } => {
                while let Some(client) = take(clients, left) {
                    if self.is_of(client, *session) {
                        self.emit_end(client, end.of_grant(), &Refusal::NoSuchSession, out);
                        self.end_request(client, now, out);
                    }
                }
                if clients.is_empty() {
                    self.emit_session_end(*session, *end, out);
                    self.sessions.forget_label(*session);
                }
                clients.is_empty()
            }
            BulkOperation::Refuse { clients, refusal } => {
                while let Some((client, session)) = take(clients, left) {
                    self.bring_request_into_view(client, now, out);
                    let waits = self.requests.get(client).is_some_and(Request::waits);
                    if waits && self.is_of(client, session) {
                        self.refuse_waiter(client, refusal.clone(), now, out);
                    }
                }
                clients.is_empty()
            }
            BulkOperation::EndIdle { sessions } => {
                while let Some(number) = take(sessions, left) {
                    if self.sessions.get(number).is_some_and(|session| !session.is_in_use()) {
                        self.end_session(number, SessionEnd::Closed, now, out);
                    }
                }
                sessions.is_empty()
            }
        }
    }

    /// Gives back what was granted to requests that may not have it.
    fn end_unwanted(&mut self, left: &mut usize, now: Time, out: &mut Effects) {
        while *left > 0
            && let Some(unwanted) = self.backlog.take_unwanted()
        {
            *left -= 1;
            if !self.is_of(unwanted.client, unwanted.session) {
                continue;
            }
            match self.sessions.get(unwanted.session) {
                Some(_) => self.refuse_waiter(unwanted.client, unwanted.refusal, now, out),
                None => {
                    self.emit(unwanted.client, || Change::GaveUp(unwanted.refusal), out);
                    self.end_request(unwanted.client, now, out);
                }
            }
        }
    }

    /// Whether a number still stands for a request of this session.
    fn is_of(&self, client: u32, session: u64) -> bool {
        self.requests.get(client).is_some_and(|request| request.session == session)
    }

    /// Refuses these waiters, in slices.
    pub(super) fn refuse_waiters(
        &mut self,
        clients: Vec<u32>,
        refusal: Refusal,
        now: Time,
        out: &mut Effects,
    ) {
        let of_session = |client: u32| Some((client, self.requests.get(client)?.session));
        let clients = clients.into_iter().filter_map(of_session).collect();
        self.begin(BulkOperation::Refuse { clients, refusal }, now, out);
    }

    /// Refuses these waiters, each for the number of slots that it insists on, in slices.
    pub(super) fn refuse_by_size(
        &mut self,
        waiters: Vec<(u32, u32)>,
        refusal: impl Fn(u32) -> Refusal,
        now: Time,
        out: &mut Effects,
    ) {
        if waiters.len() <= self.slice() {
            return waiters
                .into_iter()
                .for_each(|(client, asked)| self.refuse_waiter(client, refusal(asked), now, out));
        }
        let mut by_size: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        waiters.into_iter().for_each(|(client, asked)| by_size.entry(asked).or_default().push(client));
        for (asked, clients) in by_size {
            self.refuse_waiters(clients, refusal(asked), now, out);
        }
    }

    /// Why a request that is to be granted now must not be: it is about to end, or there is no fence for it.
    pub(super) fn withholds(&self, client: u32, fence: u64, now: Time) -> Option<Refusal> {
        // The last one is not given: a counter that can go no further stands there.
        if fence >= self.membership.last_fence() {
            let most = self.membership.last_fence() - self.membership.floor();
            return Some(Refusal::Bound { bound: Bound::Fences, most });
        }
        if !self.backlog.are_under_way() {
            return None;
        }
        let request = self.requests.get(client)?;
        if self.sessions.get(request.session).is_none() {
            return Some(Refusal::NoSuchSession);
        }
        if !self.is_leased(now) {
            return Some(Refusal::NoLease);
        }
        let defined = self.names.get(request.resource)?.definition();
        if let Some(asked) = request.insists.map(Definition::Slots).filter(|asked| *asked != defined) {
            return Some(Refusal::Contradicts { defined, asked });
        }
        self.admission.of_session().err()
    }
}

/// The next of these, if the slice has room for it.
fn take<T>(from: &mut std::collections::VecDeque<T>, left: &mut usize) -> Option<T> {
    *left = left.checked_sub(1)?;
    let next = from.pop_front();
    // What was not there takes nothing.
    *left += usize::from(next.is_none());
    next
}
