//! The discrete-event driver: the same state machines as in every driver, in simulated time.
//!
//! Each node has one processor. An arriving message waits until the processor is free, occupies it for Tr,
//! and then the handler runs. Each message that the handler sends occupies it for Ts, one after the other,
//! before the next message is received. Inputs of the local client are handled at once; the messages they
//! cause queue behind what the processor is doing. A client inside does not occupy the processor.

use std::ops::ControlFlow;

use algorithms::node::{Event as NodeEvent, Node};
use algorithms::registry::{self, Visitor};
use algorithms::{
    Action, Algorithm, Effect, Info, Input, NodeId, Outbox, SettingError, Site, Step, System, Timer,
    Violation,
};

use crate::agenda::{ARRIVE, EXIT, Event, HANDLE, InLane, Next};
use crate::measures::Measures;
use crate::memory;
use crate::network::Network;
use crate::plan::Plan;
use crate::run::Run;
use crate::time::{Ticks, units};
use crate::workload::Workload;

/// More events per node than this without an entry count as a livelock.
const MOST_EVENTS_PER_NODE: u64 = 100_000;
/// A watcher is asked once in this many events: some milliseconds.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 14;
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
    /// Whether the run came to its end. If its watcher ended it, the measures are those until then.
    pub finished: bool,
    /// The violation, if any; the run ended there.
    pub violation: Option<Violation>,
    /// Every step, if steps are recorded.
    pub steps: Vec<Step>,
    /// When each of them happened, in units of time.
    pub times: Vec<f64>,
}

/// Whether a run keeps its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Every step is kept, for a trace.
    On,
    /// No step is kept.
    Off,
}

/// Follows a run from outside: it is called now and then with the number of entries since the last call, and
/// may end the run.
pub type Watch<'a> = &'a dyn Fn(u64) -> ControlFlow<()>;

/// Runs a plan for the algorithm of this name once from a seed.
pub fn run(name: &str, plan: &Plan, seed: u64, recording: Recording) -> Result<Outcome, SettingError> {
    run_watched(name, plan, seed, recording, &|_| ControlFlow::Continue(()))
}

/// The same, with a watcher.
pub fn run_watched(
    name: &str,
    plan: &Plan,
    seed: u64,
    recording: Recording,
    watch: Watch<'_>,
) -> Result<Outcome, SettingError> {
    plan.validate_for(name)?;
    registry::visit(name, &plan.setting, RunOnce { plan, seed, recording, watch })?
}

struct RunOnce<'a> {
    plan: &'a Plan,
    seed: u64,
    recording: Recording,
    watch: Watch<'a>,
}

impl Visitor for RunOnce<'_> {
    type Output = Result<Outcome, SettingError>;

    fn visit<A: Algorithm>(self, system: System<A>) -> Self::Output {
        run_system(&system, &self)
    }
}

fn run_system<A: Algorithm>(system: &System<A>, once: &RunOnce<'_>) -> Result<Outcome, SettingError> {
    let mut engine = Engine::new(system, once);
    let violation = engine.run_until_over()?;
    if violation.is_none() && !engine.run.ended_by_watcher {
        engine.refuse_unless_lost()?;
    }
    let measures = engine.run.measured();
    let violation = if violation.is_some() { violation } else { engine.settle()? };
    let steps = engine.network.steps.unwrap_or_default();
    engine.network.times.resize(steps.len(), engine.run.now);
    Ok(Outcome {
        seed: once.seed,
        measures,
        finished: !engine.run.ended_by_watcher,
        bytes_per_node: memory::bytes_per_node(system.rules(), &engine.nodes),
        messages: engine.run.sent,
        longest_queue: engine.run.census.longest_queue,
        violation,
        times: engine.network.times.iter().map(|&time| units(time)).collect(),
        steps,
    })
}

/// What is compiled for each algorithm: the nodes, their messages, and the steps.
pub(crate) struct Engine<'p, A: Algorithm> {
    system: &'p System<A>,
    pub(crate) nodes: Vec<Node<A>>,
    pub(crate) network: Network<A>,
    /// Reused for the effects of every step.
    pub(crate) effects: Vec<Effect<A>>,
    /// With multicast: the different messages of this step, and when each leaves its sender's processor.
    pub(crate) multicast: Vec<(A::Message, Ticks)>,
    pub(crate) run: Run<'p>,
}

