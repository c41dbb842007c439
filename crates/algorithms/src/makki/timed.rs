//! A system with a clock, for the tests of an algorithm that is correct only with time bounds. Deterministic,
//! and every run ends: each client asks a given number of times and the number of events is bounded.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{Makki, Message};
use crate::algorithm::{Algorithm, Effect, Groups, NodeId};
use crate::schedule::{Action, Envelope, Script};
use crate::{Setting, World};

/// More events than any of the tests needs.
const MOST: usize = 1_000_000;

/// The load of a run.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub nodes: u32,
    pub tokens: u32,
    /// For each node, how long its client thinks before each of its requests.
    pub thinks: Vec<Vec<u32>>,
    /// The delays of messages, repeated in a cycle.
    pub delays: Vec<u32>,
    /// For each node, how long its client stays inside.
    pub sections: Vec<u32>,
    /// The bound on delays that the nodes assume.
    pub hop: u32,
    /// What comes first when several things happen at the same time. Timers always come last: a wait includes
    /// its last moment.
    pub tie_break: TieBreak,
}

/// Which of several things that happen at the same time comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TieBreak {
    /// What clients do.
    Clients,
    /// The oldest message.
    Messages,
    /// The newest message.
    NewestMessage,
}

impl Load {
    /// Constant delays and sections.
    pub(super) fn new(nodes: u32, tokens: u32, hop: u32, section: u32, thinks: Vec<Vec<u32>>) -> Load {
        let sections = vec![section; nodes as usize];
        Load { nodes, tokens, thinks, delays: vec![hop], sections, hop, tie_break: TieBreak::Clients }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub world: World<Makki>,
    /// The first violated property; the run goes on all the same.
    pub violation: Option<String>,
    /// How long each client waited, in the order of entries.
    pub waits: Vec<u32>,
    pub sent: BTreeMap<&'static str, u32>,
    pub notes: Vec<&'static str>,
    /// The entries, each with its time.
    pub entered: Vec<(u32, NodeId)>,
}

impl Outcome {
    /// What is wrong with the run, if anything: a violated property, a client left waiting, or a semaphore
    /// that is not back at k at a good site that all nodes know.
    pub(super) fn failure(&self, load: &Load) -> Option<String> {
        let asked: usize = load.thinks.iter().map(Vec::len).sum();
        let left = self.world.violated_at_end().map(|violation| violation.to_string());
        self.violation.clone().or(left).or_else(|| {
            let holders = self.holders();
            let [(good, free)] = holders[..] else { return Some(format!("holders {holders:?}")) };
            let nodes = self.world.nodes.iter().filter_map(|node| node.state.as_ref());
            let known: Vec<NodeId> = nodes.map(|node| node.good_and_free().0).collect();
            if free != load.tokens || known.iter().any(|&node| node != good) {
                return Some(format!("good site {good} ends with {free} free; the nodes know {known:?}"));
            }
            (self.waits.len() != asked).then(|| format!("{} of {asked} entered", self.waits.len()))
        })
    }

    /// The nodes that have the token, with the semaphore.
    pub(super) fn holders(&self) -> Vec<(NodeId, u32)> {
        let nodes = (0..).zip(self.world.nodes.iter().filter_map(|node| node.state.as_ref()));
        nodes.filter_map(|(me, node)| node.good_and_free().1.map(|free| (me, free))).collect()
    }

    /// The mean wait, in units of time.
    pub(super) fn mean_wait(&self) -> f64 {
        f64::from(self.waits.iter().sum::<u32>()) / self.waits.len() as f64
    }

    /// Messages of a kind per entry.
    pub(super) fn per_entry(&self, kind: &str) -> f64 {
        f64::from(self.sent.get(kind).copied().unwrap_or(0)) / self.waits.len() as f64
    }
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Ask(NodeId),
    Leave(NodeId),
    Arrive { from: NodeId, to: NodeId, id: u64 },
    Expire(NodeId, usize),
}

struct Run<'a> {
    load: &'a Load,
    now: u32,
    /// Pending events, by time, class and number.
    due: BTreeMap<(u32, u8, u64), Due>,
    numbers: u64,
    /// The numbers of the messages under way in each channel, as the world keeps them.
    channels: BTreeMap<(NodeId, NodeId), Vec<u64>>,
    asked_at: Vec<u32>,
    asked: Vec<usize>,
    out: Outcome,
}

