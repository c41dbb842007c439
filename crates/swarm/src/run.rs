//! The run: time, links, and the next event.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use random::Random;
use service::member::{ConnectionId, Effect, Note};
use service::protocol::{ToClient, ToNode};
use service::{Defect, Member, SessionId, Time, leases};

use crate::clock::{Clock, WhilePaused};
use crate::control_plane::ControlPlane;
use crate::events::Event;
use crate::log::{NodeChange, RequestChange};
use crate::nodes::{Around, FIRST, NodeProcess};
use crate::plan::{Outcome, Plan};
use crate::simulated_client::SimulatedClient;
use crate::voters::Voters;
use crate::watchers::Watcher;

/// The numbers of clients on links begin here, behind those of nodes.
pub(crate) const CLIENTS: usize = 1000;

/// The streams of a seed: what a plan, a run and its voters draw.
pub(crate) const PLAN: u64 = 0;
const RUN: u64 = 1;
pub(crate) const VOTERS: u64 = 2;
/// The keys of sessions: a stream for each node.
pub(crate) const KEYS: u64 = 3;

pub(crate) const TTL: Duration = Duration::from_secs(2);

/// The two phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Clients act and faults happen.
    Faults,
    /// Nothing more goes wrong, and everything comes to rest.
    Settling,
}

/// The other end of a connection of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader {
    /// A client, over its connection of this number.
    Client(usize, u32),
    Watcher(usize),
    /// Reads everything, as a reference for a watcher.
    Auditor(usize),
    /// An operator or a stranger, whose answers are checked where they arrive.
    Operator,
}

pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) now: Time,
    pub(crate) seed: u64,
    pub(crate) linger: Duration,
    random: Random,
    count: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    pub(crate) processes: Vec<NodeProcess>,
    pub(crate) control: ControlPlane,
    /// The most slots that each name was ever defined to have: holders keep their grants when there are
    /// fewer.
    pub(crate) most_slots: BTreeMap<u32, u32>,
    /// The blocked links between nodes: since when, and until when.
    pub(crate) blocked: BTreeMap<(usize, usize), (Time, Time)>,
    pub(crate) clients: Vec<SimulatedClient>,
    pub(crate) watchers: Vec<Watcher>,
    /// Frames for operators, until they read them.
    pub(crate) told: Vec<ToClient>,
    /// When the last message on each link arrives: links keep the order.
    pub(crate) latest: BTreeMap<(usize, usize), Time>,
    /// The highest fence granted for each name and slot, and the epoch if clocks are worse than allowed.
    pub(crate) given: BTreeMap<(u32, u32, u64), u64>,
    /// The highest fence of each name and slot that a client has learned of, and its group.
    pub(crate) fences: BTreeMap<(u32, u32), (u64, String)>,
    /// The requests that nodes have granted.
    pub(crate) granted: BTreeSet<(SessionId, u64)>,
    /// The number of checked events.
    pub(crate) judged: u64,
    pub(crate) outcome: Outcome,
}

impl Run {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Run {
        // In some runs tokens go home and names are forgotten all the time, in others hardly ever.
        let linger = Duration::from_millis([10, 200, 10_000][seed as usize % 3]);
        let now = Time(1_000_000);
        let ids: Vec<u32> = (0..plan.nodes as u32).map(|node| FIRST + node).collect();
        let control = ControlPlane::new(&ids, plan, Voters::new(plan, now, seed), now);
        let mut run = Run {
            plan: plan.clone(),
            now,
            random: Random::stream(seed, RUN),
            count: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            processes: ids.into_iter().map(|id| NodeProcess::new(id, plan)).collect(),
            control,
            most_slots: BTreeMap::new(),
            blocked: BTreeMap::new(),
            seed,
            linger,
            clients: Vec::new(),
            watchers: Vec::new(),
            told: Vec::new(),
            latest: BTreeMap::new(),
            given: BTreeMap::new(),
            fences: BTreeMap::new(),
            granted: BTreeSet::new(),
            judged: 0,
            outcome: Outcome::default(),
        };
        for node in 0..plan.nodes {
            run.processes[node].clock.rate = run.rate();
        }
        run.log_view();
        run.log_node(0, NodeChange::Leads);
        (0..plan.nodes).for_each(|node| run.start(node));
        run.plan_in(1, Event::Tick);
        for number in 0..plan.clients {
            let clock = Clock::new(run.rate(), WhilePaused::with(plan, Defect::ClientClockSleeps));
            run.clients.push(SimulatedClient::new(number % plan.nodes, clock, plan.defect));
            let after = run.below(1_000_000);
            run.plan_in(after, Event::Act(number));
            run.plan_in(after + 1, Event::KeepAlive(number));
        }
        for number in 0..plan.watchers as usize {
            run.watchers.push(Watcher::default());
            run.plan_in(1 + number as u64, Event::Watch(number));
        }
        run.plan_faults();
        run
    }

