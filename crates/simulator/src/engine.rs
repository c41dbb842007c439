//! The discrete-event driver: the same state machines as in every driver, in simulated time.
//!
//! Each node has one processor. An arriving message waits until the processor is free, occupies it for Tr,
//! and then the handler runs. Each message that the handler sends occupies it for Ts, one after the other,
//! before the next message is received. Inputs of the local client are handled at once; the messages they
//! cause queue behind what the processor is doing. A client inside does not occupy the processor.

use algorithms::node::{Event, Node};
use algorithms::properties::{Fences, Terms};
use algorithms::schedule::Envelope;
use algorithms::{
    Action, Algorithm, Census, Effect, Input, Kind, NodeId, Outbox, Property, SettingError, Site, Step,
    Timer, Violation, Wait,
};
use random::{Random, RecordedPicks};

use crate::agenda::{Agenda, Happening};
use crate::desk::Desk;
use crate::measures::Measures;
use crate::memory;
use crate::network::Network;
use crate::plan::Plan;
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

/// Runs a plan once from a seed. `record` keeps every step, for a trace.
pub fn run<A: Algorithm>(plan: &Plan, seed: u64, record: bool) -> Result<Outcome, SettingError> {
    plan.validate(&A::INFO)?;
    let rules = A::rules(&plan.setting)?;
    memory::refuse_too_large::<A>(plan, &rules)?;
    let mut engine = Engine::<A>::new(plan, &rules, seed, record);
    let violation = engine.finish()?;
    let now = engine.now;
    for visit in engine.desks.iter().flat_map(|desk| &desk.visits).filter(|visit| visit.waits) {
        engine.measures.still_waits(now - visit.asked_at);
    }
    engine.measures.end(now);
    let measures = engine.measures.clone();
    let violation = violation.or_else(|| engine.settle());
    Ok(Outcome {
        seed,
        measures,
        bytes_per_node: memory::bytes_per_node(&engine.nodes),
        messages: engine.network.sent,
        longest_queue: engine.census.longest_queue,
        violation,
        steps: engine.network.steps.unwrap_or_default(),
    })
}

