//! An algorithm as numbered parts. A state of the system is a row of numbers: for each node its own state
//! (its slot), for each node the messages under way to it (its inbox), and the remaining faults (the budget).
//! A part is the same wherever it occurs in the state space, so its behaviour is computed once.

use std::hash::Hash;

use algorithms::info::{Clients, Pace};
use algorithms::node::{Client, Event, Node};
use algorithms::schedule::Script;
use algorithms::{
    Algorithm, Case, Census, ClientId, Effect, Groups, Input, NodeId, Setting, SettingError, Site, Timer,
    Violation,
};

use crate::fast_hash::FastMap;

/// The units of the budget: losses, duplicates, crashes, and timers that expire while messages are under way.
pub(crate) const ONE_LOSS: u32 = 1;
pub(crate) const ONE_DUPLICATE: u32 = 1 << 8;
pub(crate) const ONE_CRASH: u32 = 1 << 16;
pub(crate) const ONE_EARLY: u32 = 1 << 24;

/// Whether the budget allows one more of a kind.
pub(crate) fn affords(budget: u32, one: u32) -> bool {
    budget & (one * 0xff) != 0
}

/// The interface of an algorithm to the search: numbers only, so that the search is compiled once.
pub(crate) trait Steps: Send {
    /// The initial state of the system.
    fn start(&mut self) -> Vec<u32>;
    /// The state of a node, and the moves it can make by itself.
    fn slot(&mut self, slot: u32) -> SlotInfo;
    /// The messages under way to a node.
    fn inbox(&mut self, inbox: u32) -> InboxInfo;
    /// The effects of a message on a node: one outcome for every combination of picks.
    fn deliver(&mut self, slot: u32, envelope: u32) -> Vec<Outcome>;
    /// The inbox with one more message.
    fn push(&mut self, inbox: u32, envelope: u32) -> u32;
}

/// The state of a node.
pub(crate) struct SlotInfo {
    /// Moves that are always possible, apart from deliveries.
    pub(crate) moves: Vec<Move>,
    /// Moves that are possible only while a message is under way.
    pub(crate) when_busy: Vec<Move>,
    /// Moves that are possible only when none is.
    pub(crate) when_silent: Vec<Move>,
    pub(crate) census: Census,
    /// Its client has made and finished all its requests.
    pub(crate) done: bool,
    /// Its client has not made any request yet.
    pub(crate) fresh: bool,
    /// The slot after a tick; `None` if something must happen first, or if time is not modelled.
    pub(crate) ticked: Option<u32>,
}

/// A move of a node.
pub(crate) struct Move {
    pub(crate) cause: Cause,
    /// The part of the budget that it takes; 0 if it is always possible.
    pub(crate) cost: u32,
    /// As the very first request it equals another one with the groups renamed, and need not be explored.
    pub(crate) renamed: bool,
    pub(crate) outcome: Outcome,
}

/// The cause of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Request(ClientId, Groups),
    Cancel(ClientId),
    Exit(ClientId),
    Expire(Timer),
    Crash,
    Restart,
}

/// The outcome of a move.
pub(crate) struct Outcome {
    pub(crate) slot: u32,
    /// The messages it sends, as (receiver, envelope).
    pub(crate) sends: Box<[(u32, u32)]>,
    /// A bit for each note of the algorithm.
    pub(crate) notes: u64,
    pub(crate) violation: Option<Violation>,
    pub(crate) picks: Box<[u32]>,
}

/// The messages under way to a node.
pub(crate) struct InboxInfo {
    /// The messages that can arrive next, each with the remaining inbox.
    pub(crate) arrivals: Vec<(u32, u32)>,
    pub(crate) census: Census,
    /// The inbox after a tick; `None` if a message must arrive first, or if time is not modelled.
    pub(crate) ticked: Option<u32>,
}

/// A node with its remaining allowance in the search.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Slot<A: Algorithm> {
    me: NodeId,
    node: Node<A>,
    requests_left: u8,
    /// How often each timer has expired while messages were under way.
    fired: Vec<u8>,
    /// Where time is modelled: how long the client has been inside, and how long each timer still runs.
    inside_for: u8,
    runs_for: Vec<u8>,
}

