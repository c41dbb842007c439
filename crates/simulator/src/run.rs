//! The state of a run that does not depend on the algorithm: the time, the pending events, the processors, the
//! clients and the measures. It is compiled once.

use std::ops::ControlFlow;

use algorithms::info::Timing;
use algorithms::properties::{Fences, Terms};
use algorithms::{Census, ClientId, Group, Info, Kind, NodeId, Property, Timer, Violation, Wait};
use random::{Random, RecordedPicks};

use crate::agenda::{Agenda, Event};
use crate::engine::Watch;
use crate::measures::Measures;
use crate::plan::Plan;
use crate::processor::Processor;
use crate::time::{Draws, Ticks, units};
use crate::workload::{Load, Workload};

pub(crate) struct Run<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) now: Ticks,
    pub(crate) agenda: Agenda,
    pub(crate) processors: Vec<Processor>,
    pub(crate) load: Load,
    pub(crate) picks: RecordedPicks,
    section: Draws,
    sections: Random,
    pub(crate) faults: Random,
    pub(crate) measures: Measures,
    terms: Terms,
    pub(crate) fences: Fences,
    pub(crate) census: Census,
    /// Whether the properties are checked.
    pub(crate) checks: bool,
    timers_run: bool,
    /// The longest delay of a message that timers allow for.
    hop: Ticks,
    section_bound: Ticks,
    /// How much longer than its bounds a timer runs. A loss is suspected when they are exceeded: what arrives
    /// at the last moment is in time.
    grace: Ticks,
    /// The number of messages sent, warm-up included.
    pub(crate) sent: u64,
    pub(crate) entered: u64,
    /// Measuring begins after this many entries.
    warmup: u64,
    /// Measuring ends after this many entries.
    pub(crate) last: u64,
    /// How many clients wait or are inside; bursts and single requests begin when none does.
    pub(crate) present: u32,
    pub(crate) round_planned: bool,
    /// For how many events no client has entered, as known at the last look.
    pub(crate) quiet_events: u64,
    /// How many clients had entered at the last look.
    entered_at_look: u64,
    /// The run is over: no client makes requests and no faults happen any more.
    pub(crate) settling: bool,
    pub(crate) violation: Option<Violation>,
    /// Whether the loop has to ask after each event whether the run is over.
    pub(crate) may_be_over: bool,
    watch: Watch<'p>,
    /// How many of the entries the watcher knows.
    known_to_watcher: u64,
    pub(crate) ended_by_watcher: bool,
}

