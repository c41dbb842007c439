//! The run: time, links, and what is judged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use service::client::{Client, News};
use service::core::Patience;
use service::protocol::{ToClient, ToNode};
use service::{Acquire, Config, Core, Definition, Out, PeerMessage, Refusal, Time, Want};

use crate::program::{Belief, Program};

/// What to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: usize,
    pub(crate) clients: usize,
    pub(crate) names: u32,
    pub(crate) slots: u32,
    /// Instead of slots: rooms with so many groups, or read-write locks if there is one.
    pub(crate) groups: u32,
    /// How many connections of clients are cut,
    pub(crate) cuts: u32,
    /// and how many clients die.
    pub(crate) deaths: u32,
    /// Whether clients ask for other numbers of slots as well.
    pub(crate) contradict: bool,
    /// How long clients stay inside, at most.
    pub(crate) section: Duration,
    /// How long clients do things.
    pub(crate) lasts: Duration,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            nodes: 3,
            clients: 6,
            names: 1,
            slots: 1,
            groups: 0,
            cuts: 0,
            deaths: 0,
            contradict: false,
            section: Duration::from_millis(50),
            lasts: Duration::from_secs(20),
        }
    }
}

/// How it went.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    pub(crate) problems: Vec<String>,
    pub(crate) grants: u64,
    pub(crate) log: Vec<String>,
}

const TTL: Duration = Duration::from_secs(2);
/// The longest way of a message.
const LONGEST_HOP: u64 = 5_000_000;

/// So many requests of a client are open at most, so that all of them can be served in time.
const MOST_ASKED: usize = 3;

#[derive(Clone, Debug)]
enum Event {
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
    Wake(usize),
    Cut,
    Reconnect(usize),
    Die,
}

pub(crate) struct Run {
    plan: Plan,
    now: Time,
    dice: u64,
    count: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    cores: Vec<Core>,
    /// How fast the clock of each node runs, in thousandths.
    rates: Vec<u64>,
    clients: Vec<Program>,
    /// The number of each client's connection, and whether it works.
    connections: Vec<(u32, bool)>,
    latest: BTreeMap<(usize, usize), Time>,
    /// The highest fence of each name and slot, and its group.
    fences: BTreeMap<(u32, u32), (u64, String)>,
    happened: Happened,
}

impl Run {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Run {
        let members: Vec<u64> = (0..plan.nodes as u64).map(|node| 100 + node).collect();
        // Some runs have tokens go home and names forgotten all the time, others hardly ever.
        let linger = Duration::from_millis([10, 200, 10_000][seed as usize % 3]);
        let config = |me: usize| Config {
            seed: seed ^ me as u64,
            linger,
            keep_idle: linger,
            ..Config::new(me as u32, members.clone())
        };
        let mut run = Run {
            plan: plan.clone(),
            now: Time(1_000_000),
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            count: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            cores: (0..plan.nodes).map(|me| Core::new(config(me))).collect(),
            rates: Vec::new(),
            clients: Vec::new(),
            connections: vec![(0, true); plan.clients],
            latest: BTreeMap::new(),
            fences: BTreeMap::new(),
            happened: Happened::default(),
        };
        // Clocks run up to a tenth too fast or too slow.
        run.rates = (0..plan.nodes).map(|_| 900 + run.below(201)).collect();
        for number in 0..plan.clients {
            let rate = 900 + run.below(201);
            let (client, names) = (Client::new(TTL), BTreeMap::new());
            run.clients.push(Program { node: number % plan.nodes, rate, client, dead: false, names });
            let after = run.below(1_000_000);
            run.plan_in(after, Event::Act(number));
            run.plan_in(after + 1, Event::KeepAlive(number));
        }
        let lasts = plan.lasts.as_nanos() as u64;
        for _ in 0..plan.cuts {
            let at = run.below(lasts);
            run.plan_in(at, Event::Cut);
        }
        for _ in 0..plan.deaths {
            let at = run.below(lasts);
            run.plan_in(at, Event::Die);
        }
        run
    }

    pub(crate) fn finish(&mut self) -> Happened {
        let end = self.now + self.plan.lasts;
        // Long enough for every session to run out, and for every name to be forgotten.
        let last = end + Duration::from_secs(120);
        for _ in 0..3_000_000 {
            let Some(Reverse((time, number))) = self.agenda.pop() else { break };
            if time > last {
                break;
            }
            self.now = time;
            let event = self.events.remove(&number).expect("what is planned is there");
            self.happen(event, time > end);
            if !self.happened.problems.is_empty() {
                break;
            }
        }
        if self.happened.problems.is_empty() {
            self.judge_end();
        }
        std::mem::take(&mut self.happened)
    }

