//! Who may do what at this node: each frame of a client is judged before the core sees it, and what matters is kept for the audit.
//!
//! A connection acts for what its caller has shown. A session acts for the caller that opened it, over whichever connection: its
//! key shows that. So a session ends in order when its caller loses its token, also if a thief has the key.
//!
//! The decision comes before any look at the name, so that a refusal and the time that it takes say nothing about the name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ConnectionId, Effect, Member, Note};
use crate::auth::{Action, AuditEntry, Caller, Decision, History, Limit, QuotaOf, Shown, Subject, Why};
use crate::event::Filter;
use crate::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use crate::refusal::Refusal;
use crate::session::SessionId;
use crate::time::Time;

/// What the rights say is kept for this many callers.
const MOST_SUBJECTS: usize = 10_000;

/// What a member knows of callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    /// What the rights say of callers that were here, until the rights change.
    subjects: BTreeMap<Shown, Arc<Subject>>,
    /// The callers that opened the sessions, by number.
    owners: BTreeMap<u64, Owner>,
    /// The sessions that each principal opened.
    opened_by: BTreeMap<Arc<str>, BTreeSet<u64>>,
    audit: History,
    /// The wall clock when a client was last heard, in seconds since 1970.
    pub(super) clock: u64,
}

/// The caller that opened a session, and the principal that it was then.
#[derive(Clone, Debug)]
struct Owner {
    caller: Arc<Caller>,
    principal: Option<Arc<str>>,
}

impl Access {
    pub(super) fn ended(&mut self, session: u64) {
        let Some(Owner { principal: Some(principal), .. }) = self.owners.remove(&session) else { return };
        if let Some(sessions) = self.opened_by.get_mut(&principal) {
            sessions.remove(&session);
            if sessions.is_empty() {
                self.opened_by.remove(&principal);
            }
        }
    }

    pub(super) fn all_ended(&mut self) {
        self.owners.clear();
        self.opened_by.clear();
    }

    fn owner(&self, session: u64) -> Option<Arc<Caller>> {
        self.owners.get(&session).map(|owner| owner.caller.clone())
    }
}

/// What a frame needs.
enum Needs<'a> {
    /// Nothing, or what is decided where the session is known.
    Nothing,
    /// An action on some name, whichever.
    Any(Action),
    /// To read some name, or to administer.
    ReadOrAdmin,
    /// An action on this name; for `admin` none.
    On(Action, &'a str),
}

/// What a frame needs, and what the audit calls it.
fn needs(frame: &ToNode) -> (Needs<'_>, &'static str) {
    match frame {
        ToNode::KeepAlive { .. } | ToNode::Acquire { .. } | ToNode::Cancel { .. } => (Needs::Nothing, ""),
        ToNode::Release { .. } | ToNode::Close { .. } => (Needs::Nothing, ""),
        ToNode::Open { .. } => (Needs::Any(Action::Acquire), "session"),
        ToNode::Watch(_) => (Needs::Any(Action::Read), "watch"),
        ToNode::Ask { question, .. } => match question {
            Question::Status | Question::Cluster | Question::Voters => (Needs::ReadOrAdmin, "status"),
            Question::List { .. } => (Needs::Any(Action::Read), "list"),
            Question::Definitions(_) => (Needs::Any(Action::Read), "definitions"),
            Question::Inspect { name, .. } => (Needs::On(Action::Read, name), "inspect"),
            Question::Invite(_) => (Needs::On(Action::Admin, ""), "invite"),
            Question::Invitations => (Needs::On(Action::Admin, ""), "invitations"),
            Question::Withdraw(_) => (Needs::On(Action::Admin, ""), "withdraw"),
            Question::Remove(_) => (Needs::On(Action::Admin, ""), "remove"),
            Question::Lease(_) => (Needs::On(Action::Admin, ""), "lease"),
            Question::Rights => (Needs::On(Action::Admin, ""), "rights"),
            Question::Audit(_) => (Needs::On(Action::Admin, ""), "audit"),
        },
        ToNode::Order { order, .. } => match order {
            Order::Define { name, definition: Some(_) } => (Needs::On(Action::Define, name), "define"),
            Order::Define { name, definition: None } => (Needs::On(Action::Define, name), "undefine"),
            Order::Resize { name, .. } => (Needs::On(Action::Define, name), "resize"),
            Order::ForceRelease { name, .. } => (Needs::On(Action::Force, name), "forced release"),
            Order::Rights(_) => (Needs::On(Action::Admin, ""), "change of rights"),
        },
    }
}

