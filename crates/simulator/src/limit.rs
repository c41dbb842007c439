//! A limit that no algorithm can be below: clients served by an oracle that knows of every request and every exit as soon
//! as messages could tell it, and whose messages cost nothing else.
//!
//! What holds for every algorithm that keeps its promise whatever the length of a section: a node cannot know of an exit
//! at another node sooner than a message takes, so an entry occupies one of the k places for its section and that time,
//! unless the same node enters again in between. `docs/map.md` has the proof, and what it leaves out.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use algorithms::{NodeId, SettingError};
use random::Random;

use crate::plan::Plan;
use crate::summary::Estimate;
use crate::time::{Draws, Shape, Ticks, UNIT, ticks};
use crate::workload::Workload;

/// The algorithms that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All of them, also those in which a node enters again and again while others wait.
    Any,
    /// Those in which a node that leaves, and can know that another one waits, does not enter again before that one.
    InTurn,
}

/// What an algorithm needs at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The mean wait from request to entry.
    pub wait: Estimate,
    /// Messages for each entry: one that brings a token, and one that asks for it if no token moves because of others.
    pub messages: Estimate,
}

impl Limit {
    /// The limit for a plan, from several seeds. Only for memoryless clients, one at each node, without groups and faults.
    pub fn of(plan: &Plan, order: Order, seed: u64, seeds: u64) -> Result<Limit, SettingError> {
        refuse(plan)?;
        let runs: Vec<(f64, f64)> = (0..seeds.max(1))
            .map(|number| Oracle::new(plan, order, seed.wrapping_add(number)).run())
            .collect();
        let mut wait = Estimate::of(&runs.iter().map(|run| run.0).collect::<Vec<f64>>());
        wait.mean = wait.mean.max(away_from_tokens(plan));
        let messages = Estimate::of(&runs.iter().map(|run| run.1).collect::<Vec<f64>>());
        Ok(Limit { wait, messages })
    }
}

fn refuse(plan: &Plan) -> Result<(), SettingError> {
    let reasons = [
        (plan.workload != Workload::Think, "the workload think"),
        (!plan.clients.is_one_each(), "one client per node"),
        (plan.setting.groups != 1, "one group"),
        (!plan.faults.is_empty(), "a network without faults"),
    ];
    match reasons.iter().find(|(given, _)| *given) {
        Some((_, needed)) => Err(SettingError(format!("the limit is only known for {needed}"))),
        None => Ok(()),
    }
}

/// The least time from sending a message to its being handled. Where delays vary, one can be as good as nothing.
pub fn least_hop(plan: &Plan) -> f64 {
    let constant = plan.transit.shape == Shape::Constant;
    plan.send + plan.receive + if constant { plan.transit.mean } else { 0.0 }
}

/// The least mean wait because at most k nodes can enter without a message, and clients without memory do not tell which
/// of them is next: W ≥ h (1 − k/n) (1 + λE) / (1 + λhk/n).
fn away_from_tokens(plan: &Plan) -> f64 {
    let (hop, held) = (least_hop(plan), f64::from(plan.setting.tokens) / f64::from(plan.setting.nodes));
    let away = (1.0 - held).max(0.0);
    hop * away * (1.0 + plan.rate * plan.section.mean) / (1.0 + plan.rate * hop * held)
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request(NodeId),
    Exit(usize),
    /// A message could have told all nodes that this place, left for so many times, is free.
    Open(usize, u64),
}

/// One of the k places: tokens, or what stands for them.
#[derive(Clone, Copy)]
struct Place {
    /// The node that is inside, or was last.
    node: NodeId,
    /// How often it has been left.
    left: u64,
    busy: bool,
}

/// Clients, places, and a scheduler without messages.
struct Oracle<'p> {
    plan: &'p Plan,
    order: Order,
    hop: Ticks,
    section: Draws,
    random: Random,
    now: Ticks,
    count: u64,
    agenda: BinaryHeap<Reverse<(Ticks, u64, Event)>>,
    places: Vec<Place>,
    /// For each node the free place that it was the last to use, if there is one.
    own: Vec<Option<usize>>,
    /// The free places that every node could know of.
    open: BTreeSet<usize>,
    /// Who waits, since when.
    waiting: VecDeque<(NodeId, Ticks)>,
    entered: u64,
    waited: u128,
    messages: u64,
}

impl<'p> Oracle<'p> {
    fn new(plan: &'p Plan, order: Order, seed: u64) -> Oracle<'p> {
        let (nodes, tokens) = (plan.setting.nodes, plan.setting.tokens.min(plan.setting.nodes));
        let mut oracle = Oracle {
            plan,
            order,
            hop: ticks(least_hop(plan)),
            section: Draws::new(plan.section),
            random: Random::stream(seed, 6),
            now: 0,
            count: 0,
            agenda: BinaryHeap::new(),
            places: (0..tokens).map(|node| Place { node, left: 0, busy: false }).collect(),
            own: (0..nodes).map(|node| (node < tokens).then_some(node as usize)).collect(),
            open: (0..tokens as usize).collect(),
            waiting: VecDeque::new(),
            entered: 0,
            waited: 0,
            messages: 0,
        };
        for node in 0..nodes {
            oracle.think(node);
        }
        oracle
    }

    /// The mean wait, and the messages for each entry.
    fn run(mut self) -> (f64, f64) {
        while self.entered < self.plan.warmup + self.plan.entries {
            let Some(Reverse((time, _, event))) = self.agenda.pop() else { break };
            self.now = time;
            match event {
                Event::Request(node) => self.request(node),
                Event::Exit(place) => self.exit(place),
                Event::Open(place, left) => self.open(place, left),
            }
        }
        let measured = (self.entered - self.plan.warmup.min(self.entered)).max(1) as f64;
        (self.waited as f64 / UNIT / measured, self.messages as f64 / measured)
    }

    fn plan_event(&mut self, after: Ticks, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((self.now + after, self.count, event)));
    }