/// A message under way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Envelope<M> {
    from: NodeId,
    message: M,
    /// Where time is modelled: how long it has been under way.
    age: u8,
}

/// Numbers for values, in the order of their first occurrence.
struct Numbered<T> {
    values: Vec<T>,
    numbers: FastMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Self {
        Numbered { values: Vec::new(), numbers: FastMap::default() }
    }

    fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// An algorithm as numbered parts.
pub(crate) struct Model<A: Algorithm> {
    setting: Setting,
    rules: A::Rules,
    reorder: bool,
    group_sets: Vec<Groups>,
    any_of: bool,
    clients: ClientId,
    cancels: bool,
    requests: u8,
    firings: u8,
    budget: u32,
    crashes: bool,
    slots: Numbered<Slot<A>>,
    pace: Option<Pace>,
    envelopes: Numbered<Envelope<A::Message>>,
    inboxes: Numbered<(NodeId, Vec<u32>)>,
}

impl<A: Algorithm> Model<A> {
    pub(crate) fn new(case: &Case) -> Result<Model<A>, SettingError> {
        let setting = case.setting.clone();
        Ok(Model {
            rules: A::rules(&setting)?,
            reorder: case.reorders(&A::INFO),
            group_sets: case.group_sets(),
            any_of: case.any_of,
            clients: if A::INFO.clients == Clients::Many { case.clients } else { 1 },
            cancels: case.cancels && A::INFO.clients == Clients::Many,
            requests: case.requests as u8,
            firings: case.firings as u8,
            budget: case.losses * ONE_LOSS
                + case.duplicates * ONE_DUPLICATE
                + case.crashes * ONE_CRASH
                + if case.firings > 0 { case.early * ONE_EARLY } else { 0 },
            crashes: case.crashes > 0,
            pace: case.pace,
            slots: Numbered::new(),
            envelopes: Numbered::new(),
            inboxes: Numbered::new(),
            setting,
        })
    }

    /// A message under way, and its sender.
    pub(crate) fn envelope(&self, envelope: u32) -> (NodeId, &A::Message) {
        let Envelope { from, message, .. } = &self.envelopes.values[envelope as usize];
        (*from, message)
    }

    fn sender(&self, envelope: u32) -> NodeId {
        self.envelopes.values[envelope as usize].from
    }

    /// Updates the times of a node after a step.
    fn keep_time(&self, slot: &mut Slot<A>, effects: &[Effect<A>]) {
        let Some(Pace { delay, section }) = self.pace else { return };
        for effect in effects {
            match effect {
                Effect::Enter(_) => slot.inside_for = 0,
                // One more tick, so that a message that arrives just in time comes before the expiry of the
                // timer.
                Effect::Arm(timer, wait) => {
                    slot.runs_for[*timer] = (wait.hops * delay + wait.sections * section + 1).min(250) as u8;
                }
                Effect::Disarm(timer) => slot.runs_for[*timer] = 0,
                _ => {}
            }
        }
    }

    fn tick_slot(&mut self, slot: &Slot<A>) -> Option<u32> {
        let section = self.pace?.section as u8;
        let inside = slot.node.client.is_inside();
        if (inside && slot.inside_for == section)
            || slot.node.armed.iter().any(|&timer| slot.runs_for[timer] == 0)
        {
            return None;
        }
        let mut slot = slot.clone();
        slot.inside_for += u8::from(inside);
        for &timer in &slot.node.armed {
            slot.runs_for[timer] -= 1;
        }
        Some(self.slots.number(slot))
    }

    fn tick_inbox(&mut self, node: NodeId, envelopes: &[u32]) -> Option<u32> {
        let delay = self.pace?.delay as u8;
        let mut older = Vec::with_capacity(envelopes.len());
        for &envelope in envelopes {
            let mut envelope = self.envelopes.values[envelope as usize].clone();
            if envelope.age == delay {
                return None;
            }
            envelope.age += 1;
            older.push(self.envelopes.number(envelope));
        }
        self.sort(&mut older);
        Some(self.inboxes.number((node, older)))
    }

