//! Messages from clients, remote and in this process, and the answers to them.

use std::time::Duration;

use super::{ConnectionId, ControlPlaneError, Effect, Environment, Member, Note};
use crate::auth::Caller;
use crate::core::{Acquire, Opening, RequestOutcome, Revocation};
use crate::defect::Defect;
use crate::label::Label;
use crate::protocol::{Order, OrderDone, QuestionAnswer, ToClient, ToNode};
use crate::refusal::Refusal;
use crate::registry::{Applied, Entry};
use crate::session::SessionId;
use crate::session_key::SessionHandle;
use crate::time::Time;

/// If more messages than this wait for a peer, new requests are refused.
const MOST_WAITING: usize = 1 << 16;

impl Member {
    /// A client has connected; `caller` says where it is, and what it has shown. Frames that come over a connection name it.
    pub fn connected(&mut self, caller: impl Into<Caller>) -> ConnectionId {
        self.connections.open(caller.into())
    }

    /// A connection has ended. Its sessions stay, and are sent nothing until their client is heard again.
    pub fn disconnected(&mut self, connection: ConnectionId, now: Time, effects: &mut Vec<Effect>) {
        let sessions = self.connections.close(connection);
        self.note_watchers();
        if self.has_defect(Defect::FreedOnDisconnect) {
            for number in sessions {
                let id = SessionId { node: self.id(), incarnation: self.incarnation, number };
                _ = self.core.close(id, now, &mut self.out);
            }
            self.pass_on(effects);
        }
    }

    /// The client of a connection has much to read already. If it watches, it misses events until it has
    /// [caught up](Member::client_caught_up).
    pub fn client_fell_behind(&mut self, connection: ConnectionId) {
        self.connections.fell_behind(connection);
    }

    /// The client of a connection has read everything. If it watches, it learns how many events it missed.
    pub fn client_caught_up(&mut self, connection: ConnectionId, effects: &mut Vec<Effect>) {
        let frame = self.connections.caught_up(connection);
        effects.extend(frame.map(|frame| Effect::Tell { connection, frame }));
    }

    /// Too much may wait for this peer: new requests are refused as long as it does.
    pub fn falls_behind(&mut self, peer: u32, waiting: usize) {
        if waiting > MOST_WAITING {
            self.behind = Some(peer);
        }
    }

    /// A client says something over a connection.
    pub fn hear(
        &mut self,
        connection: ConnectionId,
        frame: ToNode,
        environment: &dyn Environment,
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        let on = self.registry.rights.on;
        if on || matches!(frame, ToNode::Ask { .. } | ToNode::Order { .. }) {
            self.look_around(connection, environment);
            if let Some(frame) = self.judge_frame(connection, &frame, effects) {
                return effects.push(Effect::Tell { connection, frame });
            }
        }
        let reply = match frame {
            ToNode::Open { ttl, label } => {
                Some(self.open_session(connection, (ttl, label), environment, now))
            }
            ToNode::KeepAlive { session, .. }
            | ToNode::Acquire { session, .. }
            | ToNode::Cancel { session, .. }
            | ToNode::Release { session, .. }
            | ToNode::Close { session } => {
                let named = self.named(connection, &session, environment, effects);
                self.hear_of_session((connection, named), frame, environment, now, effects)
            }
            ToNode::Watch(filter) => {
                let watching = self.connections.watch(connection, filter.clone(), &self.setup.core.limits);
                if on {
                    self.narrow_watcher(connection, &filter);
                }
                self.note_watchers();
                Some(watching.map_or_else(ToClient::NotWatching, |()| ToClient::Watching))
            }
            ToNode::Ask { number, question } => match self.answer(connection, &question, environment, now) {
                Some(answer) => {
                    self.note_answer((connection, number), not_done(&answer), effects);
                    Some(ToClient::QuestionAnswer { number, answer })
                }
                None => match self.connections.begin_control_call(connection, &self.setup.core.limits) {
                    Ok(()) => return effects.push(Effect::Arrange { connection, number, question }),
                    Err(refusal) => {
                        let why = refusal.to_string();
                        self.note_answer((connection, number), Some(why.clone()), effects);
                        Some(ToClient::QuestionAnswer { number, answer: QuestionAnswer::NotDone(why) })
                    }
                },
            },
            ToNode::Order { number, order } => {
                let answer = self.order(connection, number, &order, now, effects);
                if let Some(ToClient::OrderResult { result, .. }) = &answer {
                    let why = result.as_ref().err().map(ToString::to_string);
                    self.note_answer((connection, number), why, effects);
                }
                answer
            }
        };
        // What the core says goes first: a client hears what was revoked before it is promised anything.
        self.pass_on(effects);
        effects.extend(reply.map(|frame| Effect::Tell { connection, frame }));
    }

