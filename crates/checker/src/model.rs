//! An algorithm as numbered parts: the state of a node, and the messages under way to it (its inbox). A state
//! of the system is a [row](crate::row) of their numbers. A part is the same wherever it occurs in the state
//! space, so its behaviour is computed once.

use std::sync::Arc;

use algorithms::erased::Message;
use algorithms::info::{Clients, Pace};
use algorithms::node::{Client, Event, Node};
use algorithms::schedule::Script;
use algorithms::{
    Algorithm, Case, Census, ClientId, Effect, Erased, Groups, Input, NodeId, Site, System, Timer, Violation,
    World,
};

use crate::row::{Budget, RowBuffer, RowLayout};

mod answers;
mod shared;
mod symmetry;

use answers::PartAnswers;
use shared::Numbered;
use symmetry::Renamings;
pub(crate) use symmetry::is_symmetric;

/// What the search knows about the state of a node.
pub(crate) struct NodeInfo {
    /// Moves that are always possible, apart from deliveries.
    pub(crate) moves: Vec<Move>,
    /// Moves that are possible only while a message is under way.
    pub(crate) when_busy: Vec<Move>,
    /// Moves that are possible only when none is.
    pub(crate) when_silent: Vec<Move>,
    /// `None` if it counts nothing.
    pub(crate) census: Option<Census>,
    /// Its client has made and finished all its requests.
    pub(crate) done: bool,
    /// Its client has not made any request yet.
    pub(crate) fresh: bool,
    /// The state after a tick; `None` if something must happen first, or if time is not modelled.
    pub(crate) ticked: Option<u32>,
}

/// A move of a node.
pub(crate) struct Move {
    pub(crate) cause: Cause,
    /// What it takes from the budget.
    pub(crate) cost: Budget,
    /// As the very first request it equals another one with the groups renamed, and need not be explored.
    pub(crate) renamed: bool,
    pub(crate) outcome: Outcome,
}

/// The cause of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The state of the node afterwards.
    pub(crate) node: u32,
    /// The messages it sends, as (receiver, envelope).
    pub(crate) sends: Box<[(u32, u32)]>,
    /// A bit for each note of the algorithm.
    pub(crate) notes: u64,
    pub(crate) violation: Option<Violation>,
    pub(crate) picks: Box<[u32]>,
}

/// What the search knows about the messages under way to a node.
pub(crate) struct InboxInfo {
    /// The messages that can arrive next, each with the remaining inbox.
    pub(crate) arrivals: Vec<(u32, u32)>,
    /// `None` if it counts nothing.
    pub(crate) census: Option<Census>,
    /// The inbox after a tick; `None` if a message must arrive first, or if time is not modelled.
    pub(crate) ticked: Option<u32>,
}

/// The state of a node, with what it may still do in the search.
#[derive(Clone, PartialEq, Eq, Hash)]
struct NodePart {
    me: NodeId,
    node: Node<Erased>,
    requests_left: u8,
    /// How often each timer has expired while messages were under way.
    fired: Vec<u8>,
    /// Where time is modelled: how long the client has been inside.
    inside_for: u8,
    /// Where time is modelled: how long each timer still runs.
    runs_for: Vec<u8>,
}

/// A message under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Envelope {
    pub(crate) from: NodeId,
    pub(crate) message: Message,
    /// Where time is modelled: how long it has been under way.
    age: u8,
}

/// An algorithm as numbered parts. All threads of a search share it.
pub(crate) struct Model {
    system: System<Erased>,
    layout: RowLayout,
    reorder: bool,
    groups_wanted: Vec<Groups>,
    any_of: bool,
    clients: ClientId,
    cancels: bool,
    requests: u8,
    firings: u8,
    budget: Budget,
    crashes: bool,
    pace: Option<Pace>,
    nodes: Numbered<NodePart>,
    envelopes: Numbered<Envelope>,
    inboxes: Numbered<(NodeId, Vec<u32>)>,
    answers: PartAnswers,
    /// If states that are renamings of each other count as one.
    renamings: Option<Renamings>,
    /// The state that the search begins in, if it is not the initial one.
    begins_in: Option<World<Erased>>,
}

