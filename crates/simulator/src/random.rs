//! Random runs: delays, critical sections and pauses spread over three orders of magnitude, and faults where
//! the scope allows them. Every property is checked after every step.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use algorithms::schedule::Envelope;
use algorithms::{
    Action, Case, ClientId, Effect, Erased, NodeId, Property, Scope, SettingError, Step, System, Timer,
    Violation, Wait, World, registry,
};
use random::{Random, RecordedPicks};

mod standard;
pub use standard::standard;

/// The longest delay, section or pause that [`Random::spread`] gives.
const LONGEST: u64 = 1024;
/// A bound on delays and sections that timers can rely on: a message behind others in its channel takes a
/// little longer than [`LONGEST`].
const BOUND: u64 = LONGEST + LONGEST / 4;
/// This percentage of messages is lost or duplicated, as long as the scope allows it.
const FAULT_PERCENT: u64 = 5;
/// This percentage of clients cancel, where clients may cancel.
const CANCEL_PERCENT: u64 = 30;
/// More steps than this for each request of each node count as a livelock.
const STEPS_PER_REQUEST: u64 = 10_000;

/// More requests than this in one run are taken for a mistake.
const MOST_REQUESTS: u64 = 10_000_000;

/// What to run.
#[derive(Clone, Debug)]
pub struct RandomJob {
    /// The system, its clients' behaviour and its faults. Timers run if `firings` is not 0, and always for
    /// algorithms that need them.
    pub case: Case,
    /// Pauses between requests are this many times as long as everything else: 1 is heavy load, 100 is light.
    pub pause: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct RandomRun {
    /// The violation, if any.
    pub violation: Option<Violation>,
    /// Every step of the run.
    pub steps: Vec<Step>,
    /// The number of messages sent.
    pub messages: u64,
    /// The number of entries.
    pub entries: u64,
}

impl RandomJob {
    /// The job that a scope describes.
    pub fn of(scope: &Scope, defect: Option<&str>) -> RandomJob {
        RandomJob { case: Case::of(scope, defect), pause: 1 }
    }
}

/// Runs the algorithm of this name once.
pub fn run(name: &str, job: &RandomJob, seed: u64) -> Result<RandomRun, SettingError> {
    job.case.setting.validate(registry::info(name)?)?;
    let (nodes, requests) = (u64::from(job.case.setting.nodes), u64::from(job.case.allowance.requests));
    if nodes * requests > MOST_REQUESTS || job.pause > MOST_REQUESTS {
        let why = "a random run takes at most 10 million requests in all, and a pause of 10 million";
        return Err(SettingError(why.to_string()));
    }
    let mut run = Run::new(registry::system(name, &job.case.setting)?, job, seed);
    let violation = run.finish();
    Ok(RandomRun { violation, steps: run.steps, messages: run.world.sent, entries: run.world.entries })
}

/// A pending event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request(NodeId),
    Exit(NodeId, ClientId),
    Cancel(NodeId, ClientId),
    /// The sender, the receiver and the number of the message.
    Arrive(NodeId, NodeId, u64),
    /// Ignored if the timer has been armed again since.
    Expire(NodeId, Timer, u64),
    Crash,
    Restart(NodeId),
}

struct Run<'a> {
    job: &'a RandomJob,
    world: World<Erased>,
    random: RecordedPicks,
    now: u64,
    /// Counts all events on the agenda, so that events due at the same time have an order.
    count: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// The numbers of the messages under way, parallel to the channels of the world.
    numbers: BTreeMap<(NodeId, NodeId), Vec<u64>>,
    /// When the latest message of a channel arrives.
    latest: BTreeMap<(NodeId, NodeId), u64>,
    armed: BTreeMap<(NodeId, Timer), u64>,
    asked: Vec<u32>,
    reorder: bool,
    constant: bool,
    losses: u32,
    duplicates: u32,
    crashes: u32,
    steps: Vec<Step>,
}

impl<'a> Run<'a> {
    fn new(system: System<Erased>, job: &'a RandomJob, seed: u64) -> Run<'a> {
        let (info, nodes) = (system.info(), job.case.setting.nodes);
        let mut run = Run {
            job,
            world: World::start(system, job.case.allowance.conditions()),
            random: RecordedPicks::new(Random::new(seed)),
            now: 0,
            count: 0,
            agenda: BinaryHeap::new(),
            numbers: BTreeMap::new(),
            latest: BTreeMap::new(),
            armed: BTreeMap::new(),
            asked: vec![0; nodes as usize],
            reorder: job.case.reorders(info),
            constant: info.relies_on_pace(),
            losses: job.case.allowance.losses,
            duplicates: job.case.allowance.duplicates,
            crashes: job.case.allowance.crashes,
            steps: Vec::new(),
        };
        for node in 0..nodes {
            run.pause(node);
        }
        for _ in 0..job.case.allowance.crashes {
            let at = run.random.below(u64::from(job.case.allowance.requests) * LONGEST);
            run.plan(at, Event::Crash);
        }
        run
    }

    fn plan(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((self.now + after, self.count, event)));
    }

    fn pause(&mut self, node: NodeId) {
        let after = self.random.spread() * self.job.pause;
        self.plan(after, Event::Request(node));
    }

    /// Runs to the end; returns the violation, if any.
    fn finish(&mut self) -> Option<Violation> {
        let most = STEPS_PER_REQUEST
            * u64::from(self.job.case.setting.nodes)
            * u64::from(self.job.case.allowance.requests);
        for _ in 0..most {
            let Some(Reverse((time, _, event))) = self.agenda.pop() else {
                return self.world.violated_at_end();
            };
            self.now = time;
            if let Some(violation) = self.handle(event) {
                return Some(violation);
            }
        }
        let detail = format!("not over after {most} events");
        Some(Violation::new(Property::EndReachable, detail))
    }