    /// Sorts by sender. Messages of one sender stay in order in FIFO channels, and are sorted by number
    /// otherwise, so that the same messages always make the same inbox.
    fn sort(&self, envelopes: &mut [u32]) {
        envelopes.sort_by_key(|&envelope| (self.sender(envelope), if self.reorder { envelope } else { 0 }));
    }

    fn site(&self, me: NodeId) -> Site<'_, A> {
        Site { me, nodes: self.setting.nodes, tokens: self.setting.tokens, rules: &self.rules }
    }

    fn census(&self) -> Census {
        Census::new(self.setting.nodes, self.setting.groups)
    }

    /// The outcomes of an event, for every combination of picks. `prepare` updates the counts of the checker.
    fn outcomes(&mut self, slot: u32, event: &Event<A>, prepare: impl Fn(&mut Slot<A>)) -> Vec<Outcome> {
        let mut script = Script::default();
        let mut outcomes = Vec::new();
        loop {
            let mut slot = self.slots.values[slot as usize].clone();
            prepare(&mut slot);
            let me = slot.me;
            let reaction = slot.node.apply(&self.site(me), event.clone(), &mut script);
            let mut outcome = Outcome {
                slot: 0,
                sends: Box::default(),
                notes: 0,
                violation: reaction.violation,
                picks: script.made().into(),
            };
            self.keep_time(&mut slot, &reaction.effects);
            let mut sends = Vec::new();
            for effect in reaction.effects {
                match effect {
                    Effect::Send { to, message } if to < self.setting.nodes => {
                        let envelope = Envelope { from: me, message, age: 0 };
                        sends.push((to, self.envelopes.number(envelope)));
                    }
                    Effect::Note(note) => {
                        let bit = A::INFO.sometimes.iter().position(|&known| known == note);
                        let bit =
                            bit.unwrap_or_else(|| panic!("note '{note}' is not listed in Info::sometimes"));
                        outcome.notes |= 1 << bit;
                    }
                    _ => {}
                }
            }
            outcome.sends = sends.into();
            outcome.slot = self.slots.number(slot);
            outcomes.push(outcome);
            if !script.advance() {
                return outcomes;
            }
        }
    }

    fn moves(
        &mut self,
        id: u32,
        cause: Cause,
        cost: u32,
        prepare: impl Fn(&mut Slot<A>),
        to: &mut Vec<Move>,
    ) {
        let event = match cause {
            Cause::Request(client, groups) => Event::Input(Input::Request { client, groups }),
            Cause::Cancel(client) => Event::Input(Input::Cancel { client }),
            Cause::Exit(client) => Event::Input(Input::Exit { client }),
            Cause::Expire(timer) => Event::Input(Input::Expire(timer)),
            Cause::Crash => Event::Crash,
            Cause::Restart => Event::Restart,
        };
        let outcomes = self.outcomes(id, &event, prepare);
        // Groups are interchangeable as long as each request names one (an algorithm may prefer the first of
        // a set) and none is exclusive.
        let names = !self.any_of && A::INFO.clients == Clients::OneEach;
        let renamed = names && matches!(cause, Cause::Request(_, groups) if groups != self.group_sets[0]);
        to.extend(outcomes.into_iter().map(|outcome| Move { cause, cost, renamed, outcome }));
    }
}

impl<A: Algorithm> Model<A> {
    /// The moves of a node's clients.
    fn client_moves(&mut self, id: u32, slot: &Slot<A>, moves: &mut Vec<Move>) {
        // Clients are interchangeable, so the idle one with the lowest number makes the request.
        let asker = slot.node.idle_client();
        if slot.requests_left > 0 && asker < self.clients {
            for groups in self.group_sets.clone() {
                self.moves(id, Cause::Request(asker, groups), 0, |slot| slot.requests_left -= 1, moves);
            }
        }
        let may_leave = self.pace.is_none_or(|pace| u32::from(slot.inside_for) == pace.section);
        for (number, client) in slot.node.clients() {
            match client {
                Client::Inside { .. } if may_leave => {
                    self.moves(id, Cause::Exit(number), 0, |slot| slot.inside_for = 0, moves);
                }
                Client::Waiting(_) if self.cancels => {
                    self.moves(id, Cause::Cancel(number), 0, |_| {}, moves);
                }
                _ => {}
            }
        }
    }
}

