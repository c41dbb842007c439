//! What clients do, and what is judged when they are let in.

use std::time::Duration;

use service::client::{Client, News};
use service::core::{Patience, Reply};
use service::protocol::ToClient;
use service::time::DRIFT_PERCENT;
use service::{Acquire, Answer, Definition, Refusal, Want};

use crate::program::Belief;
use crate::run::{Event, LONGEST_HOP, Run, TTL};

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
            _ => return,
        };
        self.happened.grants += 1;
        let belief = Belief::new(&self.clients[client].names[&request], grant);
        self.judge_grant(client, &belief);
        let stay = self.below(self.plan.section.as_nanos() as u64);
        self.plan_in(stay, Event::Release { client, request });
    }

    /// A node gives something to a client, or tells it again what it gave: fences rise in the order of grants. If clocks are
    /// worse than allowed, a node may go on in a view that is over, but never with a fence of a later one.
    pub(crate) fn judge_order(&mut self, client: usize, answer: &Answer) {
        let Reply::Granted { slot, fence, .. } = answer.reply else { return };
        let Some(&(name, _)) = self.clients[client].names.get(&answer.request) else { return };
        let view = if self.plan.drift > u64::from(DRIFT_PERCENT) { fence >> 40 } else { 0 };
        let highest = self.given.entry((name, slot, view)).or_default();
        if fence < *highest {
            self.happened.violations.push(format!("fence {fence} of name {name} was given after {highest}"));
        }
        *highest = fence.max(*highest);
    }

    /// A client believes from now on that it is inside: nobody may be there who must not.
    fn judge_grant(&mut self, client: usize, belief: &Belief) {
        let within_bounds = self.plan.drift <= u64::from(DRIFT_PERCENT);
        let mut problems = Vec::new();
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
        if within_bounds {
            self.happened.violations.extend(problems);
        } else {
            self.happened.excused += problems.len() as u64;
        }
    }

    /// A client opens a session, or asks.
    pub(crate) fn act(&mut self, client: usize, ending: bool) {
        if self.clients[client].dead || ending {
            return;
        }
        if !self.clients[client].believes(self.now) {
            let program = &mut self.clients[client];
            program.client = Client::new(TTL);
            program.names.clear();
            // Another connection, and another node if the last one was no good.
            self.connections[client].0 += 1;
            self.connections[client].1 = true;
            let node = if self.council.is_some() {
                self.below(self.plan.nodes as u64) as usize
            } else {
                self.clients[client].node
            };
            let program = &mut self.clients[client];
            program.node = node;
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
}