/// Whether a frame is in the audit also when it is allowed.
fn changes_something(frame: &ToNode) -> bool {
    match frame {
        ToNode::Order { .. } => true,
        ToNode::Ask { question, .. } => matches!(
            question,
            Question::Invite(_) | Question::Withdraw(_) | Question::Remove(_) | Question::Lease(_)
        ),
        _ => false,
    }
}

/// What a frame is about, if that is not a name.
fn subject_of(frame: &ToNode) -> Option<String> {
    match frame {
        ToNode::Order { order: Order::Rights(change), .. } => Some(change.subject()),
        ToNode::Ask { question: Question::Remove(node) | Question::Withdraw(node), .. } => {
            Some(format!("node {node}"))
        }
        ToNode::Ask { question: Question::Lease(lasts) | Question::Invite(lasts), .. } => {
            Some(format!("{lasts:?}"))
        }
        _ => None,
    }
}

/// The answer to a frame that is refused.
fn refused(frame: &ToNode, refusal: Refusal) -> Option<ToClient> {
    Some(match frame {
        ToNode::Open { .. } => ToClient::NotOpened(refusal),
        ToNode::Watch(_) => ToClient::NotWatching(refusal),
        ToNode::Ask { number, .. } => {
            ToClient::QuestionAnswer { number: *number, answer: QuestionAnswer::Refused(refusal) }
        }
        ToNode::Order { number, .. } => ToClient::OrderResult { number: *number, result: Err(refusal) },
        _ => return None,
    })
}

impl Member {
    /// What the rights say of a caller that shows this.
    pub(super) fn subject(&mut self, shown: &Shown) -> Arc<Subject> {
        if let Some(subject) = self.access.subjects.get(shown) {
            return subject.clone();
        }
        let rights = &self.registry.rights;
        let subject = Arc::new(Subject::of(rights, shown));
        // Strangers make up tokens, which are not kept.
        let made_up = matches!(shown, Shown::Token(hash) if !rights.tokens.contains_key(hash));
        if !made_up && self.access.subjects.len() < MOST_SUBJECTS {
            self.access.subjects.insert(shown.clone(), subject.clone());
        }
        subject
    }

    /// Judges a frame. Returns the answer if it is refused; frames about sessions are judged later.
    pub(super) fn judge_frame(
        &mut self,
        connection: ConnectionId,
        frame: &ToNode,
        effects: &mut Vec<Effect>,
    ) -> Option<ToClient> {
        let (needs, what) = needs(frame);
        let (action, name) = match needs {
            Needs::Nothing => return None,
            Needs::Any(action) => (action, ""),
            Needs::ReadOrAdmin => (Action::Read, ""),
            Needs::On(action, name) => (action, name),
        };
        let (caller, now) = (self.connections.caller(connection), self.access.clock);
        let subject = self.subject(&caller.shown);
        let decision = match needs {
            Needs::ReadOrAdmin if subject.decide(Action::Admin, "", now).allowed => {
                subject.decide(Action::Admin, "", now)
            }
            Needs::On(..) => subject.decide(action, name, now),
            _ => subject.decide_any(action, now),
        };
        if !decision.allowed || changes_something(frame) {
            let about = subject_of(frame).unwrap_or_else(|| name.to_owned());
            self.audit(&caller, &subject, (what, &about), &decision, effects);
        }
        if decision.allowed {
            return None;
        }
        refused(frame, not_allowed(&subject, action, name, &decision))
    }

