//! What clients do, and what happens to them.

use std::time::Duration;

use service::client::{Client, News};
use service::core::{Listing, Patience};
use service::protocol::ToClient;
use service::{Acquire, Defect, Definition, Refusal, Time, Want};

use crate::program::{Belief, Program};
use crate::run::{Event, Run, TTL};

/// So many requests of a client are open at most, so that all of them can be served in time.
const MOST_ASKED: usize = 3;

impl Run {
    pub(crate) fn heard(&mut self, client: usize, heard: &ToClient) {
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        let (request, grant) = match program.client.hear(heard, clock) {
            Some(News::Granted(request, grant)) => (request, grant),
            Some(News::Refused(request, refusal @ Refusal::RequestUsed(_))) => {
                self.happened.violations.push(format!("request {request} of client {client}: {refusal}"));
                return;
            }
            Some(News::Revoked(request)) => {
                let after = self.below(50_000_000);
                return self.plan_in(after, Event::Release { client, request });
            }
            _ => return,
        };
        self.happened.grants += 1;
        let belief = Belief::new(&self.clients[client].names[&request], grant);
        self.judge_grant(client, &belief);
        let stay = self.below(self.plan.section.as_nanos() as u64);
        self.plan_in(stay, Event::Release { client, request });
    }

    /// A client opens a session, or asks.
    pub(crate) fn act(&mut self, client: usize, ending: bool) {
        if self.clients[client].dead || ending {
            return;
        }
        if !self.clients[client].believes(self.now) {
            let program = &mut self.clients[client];
            program.client = Client::new(TTL).with_defect(self.plan.defect);
            program.names.clear();
            // Another connection, and another node if the last one was no good.
            self.connections[client].0 += 1;
            self.connections[client].1 = true;
            let node = if self.council.is_some() {
                self.below(self.machines.len() as u64) as usize
            } else {
                self.clients[client].node
            };
            let program = &mut self.clients[client];
            program.node = node;
            let clock = program.clock(self.now);
            for said in program.client.connected(clock) {
                self.say(client, Some(said));
            }
            let longest = self.plan.hop.as_nanos() as u64;
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
            // Some insist on a number, others take what is defined.
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

    pub(crate) fn keep_alive(&mut self, client: usize, ending: bool) {
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        let done = program.client.held().is_empty() && program.client.asked().is_empty();
        let said = if ending && done { program.client.end() } else { program.client.keep_alive(clock) };
        self.say(client, said);
        if !(ending && done) {
            self.plan_in(TTL.as_nanos() as u64 / 3, Event::KeepAlive(client));
        }
    }

    /// A connection breaks. What it was used for goes on.
    pub(crate) fn cut(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        self.connections[client].1 = false;
        let after = self.below(4_000_000_000);
        self.plan_in(after, Event::Reconnect(client));
        let Program { node, client, .. } = &self.clients[client];
        if let (Some(Defect::FreedOnDisconnect), Some(session)) = (self.plan.defect, client.session()) {
            self.at_node(*node, |core, now, out| _ = core.close(session, now, out));
        }
    }

    /// What a client and its node say to each other takes long for a while, or what one of them says.
    pub(crate) fn stall(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        let until = Time(self.now.0 + self.below(3_000_000_000));
        let (node, which) = (self.clients[client].node, self.below(3));
        for (one, way) in [(0, (1000 + client, node)), (1, (node, 1000 + client))] {
            if which != one {
                self.blocked.insert(way, (self.now, until));
            }
        }
    }

    /// A client connects again, to the same node.
    pub(crate) fn reconnect(&mut self, client: usize) {
        let (number, _) = self.connections[client];
        self.connections[client] = (number + 1, true);
        if self.plan.defect == Some(Defect::SessionMoves) {
            self.clients[client].node = self.below(self.machines.len() as u64) as usize;
        }
        let program = &mut self.clients[client];
        let clock = program.clock(self.now);
        if program.client.session().is_some() {
            for said in program.client.connected(clock) {
                self.say(client, Some(said));
            }
        }
    }

    /// Somebody takes away by force what a client holds, known to it or not yet.
    pub(crate) fn force(&mut self) {
        let mut held = Vec::new();
        for (node, machine) in self.machines.iter().enumerate() {
            let listings = machine.core.iter().flat_map(|core| core.list(self.now));
            for Listing { name, clients, .. } in listings {
                let grants = clients.iter().filter_map(|client| client.granted);
                held.extend(grants.map(|grant| (node, name.clone(), (grant.slot, grant.fence))));
            }
        }
        if held.is_empty() {
            return;
        }
        let (node, name, grant) = held.swap_remove(self.below(held.len() as u64) as usize);
        self.happened.forced += 1;
        self.happened.log.push(format!("{} {name} {grant:?} is taken away at node {node}", self.now.0));
        self.at_node(node, |core, now, out| {
            _ = core.force_release(&name, grant, false, "somebody", now, out);
        });
    }

    /// A client stands still for a while, as a process that is stopped.
    pub(crate) fn nap(&mut self) {
        let client = self.below(self.plan.clients as u64) as usize;
        let until = Time(self.now.0 + self.below(6_000_000_000));
        self.clients[client].clock.stand(self.now, until);
    }
}