    fn think(&mut self, node: NodeId) {
        let pause = ticks(self.random.exponential() / self.plan.rate);
        self.plan_event(pause, Event::Request(node));
    }

    fn request(&mut self, node: NodeId) {
        let own = self.own[node as usize];
        if let Some(place) = own.filter(|_| self.may_enter_again()) {
            self.enter(place, node, self.now, 0);
        } else if let Some(place) = self.open.first().copied() {
            // No token moves, so it has to ask for one.
            self.enter(place, node, self.now, 2);
        } else {
            self.waiting.push_back((node, self.now));
        }
    }

    /// Whether a node may use the place that it has left although others wait.
    fn may_enter_again(&self) -> bool {
        let known = self.waiting.front().is_some_and(|(_, since)| since + self.hop <= self.now);
        self.order == Order::Any || !known
    }

    fn enter(&mut self, place: usize, node: NodeId, since: Ticks, messages: u64) {
        let before = &mut self.own[self.places[place].node as usize];
        // It may have used another place since.
        if *before == Some(place) {
            *before = None;
        }
        self.open.remove(&place);
        (self.places[place].node, self.places[place].busy) = (node, true);
        self.entered += 1;
        if self.entered > self.plan.warmup {
            self.waited += u128::from(self.now - since);
            self.messages += messages;
        }
        let lasts = self.section.draw(&mut self.random);
        self.plan_event(lasts, Event::Exit(place));
    }

    fn exit(&mut self, place: usize) {
        let node = self.places[place].node;
        (self.places[place].left, self.places[place].busy) = (self.places[place].left + 1, false);
        self.own[node as usize] = Some(place);
        self.plan_event(self.hop, Event::Open(place, self.places[place].left));
        self.think(node);
    }

    fn open(&mut self, place: usize, left: u64) {
        let Place { left: last, busy, .. } = self.places[place];
        // The same node has entered again.
        if last != left || busy {
            return;
        }
        match self.waiting.pop_front() {
            Some((node, since)) => self.enter(place, node, since, 1),
            None => {
                self.open.insert(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    fn plan(nodes: u32, tokens: u32, rate: f64, section: f64) -> Plan {
        let mut plan = Plan { rate, section: Span::constant(section), entries: 20_000, ..Plan::default() };
        (plan.setting.nodes, plan.setting.tokens) = (nodes, tokens);
        plan
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 0.02 * expected, "{measured}, expected {expected}");
    }

    /// Hardly any load: only the k nodes with a token need no message.
    #[test]
    fn at_light_load() {
        let limit = Limit::of(&plan(30, 3, 1e-4, 0.0), Order::InTurn, 1, 3).unwrap();
        near(limit.wait.mean, 0.9);
        near(limit.messages.mean, 1.8);
    }

    /// All nodes wait: places change hands one hop after the other, unless nodes need not take turns.
    #[test]
    fn at_saturation() {
        for (tokens, section) in [(1, 0.0), (3, 2.0)] {
            let plan = plan(30, tokens, 10.0, section);
            let cycle = |hop: f64| 30.0 / f64::from(tokens) * (section + hop) - section - 0.1;
            let limit = |order| Limit::of(&plan, order, 1, 3).unwrap();
            near(limit(Order::InTurn).wait.mean, cycle(1.0));
            near(limit(Order::InTurn).messages.mean, 1.0);
            // A node asks again within a hop nearly always, after a tenth of it.
            assert!(limit(Order::Any).wait.mean < cycle(0.2));
        }
    }

    /// With a place for each node nothing is needed.
    #[test]
    fn places_for_all() {
        let limit = Limit::of(&plan(5, 5, 1.0, 3.0), Order::InTurn, 1, 2).unwrap();
        assert_eq!((limit.wait.mean, limit.messages.mean), (0.0, 0.0));
    }

    #[test]
    fn what_it_is_not_known_for() {
        let refused = |plan: &Plan| Limit::of(plan, Order::Any, 1, 1).unwrap_err().to_string();
        let usual = plan(5, 1, 1.0, 0.0);
        assert!(refused(&Plan { workload: Workload::Burst, ..usual.clone() }).contains("workload think"));
        assert!(refused(&Plan { clients: 2.into(), ..usual.clone() }).contains("one client"));
        let mut grouped = usual;
        grouped.setting.groups = 2;
        assert!(refused(&grouped).contains("one group"));
    }
}
