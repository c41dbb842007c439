//! Who may do what at this node: each frame of a client is judged before the core sees it, and what matters is kept for the audit.
//!
//! A connection acts for what its caller has shown. A session acts for the caller that opened it, over whichever connection: its
//! key shows that. So a session ends in order when its caller loses its token, also if a thief has the key. An order can act for a
//! caller of another node, if that node says so.
//!
//! The decision comes before any look at the name, so that a refusal and the time that it takes say nothing about the name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ConnectionId, Effect, Environment, Member, Note};
use crate::auth::{Action, AuditEntry, Caller, Decision, History, Shown, Subject, TurnedAway, Vouched, Why};
use crate::defect::Defect;
use crate::event::Filter;
use crate::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use crate::refusal::{NotAllowed, Refusal};
use crate::session::SessionId;
use crate::time::Time;

/// What the rights say is kept for this many callers.
const MOST_SUBJECTS: usize = 10_000;

/// So much is kept of why a caller was turned away.
const LONGEST_REASON: usize = 500;

/// What a member knows of callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    /// What the rights say of callers that were here, until the rights change.
    subjects: BTreeMap<Shown, Arc<Subject>>,
    /// The callers that opened the sessions, by number.
    owners: BTreeMap<u64, Arc<Caller>>,
    /// The nodes that have called and do not belong to the cluster, or not any more.
    removed: BTreeSet<u32>,
    audit: History,
    /// What was allowed, and is with the control plane: by connection and the client's number.
    with_control_plane: BTreeMap<(ConnectionId, u64), Allowed>,
    /// The wall clock when a client was last heard, in seconds since 1970.
    pub(super) clock: u64,
}

/// A call that was allowed, for the audit.
#[derive(Clone, Debug)]
struct Allowed {
    caller: Arc<Caller>,
    what: &'static str,
    about: String,
}

impl Access {
    pub(super) fn ended(&mut self, session: u64) {
        self.owners.remove(&session);
    }

    pub(super) fn all_ended(&mut self) {
        self.owners.clear();
    }