    fn handle(&mut self, event: Event) -> Option<Violation> {
        let action = match event {
            Event::Request(node) => self.request(node)?,
            Event::Exit(node, client) => {
                let inside = self.world.nodes[node as usize].client(client).is_inside();
                inside.then_some(Action::Exit { node, client })?
            }
            Event::Cancel(node, client) => {
                let waits = self.world.nodes[node as usize].client(client).is_waiting();
                waits.then_some(Action::Cancel { node, client })?
            }
            Event::Arrive(from, to, number) => {
                let numbers = self.numbers.get_mut(&(from, to))?;
                let overtakes = numbers.iter().position(|&other| other == number)?;
                numbers.remove(overtakes);
                Action::Deliver(Envelope { from, to, overtakes })
            }
            Event::Expire(node, timer, count) => {
                let current = self.armed.get(&(node, timer)) == Some(&count);
                let runs = self.world.nodes[node as usize].armed.contains(&timer);
                (current && runs).then_some(Action::Expire { node, timer })?
            }
            Event::Crash => {
                let node = self.random.below(u64::from(self.job.case.setting.nodes)) as NodeId;
                if self.crashes == 0 || self.world.nodes[node as usize].state.is_none() {
                    return None;
                }
                self.crashes -= 1;
                let after = self.random.spread();
                self.plan(after, Event::Restart(node));
                Action::Crash { node }
            }
            Event::Restart(node) => Action::Restart { node },
        };
        self.take(action)
    }

    fn request(&mut self, node: NodeId) -> Option<Action> {
        let asked = &self.world.nodes[node as usize];
        let client = asked.idle_client();
        if self.asked[node as usize] >= self.job.case.allowance.requests
            || asked.state.is_none()
            || client >= self.job.case.allowance.clients
        {
            return None;
        }
        self.asked[node as usize] += 1;
        if self.job.case.allowance.cancels && self.random.percent(CANCEL_PERCENT) {
            let after = self.random.spread();
            self.plan(after, Event::Cancel(node, client));
        }
        if client + 1 < self.job.case.allowance.clients {
            // The next client does not wait for this one.
            self.pause(node);
        }
        let wanted = self.job.case.groups_wanted();
        let groups = wanted[self.random.below(wanted.len() as u64) as usize];
        Some(Action::Request { node, client, groups })
    }

    fn take(&mut self, action: Action) -> Option<Violation> {
        self.random.picks.clear();
        let happened = match self.world.act(action, &mut self.random) {
            Ok(happened) => happened,
            Err(error) => return Some(Violation::new(Property::NothingImpossible, error.to_string())),
        };
        let picks = std::mem::take(&mut self.random.picks);
        self.steps.push(Step { action, picks });
        let mut sent = Vec::new();
        if let Some(me) = happened.node {
            if matches!(action, Action::Exit { .. } | Action::Cancel { .. } | Action::Restart { .. }) {
                self.pause(me);
            }
            for effect in &happened.effects {
                match effect {
                    Effect::Send { to, .. } => sent.push((me, *to, self.number(me, *to))),
                    Effect::Enter(grant) => {
                        let after = if self.constant { LONGEST / 2 } else { self.random.spread() };
                        self.plan(after, Event::Exit(me, grant.client));
                    }
                    Effect::Arm(timer, wait) => self.arm(me, *timer, *wait),
                    _ => {}
                }
            }
        }
        let follow_up = sent.into_iter().filter_map(|(from, to, number)| self.route(from, to, number)).next();
        happened.violation.or(follow_up)
    }

    /// The number of a message that was just sent.
    fn number(&mut self, from: NodeId, to: NodeId) -> u64 {
        self.count += 1;
        self.numbers.entry((from, to)).or_default().push(self.count);
        self.count
    }

    fn arm(&mut self, node: NodeId, timer: Timer, wait: Wait) {
        let needed = self.constant || self.world.info().relies_on_timers();
        if self.job.case.allowance.firings > 0 || needed {
            let after = BOUND * u64::from(wait.hops + wait.sections);
            self.plan(after, Event::Expire(node, timer, self.count + 1));
            self.armed.insert((node, timer), self.count);
        }
    }

    /// Decides the fate of a message: it arrives once, it arrives twice, or it is lost.
    fn route(&mut self, from: NodeId, to: NodeId, number: u64) -> Option<Violation> {
        let numbers = self.numbers.entry((from, to)).or_default();
        let overtakes = numbers.iter().position(|&other| other == number)?;
        let envelope = Envelope { from, to, overtakes };
        if self.losses > 0 && self.random.percent(FAULT_PERCENT) {
            self.losses -= 1;
            self.numbers.entry((from, to)).or_default().remove(overtakes);
            return self.take(Action::Lose(envelope));
        }
        self.plan_arrival(from, to, number);
        if self.duplicates > 0 && self.random.percent(FAULT_PERCENT) {
            self.duplicates -= 1;
            let twin = self.number(from, to);
            self.plan_arrival(from, to, twin);
            return self.take(Action::Duplicate(envelope));
        }
        None
    }

    fn plan_arrival(&mut self, from: NodeId, to: NodeId, number: u64) {
        let mut at = self.now + self.random.spread();
        if !self.reorder {
            let latest = self.latest.entry((from, to)).or_default();
            at = at.max(*latest + 1);
            *latest = at;
        }
        self.plan(at - self.now, Event::Arrive(from, to, number));
    }
}
