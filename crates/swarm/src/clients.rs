//! The behaviour of clients, and the faults of their connections.

use std::time::Duration;

use service::client::{Client, News};
use service::core::Timeout;
use service::member::ConnectionId;
use service::protocol::ToClient;
use service::{Acquire, Defect, Definition, Refusal, Time, Want};

use crate::events::Event;
use crate::log::RequestChange;
use crate::run::{CLIENTS, Phase, Reader, Run, TTL};
use crate::simulated_client::{HeldGrant, Link, SimulatedClient};

/// A client has at most this many outstanding requests, so that all of them can be served in time.
const MOST_ASKED: usize = 3;

impl Run {
    /// A client receives a frame from its node, if it came over its current connection.
    pub(crate) fn hears(&mut self, client: usize, connection: u32, heard: &ToClient) {
        if self.clients[client].is_connected_by(connection) && !self.clients[client].dead {
            self.heard(client, heard);
        }
    }

    fn heard(&mut self, client: usize, heard: &ToClient) {
        let clock = self.clients[client].clock(self.now);
        let revoked = match heard {
            ToClient::Reply(reply) => self.held(client, reply.request),
            _ => None,
        };
        let (request, grant) = match self.clients[client].client.hear(heard, clock) {
            Some(News::Granted(request, grant)) => (request, grant),
            Some(News::Refused(request, refusal @ Refusal::RequestUsed(_))) => {
                self.outcome.violations.push(format!("request {request} of client {client}: {refusal}"));
                return;
            }
            Some(News::Refused(request, refusal)) => {
                return self.log_request(client, request, RequestChange::GaveUp(refusal.to_string()));
            }
            Some(News::Revoked(request)) => {
                if let Some(held) = revoked {
                    self.log_request(client, request, RequestChange::TakenAway(held));
                }
                let after = self.below(50_000_000);
                return self.plan_in(after, Event::Release { client, request });
            }
            _ => return,
        };
        self.outcome.grants += 1;
        let held = HeldGrant::new(&self.clients[client].names[&request], grant);
        // First what is over: a client that does not hold any more is not shown beside one that does.
        self.log_passing();
        if let Some(held) = self.held(client, request) {
            self.log_request(client, request, RequestChange::Granted(held));
        }
        self.judge_grant(&held);
        let stay = self.below(self.plan.section.as_nanos() as u64);
        self.plan_in(stay, Event::Release { client, request });
    }

    /// A client opens a session, or makes a request.
    pub(crate) fn act(&mut self, client: usize, phase: Phase) {
        if self.clients[client].dead || phase == Phase::Settling {
            return;
        }
        if !self.clients[client].is_within_promise(self.now) {
            self.log_passing();
            self.hang_up(client);
            // Tries another node if the last one did not answer.
            let node = self.below(self.processes.len() as u64) as usize;
            let program = &mut self.clients[client];
            program.client = Client::new(TTL).with_defect(self.plan.defect);
            program.names.clear();
            program.node = node;
            self.connect(client);
            let longest = self.plan.client_hop.as_nanos() as u64;
            let after = 3 * longest + self.below(longest);
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
        let timeout = match self.below(4) {
            0 => Timeout::Try,
            1 => Timeout::After(Duration::from_nanos(self.below(100_000_000))),
            _ => Timeout::Never,
        };
        let (definition, want) = self.want(slots);
        let ask = Acquire {
            request: 0,
            name: format!("name {name}").into(),
            definition,
            want: want.clone(),
            timeout,
        };
        let Some((request, said)) = self.clients[client].client.acquire(ask) else { return };
        self.clients[client].names.insert(request, (name, want));
        self.log_request(client, request, RequestChange::Waits);
        if self.below(5) == 0 {
            let after = self.below(50_000_000);
            self.plan_in(after, Event::Cancel { client, request });
        }
        self.say(client, Some(said));
    }

    fn want(&mut self, slots: u32) -> (Definition, Want) {
        let groups = self.plan.groups;
        match groups {
            // Some insist on a number of slots, others accept the definition.
            0 if self.plan.resizes > 0 && self.below(4) > 0 => (Definition::MUTEX, Want::AnySlot),
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

    pub(crate) fn keep_alive(&mut self, client: usize, phase: Phase) {
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        let idle = program.client.held().is_empty() && program.client.asked().is_empty();
        let done = idle && phase == Phase::Settling;
        let said = if done { program.client.end() } else { program.client.keep_alive(clock) };
        self.say(client, said);
        if !done {
            self.plan_in(TTL.as_nanos() as u64 / 3, Event::KeepAlive(client));
        }
    }

    /// Connects a client to its node, and sends the first frames. Returns whether the node is running.
    fn connect(&mut self, client: usize) -> bool {
        let node = self.clients[client].node;
        let process = &mut self.processes[node];
        let Some(member) = &mut process.member else { return false };
        let program = &mut self.clients[client];
        program.connections += 1;
        let (number, id) = (program.connections, member.connected("a client"));
        process.readers.insert(id, Reader::Client(client, number));
        program.link = Some(Link { number, id, started: process.started });
        let clock = program.clock(self.now);
        for said in program.client.connected(clock) {
            self.say(client, Some(said));
        }
        true
    }

    /// Ends a client's connection; the node notices a little later.
    fn hang_up(&mut self, client: usize) {
        let SimulatedClient { node, link, .. } = self.clients[client];
        let Some(Link { id, started, .. }) = link else { return };
        self.clients[client].link = None;
        let after = self.hop();
        self.plan_in(after, Event::HungUp { node, started, connection: id });
    }

    /// A node notices that a connection has ended.
    pub(crate) fn hung_up(&mut self, node: usize, started: u64, connection: ConnectionId) {
        if self.processes[node].started == started {
            self.processes[node].readers.remove(&connection);
            self.at_node(node, |member, _, now, effects| member.disconnected(connection, now, effects));
        }
    }

    /// A connection breaks. The session goes on.
    pub(crate) fn cut(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        self.hang_up(client);
        let after = self.below(4_000_000_000);
        self.plan_in(after, Event::Reconnect(client));
    }

    /// The messages between a client and its node are slow for a while, in both directions or in one.
    pub(crate) fn stall(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        let until = Time(self.now.0 + self.below(3_000_000_000));
        let (node, which) = (self.clients[client].node, self.below(3));
        for (one, way) in [(0, (CLIENTS + client, node)), (1, (node, CLIENTS + client))] {
            if which != one {
                self.blocked.insert(way, (self.now, until));
            }
        }
    }

    /// A client reconnects to the same node, unless it has done so already.
    pub(crate) fn reconnect(&mut self, client: usize) {
        if self.clients[client].link.is_some() || self.clients[client].dead {
            return;
        }
        if self.plan.defect == Some(Defect::SessionMoves) {
            self.clients[client].node = self.below(self.processes.len() as u64) as usize;
        }
        let believes = self.clients[client].is_within_promise(self.now);
        if believes && !self.connect(client) {
            // Its node is not running. The client retries until its session is over.
            let after = 10_000_000 + self.below(500_000_000);
            self.plan_in(after, Event::Reconnect(client));
        }
    }

    /// A client is paused for a while, like a stopped process.
    pub(crate) fn nap(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        let until = Time(self.now.0 + self.below(6_000_000_000));
        self.clients[client].clock.pause(self.now, until);
    }
}
