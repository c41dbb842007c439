//! The run: time, links, and what is judged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use service::client::Client;
use service::leases::Input;
use service::protocol::{ToClient, ToNode};
use service::registry::Leadership;
use service::view::View;
use service::{Config, Core, Defect, Definition, Out, PeerMessage, Refusal, SessionId, Time};

use crate::clock::Clock;
use crate::council::Council;
use crate::dice::Dice;
use crate::faults::{FIRST, Machine};
use crate::plan::{Happened, Plan};
use crate::program::Program;
use crate::voters::Voters;

pub(crate) const TTL: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Peer {
        from: usize,
        to: usize,
        message: PeerMessage,
    },
    /// From a client, over its connection of this number.
    Said {
        client: usize,
        connection: u32,
        said: ToNode,
    },
    Heard {
        client: usize,
        connection: u32,
        heard: ToClient,
    },
    /// A client does something.
    Act(usize),
    KeepAlive(usize),
    Release {
        client: usize,
        request: u64,
    },
    Cancel {
        client: usize,
        request: u64,
    },
    /// A node, in a life.
    Wake(usize, u64),
    Cut,
    /// A connection is slow for a while.
    Stall,
    Reconnect(usize),
    Die,
    /// A client stands still for a while.
    Nap,
    Crash,
    Pause,
    Part,
    /// Two nodes do not reach each other any more.
    Split,
    /// A node joins that was never there.
    Join,
    /// A node is to leave.
    Leave,
    /// A node that is to leave, in a life, says goodbye if it can.
    Goodbye(usize, u64),
    Elect,
    /// Something is taken away by force.
    Force,
    /// A name gets more slots, or fewer.
    Define,
    /// A node, in a life, hears what names are defined as after so many changes.
    Defined {
        node: usize,
        life: u64,
        number: u64,
        definitions: BTreeMap<Arc<str>, Definition>,
    },
    /// Leases are to become longer or shorter.
    Lasts,
    Start(usize),
    Renew(usize, u64),
    /// Something happens to a leader.
    Lead {
        who: Leadership,
        input: Input,
    },
    /// A leader's round reaches the others; what they say takes so long.
    Majority {
        who: Leadership,
        batch: u64,
        after: u64,
    },
    /// What became of a renewal: its number and how long the lease lasts, or nothing.
    Renewed {
        node: usize,
        life: u64,
        answer: Option<(u64, Duration)>,
    },
    Tick,
    View {
        node: usize,
        life: u64,
        view: View,
    },
}

impl Event {
    /// The node that it happens at, and that may stand still.
    fn node(&self, clients: &[Program]) -> Option<usize> {
        match self {
            Event::Peer { to, .. } => Some(*to),
            Event::Said { client, .. } => Some(clients[*client].node),
            Event::Wake(node, _) | Event::Renew(node, _) | Event::Goodbye(node, _) => Some(*node),
            Event::Renewed { node, .. } | Event::View { node, .. } => Some(*node),
            Event::Defined { node, .. } => Some(*node),
            Event::Lead { who, .. } => Some((who.node - FIRST) as usize),
            _ => None,
        }
    }

    /// The client that it happens at, and that may stand still.
    fn client(&self) -> Option<usize> {
        match self {
            Event::Act(client) | Event::KeepAlive(client) | Event::Reconnect(client) => Some(*client),
            Event::Release { client, .. } | Event::Cancel { client, .. } | Event::Heard { client, .. } => {
                Some(*client)
            }
            _ => None,
        }
    }
}

pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) now: Time,
    pub(crate) seed: u64,
    pub(crate) linger: Duration,
    dice: Dice,
    count: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    pub(crate) machines: Vec<Machine>,
    /// If nodes may fail.
    pub(crate) council: Option<Council>,
    /// How many times a name was defined.
    pub(crate) definitions: u64,
    /// The most slots that each name was ever defined to have: whoever is inside stays when there are fewer.
    pub(crate) most_slots: BTreeMap<u32, u32>,
    /// The ways between nodes on which nothing arrives: since when, and until when.
    pub(crate) blocked: BTreeMap<(usize, usize), (Time, Time)>,
    pub(crate) clients: Vec<Program>,
    /// The number of each client's connection, and whether it works.
    pub(crate) connections: Vec<(u32, bool)>,
    latest: BTreeMap<(usize, usize), Time>,
    /// The highest fence that was given for each name and slot, and the view if clocks are worse than allowed.
    pub(crate) given: BTreeMap<(u32, u32, u64), u64>,
    /// The highest fence of each name and slot that a client has heard of, and its group.
    pub(crate) fences: BTreeMap<(u32, u32), (u64, String)>,
    /// The requests that nodes have granted.
    pub(crate) told: BTreeSet<(SessionId, u64)>,
    /// How many events were judged.
    pub(crate) judged: u64,
    pub(crate) happened: Happened,
}

impl Run {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Run {
        let ids = (0..plan.nodes as u32).map(|node| FIRST + node);
        // Some runs have tokens go home and names forgotten all the time, others hardly ever.
        let linger = Duration::from_millis([10, 200, 10_000][seed as usize % 3]);
        let may_fail = plan.split
            || plan.crashes + plan.pauses + plan.partitions + plan.elections > 0
            || plan.joins + plan.leaves + plan.lease_changes + plan.resizes > 0;
        let config = |id: u32| Config {
            seed: seed ^ u64::from(id),
            linger,
            keep_idle: linger,
            leased: may_fail,
            defect: plan.defect,
            ..Config::new(id, View::of(1, ids.clone()))
        };
        let machine = |id: u32| Machine { core: Some(Core::new(config(id))), ..Machine::new(id, plan) };
        let mut run = Run {
            plan: plan.clone(),
            now: Time(1_000_000),
            dice: Dice::new(seed, 0x9e37_79b9_7f4a_7c15),
            count: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            machines: ids.clone().map(machine).collect(),
            council: None,
            definitions: 0,
            most_slots: BTreeMap::new(),
            blocked: BTreeMap::new(),
            seed,
            linger,
            clients: Vec::new(),
            connections: vec![(0, true); plan.clients],
            latest: BTreeMap::new(),
            given: BTreeMap::new(),
            fences: BTreeMap::new(),
            told: BTreeSet::new(),
            judged: 0,
            happened: Happened::default(),
        };
        for node in 0..plan.nodes {
            run.machines[node].clock.rate = run.rate();
            run.plan_in(1, Event::Renew(node, 1));
        }
        if may_fail {
            let ids: Vec<u32> = ids.collect();
            let voters = Voters::new(plan, run.now, seed);
            run.council = Some(Council::new(&ids, plan, voters, run.node_clock(0)));
            run.plan_in(1, Event::Tick);
        }
        for number in 0..plan.clients {
            let clock = Clock::new(run.rate(), plan.defect == Some(Defect::ClientClockSleeps));
            let (client, names) = (Client::new(TTL).with_defect(plan.defect), BTreeMap::new());
            run.clients.push(Program { node: number % plan.nodes, clock, client, dead: false, names });
            let after = run.below(1_000_000);
            run.plan_in(after, Event::Act(number));
            run.plan_in(after + 1, Event::KeepAlive(number));
        }
        run.plan_faults();
        run
    }

