//! The discrete-event driver: the same state machines as in every driver, in simulated time.
//!
//! Each node has one processor. An arriving message waits until the processor is free, occupies it for Tr,
//! and then the handler runs. Each message that the handler sends occupies it for Ts, one after the other,
//! before the next message is received. Inputs of the local client are handled at once; the messages they
//! cause queue behind what the processor is doing. A client inside does not occupy the processor.

use algorithms::node::{Event as NodeEvent, Node};
use algorithms::properties::{Fences, Terms};
use algorithms::registry::{self, Visitor};
use algorithms::schedule::Envelope;
use algorithms::{
    Action, Algorithm, Census, Effect, Info, Input, Kind, NodeId, Outbox, Property, SettingError, Site, Step,
    System, Timer, Violation, Wait,
};
use random::{Random, RecordedPicks};

use crate::agenda::{Agenda, Event};
use crate::measures::Measures;
use crate::memory;
use crate::network::Network;
use crate::plan::Plan;
use crate::processor::Processor;
use crate::time::{Draws, Ticks, ticks, units};
use crate::workload::{Load, Workload};

/// More events per node than this without an entry count as a livelock.
const MOST_EVENTS_PER_NODE: u64 = 100_000;
/// More messages under way than this would soon fill the memory.
const MOST_UNDER_WAY: usize = 20_000_000;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// The measures.
    pub measures: Measures,
    /// The number of messages sent, warm-up included.
    pub messages: u64,
    /// How many bytes a node takes at the end, on average.
    pub bytes_per_node: u64,
    /// The longest queue seen, if properties were checked.
    pub longest_queue: u32,
    /// The violation, if any; the run ended there.
    pub violation: Option<Violation>,
    /// Every step, if steps are recorded.
    pub steps: Vec<Step>,
}

/// Whether a run keeps its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Every step is kept, for a trace.
    On,
    /// No step is kept.
    Off,
}

/// Runs a plan for the algorithm of this name once from a seed.
pub fn run(name: &str, plan: &Plan, seed: u64, recording: Recording) -> Result<Outcome, SettingError> {
    plan.validate_for(name)?;
    registry::visit(name, &plan.setting, Run { plan, seed, recording })?
}

struct Run<'a> {
    plan: &'a Plan,
    seed: u64,
    recording: Recording,
}

impl Visitor for Run<'_> {
    type Output = Result<Outcome, SettingError>;

    fn visit<A: Algorithm>(self, system: System<A>) -> Self::Output {
        run_system(&system, self.plan, self.seed, self.recording)
    }
}

fn run_system<A: Algorithm>(
    system: &System<A>,
    plan: &Plan,
    seed: u64,
    recording: Recording,
) -> Result<Outcome, SettingError> {
    let mut engine = Engine::new(system, plan, seed, recording);
    if engine.warmup == 0 {
        engine.measures.begin(0);
    }
    let violation = engine.run_until_over()?;
    let now = engine.now;
    for client in
        engine.processors.iter().flat_map(|processor| &processor.clients).filter(|client| client.waits)
    {
        engine.measures.still_waits(now - client.asked_at);
    }
    engine.measures.end(now);
    let measures = engine.measures.clone();
    let violation = if violation.is_some() { violation } else { engine.settle()? };
    Ok(Outcome {
        seed,
        measures,
        bytes_per_node: memory::bytes_per_node(system.rules(), &engine.nodes),
        messages: engine.network.sent,
        longest_queue: engine.census.longest_queue,
        violation,
        steps: engine.network.steps.unwrap_or_default(),
    })
}

pub(crate) struct Engine<'p, A: Algorithm> {
    pub(crate) plan: &'p Plan,
    system: &'p System<A>,
    pub(crate) now: Ticks,
    pub(crate) agenda: Agenda,
    pub(crate) nodes: Vec<Node<A>>,
    pub(crate) processors: Vec<Processor>,
    pub(crate) network: Network<A>,
    pub(crate) load: Load,
    picks: RecordedPicks,
    pub(crate) section: Draws,
    pub(crate) sections: Random,
    pub(crate) faults: Random,
    pub(crate) measures: Measures,
    terms: Terms,
    fences: Fences,
    pub(crate) census: Census,
    /// Reused for the effects of every step.
    effects: Vec<Effect<A>>,
    timers_run: bool,
    receive: Ticks,
    hop: Ticks,
    section_bound: Ticks,
    pub(crate) entered: u64,
    /// Measuring begins after this many entries.
    pub(crate) warmup: u64,
    /// Measuring ends after this many entries.
    last: u64,
    /// How many clients wait or are inside; bursts and single requests begin when none does.
    pub(crate) present: u32,
    pub(crate) round_planned: bool,
    pub(crate) quiet_events: u64,
    /// The run is over: no client makes requests and no faults happen any more.
    pub(crate) settling: bool,
    pub(crate) violation: Option<Violation>,
}