    /// Why the caller that opened a session may not keep it, if that is so.
    pub(super) fn judge_keep_alive(
        &mut self,
        named: SessionId,
        effects: &mut Vec<Effect>,
    ) -> Option<Refusal> {
        let (owner, now) = (self.access.owner(named.number)?, self.access.clock);
        let subject = self.subject(&owner.shown);
        let why = subject.is_denied(now)?;
        let decision = Decision { allowed: false, why };
        self.audit(&owner, &subject, ("keep-alive", ""), &decision, effects);
        Some(not_allowed(&subject, Action::Acquire, "", &decision))
    }

    /// Why the caller that opened a session may not acquire a name, if that is so.
    pub(super) fn judge_acquire(
        &mut self,
        named: SessionId,
        (request, name): (u64, &str),
        effects: &mut Vec<Effect>,
    ) -> Option<Refusal> {
        let (owner, now) = (self.access.owner(named.number)?, self.access.clock);
        let subject = self.subject(&owner.shown);
        let decision = subject.decide(Action::Acquire, name, now);
        if decision.allowed {
            return self.over_quota(named, request, name);
        }
        self.audit(&owner, &subject, ("acquire", name), &decision, effects);
        Some(not_allowed(&subject, Action::Acquire, name, &decision))
    }

    /// A session was opened over a connection.
    pub(super) fn note_owner(&mut self, session: u64, connection: ConnectionId) {
        let caller = self.connections.caller(connection);
        let on = self.registry.rights.on;
        let principal = if on { self.subject(&caller.shown).name().cloned() } else { None };
        if let Some(principal) = &principal {
            self.access.opened_by.entry(principal.clone()).or_default().insert(session);
        }
        self.access.owners.insert(session, Owner { caller, principal });
    }

    /// The quota that the caller of a connection has used up with its sessions at this node, if it has.
    pub(super) fn over_session_quota(&mut self, connection: ConnectionId) -> Result<(), Refusal> {
        if self.registry.rights.quotas.is_empty() {
            return Ok(());
        }
        let caller = self.connections.caller(connection);
        let Some(principal) = self.subject(&caller.shown).name().cloned() else { return Ok(()) };
        let opened = self.access.opened_by.get(&principal).map_or(0, |sessions| sessions.len() as u64);
        let of = QuotaOf::Principal(principal);
        let most = self.registry.rights.quotas.get(&of).and_then(|quota| quota.sessions);
        within_quota(opened, most, of, Limit::Sessions)
    }

    /// The quota that one more request would exceed at this node, if it would.
    fn over_quota(&self, named: SessionId, request: u64, name: &str) -> Option<Refusal> {
        let quotas = &self.registry.rights.quotas;
        if quotas.is_empty() || self.core.has_request(named, request) {
            return None;
        }
        let most = |of: &QuotaOf| quotas.get(of).and_then(|quota| quota.requests);
        if let Some((namespace, _)) = name.split_once('/') {
            let of = QuotaOf::Namespace(namespace.into());
            let most = most(&of);
            let used = most.map_or(0, |_| self.core.requests_of_prefix(&format!("{namespace}/")));
            if let Err(refusal) = within_quota(used, most, of, Limit::Requests) {
                return Some(refusal);
            }
        }
        let principal = self.access.owners.get(&named.number)?.principal.clone()?;
        let sessions = self.access.opened_by.get(&principal)?;
        let of = QuotaOf::Principal(principal.clone());
        let most = most(&of)?;
        let used = sessions.iter().map(|session| self.core.requests_of_session(*session)).sum();
        within_quota(used, Some(most), of, Limit::Requests).err()
    }

    /// The part of a filter that the caller of a connection may read; `None` if that is nothing.
    pub(super) fn readable(&mut self, connection: ConnectionId, filter: &Filter) -> Option<Filter> {
        let caller = self.connections.caller(connection);
        self.subject(&caller.shown).readable(filter)
    }