    /// Plans the faults.
    fn plan_faults(&mut self) {
        let Plan { cuts, deaths, crashes, pauses, partitions, elections, lasts, .. } = self.plan;
        let Plan {
            stalls, naps, joins, leaves, lease_changes, resizes, forces, nonsense, lies, split, ..
        } = self.plan;
        let strangers = self.plan.strangers;
        for (count, fault) in [
            (cuts, Event::Cut),
            (deaths, Event::Die),
            (crashes, Event::Crash),
            (pauses, Event::Pause),
            (partitions, Event::Part),
            (elections, Event::Elect),
            (naps, Event::Nap),
            (stalls, Event::Stall),
            (joins, Event::Join),
            (leaves, Event::Leave),
            (lease_changes, Event::Lasts),
            (resizes, Event::Define),
            (u32::from(split), Event::Split),
            (forces, Event::Force),
            (nonsense, Event::Nonsense),
            (lies, Event::Lie),
            (strangers, Event::Guess),
        ] {
            for _ in 0..count {
                let at = self.below(lasts.as_nanos() as u64);
                self.plan_in(at, fault.clone());
            }
        }
    }

    pub(crate) fn finish(&mut self) -> Outcome {
        let end = self.now + self.plan.lasts;
        // Long enough for every session to expire, and for every name to be forgotten, on the slowest clock.
        let last = end + Duration::from_millis(90 * 120_000 / (100 - self.plan.drift));
        for _ in 0..3_000_000 {
            let Some(Reverse((time, number))) = self.agenda.pop() else { break };
            if time > last {
                break;
            }
            self.now = time;
            let event = self.events.remove(&number).expect("what is planned is there");
            let node = event.node(&self.clients).map(|node| self.processes[node].clock.paused_until());
            let client = event.client().map(|client| self.clients[client].clock.paused_until());
            let stands = node.or(client).unwrap_or(Time(0));
            if stands > self.now {
                self.plan_in(stands.0 - self.now.0, event);
                continue;
            }
            self.handle(event, if time > end { Phase::Settling } else { Phase::Faults });
            self.judge_now_and_then();
            if !self.outcome.violations.is_empty() {
                break;
            }
        }
        self.log_passing();
        if self.outcome.violations.is_empty() {
            self.judge_end();
        }
        self.outcome.simulated = Duration::from_nanos(self.now.0);
        std::mem::take(&mut self.outcome)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    pub(crate) fn plan_in(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((Time(self.now.0 + after), self.count)));
        self.events.insert(self.count, event);
    }

    /// How fast a clock runs, in thousandths: the largest drift allowed, or anything below.
    pub(crate) fn rate(&mut self) -> u64 {
        let most = 10 * self.plan.drift;
        match self.below(3) {
            0 => 1000 - most,
            1 => 1000 + most,
            _ => 1000 - most + self.below(2 * most + 1),
        }
    }

    /// The delay of a message between nodes: mostly short, sometimes long.
    pub(crate) fn hop(&mut self) -> u64 {
        self.hop_of(self.plan.hop)
    }

    fn hop_of(&mut self, most: Duration) -> u64 {
        let spread = 1 << self.below(12);
        self.below(most.as_nanos() as u64 * spread / 4096 + 1000)
    }

    /// Plans an arrival behind all others on the same link.
    pub(crate) fn plan_arrival(&mut self, way: (usize, usize), event: Event) {
        let of_client = way.0.max(way.1) >= CLIENTS;
        let after = self.hop_of(if of_client { self.plan.client_hop } else { self.plan.hop });
        let open = self.blocked.get(&way).map_or(Time(0), |(_, until)| *until);
        let at = (Time(self.now.0 + after).max(open))
            .max(self.latest.get(&way).copied().unwrap_or(Time(0)) + Duration::from_nanos(1));
        self.latest.insert(way, at);
        self.plan_in(at.0 - self.now.0, event);
    }

