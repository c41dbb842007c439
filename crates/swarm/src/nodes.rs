//! Nodes: processes that run a member, start, end, join, leave, and learn of commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use random::Random;
use service::member::{self, ConnectionId, Effect, Environment, LeaderReply, Setup};
use service::registry::{MemberEntry, Registry};
use service::session_key::KEY_BYTES;
use service::view::View;
use service::{Config, Defect, Member, PeerMessage, SessionKey, Time};

use crate::clock::{Clock, WhilePaused};
use crate::events::Event;
use crate::log::{Happened, NodeChange};
use crate::plan::Plan;
use crate::run::{KEYS, Reader, Run};

/// The first id: not 0, so that ids and indices differ.
pub(crate) const FIRST: u32 = 100;

/// A cluster grows to at most this many nodes: a partition is a set of bits.
const MOST_NODES: usize = 16;

/// The process of a node, which may be running or not.
pub(crate) struct NodeProcess {
    pub(crate) id: u32,
    /// Its clock, which may stop.
    pub(crate) clock: Clock,
    /// `None` while the process does not run.
    pub(crate) member: Option<Box<Member>>,
    /// How many times the process was started.
    pub(crate) started: u64,
    /// When that, or its incarnation, last changed.
    pub(crate) changed: Time,
    /// How many commits it has on disk.
    pub(crate) heard: usize,
    /// When the member will be woken, by its own clock.
    pub(crate) planned: Option<Time>,
    /// The other ends of its connections.
    pub(crate) readers: BTreeMap<ConnectionId, Reader>,
    /// When it learns who leads.
    pub(crate) news_at: Time,
    /// Whether it is told to leave, and does not come back.
    pub(crate) leaves: bool,
    /// It cannot reach the control plane until then.
    pub(crate) cut_off_until: Time,
    /// The control plane does not receive its messages until then.
    pub(crate) mute_until: Time,
    /// Messages of views that it does not know yet, with their senders.
    pub(crate) early: Vec<(usize, PeerMessage)>,
    /// Peers that lied to it in this view.
    pub(crate) liars: BTreeSet<usize>,
    /// Whether it had a lease when that was last logged.
    pub(crate) leased: bool,
    /// A list that is reused for effects.
    pub(crate) effects: Vec<Effect>,
}

impl NodeProcess {
    /// A process that is not running.
    pub(crate) fn new(id: u32, plan: &Plan) -> NodeProcess {
        NodeProcess {
            id,
            clock: Clock::new(1000, WhilePaused::with(plan, Defect::NodeClockSleeps)),
            member: None,
            started: 0,
            changed: Time(0),
            heard: 0,
            planned: None,
            readers: BTreeMap::new(),
            cut_off_until: Time(0),
            mute_until: Time(0),
            leaves: false,
            news_at: Time(0),
            early: Vec::new(),
            liars: BTreeSet::new(),
            leased: false,
            effects: Vec::new(),
        }
    }

    fn incarnation(&self) -> Option<u64> {
        self.member.as_ref().map(|member| member.incarnation())
    }
}

/// A node's view of its surroundings.
pub(crate) struct Around<'a> {
    pub(crate) run: &'a Run,
    pub(crate) node: usize,
}

impl Environment for Around<'_> {
    /// The peers behind a blocked link, and those whose process or incarnation differs from the view.
    fn unreachable(&self) -> BTreeMap<u32, Duration> {
        let Around { run, node } = *self;
        let since = |(id, member): (&u32, &MemberEntry)| {
            let other = Run::index(*id);
            let blocked = [(node, other), (other, node)].into_iter().filter_map(|way| {
                run.blocked.get(&way).filter(|(_, until)| *until > run.now).map(|(since, _)| *since)
            });
            let process = &run.processes[other];
            let gone = process.incarnation() != Some(member.incarnation);
            let since = blocked.chain(gone.then_some(process.changed)).min();
            since.filter(|_| other != node).map(|since| (*id, run.now - since))
        };
        run.control.log[run.processes[node].heard].members.iter().filter_map(since).collect()
    }

    fn waiting_for(&self, _peer: u32) -> usize {
        0
    }

    fn control_plane(&self) -> member::ControlPlane {
        let leader = self.run.control.leader().map(|leadership| leadership.node);
        member::ControlPlane { leader, ..member::ControlPlane::default() }
    }

    /// From the seed, the node and the moment: no two sessions have the same, and nothing is drawn for it.
    fn session_key(&self) -> SessionKey {
        let Around { run, node } = *self;
        let (seed, mut bytes) = (run.seed ^ run.now.0.rotate_left(24), [0; KEY_BYTES]);
        Random::stream(seed, KEYS + node as u64).fill(&mut bytes);
        SessionKey::new(bytes)
    }

    fn unix_seconds(&self) -> u64 {
        Duration::from_nanos(self.run.now.0).as_secs()
    }
}

impl Run {
    pub(crate) fn index(id: u32) -> usize {
        (id - FIRST) as usize
    }