pub(crate) struct Engine<'p, A: Algorithm> {
    pub(crate) plan: &'p Plan,
    rules: &'p A::Rules,
    pub(crate) now: Ticks,
    pub(crate) agenda: Agenda,
    pub(crate) nodes: Vec<Node<A>>,
    pub(crate) desks: Vec<Desk>,
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
    fn new(plan: &'p Plan, rules: &'p A::Rules, seed: u64, record: bool) -> Engine<'p, A> {
        let nodes = plan.setting.nodes;
        let network = Network::new(plan, &A::INFO, seed, record);
        let (warmup, last) = match plan.workload {
            Workload::Once(_) => (0, plan.workload.askers(nodes).len() as u64),
            _ => (plan.warmup, plan.warmup + plan.entries),
        };
        let mut engine = Engine {
            plan,
            rules,
            now: 0,
            agenda: Agenda::new(),
            nodes: memory::nodes(plan, rules),
            desks: memory::desks::<A>(plan),
            hop: network.longest_hop,
            network,
            load: Load::new(plan, seed),
            picks: RecordedPicks::new(Random::stream(seed, 3)),
            section: Draws::new(plan.section),
            sections: Random::stream(seed, 4),
            faults: Random::stream(seed, 5),
            measures: Measures::new(
                nodes,
                last - warmup,
                plan.setting.tokens,
                A::INFO.kind == Kind::GroupMutex,
            ),
            terms: Terms::new(&A::INFO, plan.setting.tokens, plan.faulty(&A::INFO)),
            census: Census::new(if plan.check { nodes } else { 0 }, plan.setting.groups),
            effects: Vec::new(),
            timers_run: plan.timers_run(&A::INFO),
            receive: ticks(plan.receive),
            section_bound: plan.section.bound(),
            entered: 0,
            warmup,
            last,
            present: 0,
            fences: Fences::new(&A::INFO),
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
                    self.agenda.plan(at, Happening::Ask(node));
                }
            }
        }
        for (index, fault) in (0..).zip(&self.plan.faults.verbs) {
            self.agenda.plan(fault.at, Happening::Fault(index));
        }
    }

    fn site(&self, me: NodeId) -> Site<'p, A> {
        Site { me, nodes: self.plan.setting.nodes, tokens: self.plan.setting.tokens, rules: self.rules }
    }

    /// Runs to the end; returns the violation, if any.
    fn finish(&mut self) -> Result<Option<Violation>, SettingError> {
        let most_quiet = self.most_quiet();
        if self.warmup == 0 {
            self.measures.begin(0);
        }
        while !self.is_over() {
            let Some((time, happening)) = self.agenda.next() else { return Ok(Some(self.stuck())) };
            debug_assert!(time >= self.now);
            self.now = time;
            self.happen(happening);
            if self.violation.is_some() {
                return Ok(self.violation.take());
            }
            self.quiet_events += 1;
            if self.quiet_events > most_quiet {
                let detail = format!("nobody has entered for {most_quiet} events");
                return Ok(Some(Violation::new(Property::EndReachable, detail)));
            }
            if self.network.most_under_way() > MOST_UNDER_WAY {
                let most = MOST_UNDER_WAY / 1_000_000;
                let hint = "take fewer nodes, a lower rate or the workload single";
                return Err(SettingError(format!(
                    "more than {most} million messages are under way at once: {hint}"
                )));
            }
        }
        Ok(None)
    }

    /// This many events without an entry count as a livelock.
    pub(crate) fn most_quiet(&self) -> u64 {
        MOST_EVENTS_PER_NODE.saturating_mul(u64::from(self.plan.setting.nodes))
    }

    /// Whether all entries have been measured; a single round runs to its last message.
    fn is_over(&self) -> bool {
        let settled = || self.present == 0 && self.network.silent();
        self.entered >= self.last && (!matches!(self.plan.workload, Workload::Once(_)) || settled())
    }

    /// Nothing more can happen, and some clients have not been served.
    pub(crate) fn stuck(&self) -> Violation {
        let waits = |&node: &usize| self.desks[node].visits.iter().any(|visit| visit.waits);
        let waiting: Vec<usize> = (0..self.desks.len()).filter(waits).collect();
        let names: Vec<String> = waiting.iter().take(10).map(ToString::to_string).collect();
        let more = if waiting.len() > 10 { ", …" } else { "" };
        let detail = format!("nothing more can happen and node {}{more} waits", names.join(", "));
        Violation::new(Property::NobodyLeftWaiting, detail)
    }

    #[inline(always)]
    pub(crate) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive(letter) => self.arrive(letter),
            Happening::Handle(letter, life) => self.handled(letter, life),
            Happening::Wake(node) => {
                self.desks[node as usize].wake_planned = false;
                self.next_message(node);
            }
            Happening::Ask(_) | Happening::Round | Happening::Fault(_) if self.settling => {}
            Happening::Ask(node) => self.ask(node),
            Happening::Leave(node, client, life) => self.leave(node, client, life),
            Happening::Expire(node, timer, count) => self.expire(node, timer.into(), count),
            Happening::Round => self.round(),
            Happening::Fault(index) => self.fault(index),
            Happening::Mend(node) => self.mend(node),
        }
    }

    /// A message has crossed the network.
    #[inline(always)]
    fn arrive(&mut self, letter: u32) {
        if self.network.was_lost(letter) {
            return;
        }
        let to = self.network.receiver(letter);
        let desk = &mut self.desks[to as usize];
        if desk.down {
            self.deliver(letter);
        } else if desk.paused(self.now).is_some() || !desk.inbox.is_empty() {
            desk.inbox.push_back(letter);
            self.wake_when_free(to);
        } else if let Some(deadline) = self.network.deadline(letter) {
            // Where an algorithm relies on bounded delays, the processor's queue must not make a message
            // late.
            let handled = (self.now.max(desk.busy_until) + self.receive).min(deadline);
            desk.busy_until = desk.busy_until.max(handled);
            self.agenda.plan(handled, Happening::Handle(letter, desk.life));
        } else if desk.is_free(self.now) {
            self.begin_receiving(to, letter);
        } else {
            desk.inbox.push_back(letter);
            self.wake_when_free(to);
        }
    }

    /// Starts with the next waiting message, if there is one and the processor is free.
    fn next_message(&mut self, node: NodeId) {
        while self.violation.is_none() {
            let desk = &mut self.desks[node as usize];
            if desk.inbox.is_empty() || desk.receiving {
                return;
            }
            if desk.busy_until > self.now || desk.paused(self.now).is_some() {
                return self.wake_when_free(node);
            }
            if let Some(letter) = desk.inbox.pop_front() {
                self.begin_receiving(node, letter);
            }
        }
    }

    fn wake_when_free(&mut self, node: NodeId) {
        let desk = &mut self.desks[node as usize];
        if !desk.receiving && !desk.wake_planned {
            desk.wake_planned = true;
            let at = desk.busy_until.max(desk.paused_until).max(self.now);
            self.agenda.plan(at, Happening::Wake(node));
        }
    }

    #[inline(always)]
    fn begin_receiving(&mut self, node: NodeId, letter: u32) {
        if self.receive == 0 {
            return self.deliver(letter);
        }
        let desk = &mut self.desks[node as usize];
        desk.receiving = true;
        desk.busy_until = self.now + self.receive;
        self.agenda.plan(desk.busy_until, Happening::Handle(letter, desk.life));
    }

    #[inline(always)]
    fn handled(&mut self, letter: u32, life: u32) {
        let node = self.network.receiver(letter);
        let desk = &mut self.desks[node as usize];
        if desk.life != life {
            // It had arrived, and its receiver crashed before handling it.
            return self.network.lose(letter, self.plan.check.then_some(&mut self.census));
        }
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Handle(letter, life));
        }
        desk.receiving = false;
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
        self.step(to, Event::Input(Input::Deliver { from, message }));
    }

    fn expire(&mut self, node: NodeId, timer: Timer, count: u32) {
        let desk = &self.desks[node as usize];
        if desk.timers[timer] != count || !self.nodes[node as usize].armed.contains(&timer) {
            return;
        }
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Expire(node, timer as u8, count));
        }
        self.network.record(Action::Expire { node, timer });
        self.step(node, Event::Input(Input::Expire(timer)));
    }

    fn arm(&mut self, node: NodeId, timer: Timer, wait: Wait) {
        if !self.timers_run {
            return;
        }
        let count = &mut self.desks[node as usize].timers[timer];
        *count = count.wrapping_add(1);
        let lasts = self.hop * u64::from(wait.hops) + self.section_bound * u64::from(wait.sections);
        self.agenda.plan(self.now + lasts, Happening::Expire(node, timer as u8, *count));
    }

    /// Applies an event to a node (the caller has recorded it), carries out the effects, and checks the
    /// properties. Inlined, because callers know the event.
    #[inline(always)]
    pub(crate) fn step(&mut self, me: NodeId, event: Event<A>) {
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
        let desk = &mut self.desks[from as usize];
        desk.busy_until = desk.busy_until.max(self.now) + self.network.send;
        let leaves = desk.busy_until;
        let count = self.plan.check.then_some(&mut self.census);
        let tampered = self.network.post(&mut self.agenda, self.now, leaves, (from, to), message, count);
        self.measures.tampered += u64::from(tampered);
    }
}