impl Model {
    pub(crate) fn new(system: System<Erased>, case: &Case) -> Model {
        let info = system.info();
        Model {
            layout: RowLayout::new(system.setting().nodes),
            reorder: case.reorders(info),
            groups_wanted: case.groups_wanted(),
            any_of: case.allowance.any_of,
            clients: if info.clients == Clients::Many { case.allowance.clients } else { 1 },
            cancels: case.allowance.cancels && info.clients == Clients::Many,
            requests: case.allowance.requests as u8,
            firings: case.allowance.firings as u8,
            budget: Budget::new(case),
            crashes: case.allowance.crashes > 0,
            pace: case.allowance.pace,
            nodes: Numbered::new(),
            envelopes: Numbered::new(),
            inboxes: Numbered::new(),
            answers: PartAnswers::default(),
            renamings: None,
            begins_in: None,
            system,
        }
    }

    /// Frees everything. Parts are many small pieces: a search with several threads need not wait for that.
    pub(crate) fn free(self, threads: usize) {
        if threads > 1 {
            // Without another thread it is freed here.
            let _ = std::thread::Builder::new().spawn(move || drop(self));
        }
    }

    /// Lets the search begin in the state of this world. Nodes have all their requests left there.
    pub(crate) fn begin_in(&mut self, world: World<Erased>) {
        self.begins_in = Some(world);
    }

    /// The layout of the rows.
    pub(crate) fn layout(&self) -> RowLayout {
        self.layout
    }

    /// A message under way, and its sender.
    pub(crate) fn envelope(&self, envelope: u32) -> Arc<Envelope> {
        self.envelopes.get(envelope)
    }

    fn sender(&self, envelope: u32) -> NodeId {
        self.envelopes.get(envelope).from
    }

    /// Updates the times of a node after a step.
    fn keep_time(&self, part: &mut NodePart, effects: &[Effect<Erased>]) {
        let Some(Pace { delay, section }) = self.pace else { return };
        for effect in effects {
            match effect {
                Effect::Enter(_) => part.inside_for = 0,
                // One more tick, so that a message that arrives just in time comes before the expiry of the
                // timer.
                Effect::Arm(timer, wait) => {
                    part.runs_for[*timer] = (wait.hops * delay + wait.sections * section + 1).min(250) as u8;
                }
                Effect::Disarm(timer) => part.runs_for[*timer] = 0,
                _ => {}
            }
        }
    }

    fn tick_node(&self, part: &NodePart) -> Option<u32> {
        let section = self.pace?.section as u8;
        let inside = part.node.client.is_inside();
        if (inside && part.inside_for == section)
            || part.node.armed.iter().any(|&timer| part.runs_for[timer] == 0)
        {
            return None;
        }
        let mut part = part.clone();
        part.inside_for += u8::from(inside);
        for &timer in &part.node.armed {
            part.runs_for[timer] -= 1;
        }
        Some(self.nodes.number(part))
    }

    fn tick_inbox(&self, node: NodeId, envelopes: &[u32]) -> Option<u32> {
        let delay = self.pace?.delay as u8;
        let mut older = Vec::with_capacity(envelopes.len());
        for &envelope in envelopes {
            let mut envelope = Envelope::clone(&self.envelopes.get(envelope));
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
        envelopes
            .sort_by_cached_key(|&envelope| (self.sender(envelope), if self.reorder { envelope } else { 0 }));
    }

    fn site(&self, me: NodeId) -> Site<'_, Erased> {
        self.system.site(me)
    }

    fn census(&self) -> Census {
        Census::new(self.system.setting().nodes, self.system.setting().groups)
    }

    fn unless_zero(&self, census: Census) -> Option<Census> {
        (census != self.census()).then_some(census)
    }