impl<'p, A: Algorithm> Engine<'p, A> {
    fn new(system: &'p System<A>, once: &RunOnce<'p>) -> Engine<'p, A> {
        let RunOnce { plan, seed, recording, watch } = *once;
        let info = system.info();
        let network = Network::new(plan, info, seed, recording);
        let mut run = Run::new(plan, info, seed, network.longest_hop, watch);
        let nodes: Vec<Node<A>> = (0..plan.setting.nodes).map(|me| Node::start(&system.site(me))).collect();
        if plan.check {
            for (me, node) in (0..).zip(&nodes) {
                node.count(&system.site(me), &mut run.census);
            }
        }
        Engine { system, nodes, network, effects: Vec::new(), multicast: Vec::new(), run }
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
        let most_quiet = MOST_EVENTS_PER_NODE.saturating_mul(u64::from(self.run.plan.setting.nodes));
        let mut events: u64 = 0;
        loop {
            if self.run.may_be_over
                && let Some(end) = self.end()
            {
                return end;
            }
            events += 1;
            if events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                if self.run.ask_watcher().is_break() {
                    return Ok(None);
                }
                if self.run.quiet_for(EVENTS_BETWEEN_LOOKS) > most_quiet {
                    return Ok(Some(self.run.livelock(most_quiet)));
                }
                self.notice_crowd();
            }
            if !self.handle_next() {
                return Ok(Some(self.run.stuck()));
            }
        }
    }

    /// The outcome of the run, if it is over.
    #[cold]
    #[inline(never)]
    fn end(&mut self) -> Option<Result<Option<Violation>, SettingError>> {
        if self.run.violation.is_some() {
            return Some(Ok(self.run.violation.take()));
        }
        if self.network.most_under_way() > MOST_UNDER_WAY && !self.run.settling {
            let most = MOST_UNDER_WAY / 1_000_000;
            let hint = "take fewer nodes, a lower rate or the workload single";
            return Some(Err(SettingError(format!(
                "more than {most} million messages are under way at once: {hint}"
            ))));
        }
        if !self.is_over() {
            return None;
        }
        // All is there, so it does not matter any more what the watcher wants.
        let _ = self.run.tell_watcher();
        Some(Ok(None))
    }

    /// Ends the run if too many messages are under way. A step that sends one message need not ask: the loop does now
    /// and then.
    #[inline(always)]
    pub(crate) fn notice_crowd(&mut self) {
        self.run.may_be_over |= self.network.most_under_way() > MOST_UNDER_WAY;
    }

    /// Whether all entries have been measured; a single round runs to its last message, and a run that settles
    /// until no client waits or is inside.
    fn is_over(&self) -> bool {
        self.run.entered >= self.run.last
            && match self.run.plan.workload {
                _ if self.run.settling => self.run.present == 0,
                Workload::Once(_) => self.run.present == 0 && self.network.silent(),
                _ => true,
            }
    }

    /// Handles the next event. Returns whether there was one. The handlers are inlined here, so that an event is one
    /// way through the loop.
    #[inline(always)]
    fn handle_next(&mut self) -> bool {
        match self.run.agenda.next() {
            Next::Arrive => {
                let InLane { time, node, number: letter, .. } = self.run.agenda.take(ARRIVE);
                self.run.advance(time);
                self.arrive(node, letter);
            }
            Next::Handle => {
                let InLane { time, node, number: letter, incarnation, .. } = self.run.agenda.take(HANDLE);
                self.run.advance(time);
                self.handled(node, letter, incarnation);
            }
            Next::Exit => {
                let InLane { time, node, number: client, incarnation, .. } = self.run.agenda.take(EXIT);
                self.run.advance(time);
                self.exit_inlined(node, client, incarnation);
            }
            Next::Request => {
                let (time, node) = self.run.agenda.take_request();
                self.run.advance(time);
                if !self.run.settling {
                    self.client_requests(node);
                }
            }
            Next::Other => return self.handle_other(),
        }
        true
    }

    /// Handles the next event, whatever it is. Returns whether there was one.
    #[inline(never)]
    fn handle_other(&mut self) -> bool {
        let Some((time, event)) = self.run.agenda.take_first() else { return false };
        self.run.advance(time);
        self.handle(event);
        true
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(node, letter) => self.arrive(node, letter),
            Event::Handle(node, letter, incarnation) => self.handled(node, letter, incarnation),
            Event::Wake(node) => {
                self.run.processors[node as usize].wake_planned = false;
                self.next_message(node);
            }
            Event::Request(_) | Event::Round | Event::Fault(_) if self.run.settling => {}
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
    fn arrive(&mut self, to: NodeId, letter: u32) {
        if self.network.plain && self.run.processors[to as usize].is_free(self.run.now) {
            self.begin_receiving(to, letter);
        } else {
            self.arrive_anyhow(to, letter);
        }
    }

    /// As [`Engine::arrive`], whatever the processor does and whatever has happened to it.
    #[inline(never)]
    fn arrive_anyhow(&mut self, to: NodeId, letter: u32) {
        if self.network.was_lost(letter) {
            return;
        }
        let processor = &mut self.run.processors[to as usize];
        if processor.down {
            self.deliver(letter);
        } else if processor.paused(self.run.now).is_some() || !processor.inbox.is_empty() {
            processor.inbox.push_back(letter);
            self.run.wake_when_free(to);
        } else if let Some(deadline) = self.network.deadline(letter) {
            // Where an algorithm relies on bounded delays, the processor's queue must not make a message
            // late.
            let handled = (self.run.now.max(processor.busy_until) + processor.receive).min(deadline);
            processor.busy_until = processor.busy_until.max(handled);
            self.run.agenda.plan(handled, Event::Handle(to, letter, processor.incarnation));
        } else if processor.is_free(self.run.now) {
            self.begin_receiving(to, letter);
        } else {
            processor.inbox.push_back(letter);
            self.run.wake_when_free(to);
        }
    }

    /// Starts with the next waiting message, if there is one and the processor is free.
    fn next_message(&mut self, node: NodeId) {
        while self.run.violation.is_none() {
            let processor = &mut self.run.processors[node as usize];
            if processor.inbox.is_empty() || processor.receiving {
                return;
            }
            if processor.busy_until > self.run.now || processor.paused(self.run.now).is_some() {
                return self.run.wake_when_free(node);
            }
            if let Some(letter) = processor.inbox.pop_front() {
                self.begin_receiving(node, letter);
            }
        }
    }

    #[inline(always)]
    fn begin_receiving(&mut self, node: NodeId, letter: u32) {
        let processor = &mut self.run.processors[node as usize];
        if processor.receive == 0 {
            return self.deliver(letter);
        }
        processor.receiving = true;
        processor.busy_until = self.run.now + processor.receive;
        self.run.agenda.plan(processor.busy_until, Event::Handle(node, letter, processor.incarnation));
    }

    #[inline(always)]
    fn handled(&mut self, node: NodeId, letter: u32, incarnation: u32) {
        let processor = &mut self.run.processors[node as usize];
        if processor.incarnation != incarnation {
            // It had arrived, and its receiver crashed before handling it.
            return self.network.lose(letter, self.run.checks.then_some(&mut self.run.census));
        }
        if let Some(until) = processor.paused(self.run.now) {
            return self.run.agenda.plan(until, Event::Handle(node, letter, incarnation));
        }
        processor.receiving = false;
        self.deliver_inlined(letter);
        if !self.run.processors[node as usize].inbox.is_empty() {
            self.next_message(node);
        }
    }

    /// Delivers a letter. Its most frequent caller inlines [`Engine::deliver_inlined`]; all others share this.
    #[inline(never)]
    pub(crate) fn deliver(&mut self, letter: u32) {
        self.deliver_inlined(letter);
    }

    #[inline(always)]
    fn deliver_inlined(&mut self, letter: u32) {
        let Some((from, to, message)) = self.network.deliver(letter) else { return };
        self.run.measures.last_message = self.run.now;
        if self.run.checks {
            self.run.census.take_back();
            A::count_message(&message, to, &mut self.run.census);
            self.run.census.count_up();
        }
        let site = self.site(to);
        let (node, mut out) = self.prepare(&site);
        node.deliver(&site, from, message, &mut out);
        self.finish_step(&site);
    }

    fn expire(&mut self, node: NodeId, timer: Timer, count: u32) {
        let processor = &self.run.processors[node as usize];
        if processor.timers[timer] != count || !self.nodes[node as usize].armed.contains(&timer) {
            return;
        }
        if let Some(until) = processor.paused(self.run.now) {
            return self.run.agenda.plan(until, Event::Expire(node, timer as u8, count));
        }
        self.network.record(Action::Expire { node, timer });
        self.step(node, NodeEvent::Input(Input::Expire(timer)));
    }

    /// Applies an event to a node (the caller has recorded it), carries out the effects, and checks the
    /// properties. Inlined, because callers know the event.
    #[inline(always)]
    pub(crate) fn step(&mut self, me: NodeId, event: NodeEvent<A>) {
        let site = self.site(me);
        let (node, mut out) = self.prepare(&site);
        node.handle(&site, event, &mut out);
        self.finish_step(&site);
    }

    /// A node that is about to change: the census is without it until its effects are carried out.
    #[inline(always)]
    fn prepare(&mut self, site: &Site<'p, A>) -> (&mut Node<A>, Outbox<'_, A>) {
        let node = &mut self.nodes[site.me as usize];
        if self.run.checks {
            self.run.census.take_back();
            node.count(site, &mut self.run.census);
            self.run.census.count_up();
        }
        (node, Outbox::new(&mut self.effects, &mut self.run.picks))
    }
}
