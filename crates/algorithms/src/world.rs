//! A whole system in memory, moved step by step: the simplest driver. Transcripts, traces and paper tests run
//! on it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Chance, ClientId, Effect, Input, NodeId, Site, Timer};
use crate::census::Census;
use crate::info::{Clients, Conditions, Info, Scope};
use crate::node::{Client, Event, Node};
use crate::picture::Picture;
use crate::properties::{Fences, Property, Terms, Violation};
use crate::schedule::{Action, Envelope, NotAStep, Script, Step, parse_schedule};
use crate::setting::{Setting, SettingError};
use crate::system::System;

/// The nodes of a system and the messages between them.
#[derive(Clone, Debug)]
pub struct World<A: Algorithm> {
    system: System<A>,
    terms: Terms,
    /// The nodes.
    pub nodes: Vec<Node<A>>,
    /// The messages under way, oldest first, by (from, to), without empty entries.
    pub channels: BTreeMap<(NodeId, NodeId), Vec<A::Message>>,
    /// How many messages have been sent so far.
    pub sent: u64,
    /// How often clients have entered so far.
    pub entries: u64,
    fences: Fences,
}

/// Why a step is not possible now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// There is no such node.
    NoNode(NodeId),
    /// The algorithm of this name serves client 0 alone.
    OneClient(&'static str),
    /// The number of the client is too large.
    ClientNumber,
    /// The client of this node waits or is inside, or the node is down.
    CannotRequest(NodeId),
    /// The request names a group beyond this number of groups.
    NoGroup(u32),
    /// The client of this node does not wait, or may not cancel.
    CannotCancel(NodeId),
    /// The client of this node is not inside.
    NotInside(NodeId),
    /// No such message is under way.
    NoMessage {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
    },
    /// The timer is not armed.
    NotArmed {
        /// The node of the timer.
        node: NodeId,
        /// The timer.
        timer: Timer,
    },
    /// The node to crash is down.
    Down(NodeId),
    /// The node to restart is not down.
    NotDown(NodeId),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::NoNode(node) => write!(f, "there is no node {node}"),
            StepError::OneClient(name) => write!(f, "{name} serves one client at each node, number 0"),
            StepError::ClientNumber => write!(f, "clients have numbers up to {MOST_CLIENTS}"),
            StepError::CannotRequest(node) => write!(f, "the client of node {node} cannot ask now"),
            StepError::NoGroup(groups) => write!(f, "there are only {groups} groups"),
            StepError::CannotCancel(node) => write!(f, "the client of node {node} cannot give up now"),
            StepError::NotInside(node) => write!(f, "the client of node {node} is not inside"),
            StepError::NoMessage { from, to } => {
                write!(f, "no such message is on its way from {from} to {to}")
            }
            StepError::NotArmed { node, timer } => write!(f, "timer {timer} of node {node} does not run"),
            StepError::Down(node) => write!(f, "node {node} is down already"),
            StepError::NotDown(node) => write!(f, "node {node} is not down"),
        }
    }
}

impl core::error::Error for StepError {}

/// Why a schedule ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A text is not a step.
    NotAStep(NotAStep),
    /// A step is not possible.
    Impossible(Step, StepError),
    /// A step violates a property.
    Violated(Step, Violation),
    /// Messages are still under way after this many deliveries.
    NotSilent(usize),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::NotAStep(error) => write!(f, "{error}"),
            RunError::Impossible(step, error) => write!(f, "{step}: {error}"),
            RunError::Violated(step, violation) => write!(f, "{step}: {violation}"),
            RunError::NotSilent(most) => write!(f, "not silent after {most} deliveries"),
        }
    }
}

impl core::error::Error for RunError {}

impl RunError {
    /// Whether the text of the error contains this one, for tests.
    pub fn contains(&self, text: &str) -> bool {
        format!("{self}").contains(text)
    }
}

/// The highest number a client may have.
const MOST_CLIENTS: ClientId = 1_000_000;