    /// The outcomes of an event, for every combination of picks. `prepare` updates the counts of the checker.
    fn outcomes(&self, part: u32, event: &Event<Erased>, prepare: impl Fn(&mut NodePart)) -> Vec<Outcome> {
        let before = self.nodes.get(part);
        let mut script = Script::default();
        let mut outcomes = Vec::new();
        loop {
            let mut part = NodePart::clone(&before);
            prepare(&mut part);
            let me = part.me;
            let reaction = part.node.apply(&self.site(me), event.clone(), &mut script);
            let mut outcome = Outcome {
                node: 0,
                sends: Box::default(),
                notes: 0,
                violation: reaction.violation,
                picks: script.made().into(),
            };
            self.keep_time(&mut part, &reaction.effects);
            let mut sends = Vec::new();
            for effect in reaction.effects {
                match effect {
                    Effect::Send { to, message } if to < self.system.setting().nodes => {
                        let envelope = Envelope { from: me, message, age: 0 };
                        sends.push((to, self.envelopes.number(envelope)));
                    }
                    Effect::Note(note) => {
                        let bit = self.system.info().sometimes.iter().position(|&known| known == note);
                        let bit =
                            bit.unwrap_or_else(|| panic!("note '{note}' is not listed in Info::sometimes"));
                        outcome.notes |= 1 << bit;
                    }
                    _ => {}
                }
            }
            outcome.sends = sends.into();
            outcome.node = self.nodes.number(part);
            outcomes.push(outcome);
            if !script.advance() {
                return outcomes;
            }
        }
    }

    fn moves(
        &self,
        id: u32,
        cause: Cause,
        cost: Budget,
        prepare: impl Fn(&mut NodePart),
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
        let fresh_start = self.begins_in.is_none();
        let names = fresh_start && !self.any_of && self.system.info().clients == Clients::OneEach;
        let renamed = names && matches!(cause, Cause::Request(_, groups) if groups != self.groups_wanted[0]);
        to.extend(outcomes.into_iter().map(|outcome| Move { cause, cost, renamed, outcome }));
    }
}

impl Model {
    /// The moves of a node's clients.
    fn client_moves(&self, id: u32, part: &NodePart, moves: &mut Vec<Move>) {
        // Clients are interchangeable, so the idle one with the lowest number makes the request.
        let asker = part.node.idle_client();
        if part.requests_left > 0 && asker < self.clients {
            for groups in self.groups_wanted.clone() {
                self.moves(
                    id,
                    Cause::Request(asker, groups),
                    Budget::NONE,
                    |part| part.requests_left -= 1,
                    moves,
                );
            }
        }
        let may_leave = self.pace.is_none_or(|pace| u32::from(part.inside_for) == pace.section);
        for (number, client) in part.node.clients() {
            match client {
                Client::Inside { .. } if may_leave => {
                    self.moves(id, Cause::Exit(number), Budget::NONE, |part| part.inside_for = 0, moves);
                }
                Client::Waiting(_) if self.cancels => {
                    self.moves(id, Cause::Cancel(number), Budget::NONE, |_| {}, moves);
                }
                _ => {}
            }
        }
    }
}

/// What the search asks for: numbers only.
impl Model {
    /// The state that the search begins in.
    pub(crate) fn start(&self) -> RowBuffer {
        let nodes = self.system.setting().nodes;
        let node = |me: NodeId| match &self.begins_in {
            Some(world) => world.nodes[me as usize].clone(),
            None => Node::start(&self.site(me)),
        };
        let states: Vec<u32> = (0..nodes)
            .map(|me| {
                let timers = self.system.info().timers.len();
                let (fired, runs_for) = (vec![0; timers], vec![0; timers]);
                let (node, requests_left) = (node(me), self.requests);
                self.nodes.number(NodePart { me, node, requests_left, fired, inside_for: 0, runs_for })
            })
            .collect();
        // The empty inbox of a node gets the node's number, as the layout of rows requires.
        let mut inboxes: Vec<u32> = (0..nodes).map(|node| self.inboxes.number((node, Vec::new()))).collect();
        let channels = self.begins_in.iter().flat_map(|world| &world.channels);
        for (&(from, to), messages) in channels {
            for message in messages {
                let envelope = Envelope { from, message: message.clone(), age: 0 };
                let inbox = &mut inboxes[to as usize];
                *inbox = self.push(*inbox, self.envelopes.number(envelope));
            }
        }
        self.layout.buffer(&states, &inboxes, self.budget)
    }