    /// The session that a client names. With a wrong key it is a number that no session has, so that the answer and everything
    /// else is the same as for a session that is not there.
    fn named(
        &mut self,
        connection: ConnectionId,
        handle: &SessionHandle,
        environment: &dyn Environment,
        effects: &mut Vec<Effect>,
    ) -> SessionId {
        let checked = !self.has_defect(Defect::KeyNotChecked) && !self.has_defect(Defect::SessionMoves);
        if !checked || !self.core.is_of_another(handle) {
            return handle.id;
        }
        self.core.count_wrong_key();
        self.access.clock = environment.unix_seconds();
        self.note_wrong_key(connection, effects);
        handle.id.of_no_session()
    }

    /// A client says something about a session: `named` is the one that it may speak of.
    fn hear_of_session(
        &mut self,
        (connection, named): (ConnectionId, SessionId),
        frame: ToNode,
        environment: &dyn Environment,
        now: Time,
        effects: &mut Vec<Effect>,
    ) -> Option<ToClient> {
        if matches!(frame, ToNode::KeepAlive { .. } | ToNode::Acquire { .. }) && self.core.knows(named) {
            self.connections.listen(named.number, connection);
        }
        match frame {
            ToNode::KeepAlive { session: SessionHandle { id, .. }, sequence, settled } => {
                if let Some(refusal) = self.judge_if_on(|member| member.judge_keep_alive(named, effects)) {
                    return Some(ToClient::NotKept { session: id, refusal });
                }
                self.keep_alive((id, named), (sequence, settled), now)
            }
            ToNode::Acquire { session: SessionHandle { id: session, .. }, ask } => {
                if let Some(refusal) =
                    self.judge_if_on(|member| member.judge_acquire(named, &ask.name, effects))
                {
                    _ = self.core.refuse(named, ask.request, refusal, now, &mut self.out);
                    return None;
                }
                self.check_load(environment);
                let unknown = self.core.acquire(named, &ask, now, &mut self.out).is_err();
                unknown.then_some(ToClient::SessionGone { session })
            }
            ToNode::Cancel { request, .. } => {
                // A session that is gone waits for nothing.
                _ = self.core.cancel(named, request, now, &mut self.out);
                None
            }
            ToNode::Release { session: SessionHandle { id: session, .. }, request, fence } => {
                let released = self.core.release(named, request, fence, now, &mut self.out);
                released.err().map(|refusal| ToClient::NotReleased { session, request, refusal })
            }
            ToNode::Close { .. } => {
                _ = self.core.close(named, now, &mut self.out);
                None
            }
            ToNode::Open { .. } | ToNode::Ask { .. } | ToNode::Watch(_) | ToNode::Order { .. } => None,
        }
    }

    /// Rights that are off cost nothing more than this branch.
    fn judge_if_on(&mut self, judge: impl FnOnce(&mut Member) -> Option<Refusal>) -> Option<Refusal> {
        if self.registry.rights.on { judge(self) } else { None }
    }

    fn open_session(
        &mut self,
        connection: ConnectionId,
        (ttl, label): (Duration, Option<Label>),
        environment: &dyn Environment,
        now: Time,
    ) -> ToClient {
        let room = self.connections.has_room_for_session(connection, &self.setup.core.limits);
        let principal = self.principal(connection);
        let host = self.connections.host(connection);
        let key = environment.session_key();
        let opening = Opening { host: Some(host), ttl: Some(ttl), label, key: Some(key), principal };
        match room.and_then(|()| self.core.open_for(opening, now)) {
            Ok((session, promise)) => {
                self.connections.listen(session.number, connection);
                self.note_owner(session.number, connection);
                ToClient::Opened { session, key, promise }
            }
            Err(refusal) => {
                self.core.note_refusal(&refusal);
                ToClient::NotOpened(refusal)
            }
        }
    }

    fn keep_alive(
        &mut self,
        (session, named): (SessionId, SessionId),
        (sequence, settled): (u64, u64),
        now: Time,
    ) -> Option<ToClient> {
        match self.core.keep_alive(named, sequence, settled, now, &mut self.out) {
            Ok(promise) => Some(ToClient::Promise { session, promise }),
            // A node that can promise nothing does not answer: what it promised before still holds.
            Err(Refusal::NoLease | Refusal::Leaving) => None,
            Err(_) => Some(ToClient::SessionGone { session }),
        }
    }

    /// Refuses new requests as long as too much waits for some peer.
    fn check_load(&mut self, environment: &dyn Environment) {
        self.behind = self.behind.filter(|peer| environment.waiting_for(*peer) > MOST_WAITING);
        self.core.set_overloaded(self.behind.is_some());
    }

    /// The core tells of events only if a connection watches.
    pub(super) fn note_watchers(&mut self) {
        self.core.set_watchers(self.connections.watchers());
        match self.connections.is_watched() {
            true => _ = self.out.events.get_or_insert_default(),
            false => self.out.events = None,
        }
    }