/// What one step did.
#[derive(Clone, Debug)]
pub struct StepOutcome<A: Algorithm> {
    /// The description of the algorithm.
    info: &'static Info,
    /// The node that the step concerned, if any.
    pub node: Option<NodeId>,
    /// A line for a reader: which node received what.
    pub heading: String,
    /// The effects of that node, in order.
    pub effects: Vec<Effect<A>>,
    /// The picks of the step.
    pub picks: Vec<u32>,
    /// The first property that no longer holds.
    pub violation: Option<Violation>,
}

impl<A: Algorithm> StepOutcome<A> {
    /// The step in words, a line each.
    pub fn lines(&self) -> Vec<String> {
        let me = self.node.unwrap_or(0);
        let heading = (!self.heading.is_empty()).then(|| self.heading.clone());
        heading.into_iter().chain(self.effects.iter().map(|effect| effect.describe(self.info, me))).collect()
    }
}

impl<A: Algorithm> World<A> {
    /// A system at its start, in which no message is lost and no node crashes.
    pub fn new(setting: &Setting) -> Result<World<A>, SettingError> {
        System::new(setting).map(|system| World::start(system, Conditions::Reliable))
    }

    /// A system at its start. The properties allow for faults if the conditions do.
    pub fn start(system: System<A>, conditions: Conditions) -> World<A> {
        let (info, nodes, tokens) = (system.info(), system.setting().nodes, system.setting().tokens);
        World {
            terms: Terms::new(info, tokens, conditions),
            nodes: (0..nodes).map(|me| Node::start(&system.site(me))).collect(),
            channels: BTreeMap::new(),
            sent: 0,
            entries: 0,
            fences: Fences::new(info),
            system,
        }
    }