impl<A: Algorithm> Steps for Model<A> {
    fn start(&mut self) -> Vec<u32> {
        let nodes = self.setting.nodes;
        let slots: Vec<u32> = (0..nodes)
            .map(|me| {
                let node = Node::start(&self.site(me));
                let timers = A::INFO.timers.len();
                let (fired, runs_for) = (vec![0; timers], vec![0; timers]);
                let requests_left = self.requests;
                self.slots.number(Slot { me, node, requests_left, fired, inside_for: 0, runs_for })
            })
            .collect();
        // The empty inbox of a node gets the node's number: the search relies on this to detect silence.
        let inboxes: Vec<u32> = (0..nodes).map(|node| self.inboxes.number((node, Vec::new()))).collect();
        slots.into_iter().chain(inboxes).chain([self.budget]).collect()
    }

    fn slot(&mut self, id: u32) -> SlotInfo {
        let slot = self.slots.values[id as usize].clone();
        let (mut moves, mut when_busy, mut when_silent) = (Vec::new(), Vec::new(), Vec::new());
        if slot.node.state.is_some() {
            self.client_moves(id, &slot, &mut moves);
        } else {
            self.moves(id, Cause::Restart, 0, |_| {}, &mut moves);
        }
        let timers: &[Timer] = if self.firings > 0 || self.pace.is_some() { &slot.node.armed } else { &[] };
        for &timer in timers {
            if self.pace.is_some() {
                if slot.runs_for[timer] == 0 {
                    self.moves(id, Cause::Expire(timer), 0, |_| {}, &mut moves);
                }
                continue;
            }
            self.moves(id, Cause::Expire(timer), 0, |_| {}, &mut when_silent);
            if slot.fired[timer] < self.firings {
                let count = |slot: &mut Slot<A>| slot.fired[timer] += 1;
                self.moves(id, Cause::Expire(timer), ONE_EARLY, count, &mut when_busy);
            }
        }
        if self.crashes && slot.node.state.is_some() {
            self.moves(id, Cause::Crash, ONE_CRASH, |_| {}, &mut moves);
        }
        let mut census = self.census();
        slot.node.count(&self.site(slot.me), &mut census);
        let idle = slot.node.clients().all(|(_, client)| client == Client::Idle);
        let done = idle && slot.requests_left == 0 && slot.node.state.is_some();
        let fresh = slot.requests_left == self.requests;
        let ticked = self.tick_slot(&slot);
        SlotInfo { moves, when_busy, when_silent, census, done, fresh, ticked }
    }

    fn inbox(&mut self, id: u32) -> InboxInfo {
        let (node, envelopes) = self.inboxes.values[id as usize].clone();
        let mut census = self.census();
        let mut arrivals = Vec::new();
        for (index, &envelope) in envelopes.iter().enumerate() {
            let (from, message) = self.envelope(envelope);
            A::count_message(message, node, &mut census);
            // In FIFO order, only the oldest from each sender can arrive; otherwise any, equal ones once.
            let blocked = envelopes[..index]
                .iter()
                .any(|&earlier| earlier == envelope || (!self.reorder && self.sender(earlier) == from));
            if !blocked {
                let mut rest = envelopes.clone();
                rest.remove(index);
                arrivals.push((envelope, self.inboxes.number((node, rest))));
            }
        }
        let ticked = self.tick_inbox(node, &envelopes);
        InboxInfo { arrivals, census, ticked }
    }

    fn deliver(&mut self, slot: u32, envelope: u32) -> Vec<Outcome> {
        let (from, message) = self.envelope(envelope);
        let message = message.clone();
        self.outcomes(slot, &Event::Input(Input::Deliver { from, message }), |_| {})
    }

    fn push(&mut self, inbox: u32, envelope: u32) -> u32 {
        let (node, mut envelopes) = self.inboxes.values[inbox as usize].clone();
        envelopes.push(envelope);
        self.sort(&mut envelopes);
        self.inboxes.number((node, envelopes))
    }
}