    pub(crate) fn node_clock(&self, node: usize) -> Time {
        self.processes[node].clock.at(self.now)
    }

    fn handle(&mut self, event: Event, phase: Phase) {
        match event {
            Event::Peer { from, to, message } => self.peer(from, to, message),
            Event::FromClient { client, connection, said } => self.said(client, connection, said),
            Event::Heard { client, connection, heard } => self.hears(client, connection, &heard),
            Event::Act(client) => self.act(client, phase),
            Event::KeepAlive(client) => self.keep_alive(client, phase),
            Event::Release { client, request } => {
                let held = self.held(client, request);
                let said = self.clients[client].client.release(request);
                if let (Some(held), true) = (held, said.is_some()) {
                    self.log_request(client, request, RequestChange::Released(held));
                }
                self.say(client, said);
            }
            Event::Cancel { client, request } => {
                let said = self.clients[client].client.cancel(request);
                self.say(client, said);
            }
            Event::Wake(node, started, due) => self.wake(node, started, due),
            Event::HungUp { node, started, connection } => self.hung_up(node, started, connection),
            Event::Reconnect(client) => self.reconnect(client),
            Event::Watch(watcher) => self.watch(watcher, phase),
            Event::Propose { node, started, order, entry } => self.propose(node, started, order, &entry),
            Event::Arranged { node, started, order } => self.arranged(node, started, order),
            Event::Elect => self.elect(),
            Event::Start(node) => self.start(node),
            Event::Lead { who, input } => self.lead(who, input),
            Event::Majority { who, batch, after } => self.majority(who, batch, after),
            Event::Reply { node, started, reply } => self.leader_replies(node, started, reply),
            Event::Tick => self.tick(),
            Event::Agreed { node, number } => self.hear_of_registry(node, number),
            fault if phase == Phase::Faults => self.inject_fault(&fault),
            _ => {}
        }
    }

    /// A fault happens, or an operator changes something.
    fn inject_fault(&mut self, fault: &Event) {
        match fault {
            Event::Cut => self.cut(),
            Event::Stall => self.stall(),
            Event::Nap => self.nap(),
            Event::Die => {
                let client = self.below(self.plan.clients as u64) as usize;
                self.clients[client].dead = true;
                self.log_passing();
            }
            Event::Join => self.join(),
            Event::Leave => self.leave(),
            Event::Split => self.split(),
            Event::Lasts => self.change_leases(),
            Event::Define => self.define(),
            Event::Force => self.force(),
            Event::Nonsense => self.nonsense(),
            Event::Guess => self.guess(),
            Event::Lie => self.lie(),
            Event::Crash => self.crash(),
            Event::Pause => self.pause(),
            Event::Part => self.part(),
            _ => {}
        }
    }