    /// Carries out an order, or has it committed first.
    fn order(
        &mut self,
        connection: ConnectionId,
        number: u64,
        order: &Order,
        now: Time,
        effects: &mut Vec<Effect>,
    ) -> Option<ToClient> {
        let done = |result| Some(ToClient::OrderResult { number, result });
        match self.core.proposal(order) {
            Err(refusal) => return done(Err(refusal)),
            Ok(Some(entry)) => {
                if let Err(refusal) = self.connections.begin_control_call(connection, &self.setup.core.limits)
                {
                    return done(Err(refusal));
                }
                effects.push(Effect::Propose { connection, number, entry });
                return None;
            }
            Ok(None) => {}
        }
        let (Order::ForceRelease { name, slot, fence, at_once }
        | Order::ForceReleaseFor { name, slot, fence, at_once, .. }) = order
        else {
            return done(Ok(OrderDone::Agreed));
        };
        let by = self.acts_for(connection, order.vouched()).map_or(String::new(), |it| it.address.clone());
        let when = if *at_once { Revocation::AtOnce } else { Revocation::AfterPromise };
        let released = self.core.force_release(name, (*slot, *fence), when, &by, now, &mut self.out);
        if let Ok(revoked) = &released {
            let new = revoked.iter().filter(|it| !it.is_repeated);
            effects.extend(new.map(|it| Effect::Note(Note::ForceReleased(it.released.clone()))));
        }
        let all = released.map(|revoked| revoked.into_iter().map(|it| it.released).collect());
        done(all.map(OrderDone::ForceReleased))
    }

    /// The result of [`Effect::Propose`]: whether the entry counts, or why that is unknown.
    pub fn proposed(
        &mut self,
        (connection, number): (ConnectionId, u64),
        entry: &Entry,
        applied: Result<Applied, ControlPlaneError>,
        effects: &mut Vec<Effect>,
    ) {
        self.connections.end_control_call(connection);
        let applied = applied.map_err(|ControlPlaneError(why)| Refusal::NotAgreed(why));
        let result = applied.and_then(|applied| applied.of_definition(entry)).map(|()| OrderDone::Agreed);
        let why = result.as_ref().err().map(ToString::to_string);
        self.note_answer((connection, number), why, effects);
        effects.push(Effect::Tell { connection, frame: ToClient::OrderResult { number, result } });
    }

    /// The result of [`Effect::Arrange`].
    pub fn arranged(
        &mut self,
        (connection, number): (ConnectionId, u64),
        answer: Result<QuestionAnswer, ControlPlaneError>,
        effects: &mut Vec<Effect>,
    ) {
        self.connections.end_control_call(connection);
        let answer = answer.unwrap_or_else(|ControlPlaneError(why)| QuestionAnswer::NotDone(why));
        self.note_answer((connection, number), not_done(&answer), effects);
        effects.push(Effect::Tell { connection, frame: ToClient::QuestionAnswer { number, answer } });
    }
}

/// Why nothing came of a question, if that is so.
fn not_done(answer: &QuestionAnswer) -> Option<String> {
    match answer {
        QuestionAnswer::NotDone(why) => Some(why.clone()),
        QuestionAnswer::Refused(refusal) => Some(refusal.to_string()),
        _ => None,
    }
}

/// Clients in this process.
impl Member {
    /// Opens a session that ends with the node's lease, with a connection of its own for all its answers.
    pub fn open_here(
        &mut self,
        label: Option<Label>,
        now: Time,
    ) -> Result<(SessionId, ConnectionId), Refusal> {
        let (session, _) = self.core.open_for(Opening { label, ..Opening::default() }, now)?;
        let connection = self.connections.open(Caller::from("this process"));
        self.connections.listen(session.number, connection);
        Ok((session, connection))
    }

    /// Acquires for a session in this process. Returns the reply if there is one at once; otherwise it follows as an effect. A lock
    /// whose token is here is the common case, so its reply takes no detour.
    pub fn acquire(
        &mut self,
        session: SessionId,
        ask: &Acquire,
        environment: &dyn Environment,
        now: Time,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<RequestOutcome>, Refusal> {
        self.check_load(environment);
        let acquired = self.core.acquire(session, ask, now, &mut self.out);
        let replies = &mut self.out.replies;
        let index = replies.iter().position(|it| it.session == session && it.request == ask.request);
        let outcome = index.map(|index| replies.remove(index).outcome);
        self.pass_on(effects);
        acquired.map(|()| outcome)
    }

    /// Releases what a session in this process holds.
    pub fn release(
        &mut self,
        session: SessionId,
        (request, fence): (u64, u64),
        now: Time,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let released = self.core.release(session, request, fence, now, &mut self.out);
        self.pass_on(effects);
        released
    }

    /// Cancels what a session in this process waits for.
    pub fn cancel(
        &mut self,
        session: SessionId,
        request: u64,
        now: Time,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let cancelled = self.core.cancel(session, request, now, &mut self.out);
        self.pass_on(effects);
        cancelled
    }

    /// Ends a session in this process, with its connection.
    pub fn close(
        &mut self,
        (session, connection): (SessionId, ConnectionId),
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        self.connections.close(connection);
        // It is gone already if the lease has ended.
        _ = self.core.close(session, now, &mut self.out);
        self.pass_on(effects);
    }
}
