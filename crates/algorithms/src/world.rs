//! A whole system in memory, moved step by step: the simplest driver. Transcripts, traces and paper tests run
//! on it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Chance, Effect, Input, NodeId, Site};
use crate::census::Census;
use crate::info::{Clients, Scope};
use crate::node::{Client, Event, Node};
use crate::properties::{Fences, Property, Terms, Violation};
use crate::schedule::{Action, Envelope, Script, Step, parse_schedule};
use crate::setting::{Setting, SettingError};

/// The nodes of a system and the messages between them.
#[derive(Clone, Debug)]
pub struct World<A: Algorithm> {
    setting: Setting,
    rules: A::Rules,
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

/// What one step did.
#[derive(Clone, Debug)]
pub struct Happened<A: Algorithm> {
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

impl<A: Algorithm> Happened<A> {
    /// The step in words, a line each.
    pub fn lines(&self) -> Vec<String> {
        let me = self.node.unwrap_or(0);
        let heading = (!self.heading.is_empty()).then(|| self.heading.clone());
        heading.into_iter().chain(self.effects.iter().map(|effect| effect.describe(me))).collect()
    }
}

impl<A: Algorithm> World<A> {
    /// A system at its start. `faulty` says whether the properties have to allow for losses and crashes.
    pub fn new(setting: &Setting, faulty: bool) -> Result<World<A>, SettingError> {
        setting.validate(&A::INFO)?;
        let rules = A::rules(setting)?;
        let mut world = World {
            setting: setting.clone(),
            terms: Terms::new(&A::INFO, setting.tokens, faulty),
            rules,
            nodes: Vec::new(),
            channels: BTreeMap::new(),
            sent: 0,
            entries: 0,
            fences: Fences::new(&A::INFO),
        };
        world.nodes = (0..setting.nodes).map(|me| Node::start(&world.site(me))).collect();
        Ok(world)
    }

    /// A system at its start, as a scope describes it.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Result<World<A>, SettingError> {
        World::new(&Setting::of(scope, defect), scope.faulty())
    }

    /// The site of a node.
    pub fn site(&self, me: NodeId) -> Site<'_, A> {
        Site { me, nodes: self.setting.nodes, tokens: self.setting.tokens, rules: &self.rules }
    }

    /// Counts everything.
    pub fn census(&self) -> Census {
        let mut census = Census::new(self.setting.nodes, self.setting.groups);
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

    /// Takes a step, with the picks it names. The error is one line that says why the step is not possible
    /// now.
    pub fn take(&mut self, step: &Step) -> Result<Happened<A>, String> {
        let mut script = Script::new(&step.picks);
        let mut happened = self.act(step.action, &mut script)?;
        happened.picks = script.made().to_vec();
        Ok(happened)
    }

    /// Takes all steps of a schedule; stops at the first that is not possible or violates a property.
    pub fn run(&mut self, schedule: &str) -> Result<(), String> {
        for step in parse_schedule(schedule).map_err(|error| error.to_string())? {
            let happened = self.take(&step).map_err(|error| format!("{step}: {error}"))?;
            if let Some(violation) = happened.violation {
                return Err(format!("{step}: {violation}"));
            }
        }
        Ok(())
    }

    /// Performs an action, with picks from `chance`. The error is one line that says why it is not possible
    /// now.
    pub fn act(&mut self, action: Action, chance: &mut dyn Chance) -> Result<Happened<A>, String> {
        let (node, heading, event) = self.prepare(action)?;
        let Some((me, event)) = node.zip(event) else {
            let (effects, picks) = (Vec::new(), Vec::new());
            return Ok(Happened { node, heading, effects, picks, violation: None });
        };
        let site = Site { me, nodes: self.setting.nodes, tokens: self.setting.tokens, rules: &self.rules };
        let reaction = self.nodes[me as usize].apply(&site, event, chance);
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
        Ok(Happened { node, heading, effects: reaction.effects, picks: Vec::new(), violation })
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

    #[allow(clippy::type_complexity)] // who, a line for the reader, and what for the node
    fn prepare(&mut self, action: Action) -> Result<(Option<NodeId>, String, Option<Event<A>>), String> {
        let input = |input| Some(Event::Input(input));
        Ok(match action {
            Action::Request { node: id, client, groups } => {
                let node = self.node(id)?;
                if client > 0 && A::INFO.clients == Clients::OneEach {
                    return Err(format!("{} serves one client at each node, number 0", A::INFO.name));
                }
                if client > Node::<A>::MOST_CLIENTS {
                    return Err(format!("clients have numbers up to {}", Node::<A>::MOST_CLIENTS));
                }
                if node.state.is_none() || node.client(client) != Client::Idle {
                    return Err(format!("the client of node {id} cannot ask now"));
                }
                if groups.iter().any(|group| group >= self.setting.groups) {
                    return Err(format!("there are only {} groups", self.setting.groups));
                }
                (Some(id), String::new(), input(Input::Request { client, groups }))
            }
            Action::Cancel { node, client } => {
                if A::INFO.clients == Clients::OneEach || !self.node(node)?.client(client).is_waiting() {
                    return Err(format!("the client of node {node} cannot give up now"));
                }
                (Some(node), String::new(), input(Input::Cancel { client }))
            }
            Action::Exit { node, client } => {
                if !self.node(node)?.client(client).is_inside() {
                    return Err(format!("the client of node {node} is not inside"));
                }
                (Some(node), String::new(), input(Input::Exit { client }))
            }
            Action::Deliver(Envelope { from, to, overtakes }) => {
                let message = self.take_message(from, to, overtakes)?;
                let lost = if self.nodes[to as usize].state.is_none() { " and is down" } else { "" };
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
                    return Err(format!("timer {timer} of node {node} does not run"));
                }
                let name = A::INFO.timers[timer].name;
                (Some(node), format!("timer {name} of {node} runs out"), input(Input::Expire(timer)))
            }
            Action::Crash { node } => {
                if self.node(node)?.state.is_none() {
                    return Err(format!("node {node} is down already"));
                }
                (Some(node), format!("{node} crashes"), Some(Event::Crash))
            }
            Action::Restart { node } => {
                if self.node(node)?.state.is_some() {
                    return Err(format!("node {node} is not down"));
                }
                (Some(node), format!("{node} comes back"), Some(Event::Restart))
            }
        })
    }

    fn node(&self, id: NodeId) -> Result<&Node<A>, String> {
        self.nodes.get(id as usize).ok_or_else(|| format!("there is no node {id}"))
    }

    fn take_message(&mut self, from: NodeId, to: NodeId, overtakes: usize) -> Result<A::Message, String> {
        let nothing = || format!("no such message is on its way from {from} to {to}");
        let channel = self.channels.get_mut(&(from, to)).ok_or_else(nothing)?;
        if overtakes >= channel.len() {
            return Err(nothing());
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
    pub fn settle(&mut self, most: usize) -> Result<(), String> {
        for _ in 0..most {
            let Some((&(from, to), _)) = self.channels.first_key_value() else { break };
            self.run(&format!("{from}>{to}"))?;
        }
        if self.channels.is_empty() { Ok(()) } else { Err(format!("not silent after {most} deliveries")) }
    }

    /// Whether a client of a node is inside.
    pub fn inside(&self, node: NodeId) -> bool {
        self.nodes[node as usize].clients().any(|(_, client)| client.is_inside())
    }
}
