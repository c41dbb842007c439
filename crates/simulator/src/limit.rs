//! Limits that no algorithm can be below: the least mean wait, and the fewest messages of an algorithm that waits so long.
//!
//! They hold for every algorithm that keeps its promise whatever the length of a section and does not know what comes: a
//! node cannot know of an exit or a request at another node sooner than a message takes. `docs/map.md` has the proofs.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use algorithms::{NodeId, SettingError};
use random::Random;

use crate::plan::Plan;
use crate::summary::Estimate;
use crate::time::{Draws, Shape, Ticks, UNIT, ticks};
use crate::workload::Workload;

/// The least mean wait of any algorithm, from several seeds. Only for memoryless clients, one at each node, without groups
/// and faults.
pub fn least_wait(plan: &Plan, seed: u64, seeds: u64) -> Result<Estimate, SettingError> {
    refuse(plan)?;
    let waits: Vec<f64> =
        (0..seeds.max(1)).map(|number| Oracle::new(plan, seed.wrapping_add(number)).run()).collect();
    let (served, known) = (Estimate::of(&waits), least_wait_known(plan));
    Ok(if known >= served.mean { Estimate { mean: known, stderr: 0.0, ..served } } else { served })
}

/// The fewest messages for each entry of an algorithm that is driven by messages and has this mean wait; `None` if nothing
/// is known: one that lets clients wait may let a node enter again and again before its token moves.
pub fn fewest_messages(plan: &Plan, wait: f64) -> Option<f64> {
    refuse(plan).ok()?;
    let (asks, held) = (plan.rate * least_hop(plan), share_of_places(plan));
    let away = (1.0 + plan.rate * plan.section.mean) * (1.0 - held) - plan.rate * wait * held;
    (asks < 1.0 && away > 0.0).then(|| (away / (1.0 - asks)).min(1.0))
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

/// How many places there are for each node.
fn share_of_places(plan: &Plan) -> f64 {
    (f64::from(plan.setting.tokens) / f64::from(plan.setting.nodes)).min(1.0)
}

/// The least mean wait as far as a formula has it: from the throughput, X ≤ k / (E + min(h, 1/λ)); and from the share of
/// the requests that need a message.
fn least_wait_known(plan: &Plan) -> f64 {
    let (hop, rate, section, held) = (least_hop(plan), plan.rate, plan.section.mean, share_of_places(plan));
    let queue = (section + hop.min(1.0 / rate)) / held - 1.0 / rate - section;
    let (asks, away) = (rate * hop, 1.0 - held);
    if asks < 1.0 { queue.max(hop * away * (1.0 + rate * section) / (1.0 - asks * away)) } else { queue }
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

/// Clients, places, and a scheduler without messages that knows of every request at once.
struct Oracle<'p> {
    plan: &'p Plan,
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
    /// When measuring began.
    began: Ticks,
    waited: u128,
}

impl<'p> Oracle<'p> {
    fn new(plan: &'p Plan, seed: u64) -> Oracle<'p> {
        let (nodes, tokens) = (plan.setting.nodes, plan.setting.tokens.min(plan.setting.nodes));
        let mut oracle = Oracle {
            plan,
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
            began: 0,
            waited: 0,
        };
        for node in 0..nodes {
            oracle.think(node);
        }
        oracle
    }

    /// The mean wait. Where clients wait longer than they think it is taken from the throughput, which varies less.
    fn run(mut self) -> f64 {
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
        let (wait, thinks) = (self.waited as f64 / UNIT / measured, 1.0 / self.plan.rate);
        if wait <= thinks {
            return wait;
        }
        let every = (self.now - self.began) as f64 / UNIT / measured;
        f64::from(self.plan.setting.nodes) * every - thinks - self.plan.section.mean
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
        // The place that it has left needs no message, even before others can know that it is free.
        match self.own[node as usize].or_else(|| self.open.first().copied()) {
            Some(place) => self.enter(place, node, self.now),
            None => self.waiting.push_back((node, self.now)),
        }
    }

    fn enter(&mut self, place: usize, node: NodeId, since: Ticks) {
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
        } else {
            self.began = self.now;
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
            Some((node, since)) => self.enter(place, node, since),
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

    fn least(plan: &Plan) -> f64 {
        least_wait(plan, 1, 3).unwrap().mean
    }

    /// Hardly any load: only the k nodes with a token need no message.
    #[test]
    fn at_light_load() {
        let plan = plan(30, 3, 1e-4, 0.0);
        near(least(&plan), 0.9);
        near(fewest_messages(&plan, 0.9).unwrap(), 0.9);
    }

    /// All nodes wait, and clients think longer than a hop: places change hands one hop after the other.
    #[test]
    fn at_saturation() {
        for (tokens, section) in [(1, 0.0), (3, 2.0)] {
            let plan = plan(30, tokens, 0.9, section);
            let wait = 30.0 / f64::from(tokens) * (section + 1.0) - section - 1.0 / 0.9;
            near(least(&plan), wait);
            near(fewest_messages(&plan, wait).unwrap(), 1.0);
            // One that waits longer may need none.
            assert_eq!(fewest_messages(&plan, 2.0 * wait), None);
        }
    }

    /// Clients ask again within a hop: it is faster to wait for them than to hand the token on, and needs no message.
    #[test]
    fn clients_that_ask_again_at_once() {
        let plan = plan(30, 3, 10.0, 2.0);
        near(least(&plan), 10.0 * 2.1 - 2.1);
        assert_eq!(fewest_messages(&plan, 10.0), None);
    }

    /// The formula and the oracle take over from each other without a step.
    #[test]
    fn more_load_is_more_wait() {
        let waits = [0.001, 0.01, 0.03, 0.1, 0.3, 0.9, 1.0].map(|rate| least(&plan(30, 3, rate, 1.0)));
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1] * 1.02), "{waits:?}");
        near(least(&plan(30, 3, 0.999, 1.0)), least(&plan(30, 3, 1.001, 1.0)));
    }

    /// With a place for each node nothing is needed.
    #[test]
    fn places_for_all() {
        let plan = plan(5, 5, 1.0, 3.0);
        assert_eq!((least(&plan), fewest_messages(&plan, 0.0)), (0.0, None));
    }

    #[test]
    fn what_it_is_not_known_for() {
        let refused = |plan: &Plan| least_wait(plan, 1, 1).unwrap_err().to_string();
        let usual = plan(5, 1, 1.0, 0.0);
        assert!(refused(&Plan { workload: Workload::Burst, ..usual.clone() }).contains("workload think"));
        assert!(refused(&Plan { clients: 2.into(), ..usual.clone() }).contains("one client"));
        let mut grouped = usual;
        grouped.setting.groups = 2;
        assert!(refused(&grouped).contains("one group"));
        assert_eq!(fewest_messages(&grouped, 1.0), None);
    }
}