impl<'p, A: Algorithm> Engine<'p, A> {
    fn new(system: &'p System<A>, plan: &'p Plan, seed: u64, recording: Recording) -> Engine<'p, A> {
        let (info, nodes) = (system.info(), plan.setting.nodes);
        let network = Network::new(plan, info, seed, recording);
        let (warmup, last) = match plan.workload {
            Workload::Once(_) => (0, plan.workload.askers(nodes).len() as u64),
            _ => (plan.warmup, plan.warmup + plan.entries),
        };
        let mut engine = Engine {
            plan,
            system,
            now: 0,
            agenda: Agenda::new(),
            nodes: (0..nodes).map(|me| Node::start(&system.site(me))).collect(),
            processors: (0..nodes).map(|_| Processor::new(info.timers.len())).collect(),
            hop: network.longest_hop,
            network,
            load: Load::new(plan, seed),
            picks: RecordedPicks::new(Random::stream(seed, 3)),
            section: Draws::new(plan.section),
            sections: Random::stream(seed, 4),
            faults: Random::stream(seed, 5),
            measures: Measures::new(nodes, last - warmup, plan.setting.tokens, info.kind == Kind::GroupMutex),
            terms: Terms::new(info, plan.setting.tokens, plan.faulty(info)),
            census: Census::new(if plan.check { nodes } else { 0 }, plan.setting.groups),
            effects: Vec::new(),
            timers_run: plan.timers_run(info),
            receive: ticks(plan.receive),
            section_bound: plan.section.bound(),
            entered: 0,
            warmup,
            last,
            present: 0,
            fences: Fences::new(info),
            round_planned: false,
            quiet_events: 0,
            settling: false,
            violation: None,
        };
        engine.prepare();
        engine
    }

    fn prepare(&mut self) {
        let nodes = self.plan.setting.nodes;
        if self.plan.check {
            for me in 0..nodes {
                self.nodes[me as usize].count(&self.site(me), &mut self.census);
            }
        }
        if self.plan.rounds() {
            self.plan_round(0);
        } else {
            for node in 0..nodes {
                for _ in 0..self.plan.clients {
                    let at = self.load.first(node);
                    self.agenda.plan(at, Event::Request(node));
                }
            }
        }
        for (index, fault) in (0..).zip(&self.plan.faults.verbs) {
            self.agenda.plan(fault.at, Event::Fault(index));
        }
    }

    /// The description of the algorithm.
    #[inline(always)]
    pub(crate) fn info(&self) -> &'static Info {
        self.system.info()
    }

    fn site(&self, me: NodeId) -> Site<'p, A> {
        self.system.site(me)
    }

    /// Handles events until [`Engine::is_over`]; returns the violation, if any. There is one such loop, because
    /// the handlers of all events are compiled into it.
    pub(crate) fn run_until_over(&mut self) -> Result<Option<Violation>, SettingError> {
        let most_quiet = MOST_EVENTS_PER_NODE.saturating_mul(u64::from(self.plan.setting.nodes));
        while !self.is_over() {
            let Some((time, event)) = self.agenda.next() else { return Ok(Some(self.stuck())) };
            debug_assert!(time >= self.now);
            self.now = time;
            self.handle(event);
            if self.violation.is_some() {
                return Ok(self.violation.take());
            }
            self.quiet_events += 1;
            if self.quiet_events > most_quiet {
                return Ok(Some(self.livelock(most_quiet)));
            }
            if self.network.most_under_way() > MOST_UNDER_WAY && !self.settling {
                let most = MOST_UNDER_WAY / 1_000_000;
                let hint = "take fewer nodes, a lower rate or the workload single";
                return Err(SettingError(format!(
                    "more than {most} million messages are under way at once: {hint}"
                )));
            }
        }
        Ok(None)
    }

    /// Whether all entries have been measured; a single round runs to its last message, and a run that settles
    /// until no client waits or is inside.
    fn is_over(&self) -> bool {
        self.entered >= self.last
            && match self.plan.workload {
                _ if self.settling => self.present == 0,
                Workload::Once(_) => self.present == 0 && self.network.silent(),
                _ => true,
            }
    }

    /// No client has entered for this many events.
    fn livelock(&self, events: u64) -> Violation {
        if self.settling {
            return self.stuck();
        }
        Violation::new(Property::EndReachable, format!("nobody has entered for {events} events"))
    }

    /// Nothing more can happen, and some clients have not been served.
    pub(crate) fn stuck(&self) -> Violation {
        let waits = |&node: &usize| self.processors[node].clients.iter().any(|client| client.waits);
        let waiting: Vec<usize> = (0..self.processors.len()).filter(waits).collect();
        let names: Vec<String> = waiting.iter().take(10).map(ToString::to_string).collect();
        let more = if waiting.len() > 10 { ", …" } else { "" };
        let detail = format!("nothing more can happen and node {}{more} waits", names.join(", "));
        Violation::new(Property::NobodyLeftWaiting, detail)
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(letter) => self.arrive(letter),
            Event::Handle(letter, incarnation) => self.handled(letter, incarnation),
            Event::Wake(node) => {
                self.processors[node as usize].wake_planned = false;
                self.next_message(node);
            }
            Event::Request(_) | Event::Round | Event::Fault(_) if self.settling => {}
            Event::Request(node) => self.client_requests(node),
            Event::Exit(node, client, incarnation) => self.exit(node, client, incarnation),
            Event::Expire(node, timer, count) => self.expire(node, timer.into(), count),
            Event::Round => self.round(),
            Event::Fault(index) => self.fault(index),
            Event::Restart(node) => self.restart(node),
        }
    }

    /// A message has crossed the network.
    #[inline(always)]
    fn arrive(&mut self, letter: u32) {
        if self.network.was_lost(letter) {
            return;
        }
        let to = self.network.receiver(letter);
        let processor = &mut self.processors[to as usize];
        if processor.down {
            self.deliver(letter);
        } else if processor.paused(self.now).is_some() || !processor.inbox.is_empty() {
            processor.inbox.push_back(letter);
            self.wake_when_free(to);
        } else if let Some(deadline) = self.network.deadline(letter) {
            // Where an algorithm relies on bounded delays, the processor's queue must not make a message
            // late.
            let handled = (self.now.max(processor.busy_until) + self.receive).min(deadline);
            processor.busy_until = processor.busy_until.max(handled);
            self.agenda.plan(handled, Event::Handle(letter, processor.incarnation));
        } else if processor.is_free(self.now) {
            self.begin_receiving(to, letter);
        } else {
            processor.inbox.push_back(letter);
            self.wake_when_free(to);
        }
    }

    /// Starts with the next waiting message, if there is one and the processor is free.
    fn next_message(&mut self, node: NodeId) {
        while self.violation.is_none() {
            let processor = &mut self.processors[node as usize];
            if processor.inbox.is_empty() || processor.receiving {
                return;
            }
            if processor.busy_until > self.now || processor.paused(self.now).is_some() {
                return self.wake_when_free(node);
            }
            if let Some(letter) = processor.inbox.pop_front() {
                self.begin_receiving(node, letter);
            }
        }
    }

    fn wake_when_free(&mut self, node: NodeId) {
        let processor = &mut self.processors[node as usize];
        if !processor.receiving && !processor.wake_planned {
            processor.wake_planned = true;
            let at = processor.busy_until.max(processor.paused_until).max(self.now);
            self.agenda.plan(at, Event::Wake(node));
        }
    }

    #[inline(always)]
    fn begin_receiving(&mut self, node: NodeId, letter: u32) {
        if self.receive == 0 {
            return self.deliver(letter);
        }
        let processor = &mut self.processors[node as usize];
        processor.receiving = true;
        processor.busy_until = self.now + self.receive;
        self.agenda.plan(processor.busy_until, Event::Handle(letter, processor.incarnation));
    }

    #[inline(always)]
    fn handled(&mut self, letter: u32, incarnation: u32) {
        let node = self.network.receiver(letter);
        let processor = &mut self.processors[node as usize];
        if processor.incarnation != incarnation {
            // It had arrived, and its receiver crashed before handling it.
            return self.network.lose(letter, self.plan.check.then_some(&mut self.census));
        }
        if let Some(until) = processor.paused(self.now) {
            return self.agenda.plan(until, Event::Handle(letter, incarnation));
        }
        processor.receiving = false;
        self.deliver(letter);
        self.next_message(node);
    }

    #[inline(always)]
    pub(crate) fn deliver(&mut self, letter: u32) {
        let envelope = self.network.envelope(letter);
        let Envelope { from, to, .. } = envelope;
        let Some(message) = self.network.take(letter) else { return };
        self.measures.last_message = self.now;
        if self.plan.check {
            self.census.take_back();
            A::count_message(&message, to, &mut self.census);
            self.census.count_up();
        }
        self.network.record(Action::Deliver(envelope));
        self.step(to, NodeEvent::Input(Input::Deliver { from, message }));
    }

    fn expire(&mut self, node: NodeId, timer: Timer, count: u32) {
        let processor = &self.processors[node as usize];
        if processor.timers[timer] != count || !self.nodes[node as usize].armed.contains(&timer) {
            return;
        }
        if let Some(until) = processor.paused(self.now) {
            return self.agenda.plan(until, Event::Expire(node, timer as u8, count));
        }
        self.network.record(Action::Expire { node, timer });
        self.step(node, NodeEvent::Input(Input::Expire(timer)));
    }

    fn arm(&mut self, node: NodeId, timer: Timer, wait: Wait) {
        if !self.timers_run {
            return;
        }
        let count = &mut self.processors[node as usize].timers[timer];
        *count = count.wrapping_add(1);
        let lasts = self.hop * u64::from(wait.hops) + self.section_bound * u64::from(wait.sections);
        self.agenda.plan(self.now + lasts, Event::Expire(node, timer as u8, *count));
    }

    /// Applies an event to a node (the caller has recorded it), carries out the effects, and checks the
    /// properties. Inlined, because callers know the event.
    #[inline(always)]
    pub(crate) fn step(&mut self, me: NodeId, event: NodeEvent<A>) {
        let site = self.site(me);
        let node = &mut self.nodes[me as usize];
        if self.plan.check {
            self.census.take_back();
            node.count(&site, &mut self.census);
            self.census.count_up();
        }
        node.handle(&site, event, &mut Outbox::new(&mut self.effects, &mut self.picks));
        self.carry_out_all(&site);
    }

    fn carry_out_all(&mut self, site: &Site<'p, A>) {
        self.network.record_picks(&mut self.picks.picks);
        let recorded = self.network.recorded();
        for index in 0..self.effects.len() {
            // Most effects are messages, which need no work at the node itself.
            match std::mem::replace(&mut self.effects[index], Effect::Note("")) {
                Effect::Send { to, message } if site.can_send_to(to) => self.send(site.me, to, message),
                effect => self.carry_out(site, &effect),
            }
        }
        self.effects.clear();
        self.network.queue_twins();
        if self.plan.check {
            self.nodes[site.me as usize].count(site, &mut self.census);
            self.check();
        }
        if self.violation.is_some() {
            // A trace ends with the violating step, not with the fate of its messages.
            self.network.forget_after(recorded);
        }
    }

    fn carry_out(&mut self, site: &Site<'p, A>, effect: &Effect<A>) {
        if let Some(wrong) = self.nodes[site.me as usize].carry_out(site, effect) {
            self.violation.get_or_insert(wrong);
            return;
        }
        match effect {
            Effect::Enter(grant) => {
                if self.plan.check
                    && let Some(wrong) = self.fences.violated(site.me, grant)
                {
                    self.violation.get_or_insert(wrong);
                    return;
                }
                self.entered(site.me, *grant);
            }
            Effect::Arm(timer, wait) => self.arm(site.me, *timer, *wait),
            _ => {}
        }
    }

    fn check(&mut self) {
        if let Some(property) = self.terms.violated(&self.census) {
            let detail = format!("{} (at {})", self.terms.detail(property, &self.census), units(self.now));
            self.violation.get_or_insert(Violation::new(property, detail));
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: A::Message) {
        self.measures.sent(from, A::kind(&message), A::words(&message));
        let processor = &mut self.processors[from as usize];
        processor.busy_until = processor.busy_until.max(self.now) + self.network.send;
        let leaves = processor.busy_until;
        let count = self.plan.check.then_some(&mut self.census);
        let tampered = self.network.post(&mut self.agenda, self.now, leaves, (from, to), message, count);
        self.measures.tampered += u64::from(tampered);
    }
}