    /// Gives the member of a node an input, and carries out its effects.
    pub(crate) fn at_node(
        &mut self,
        node: usize,
        input: impl FnOnce(&mut Member, &Around<'_>, Time, &mut Vec<Effect>),
    ) {
        let now = self.node_clock(node);
        let Some(mut member) = self.processes[node].member.take() else { return };
        let mut effects = std::mem::take(&mut self.processes[node].effects);
        input(&mut member, &Around { run: self, node }, now, &mut effects);
        let wakes = member.wakes_at();
        let epoch = member.view().epoch;
        self.processes[node].member = Some(member);
        for effect in effects.drain(..) {
            self.carry_out(node, effect);
        }
        if self.processes[node].effects.is_empty() {
            self.processes[node].effects = effects;
        }
        self.plan_wake(node, wakes, now);
        self.take_early(node, epoch);
    }

    fn plan_wake(&mut self, node: usize, wakes: Option<Time>, now: Time) {
        let NodeProcess { clock, planned, started, .. } = &mut self.processes[node];
        let Some(due) = wakes.filter(|due| planned.is_none_or(|planned| *due < planned)) else { return };
        *planned = Some(due);
        let after = (due - now).as_nanos() as u64 / clock.rate * 1000 + 1000;
        let event = Event::Wake(node, *started, due);
        self.plan_in(after, event);
    }

    fn wake(&mut self, node: usize, started: u64, due: Time) {
        let process = &mut self.processes[node];
        // If an earlier time was planned meanwhile, this one was planned again then.
        if process.started != started || process.planned != Some(due) {
            return;
        }
        process.planned = None;
        self.at_node(node, |member, environment, now, effects| member.wake(environment, now, effects));
    }

    fn carry_out(&mut self, node: usize, effect: Effect) {
        match effect {
            Effect::Send { to, message } => {
                let to = Run::index(to);
                self.plan_arrival((node, to), Event::Peer { from: node, to, message });
            }
            Effect::Tell { connection, frame } => self.deliver(node, connection, frame),
            Effect::Disconnect { peer, why } => self.disconnect(node, Run::index(peer), &why),
            Effect::Renew(renewal) => self.ask_leader(node, leases::Input::Renew(renewal)),
            Effect::Join(member) => {
                let id = FIRST + node as u32;
                self.ask_leader(node, leases::Input::Enter { id, member });
            }
            Effect::Goodbye(identity) => self.ask_leader(node, leases::Input::Goodbye(identity)),
            Effect::Propose { connection, number, entry } => {
                let after = self.control_hop();
                let (started, order) = (self.processes[node].started, (connection, number));
                self.plan_in(after, Event::Propose { node, started, order, entry });
            }
            Effect::Arrange { connection, number, question } => {
                self.arrange(node, (connection, number), &question);
            }
            Effect::BeginIncarnation(_) => {
                self.processes[node].early.clear();
                self.processes[node].changed = self.now;
            }
            Effect::Left => self.left(node),
            Effect::EnterView(_) => self.connect_again(node),
            Effect::Note(note) => self.note(node, &note),
        }
    }

    fn note(&mut self, node: usize, note: &Note) {
        match note {
            Note::Excluded { .. } => {
                self.log_node(node, NodeChange::Excluded);
                self.outcome.excluded += 1;
                self.maybe_elect(node);
            }
            Note::Entered { epoch, .. } => {
                self.log_node(node, NodeChange::Enters(*epoch));
            }
            Note::NoLease { .. } | Note::ForceReleased(_) | Note::Breach { .. } | Note::Audit(_) => {}
        }
    }

    /// Sends a frame to the client at the other end of a connection.
    fn deliver(&mut self, node: usize, connection: ConnectionId, frame: ToClient) {
        match self.processes[node].readers.get(&connection) {
            Some(&Reader::Client(client, number)) => {
                // A client that has opened a new session ignores frames of the previous one.
                if let ToClient::Reply(reply) = &frame
                    && self.clients[client].client.session() == Some(reply.session)
                {
                    self.judge_reply(client, reply);
                }
                if self.clients[client].is_connected_by(number) {
                    let way = (node, CLIENTS + client);
                    self.plan_arrival(way, Event::Heard { client, connection: number, heard: frame });
                }
            }
            Some(&Reader::Watcher(watcher)) => self.tell_watcher(watcher, node, frame),
            Some(&Reader::Auditor(watcher)) => self.tell_auditor(watcher, &frame),
            Some(Reader::Operator) => self.told.push(frame),
            None => {}
        }
    }

    pub(crate) fn say(&mut self, client: usize, said: Option<ToNode>) {
        let program = &self.clients[client];
        let Some(connection) = program.works() else { return };
        let Some(said) = said.filter(|_| !program.dead) else { return };
        let way = (CLIENTS + client, program.node);
        self.plan_arrival(way, Event::FromClient { client, connection, said });
    }

    /// A node receives a frame of a client.
    fn said(&mut self, client: usize, connection: u32, said: ToNode) {
        let SimulatedClient { node, link, .. } = self.clients[client];
        let Some(link) = link.filter(|link| link.number == connection) else { return };
        if self.processes[node].started == link.started {
            self.at_node(node, |member, environment, now, effects| {
                member.hear(link.id, said, environment, now, effects);
            });
        }
    }

    /// The registry after this many commits.
    pub(crate) fn registry(&self, number: usize) -> Arc<service::registry::Registry> {
        self.control.log[number].clone()
    }
}