impl<'p> Run<'p> {
    /// A run at its start, with its first events planned. `hop` is the longest delay of a message that timers
    /// allow for.
    pub(crate) fn new(plan: &'p Plan, info: &Info, seed: u64, hop: Ticks, watch: Watch<'p>) -> Run<'p> {
        let nodes = plan.setting.nodes;
        let last = plan.entries_of_a_run();
        let warmup = if matches!(plan.workload, Workload::Once(_)) { 0 } else { plan.warmup };
        let in_groups = info.kind == Kind::GroupMutex;
        let mut run = Run {
            plan,
            now: 0,
            agenda: Agenda::new(),
            processors: (0..nodes).map(|me| Processor::new(plan, me, info.timers.len())).collect(),
            load: Load::new(plan, seed),
            picks: RecordedPicks::new(Random::stream(seed, 3)),
            section: Draws::new(plan.section),
            sections: Random::stream(seed, 4),
            faults: Random::stream(seed, 5),
            measures: Measures::new(plan, last - warmup, in_groups),
            terms: Terms::new(info, plan.setting.tokens, plan.conditions(info)),
            fences: Fences::new(info),
            census: Census::new(if plan.check { nodes } else { 0 }, plan.setting.groups),
            checks: plan.check,
            timers_run: plan.timers_run(info),
            hop,
            section_bound: plan.section.bound(),
            grace: u64::from(info.needs.timing == Timing::BoundsForRecovery),
            sent: 0,
            entered: 0,
            warmup,
            last,
            present: 0,
            round_planned: false,
            quiet_events: 0,
            entered_at_look: 0,
            settling: false,
            violation: None,
            may_be_over: false,
            watch,
            known_to_watcher: 0,
            ended_by_watcher: false,
        };
        run.plan_first_events();
        if run.warmup == 0 {
            run.measures.begin(0);
        }
        run
    }

    fn plan_first_events(&mut self) {
        if self.plan.rounds() {
            self.plan_round(0);
        } else {
            for node in self.plan.workload.askers(self.plan.setting.nodes) {
                for _ in 0..self.plan.clients.of(node) {
                    let at = self.load.first(node);
                    self.agenda.plan(at, Event::Request(node));
                }
            }
        }
        for (index, fault) in (0..).zip(&self.plan.faults.verbs) {
            self.agenda.plan(fault.at, Event::Fault(index));
        }
    }

    /// The time of the next event has come.
    #[inline(always)]
    pub(crate) fn advance(&mut self, time: Ticks) {
        debug_assert!(time >= self.now);
        self.now = time;
    }

    /// The measures at this moment, with the waits that have not ended.
    pub(crate) fn measured(&mut self) -> Measures {
        for client in self.processors.iter().flat_map(Processor::clients) {
            if client.waits {
                self.measures.still_waits(self.now - client.asked_at);
            }
        }
        self.measures.end(self.now);
        self.measures.clone()
    }

    /// Tells the watcher what is new, and whether it wants the run to go on.
    pub(crate) fn tell_watcher(&mut self) -> ControlFlow<()> {
        let new = self.entered - self.known_to_watcher;
        self.known_to_watcher = self.entered;
        (self.watch)(new)
    }

    /// The same, and ends the run if the watcher wants that.
    #[cold]
    pub(crate) fn ask_watcher(&mut self) -> ControlFlow<()> {
        let answer = self.tell_watcher();
        self.ended_by_watcher |= answer.is_break();
        answer
    }

    /// For how many events no client has entered, after so many more of them.
    #[cold]
    pub(crate) fn quiet_for(&mut self, events: u64) -> u64 {
        let quiet = self.entered == self.entered_at_look;
        self.entered_at_look = self.entered;
        self.quiet_events = if quiet { self.quiet_events + events } else { 0 };
        self.quiet_events
    }

    /// No client has entered for this many events.
    pub(crate) fn livelock(&self, events: u64) -> Violation {
        if self.settling {
            return self.stuck();
        }
        Violation::new(Property::EndReachable, format!("no client has entered for {events} events"))
    }

    /// Nothing more can happen, and some clients have not been served.
    pub(crate) fn stuck(&self) -> Violation {
        let waits = |&node: &usize| self.processors[node].clients().any(|client| client.waits);
        let waiting: Vec<usize> = (0..self.processors.len()).filter(waits).collect();
        let names: Vec<String> = waiting.iter().take(10).map(ToString::to_string).collect();
        let more = if waiting.len() > 10 { ", …" } else { "" };
        let detail = match &names[..] {
            [one] => format!("nothing more can happen and node {one} waits"),
            _ => format!("nothing more can happen and nodes {}{more} wait", names.join(", ")),
        };
        Violation::new(Property::NobodyLeftWaiting, detail)
    }

    /// Plans that the processor of a node looks for the next letter when it is free.
    pub(crate) fn wake_when_free(&mut self, node: NodeId) {
        let processor = &mut self.processors[node as usize];
        if !processor.receiving && !processor.wake_planned {
            processor.wake_planned = true;
            let at = processor.busy_until.max(processor.paused_until).max(self.now);
            self.agenda.plan(at, Event::Wake(node));
        }
    }

    /// Starts a timer of a node, or restarts it.
    pub(crate) fn arm(&mut self, node: NodeId, timer: Timer, wait: Wait) {
        if !self.timers_run {
            return;
        }
        let count = &mut self.processors[node as usize].timers[timer];
        *count = count.wrapping_add(1);
        let lasts = self.hop * u64::from(wait.hops) + self.section_bound * u64::from(wait.sections);
        self.agenda.plan(self.now + lasts + self.grace, Event::Expire(node, timer as u8, *count));
    }

    /// Checks the properties over the census.
    #[inline]
    pub(crate) fn check(&mut self) {
        if let Some(property) = self.terms.violated(&self.census) {
            self.report(property);
        }
    }

    #[cold]
    #[inline(never)]
    fn report(&mut self, property: Property) {
        let detail = format!("{} (at {})", self.terms.detail(property, &self.census), units(self.now));
        self.violate(Violation::new(property, detail));
    }

    /// The run has violated a property, and ends.
    #[cold]
    pub(crate) fn violate(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
        self.may_be_over = true;
    }

    /// Counts a message, and returns when it leaves its sender's processor.
    #[inline(always)]
    pub(crate) fn occupy_sender(&mut self, from: NodeId, kind: &'static str, words: u32) -> Ticks {
        self.sent += 1;
        self.measures.sent(from, kind, words);
        let processor = &mut self.processors[from as usize];
        processor.busy_until = processor.busy_until.max(self.now) + processor.send;
        processor.busy_until
    }

    /// A client enters: measures it, and plans its exit.
    #[inline(always)]
    pub(crate) fn entered(&mut self, node: NodeId, client: ClientId, group: Group) {
        let processor = &mut self.processors[node as usize];
        let state = processor.client(client);
        (state.waits, state.inside) = (false, true);
        self.measures.entered(node, group, state, self.now);
        self.entered += 1;
        if self.entered == self.warmup {
            self.measures.begin(self.now);
        }
        self.may_be_over |= self.entered >= self.last;
        let until = self.now + self.section.draw(&mut self.sections);
        self.agenda.plan(until, Event::Exit(node, client, processor.incarnation));
    }

    /// A client that has left decides when to make its next request.
    pub(crate) fn think(&mut self, node: NodeId) {
        // After a crash, a client that makes one request still has to.
        if matches!(self.plan.workload, Workload::Burst | Workload::Single) {
            if self.present == 0 && !self.round_planned {
                let at = self.now + self.load.think(node);
                self.plan_round(at);
            }
        } else {
            let at = self.now + self.load.think(node);
            self.agenda.plan(at, Event::Request(node));
        }
    }

    /// Plans the next round of requests.
    pub(crate) fn plan_round(&mut self, at: Ticks) {
        self.round_planned = true;
        self.agenda.plan(at, Event::Round);
    }

    /// Pauses a node, unless it has crashed.
    pub(crate) fn pause(&mut self, node: NodeId, until: Ticks) {
        let processor = &mut self.processors[node as usize];
        if !processor.down {
            processor.paused_until = processor.paused_until.max(until);
        }
    }
}