/// Runs a load to its end.
pub(super) fn run(load: &Load) -> Outcome {
    let world = World::new(&Setting::new(load.nodes, load.tokens)).expect("a setting that is served");
    let mut run = Run {
        load,
        now: 0,
        due: BTreeMap::new(),
        numbers: 0,
        channels: BTreeMap::new(),
        asked_at: vec![0; load.nodes as usize],
        asked: vec![0; load.nodes as usize],
        out: Outcome {
            world,
            violation: None,
            waits: Vec::new(),
            sent: BTreeMap::new(),
            notes: Vec::new(),
            entered: Vec::new(),
        },
    };
    (0..load.nodes).for_each(|node| run.think(node));
    for _ in 0..MOST {
        let Some(((now, _, _), due)) = run.due.pop_first() else { return run.out };
        run.now = now;
        run.handle(due);
    }
    panic!("no end after {MOST} events: {load:?}");
}

impl Run<'_> {
    fn think(&mut self, node: NodeId) {
        let index = node as usize;
        if let Some(&think) = self.load.thinks[index].get(self.asked[index]) {
            self.asked[index] += 1;
            self.schedule(think, Due::Ask(node));
        }
    }

    fn schedule(&mut self, delay: u32, due: Due) -> u64 {
        self.numbers += 1;
        let (tie_break, number) = (self.load.tie_break, self.numbers);
        let (class, order) = match due {
            Due::Ask(_) | Due::Leave(_) => (if tie_break == TieBreak::Clients { 0 } else { 2 }, number),
            Due::Arrive { .. } => {
                (1, if tie_break == TieBreak::NewestMessage { u64::MAX - number } else { number })
            }
            Due::Expire(..) => (3, number),
        };
        self.due.insert((self.now + delay, class, order), due);
        number
    }

    fn handle(&mut self, due: Due) {
        let action = match due {
            Due::Ask(node) => {
                self.asked_at[node as usize] = self.now;
                Action::Request { node, client: 0, groups: Groups::one(0) }
            }
            Due::Leave(node) => Action::Exit { node, client: 0 },
            Due::Arrive { from, to, id } => {
                let channel = self.channels.entry((from, to)).or_default();
                let overtakes = channel.iter().position(|&other| other == id).expect("it is under way");
                channel.remove(overtakes);
                Action::Deliver(Envelope { from, to, overtakes })
            }
            Due::Expire(node, timer) => Action::Expire { node, timer },
        };
        let happened = self.out.world.act(action, &mut Script::default()).expect("what is due is possible");
        let me = happened.node.expect("everything happens at a node");
        if let (None, Some(violation)) = (&self.out.violation, &happened.violation) {
            self.out.violation = Some(format!("at {}: {violation}", self.now));
        }
        for effect in &happened.effects {
            self.carry_out(me, effect);
        }
        if let Due::Leave(node) = due {
            self.think(node);
        }
    }

    fn carry_out(&mut self, me: NodeId, effect: &Effect<Makki>) {
        match effect {
            Effect::Send { to, message } => self.send(me, *to, message),
            Effect::Enter(_) => {
                self.out.waits.push(self.now - self.asked_at[me as usize]);
                self.out.entered.push((self.now, me));
                self.schedule(self.load.sections[me as usize], Due::Leave(me));
            }
            Effect::Arm(timer, wait) => {
                assert_eq!(wait.sections, 0);
                self.schedule(wait.hops * self.load.hop, Due::Expire(me, *timer));
            }
            Effect::Note(note) if !self.out.notes.contains(note) => self.out.notes.push(note),
            _ => {}
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: &Message) {
        *self.out.sent.entry(Makki::kind(message)).or_default() += 1;
        let delays = &self.load.delays;
        let delay = delays[self.numbers as usize % delays.len()];
        let id = self.numbers + 1;
        assert_eq!(self.schedule(delay, Due::Arrive { from, to, id }), id);
        self.channels.entry((from, to)).or_default().push(id);
    }
}