    /// From now on the watcher of a connection sees what it may read of what it asked for.
    pub(super) fn narrow_watcher(&mut self, connection: ConnectionId, filter: &Filter) {
        let caller = self.connections.caller(connection);
        let subject = self.subject(&caller.shown);
        self.connections.narrow(connection, subject.readable(filter), subject.expires());
    }

    /// Rights have changed: watchers see what they may read now, and waiters that may not acquire any more are refused.
    pub(super) fn rights_changed(&mut self, now: Time, effects: &mut Vec<Effect>) {
        self.access.subjects.clear();
        for (connection, filter) in self.connections.watched() {
            self.narrow_watcher(connection, &filter);
        }
        let mut refused: BTreeMap<Shown, Vec<u32>> = BTreeMap::new();
        for (client, session, name) in self.core.waiting() {
            let Some(owner) = self.access.owner(session) else { continue };
            let subject = self.subject(&owner.shown);
            if !subject.decide(Action::Acquire, &name, self.access.clock).allowed {
                refused.entry(owner.shown.clone()).or_default().push(client);
            }
        }
        for (shown, clients) in refused {
            let subject = self.subject(&shown);
            let why = subject.is_denied(self.access.clock).unwrap_or(Why::NoRule);
            let refusal = not_allowed(&subject, Action::Acquire, "", &Decision { allowed: false, why });
            self.core.refuse_waiting(clients, refusal, now, &mut self.out);
        }
        self.pass_on(effects);
    }

    /// A client named a session with a key that is not its own.
    pub(super) fn note_wrong_key(&mut self, connection: ConnectionId, effects: &mut Vec<Effect>) {
        let caller = self.connections.caller(connection);
        let subject = self.subject(&caller.shown);
        let why = "the key is not that of the session".to_owned();
        self.keep_audit(&caller, &subject, ("session", ""), (false, why), effects);
    }

    fn audit(
        &mut self,
        caller: &Caller,
        subject: &Subject,
        about: (&str, &str),
        decision: &Decision,
        effects: &mut Vec<Effect>,
    ) {
        self.keep_audit(caller, subject, about, (decision.allowed, decision.why.to_string()), effects);
    }

    fn keep_audit(
        &mut self,
        caller: &Caller,
        subject: &Subject,
        (what, name): (&str, &str),
        (allowed, why): (bool, String),
        effects: &mut Vec<Effect>,
    ) {
        let entry = AuditEntry {
            number: 0,
            at: self.access.clock,
            principal: subject.name().map_or(String::new(), |name| name.to_string()),
            address: caller.address.clone(),
            what: what.to_owned(),
            // A name that a stranger makes up may be longer than a name can be.
            name: name.chars().take(crate::name::LONGEST_NAME).collect(),
            allowed,
            why,
            repeated: 0,
        };
        if let Some(entry) = self.access.audit.add(entry) {
            effects.push(Effect::Note(Note::Audit(Box::new(entry.clone()))));
        }
    }

    /// What is kept of who did what, after the entry of this number.
    pub(super) fn audit_page(&self, after: u64) -> crate::auth::AuditPage {
        self.access.audit.after(after)
    }
}

/// Refuses one more than a quota allows.
fn within_quota(used: u64, most: Option<u64>, of: QuotaOf, limit: Limit) -> Result<(), Refusal> {
    match most {
        Some(most) if used >= most => Err(Refusal::Quota { of, limit, most }),
        _ => Ok(()),
    }
}

fn not_allowed(subject: &Subject, action: Action, name: &str, decision: &Decision) -> Refusal {
    Refusal::NotAllowed {
        principal: subject.name().map_or(String::new(), |name| name.to_string()),
        action,
        name: name.chars().take(crate::name::LONGEST_NAME).collect(),
        why: decision.why.to_string(),
    }
}