    /// Plans what goes wrong.
    fn plan_faults(&mut self) {
        let Plan { cuts, deaths, crashes, pauses, partitions, elections, lasts, .. } = self.plan;
        let Plan { stalls, naps, joins, leaves, lease_changes, resizes, forces, split, .. } = self.plan;
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
        ] {
            for _ in 0..count {
                let at = self.below(lasts.as_nanos() as u64);
                self.plan_in(at, fault.clone());
            }
        }
    }

    pub(crate) fn finish(&mut self) -> Happened {
        let end = self.now + self.plan.lasts;
        // Long enough for every session to run out, and for every name to be forgotten, on the slowest clock.
        let last = end + Duration::from_millis(90 * 120_000 / (100 - self.plan.drift));
        for _ in 0..3_000_000 {
            let Some(Reverse((time, number))) = self.agenda.pop() else { break };
            if time > last {
                break;
            }
            self.now = time;
            let event = self.events.remove(&number).expect("what is planned is there");
            let node = event.node(&self.clients).map(|node| self.machines[node].clock.stands_until());
            let client = event.client().map(|client| self.clients[client].clock.stands_until());
            let stands = node.or(client).unwrap_or(Time(0));
            if stands > self.now {
                self.plan_in(stands.0 - self.now.0, event);
                continue;
            }
            self.happen(event, time > end);
            self.judge_now_and_then();
            if !self.happened.violations.is_empty() {
                break;
            }
        }
        if self.happened.violations.is_empty() {
            self.judge_end();
        }
        self.happened.simulated = Duration::from_nanos(self.now.0);
        std::mem::take(&mut self.happened)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.dice.below(bound)
    }

    pub(crate) fn plan_in(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((Time(self.now.0 + after), self.count)));
        self.events.insert(self.count, event);
    }

    /// How fast a clock runs, in thousandths: as much too fast or too slow as may be, or anything between.
    pub(crate) fn rate(&mut self) -> u64 {
        let most = 10 * self.plan.drift;
        match self.below(3) {
            0 => 1000 - most,
            1 => 1000 + most,
            _ => 1000 - most + self.below(2 * most + 1),
        }
    }

    /// How long a message takes: mostly short, sometimes long.
    pub(crate) fn hop(&mut self) -> u64 {
        let spread = 1 << self.below(12);
        self.below(self.plan.hop.as_nanos() as u64 * spread / 4096 + 1000)
    }

    /// Plans an arrival behind all others on the same way.
    fn plan_arrival(&mut self, way: (usize, usize), event: Event) {
        let after = self.hop();
        let open = self.blocked.get(&way).map_or(Time(0), |(_, until)| *until);
        let at = (Time(self.now.0 + after).max(open))
            .max(self.latest.get(&way).copied().unwrap_or(Time(0)) + Duration::from_nanos(1));
        self.latest.insert(way, at);
        self.plan_in(at.0 - self.now.0, event);
    }

    pub(crate) fn node_clock(&self, node: usize) -> Time {
        self.machines[node].clock.at(self.now)
    }

    fn happen(&mut self, event: Event, ending: bool) {
        match event {
            Event::Peer { from, to, message } => self.peer(from, to, message),
            Event::Said { client, connection, said } => {
                if self.connections[client] == (connection, true) {
                    self.said(client, said);
                }
            }
            Event::Heard { client, connection, heard } => {
                if self.connections[client] == (connection, true) && !self.clients[client].dead {
                    self.heard(client, &heard);
                }
            }
            Event::Act(client) => self.act(client, ending),
            Event::KeepAlive(client) => self.keep_alive(client, ending),
            Event::Release { client, request } => {
                let said = self.clients[client].client.release(request);
                self.say(client, said);
            }
            Event::Cancel { client, request } => {
                let said = self.clients[client].client.cancel(request);
                self.say(client, said);
            }
            Event::Wake(node, life) => {
                let machine = &self.machines[node];
                let due = machine.core.as_ref().filter(|_| machine.life == life).and_then(Core::wakes_at);
                if due.is_some_and(|due| due <= self.node_clock(node)) {
                    self.at_node(node, |core, now, out| core.wake(now, out));
                }
            }
            Event::Cut => self.cut(),
            Event::Reconnect(client) => self.reconnect(client),
            Event::Stall if !ending => self.stall(),
            Event::Nap if !ending => self.nap(),
            Event::Join if !ending => self.join(),
            Event::Leave if !ending => self.leave(),
            Event::Split if !ending => self.split(),
            Event::Lasts if !ending => self.change_leases(),
            Event::Define if !ending => self.define(),
            Event::Force if !ending => self.force(),
            Event::Defined { node, life, number, definitions } => {
                self.hear_of_definitions(node, life, number, &definitions);
            }
            Event::Crash if !ending => self.crash(),
            Event::Pause if !ending => self.pause(),
            Event::Part if !ending => self.part(),
            Event::Crash | Event::Pause | Event::Part | Event::Split | Event::Nap => {}
            Event::Stall => {}
            Event::Join | Event::Leave | Event::Lasts | Event::Define | Event::Force => {}
            Event::Goodbye(node, life) => self.goodbye(node, life),
            Event::Elect => self.elect(),
            Event::Start(node) => self.start(node),
            Event::Renew(node, life) => self.renew(node, life),
            Event::Lead { who, input } => self.lead(who, input),
            Event::Majority { who, batch, after } => self.majority(who, batch, after),
            Event::Renewed { node, life, answer } => self.renewed(node, life, answer),
            Event::Tick => self.tick(),
            Event::View { node, life, view } => self.hear_of_view(node, life, view),
            Event::Die => {
                let client = self.below(self.plan.clients as u64) as usize;
                self.clients[client].dead = true;
            }
        }
    }

    /// Lets something happen at a node, and carries out what it wants.
    pub(crate) fn at_node(&mut self, node: usize, act: impl FnOnce(&mut Core, Time, &mut Out)) {
        let mut out = Out::default();
        let now = self.node_clock(node);
        let Machine { core: Some(core), life, clock, .. } = &mut self.machines[node] else { return };
        act(core, now, &mut out);
        let (life, rate, wakes) = (*life, clock.rate, core.wakes_at());
        let to_nodes: Vec<usize> =
            out.messages.iter().map(|(to, _)| (core.view().id(*to) - FIRST) as usize).collect();
        for (to, (_, message)) in to_nodes.into_iter().zip(out.messages) {
            self.plan_arrival((node, to), Event::Peer { from: node, to, message });
        }
        for answer in out.answers {
            let of = |program: &Program| program.client.session() == Some(answer.session);
            if let Some(client) = self.clients.iter().position(of) {
                self.judge_answer(client, &answer);
                self.tell(client, ToClient::Answer(answer));
            }
        }
        if let Some(due) = wakes {
            let after = (due - now).as_nanos() as u64 / rate * 1000 + 1000;
            self.plan_in(after, Event::Wake(node, life));
        }
    }

    fn tell(&mut self, client: usize, heard: ToClient) {
        let (connection, works) = self.connections[client];
        if works {
            let way = (self.clients[client].node, 1000 + client);
            self.plan_arrival(way, Event::Heard { client, connection, heard });
        }
    }

    pub(crate) fn say(&mut self, client: usize, said: Option<ToNode>) {
        let (connection, works) = self.connections[client];
        let Some(said) = said.filter(|_| works && !self.clients[client].dead) else { return };
        let way = (1000 + client, self.clients[client].node);
        self.plan_arrival(way, Event::Said { client, connection, said });
    }

    /// A node hears a client.
    fn said(&mut self, client: usize, said: ToNode) {
        let node = self.clients[client].node;
        let mut heard = None;
        self.at_node(node, |core, now, out| match said {
            ToNode::Open { ttl } => {
                heard = Some(match core.open(Some(ttl), now) {
                    Ok((session, promise)) => ToClient::Opened { session, promise },
                    Err(refusal) => ToClient::NotOpened(refusal),
                });
            }
            ToNode::KeepAlive { session, sequence, settled } => {
                heard = match core.keep_alive(session, sequence, settled, now, out) {
                    Ok(promise) => Some(ToClient::Promise { session, promise }),
                    // What it cannot promise it does not answer.
                    Err(Refusal::NoLease) => None,
                    Err(_) => Some(ToClient::SessionGone { session }),
                };
            }
            ToNode::Acquire { session, ask } => {
                if core.acquire(session, &ask, now, out).is_err() {
                    heard = Some(ToClient::SessionGone { session });
                }
            }
            ToNode::Cancel { session, request } => _ = core.cancel(session, request, now, out),
            ToNode::Release { session, request, fence } => {
                _ = core.release(session, request, fence, now, out);
            }
            ToNode::Close { session } => _ = core.close(session, now, out),
            ToNode::Ask { .. } | ToNode::Watch(_) | ToNode::Order { .. } => {}
        });
        if let Some(heard) = heard {
            self.tell(client, heard);
        }
    }
}