    fn owner(&self, session: u64) -> Option<Arc<Caller>> {
        self.owners.get(&session).cloned()
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
            Question::Status | Question::Cluster | Question::Voters | Question::Counters => {
                (Needs::ReadOrAdmin, "status")
            }
            Question::List { .. } | Question::Uses { .. } => (Needs::Any(Action::Read), "list"),
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
            Order::ForceRelease { name, .. } | Order::ForceReleaseFor { name, .. } => {
                (Needs::On(Action::Force, name), "forced release")
            }
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

/// The number by which the control plane's answer to a frame finds its caller.
fn number_of(frame: &ToNode) -> Option<u64> {
    match frame {
        ToNode::Order { number, .. } | ToNode::Ask { number, .. } => Some(*number),
        _ => None,
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

/// The caller that a frame is for, if that is another than the one that says it.
fn vouched(frame: &ToNode) -> Option<&Vouched> {
    match frame {
        ToNode::Order { order, .. } => order.vouched(),
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
        let subject = Arc::new(match shown {
            Shown::Node(id) if rights.on && self.access.removed.contains(id) => Subject::removed_node(*id),
            _ => Subject::of(rights, shown),
        });
        // Strangers make up tokens, which are not kept.
        let made_up = matches!(shown, Shown::Token(hash) if !rights.tokens.contains_key(hash));
        if !made_up && self.access.subjects.len() < MOST_SUBJECTS {
            self.access.subjects.insert(shown.clone(), subject.clone());
        }
        subject
    }

    /// Before a frame is judged: what time it is, and whether the caller, if it is a node, belongs to the cluster.
    pub(super) fn look_around(&mut self, connection: ConnectionId, environment: &dyn Environment) {
        self.access.clock = environment.unix_seconds();
        if let Shown::Node(id) = self.connections.caller(connection).shown {
            self.note_whether_it_belongs(id, environment);
        }
    }

    /// From time to time: nodes that were removed watch no more.
    pub(super) fn look_at_watchers(&mut self, environment: &dyn Environment) {
        self.access.clock = environment.unix_seconds();
        for (connection, _) in self.connections.watched() {
            if let Shown::Node(id) = self.connections.caller(connection).shown {
                self.note_whether_it_belongs(id, environment);
            }
        }
    }

    fn note_whether_it_belongs(&mut self, id: u32, environment: &dyn Environment) {
        let nodes = environment.control_plane().nodes;
        let belongs = nodes.is_empty() || nodes.contains_key(&id);
        let removed = &mut self.access.removed;
        let changed = if belongs { removed.remove(&id) } else { removed.insert(id) };
        if !changed {
            return;
        }
        self.access.subjects.remove(&Shown::Node(id));
        for (connection, filter) in self.connections.watched() {
            if self.connections.caller(connection).shown == Shown::Node(id) {
                self.narrow_watcher(connection, &filter);
            }
        }
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
        let Some(caller) = self.acts_for(connection, vouched(frame)) else {
            return self.refuse_to_vouch(connection, (action, what), frame, effects);
        };
        let (subject, now) = (self.subject(&caller.shown), self.access.clock);
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
            if let (true, Some(number)) = (decision.allowed, number_of(frame)) {
                let allowed = Allowed { caller, what, about };
                self.access.with_control_plane.insert((connection, number), allowed);
            }
        }
        if decision.allowed {
            return None;
        }
        refused(frame, not_allowed(&subject, action, name, &decision))
    }

    /// For whom something is done that comes over a connection: for its caller, or for the one that this speaks for. `None` if it
    /// speaks for another and cannot: it is no node, or one that does not belong to the cluster. That holds without security, too,
    /// so that what the audit and the log say is true.
    pub(super) fn acts_for(
        &self,
        connection: ConnectionId,
        vouched: Option<&Vouched>,
    ) -> Option<Arc<Caller>> {
        let caller = self.connections.caller(connection);
        let Some(vouched) = vouched else { return Some(caller) };
        match caller.shown {
            Shown::Node(id) if !self.access.removed.contains(&id) => Some(Arc::new(vouched.caller(id))),
            _ if self.has_defect(Defect::ClientVouches) => Some(Arc::new(vouched.caller(self.id()))),
            _ => None,
        }
    }

    /// Nothing of the frame is looked at: neither the name nor the caller that it is said to be for.
    fn refuse_to_vouch(
        &mut self,
        connection: ConnectionId,
        (action, what): (Action, &str),
        frame: &ToNode,
        effects: &mut Vec<Effect>,
    ) -> Option<ToClient> {
        let caller = self.connections.caller(connection);
        let subject = self.subject(&caller.shown);
        let decision = Decision { allowed: false, why: Why::CannotVouch };
        self.audit(&caller, &subject, (what, ""), &decision, effects);
        refused(frame, not_allowed(&subject, action, "", &decision))
    }

    /// A call that was allowed has its answer. If nothing came of it, the audit says so.
    pub(super) fn note_answer(
        &mut self,
        call: (ConnectionId, u64),
        failure: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Allowed { caller, what, about }) = self.access.with_control_plane.remove(&call) else {
            return;
        };
        if let Some(why) = failure {
            let subject = self.subject(&caller.shown);
            self.keep_audit(&caller, &subject, (what, &about), (false, format!("not done: {why}")), effects);
        }
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
        name: &str,
        effects: &mut Vec<Effect>,
    ) -> Option<Refusal> {
        let (owner, now) = (self.access.owner(named.number)?, self.access.clock);
        let subject = self.subject(&owner.shown);
        let decision = subject.decide(Action::Acquire, name, now);
        if decision.allowed {
            return None;
        }
        self.audit(&owner, &subject, ("acquire", name), &decision, effects);
        Some(not_allowed(&subject, Action::Acquire, name, &decision))
    }

    /// The principal whose quotas count for the caller of a connection, if rights are on.
    pub(super) fn principal(&mut self, connection: ConnectionId) -> Option<Arc<str>> {
        let caller = self.connections.caller(connection);
        if self.registry.rights.on { self.subject(&caller.shown).name().cloned() } else { None }
    }

    /// A session was opened over a connection.
    pub(super) fn note_owner(&mut self, session: u64, connection: ConnectionId) {
        let caller = self.connections.caller(connection);
        self.access.owners.insert(session, caller);
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
        self.core.set_quotas(self.registry.rights.quotas_in_force());
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

    /// A port turned a caller away.
    pub fn turned_away(
        &mut self,
        turned_away: TurnedAway,
        environment: &dyn Environment,
        effects: &mut Vec<Effect>,
    ) {
        let TurnedAway { what, address, principal, claims, why } = turned_away;
        self.keep_entry(
            AuditEntry {
                number: 0,
                at: environment.unix_seconds(),
                principal: principal.unwrap_or_default(),
                address,
                what: what.to_owned(),
                name: claims.unwrap_or_default(),
                allowed: false,
                // A stranger may have had a say in it.
                why: why.chars().take(LONGEST_REASON).collect(),
                repeated: 0,
            },
            effects,
        );
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
        self.keep_entry(entry, effects);
    }

    fn keep_entry(&mut self, entry: AuditEntry, effects: &mut Vec<Effect>) {
        if let Some(entry) = self.access.audit.add(entry) {
            effects.push(Effect::Note(Note::Audit(Box::new(entry.clone()))));
        }
    }

    /// What is kept of who did what, after the entry of this number.
    pub(super) fn audit_page(&self, after: u64) -> crate::auth::AuditPage {
        self.access.audit.after(after)
    }
}

fn not_allowed(subject: &Subject, action: Action, name: &str, decision: &Decision) -> Refusal {
    Refusal::NotAllowed(Box::new(NotAllowed {
        principal: subject.name().map_or(String::new(), |name| name.to_string()),
        action,
        name: name.chars().take(crate::name::LONGEST_NAME).collect(),
        why: decision.why.to_string(),
    }))
}