    fn node_alone(&self, id: u32) -> NodeInfo {
        let part = self.nodes.get(id);
        let (mut moves, mut when_busy, mut when_silent) = (Vec::new(), Vec::new(), Vec::new());
        if part.node.state.is_some() {
            self.client_moves(id, &part, &mut moves);
        } else {
            self.moves(id, Cause::Restart, Budget::NONE, |_| {}, &mut moves);
        }
        let timers: &[Timer] = if self.firings > 0 || self.pace.is_some() { &part.node.armed } else { &[] };
        for &timer in timers {
            if self.pace.is_some() {
                if part.runs_for[timer] == 0 {
                    self.moves(id, Cause::Expire(timer), Budget::NONE, |_| {}, &mut moves);
                }
                continue;
            }
            self.moves(id, Cause::Expire(timer), Budget::NONE, |_| {}, &mut when_silent);
            if part.fired[timer] < self.firings {
                let count = |part: &mut NodePart| part.fired[timer] += 1;
                self.moves(id, Cause::Expire(timer), Budget::ONE_EARLY, count, &mut when_busy);
            }
        }
        if self.crashes && part.node.state.is_some() {
            self.moves(id, Cause::Crash, Budget::ONE_CRASH, |_| {}, &mut moves);
        }
        let mut census = self.census();
        part.node.count(&self.site(part.me), &mut census);
        let idle = part.node.clients().all(|(_, client)| client == Client::Idle);
        let done = idle && part.requests_left == 0 && part.node.state.is_some();
        let fresh = part.requests_left == self.requests;
        let ticked = self.tick_node(&part);
        let census = self.unless_zero(census);
        NodeInfo { moves, when_busy, when_silent, census, done, fresh, ticked }
    }

    fn inbox_alone(&self, id: u32) -> InboxInfo {
        let inbox = self.inboxes.get(id);
        let (node, envelopes) = (inbox.0, &inbox.1);
        let mut census = self.census();
        let mut arrivals = Vec::new();
        for (index, &envelope) in envelopes.iter().enumerate() {
            let Envelope { from, message, .. } = &*self.envelope(envelope);
            Erased::count_message(message, node, &mut census);
            // In FIFO order, only the oldest from each sender can arrive; otherwise any, equal ones once.
            let blocked = envelopes[..index]
                .iter()
                .any(|&earlier| earlier == envelope || (!self.reorder && self.sender(earlier) == *from));
            if !blocked {
                let mut rest = envelopes.clone();
                rest.remove(index);
                arrivals.push((envelope, self.inboxes.number((node, rest))));
            }
        }
        let ticked = self.tick_inbox(node, envelopes);
        InboxInfo { arrivals, census: self.unless_zero(census), ticked }
    }

    fn deliver_alone(&self, node: u32, envelope: u32) -> Vec<Outcome> {
        let Envelope { from, message, .. } = Envelope::clone(&self.envelope(envelope));
        self.outcomes(node, &Event::Input(Input::Deliver { from, message }), |_| {})
    }

    /// The inbox with one more message.
    pub(crate) fn push(&self, inbox: u32, envelope: u32) -> u32 {
        let (node, mut envelopes) = <(NodeId, Vec<u32>)>::clone(&self.inboxes.get(inbox));
        envelopes.push(envelope);
        self.sort(&mut envelopes);
        self.inboxes.number((node, envelopes))
    }
}