    /// A system at its start, as a scope describes it.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Result<World<A>, SettingError> {
        let system = System::new(&Setting::of(scope, defect))?;
        Ok(World::start(system, scope.allowance.conditions()))
    }

    /// The description of the algorithm.
    pub fn info(&self) -> &'static Info {
        self.system.info()
    }

    /// Sizes and options.
    pub fn setting(&self) -> &Setting {
        self.system.setting()
    }

    /// The site of a node.
    pub fn site(&self, me: NodeId) -> Site<'_, A> {
        self.system.site(me)
    }

    /// Counts everything.
    pub fn census(&self) -> Census {
        let mut census = Census::new(self.system.setting().nodes, self.system.setting().groups);
        for (me, node) in (0..).zip(&self.nodes) {
            node.count(&self.site(me), &mut census);
        }
        for ((_, to), messages) in &self.channels {
            for message in messages {
                A::count_message(message, *to, &mut census);
            }
        }
        census
    }

    /// Takes a step, with the picks it names.
    pub fn take(&mut self, step: &Step) -> Result<StepOutcome<A>, StepError> {
        let mut script = Script::new(&step.picks);
        let mut happened = self.act(step.action, &mut script)?;
        happened.picks = script.made().to_vec();
        Ok(happened)
    }

    /// Takes all steps of a schedule; stops at the first that is not possible or violates a property.
    pub fn run(&mut self, schedule: &str) -> Result<(), RunError> {
        for step in parse_schedule(schedule).map_err(RunError::NotAStep)? {
            let happened = self.take(&step).map_err(|error| RunError::Impossible(step.clone(), error))?;
            if let Some(violation) = happened.violation {
                return Err(RunError::Violated(step, violation));
            }
        }
        Ok(())
    }

    /// Performs an action, with picks from `chance`.
    pub fn act(&mut self, action: Action, chance: &mut dyn Chance) -> Result<StepOutcome<A>, StepError> {
        let info = self.info();
        let (node, heading, event) = self.prepare(action)?;
        let Some((me, event)) = node.zip(event) else {
            let (effects, picks) = (Vec::new(), Vec::new());
            return Ok(StepOutcome { info, node, heading, effects, picks, violation: None });
        };
        let reaction = self.nodes[me as usize].apply(&self.system.site(me), event, chance);
        let mut violation = reaction.violation;
        for effect in &reaction.effects {
            match effect {
                Effect::Send { to, message } => {
                    self.sent += 1;
                    self.channels.entry((me, *to)).or_default().push(message.clone());
                }
                Effect::Enter(grant) => {
                    self.entries += 1;
                    violation = violation.or_else(|| self.fences.violated(me, grant));
                }
                _ => {}
            }
        }
        let violation = violation.or_else(|| self.violated());
        Ok(StepOutcome { info, node, heading, effects: reaction.effects, picks: Vec::new(), violation })
    }

    /// The first property that does not hold now.
    pub fn violated(&self) -> Option<Violation> {
        let census = self.census();
        let property = self.terms.violated(&census)?;
        Some(Violation { property, detail: self.terms.detail(property, &census) })
    }

    /// Whether this property does not hold now. Violations that only a step or only all runs together can
    /// show are not seen here.
    pub fn violates(&self, property: Property) -> bool {
        match property {
            Property::NobodyLeftWaiting => self.violated_at_end().is_some(),
            _ => self.terms.only(property).violated(&self.census()).is_some(),
        }
    }

    /// The property that is violated if nothing more happens from here on.
    pub fn violated_at_end(&self) -> Option<Violation> {
        let census = self.census();
        let waits = census.waiting.iter().any(|&waits| waits > 0);
        let property = Property::NobodyLeftWaiting;
        waits.then(|| Violation { property, detail: self.terms.detail(property, &census) })
    }

    /// Every property that does not hold now. As with [`World::violates`], what only a step or only all runs together
    /// can show is not seen here, and a client that waits counts only if nothing more can happen: no message is under
    /// way, no client is inside, no timer is armed and no node is down.
    pub fn violations(&self) -> Vec<Violation> {
        let census = self.census();
        let ended = self.channels.is_empty()
            && census.inside == 0
            && self.nodes.iter().all(|node| node.armed.is_empty() && node.state.is_some());
        let waits = census.waiting.iter().any(|&waits| waits > 0);
        let violated = |property: &Property| match property {
            Property::NobodyLeftWaiting => ended && waits,
            _ => self.terms.only(*property).violated(&census).is_some(),
        };
        let found = Property::ALL.into_iter().filter(violated);
        found.map(|property| Violation { property, detail: self.terms.detail(property, &census) }).collect()
    }

    /// What there is to draw at a node; nothing while it is down.
    pub fn picture(&self, node: NodeId) -> Picture {
        let mut picture = Picture::default();
        if let Some(state) = self.nodes.get(node as usize).and_then(|node| node.state.as_ref()) {
            state.draw(&self.site(node), &mut picture);
        }
        picture
    }

    /// Every list of picks that the algorithm can make in this action, each with the effects, without performing it;
    /// no more than `most` of them. Empty if the action is not possible or concerns the network alone.
    pub fn variants(&self, action: Action, most: usize) -> Vec<(Vec<u32>, Vec<Effect<A>>)> {
        let mut variants = Vec::new();
        let Some((me, event)) = self.event(action) else { return variants };
        let mut script = Script::default();
        while variants.len() < most {
            let mut node = self.nodes[me as usize].clone();
            let reaction = node.apply(&self.site(me), event.clone(), &mut script);
            variants.push((script.made().to_vec(), reaction.effects));
            if !script.advance() {
                break;
            }
        }
        variants
    }

    /// What a node gets in this action, if it is possible.
    fn event(&self, action: Action) -> Option<(NodeId, Event<A>)> {
        let (node, event) = match action {
            Action::Request { node, client, groups } => {
                (node, Event::Input(Input::Request { client, groups }))
            }
            Action::Cancel { node, client } => (node, Event::Input(Input::Cancel { client })),
            Action::Exit { node, client } => (node, Event::Input(Input::Exit { client })),
            Action::Deliver(Envelope { from, to, overtakes }) => {
                let message = self.channels.get(&(from, to))?.get(overtakes)?.clone();
                (to, Event::Input(Input::Deliver { from, message }))
            }
            Action::Expire { node, timer } => (node, Event::Input(Input::Expire(timer))),
            Action::Crash { node } => (node, Event::Crash),
            Action::Restart { node } => (node, Event::Restart),
            Action::Lose(_) | Action::Duplicate(_) => return None,
        };
        ((node as usize) < self.nodes.len()).then_some((node, event))
    }

    #[allow(clippy::type_complexity)] // who, a line for the reader, and what for the node
    fn prepare(&mut self, action: Action) -> Result<(Option<NodeId>, String, Option<Event<A>>), StepError> {
        let input = |input| Some(Event::Input(input));
        let (info, groups_known) = (self.info(), self.system.setting().groups);
        Ok(match action {
            Action::Request { node: id, client, groups } => {
                let node = self.node(id)?;
                if client > 0 && info.clients == Clients::OneEach {
                    return Err(StepError::OneClient(info.name));
                }
                if client > MOST_CLIENTS {
                    return Err(StepError::ClientNumber);
                }
                if node.state.is_none() || node.client(client) != Client::Idle {
                    return Err(StepError::CannotRequest(id));
                }
                if groups.iter().any(|group| group >= groups_known) {
                    return Err(StepError::NoGroup(groups_known));
                }
                (Some(id), String::new(), input(Input::Request { client, groups }))
            }
            Action::Cancel { node, client } => {
                if info.clients == Clients::OneEach || !self.node(node)?.client(client).is_waiting() {
                    return Err(StepError::CannotCancel(node));
                }
                (Some(node), String::new(), input(Input::Cancel { client }))
            }
            Action::Exit { node, client } => {
                if !self.node(node)?.client(client).is_inside() {
                    return Err(StepError::NotInside(node));
                }
                (Some(node), String::new(), input(Input::Exit { client }))
            }
            Action::Deliver(Envelope { from, to, overtakes }) => {
                // An algorithm that errs may send to a node that does not exist.
                let lost = if self.node(to)?.state.is_none() { " and is down" } else { "" };
                let message = self.take_message(from, to, overtakes)?;
                let heading = format!("{to} receives {message} from {from}{lost}");
                (Some(to), heading, input(Input::Deliver { from, message }))
            }
            Action::Lose(Envelope { from, to, overtakes }) => {
                let message = self.take_message(from, to, overtakes)?;
                (None, format!("{message} from {from} to {to} is lost"), None)
            }
            Action::Duplicate(Envelope { from, to, overtakes }) => {
                let message = self.take_message(from, to, overtakes)?;
                let channel = self.channels.entry((from, to)).or_default();
                channel.insert(overtakes, message.clone());
                channel.push(message.clone());
                (None, format!("{message} from {from} to {to} will arrive twice"), None)
            }
            Action::Expire { node, timer } => {
                if !self.node(node)?.armed.contains(&timer) {
                    return Err(StepError::NotArmed { node, timer });
                }
                let name = info.timers[timer].name;
                (Some(node), format!("timer {name} of {node} runs out"), input(Input::Expire(timer)))
            }
            Action::Crash { node } => {
                if self.node(node)?.state.is_none() {
                    return Err(StepError::Down(node));
                }
                (Some(node), format!("{node} crashes"), Some(Event::Crash))
            }
            Action::Restart { node } => {
                if self.node(node)?.state.is_some() {
                    return Err(StepError::NotDown(node));
                }
                (Some(node), format!("{node} comes back"), Some(Event::Restart))
            }
        })
    }

    fn node(&self, id: NodeId) -> Result<&Node<A>, StepError> {
        self.nodes.get(id as usize).ok_or(StepError::NoNode(id))
    }

    fn take_message(&mut self, from: NodeId, to: NodeId, overtakes: usize) -> Result<A::Message, StepError> {
        let nothing = StepError::NoMessage { from, to };
        let Some(channel) = self.channels.get_mut(&(from, to)) else { return Err(nothing) };
        if overtakes >= channel.len() {
            return Err(nothing);
        }
        let message = channel.remove(overtakes);
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        Ok(message)
    }

    /// Delivers every message under way, and the messages that follow from them, always from the lowest
    /// channel first, until nothing is under way. For tests in which the order does not matter; gives up
    /// after `most` deliveries.
    pub fn settle(&mut self, most: usize) -> Result<(), RunError> {
        for _ in 0..most {
            let Some((&(from, to), _)) = self.channels.first_key_value() else { break };
            self.run(&format!("{from}>{to}"))?;
        }
        if self.channels.is_empty() { Ok(()) } else { Err(RunError::NotSilent(most)) }
    }

    /// Whether a client of a node is inside.
    pub fn inside(&self, node: NodeId) -> bool {
        self.nodes[node as usize].clients().any(|(_, client)| client.is_inside())
    }
}