    /// The process of a node starts.
    pub(crate) fn start(&mut self, node: usize) {
        let NodeProcess { id, heard, started, leaves, .. } = self.processes[node];
        if leaves || self.processes[node].member.is_some() {
            return;
        }
        if started > 0 {
            self.log_node(node, NodeChange::ComesBack);
        }
        let (linger, keep_idle) = (self.linger, self.linger);
        let (seed, defect) = (self.seed, self.plan.defect);
        let mut core = Config { seed, linger, keep_idle, defect, ..Config::new(id, View::alone(id)) };
        if self.plan.slice > 0 {
            core.limits.slice = self.plan.slice as usize;
        }
        if self.plan.most_requests > 0 {
            core.limits.requests = self.plan.most_requests.into();
        }
        let (address, clients) = (String::new(), String::new());
        let setup = Setup { cluster: "swarm".to_owned(), address, clients, core };
        let now = self.node_clock(node);
        // The registry on its disk, if it ran before.
        let registry = if started == 0 { Arc::new(Registry::default()) } else { self.registry(heard) };
        let process = &mut self.processes[node];
        process.started += 1;
        process.leased = false;
        process.member = Some(Box::new(Member::new(setup, registry, self.now.0, now)));
        (process.planned, process.changed) = (None, self.now);
        self.learn(node, heard);
        let after = self.hop();
        let number = self.control.log.len() - 1;
        self.plan_in(after, Event::Agreed { node, number });
    }

    /// The process of a node ends, and with it all its connections.
    pub(crate) fn end(&mut self, node: usize) {
        let process = &mut self.processes[node];
        process.member = None;
        process.started += 1;
        (process.planned, process.changed) = (None, self.now);
        process.early.clear();
        self.connect_again(node);
        let process = &mut self.processes[node];
        let readers = std::mem::take(&mut process.readers);
        for reader in readers.into_values() {
            if let Reader::Client(client, number) = reader
                && self.clients[client].is_connected_by(number)
            {
                self.clients[client].link = None;
                let after = self.below(500_000_000);
                self.plan_in(after, Event::Reconnect(client));
            }
        }
        self.maybe_elect(node);
    }

    /// A new node joins.
    pub(crate) fn join(&mut self) {
        let node = self.processes.len();
        if node >= MOST_NODES {
            return;
        }
        let mut process = NodeProcess::new(FIRST + node as u32, &self.plan);
        process.clock.rate = self.rate();
        self.processes.push(process);
        self.log_node(node, NodeChange::Joins);
        self.outcome.joined += 1;
        self.start(node);
    }

    /// A node is told to leave, unless it is the last.
    pub(crate) fn leave(&mut self) {
        let stays = |process: &NodeProcess| process.member.is_some() && !process.leaves;
        let nodes: Vec<usize> =
            (0..self.processes.len()).filter(|node| stays(&self.processes[*node])).collect();
        if nodes.len() < 2 {
            return;
        }
        let node = nodes[self.below(nodes.len() as u64) as usize];
        self.log_node(node, NodeChange::IsToLeave);
        self.processes[node].leaves = true;
        self.at_node(node, |member, _, now, effects| member.leave(now, effects));
    }

    /// A node has left: its process ends.
    pub(crate) fn left(&mut self, node: usize) {
        self.log_node(node, NodeChange::Left);
        self.outcome.left += 1;
        self.end(node);
    }

    /// A node learns of a commit, as soon as the control plane reaches it.
    pub(crate) fn hear_of_registry(&mut self, node: usize, number: usize) {
        let backwards = self.plan.defect == Some(Defect::ViewsBackwards);
        let NodeProcess { heard, cut_off_until, .. } = self.processes[node];
        if cut_off_until > self.now {
            return self.plan_in(cut_off_until.0 - self.now.0, Event::Agreed { node, number });
        }
        if number > heard || backwards && number < heard {
            self.learn(node, number);
        }
    }

    fn learn(&mut self, node: usize, number: usize) {
        if self.processes[node].member.is_none() {
            return;
        }
        self.processes[node].heard = number;
        let registry = self.registry(number);
        let fresh = self.now.0;
        self.at_node(node, |member, _, now, effects| member.agreed(&registry, fresh, now, effects));
    }

    /// An entry was committed: all nodes learn of it, sooner or later.
    pub(crate) fn announce(&mut self) {
        let number = self.control.log.len() - 1;
        let (epoch, before) = (self.control.log[number].epoch, self.control.log[number - 1].epoch);
        if epoch > before {
            self.log_view();
            self.outcome.views += 1;
        }
        for node in 0..self.processes.len() {
            let late = self.is_slow() && self.below(6) == 0;
            let after = if late { self.below(2_000_000_000) } else { self.hop() * (1 + self.below(8)) };
            self.plan_in(after, Event::Agreed { node, number });
        }
    }

    /// The latest view.
    pub(crate) fn log_view(&mut self) {
        let registry = self.control.registry();
        let (epoch, members) = (registry.epoch, registry.members.keys().map(|id| Run::index(*id)).collect());
        self.log(Happened::View { epoch, members });
    }

    /// A node receives the leader's reply, or learns that there is none.
    pub(crate) fn leader_replies(&mut self, node: usize, started: u64, reply: LeaderReply) {
        let reply = if self.is_cut_off(node) { LeaderReply::Silence } else { reply };
        if self.processes[node].started == started {
            self.at_node(node, |member, _, now, effects| member.leader_replied(reply, now, effects));
        }
    }

    /// A message of a peer arrives. A message of a later view waits until the node has entered it.
    pub(crate) fn peer(&mut self, from: usize, to: usize, message: PeerMessage) {
        let Some(member) = &self.processes[to].member else { return };
        if message.epoch > member.view().epoch {
            return self.processes[to].early.push((from, message));
        }
        self.at_node(to, |member, _, now, effects| {
            member.receive(FIRST + from as u32, message, now, effects);
        });
    }

    /// Messages that waited for this view arrive.
    pub(crate) fn take_early(&mut self, node: usize, epoch: u64) {
        if self.processes[node].early.iter().all(|(_, message)| message.epoch > epoch) {
            return;
        }
        for (from, message) in std::mem::take(&mut self.processes[node].early) {
            self.peer(from, node, message);
        }
    }
}