    fn judge_end(&mut self) {
        for core in &self.cores {
            let status = core.status();
            if (status.sessions, status.requests, status.resources) != (0, 0, 0) {
                self.happened
                    .problems
                    .push(format!("something is left: {status:?} {:?}", core.list(self.now)));
            }
        }
        for (number, program) in self.clients.iter().enumerate() {
            if program.believes(self.now) && !program.client.asked().is_empty() {
                let asked = program.client.asked();
                self.happened.problems.push(format!("client {number} waits for ever: {asked:?}"));
            }
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 11) % bound.max(1)
    }

    fn plan_in(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((Time(self.now.0 + after), self.count)));
        self.events.insert(self.count, event);
    }

    /// Plans an arrival behind all others on the same way.
    fn plan_arrival(&mut self, way: (usize, usize), event: Event) {
        // Mostly short, sometimes long.
        let spread = 1 << self.below(12);
        let after = self.below(LONGEST_HOP * spread / 4096 + 1000);
        let at = Time(self.now.0 + after)
            .max(self.latest.get(&way).copied().unwrap_or(Time(0)) + Duration::from_nanos(1));
        self.latest.insert(way, at);
        self.plan_in(at.0 - self.now.0, event);
    }

    fn node_clock(&self, node: usize) -> Time {
        Time(self.now.0 / 1000 * self.rates[node])
    }

    fn happen(&mut self, event: Event, ending: bool) {
        match event {
            Event::Peer { from, to, message } => {
                self.at_node(to, |core, now, out| core.receive(from as u32, message, now, out));
            }
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
            Event::Wake(node) => {
                let due = self.cores[node].wakes_at();
                if due.is_some_and(|due| due <= self.node_clock(node)) {
                    self.at_node(node, |core, now, out| core.wake(now, out));
                }
            }
            Event::Cut => {
                let client = self.below(self.plan.clients as u64) as usize;
                self.connections[client].1 = false;
                let after = self.below(4_000_000_000);
                self.plan_in(after, Event::Reconnect(client));
            }
            Event::Reconnect(client) => {
                let (number, _) = self.connections[client];
                self.connections[client] = (number + 1, true);
                let program = &mut self.clients[client];
                let clock = program.clock(self.now);
                for said in program.client.connected(clock) {
                    self.say(client, Some(said));
                }
            }
            Event::Die => {
                let client = self.below(self.plan.clients as u64) as usize;
                self.clients[client].dead = true;
            }
        }
    }

    /// Lets something happen at a node, and carries out what it wants.
    fn at_node(&mut self, node: usize, act: impl FnOnce(&mut Core, Time, &mut Out)) {
        let mut out = Out::default();
        let now = self.node_clock(node);
        act(&mut self.cores[node], now, &mut out);
        for (to, message) in out.messages {
            let to = to as usize;
            self.plan_arrival((node, to), Event::Peer { from: node, to, message });
        }
        for answer in out.answers {
            let of = |program: &Program| program.client.session() == Some(answer.session);
            if let Some(client) = self.clients.iter().position(of) {
                self.tell(client, ToClient::Answer(answer));
            }
        }
        if let Some(due) = self.cores[node].wakes_at() {
            let after = (due - now).as_nanos() as u64 * 1000 / self.rates[node] + 1000;
            self.plan_in(after, Event::Wake(node));
        }
    }

    fn tell(&mut self, client: usize, heard: ToClient) {
        let (connection, works) = self.connections[client];
        if works {
            let way = (self.clients[client].node, 1000 + client);
            self.plan_arrival(way, Event::Heard { client, connection, heard });
        }
    }

    fn say(&mut self, client: usize, said: Option<ToNode>) {
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
                let (session, promise) = core.open(Some(ttl), now).expect("there is room");
                heard = Some(ToClient::Opened { session, promise });
            }
            ToNode::KeepAlive { session, sequence, settled } => {
                heard = Some(match core.keep_alive(session, sequence, settled, now) {
                    Ok(promise) => ToClient::Promise { session, promise },
                    Err(_) => ToClient::SessionGone { session },
                });
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
            ToNode::Ask { .. } | ToNode::Watch(_) => {}
        });
        if let Some(heard) = heard {
            self.tell(client, heard);
        }
    }

    fn heard(&mut self, client: usize, heard: &ToClient) {
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        let (request, grant) = match program.client.hear(heard, clock) {
            Some(News::Granted(request, grant)) => (request, grant),
            Some(News::Refused(request, refusal @ Refusal::RequestUsed(_))) => {
                self.happened.problems.push(format!("request {request} of client {client}: {refusal}"));
                return;
            }
            _ => return,
        };
        self.happened.grants += 1;
        let belief = Belief::new(&self.clients[client].names[&request], grant);
        self.judge_grant(client, &belief);
        let stay = self.below(self.plan.section.as_nanos() as u64);
        self.plan_in(stay, Event::Release { client, request });
    }

    /// A client believes from now on that it is inside: nobody may be there who must not.
    fn judge_grant(&mut self, client: usize, belief: &Belief) {
        let problems = &mut self.happened.problems;
        self.happened.log.push(format!("{} client {client} {belief:?}", self.now.0));
        let believed = self.clients.iter().flat_map(|program| program.beliefs(self.now));
        let same: Vec<Belief> = believed.filter(|other| other.name == belief.name).collect();
        if self.plan.groups > 0 {
            let alone = belief.alone && same.len() > 1;
            if alone || same.iter().any(|other| other.group != belief.group) {
                problems.push(format!("clients believe in different groups: {same:?}"));
            }
        } else {
            let twice = same.iter().filter(|other| other.slot == belief.slot).count() > 1;
            if twice || (!self.plan.contradict && same.len() > self.plan.slots as usize) {
                problems.push(format!("clients believe in slots that are taken: {same:?}"));
            }
        }
        let (highest, group) = self.fences.entry((belief.name, belief.slot)).or_default();
        // Those who share an opening share its fence.
        let shares =
            self.plan.groups > 0 && belief.fence == *highest && belief.group == *group && !belief.alone;
        if belief.fence <= *highest && !shares {
            problems.push(format!("{belief:?} after {highest}"));
        }
        (*highest, *group) = (belief.fence, belief.group.clone());
    }

    /// A client opens a session, or asks.
    fn act(&mut self, client: usize, ending: bool) {
        if self.clients[client].dead || ending {
            return;
        }
        if !self.clients[client].believes(self.now) {
            let program = &mut self.clients[client];
            program.client = Client::new(TTL);
            program.names.clear();
            let clock = program.clock(self.now);
            for said in program.client.connected(clock) {
                self.say(client, Some(said));
            }
            let after = 3 * LONGEST_HOP + self.below(LONGEST_HOP);
            return self.plan_in(after, Event::Act(client));
        }
        self.ask(client);
        let spread = 1 << self.below(9);
        let after = self.below(1_000_000 * spread);
        self.plan_in(after, Event::Act(client));
    }

    fn ask(&mut self, client: usize) {
        if self.clients[client].client.asked().len() >= MOST_ASKED {
            return;
        }
        let name = self.below(u64::from(self.plan.names)) as u32;
        let other = self.plan.contradict && self.below(4) == 0;
        let slots = if other { 1 + self.below(4) as u32 } else { self.plan.slots };
        let patience = match self.below(4) {
            0 => Patience::Try,
            1 => Patience::For(Duration::from_nanos(self.below(100_000_000))),
            _ => Patience::Forever,
        };
        let (definition, want) = self.want(slots);
        let ask = Acquire {
            request: 0,
            name: format!("name {name}").into(),
            definition,
            want: want.clone(),
            patience,
        };
        let Some((request, said)) = self.clients[client].client.acquire(ask) else { return };
        self.clients[client].names.insert(request, (name, want));
        if self.below(5) == 0 {
            let after = self.below(50_000_000);
            self.plan_in(after, Event::Cancel { client, request });
        }
        self.say(client, Some(said));
    }

    fn want(&mut self, slots: u32) -> (Definition, Want) {
        let groups = self.plan.groups;
        match groups {
            0 => (Definition::Slots(slots), Want::Slot),
            1 if self.below(3) == 0 => (Definition::RwLock, Want::Write),
            1 => (Definition::RwLock, Want::Read),
            _ => {
                let count = if self.below(4) == 0 { 2 } else { 1 };
                let any_of = (0..count).map(|_| format!("group {}", self.below(u64::from(groups))).into());
                (Definition::Room, Want::AnyOf(any_of.collect()))
            }
        }
    }

    fn keep_alive(&mut self, client: usize, ending: bool) {
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        let done = program.client.held().is_empty() && program.client.asked().is_empty();
        let said = if ending && done { program.client.end() } else { program.client.keep_alive(clock) };
        self.say(client, said);
        if !(ending && done) {
            self.plan_in(TTL.as_nanos() as u64 / 3, Event::KeepAlive(client));
        }
    }
}
