//! What happens to nodes: they die, stand still, come back, and hear of new views.

use std::time::Duration;

use service::{Config, Core, PeerMessage, Time};

use crate::council::{LEASE, Life};
use crate::run::{Event, Run};

/// A node that is running, or not.
pub(crate) struct Machine {
    pub(crate) id: u32,
    pub(crate) life: u64,
    /// How fast its clock runs, in thousandths.
    pub(crate) rate: u64,
    /// `None` while it is down, or not a member yet.
    pub(crate) core: Option<Core>,
    /// It stands still until then.
    pub(crate) stands_until: Time,
    /// Messages of views that it has not heard of, with their senders.
    pub(crate) early: Vec<(usize, PeerMessage)>,
}

/// The first id: not 0, so that ids and places differ.
pub(crate) const FIRST: u32 = 100;

impl Run {
    /// A node says that it is there.
    pub(crate) fn renew(&mut self, node: usize, life: u64) {
        if self.machines[node].life != life || self.council.is_none() {
            return;
        }
        let sent = self.node_clock(node);
        let after = self.hop();
        self.plan_in(after, Event::Renewal { node, life, sent });
        self.plan_in(LEASE.as_nanos() as u64 / 6, Event::Renew(node, life));
    }

    /// The council hears it.
    pub(crate) fn renewal(&mut self, node: usize, life: u64, sent: Time) {
        let (id, now) = (self.machines[node].id, self.council_clock());
        let Some(council) = &mut self.council else { return };
        let member = council.renew((id, life), now);
        if !member && council.life(id).is_some_and(|current| current > life) {
            return;
        }
        let after = self.hop();
        self.plan_in(after, Event::Renewed { node, life, sent, member });
    }

    /// The node hears the answer. If it is none any more, it begins a new life.
    pub(crate) fn renewed(&mut self, node: usize, life: u64, sent: Time, member: bool) {
        if self.machines[node].life != life {
            return;
        }
        if !member && self.machines[node].core.is_some() {
            self.happened.log.push(format!("{} node {node} was left out", self.now.0));
            self.happened.excluded += 1;
            return self.start(node);
        }
        if member && self.machines[node].core.is_some() {
            self.at_node(node, |core, now, out| core.renewed(sent + LEASE, now, out));
        }
    }

    /// A node dies.
    pub(crate) fn crash(&mut self) {
        let alive: Vec<usize> =
            (0..self.machines.len()).filter(|node| self.machines[*node].core.is_some()).collect();
        if alive.len() < 2 {
            return;
        }
        let node = alive[self.below(alive.len() as u64) as usize];
        self.happened.log.push(format!("{} node {node} dies", self.now.0));
        self.happened.crashes += 1;
        let machine = &mut self.machines[node];
        machine.core = None;
        machine.life += 1;
        machine.early.clear();
        let after = self.below(8_000_000_000);
        self.plan_in(after, Event::Start(node));
    }

    /// A node stands still for a while, as a process that is stopped.
    pub(crate) fn pause(&mut self) {
        let node = self.below(self.machines.len() as u64) as usize;
        let pause = self.below(5_000_000_000);
        self.happened.log.push(format!("{} node {node} stands still for {pause}", self.now.0));
        // What waits for the end of a longer pause must not be overtaken.
        let machine = &mut self.machines[node];
        machine.stands_until = machine.stands_until.max(self.now + Duration::from_nanos(pause));
    }

    /// A node begins a new life, and asks to be let in.
    pub(crate) fn start(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        machine.life += 1;
        machine.core = None;
        machine.early.clear();
        let life: Life = (machine.id, machine.life);
        if let Some(council) = &mut self.council {
            council.join(life);
        }
        self.plan_in(1, Event::Renew(node, life.1));
    }

    /// The council looks who is there.
    pub(crate) fn decide(&mut self) {
        self.plan_in(20_000_000, Event::Decide);
        let now = self.council_clock();
        let Some(council) = &mut self.council else { return };
        if !council.decide(now) {
            return;
        }
        let view = council.view.clone();
        self.happened.log.push(format!("{} {view:?}", self.now.0));
        self.happened.views += 1;
        for member in &view.members {
            let node = (member.id - FIRST) as usize;
            let life = self.council.as_ref().and_then(|council| council.life(member.id)).unwrap_or(0);
            let after = self.hop() * (1 + self.below(8));
            self.plan_in(after, Event::View { node, life, view: view.clone() });
        }
    }

    /// A node hears of a view.
    pub(crate) fn hear_of_view(&mut self, node: usize, life: u64, view: service::view::View) {
        let machine = &mut self.machines[node];
        if machine.life != life {
            return;
        }
        let (id, linger, seed) = (machine.id, self.linger, self.seed);
        match &machine.core {
            Some(core) if core.view().epoch >= view.epoch => return,
            Some(_) => self.at_node(node, |core, now, out| core.enter(view, now, out)),
            None => {
                let config = Config {
                    seed: seed ^ u64::from(id) ^ life,
                    incarnation: life,
                    leased: true,
                    linger,
                    keep_idle: linger,
                    ..Config::new(id, view)
                };
                machine.core = Some(Core::new(config));
            }
        }
        for (from, message) in std::mem::take(&mut self.machines[node].early) {
            self.peer(from, node, message);
        }
    }

    /// A message of a peer arrives. One of a later view waits until the node is there.
    pub(crate) fn peer(&mut self, from: usize, to: usize, message: PeerMessage) {
        let Some(core) = &self.machines[to].core else {
            // It may be about to hear that it is a member.
            return self.machines[to].early.push((from, message));
        };
        if message.epoch > core.view().epoch {
            return self.machines[to].early.push((from, message));
        }
        let Some(place) = core.view().place(FIRST + from as u32) else { return };
        self.at_node(to, |core, now, out| core.receive(place, message, now, out));
    }

    fn council_clock(&self) -> Time {
        Time(self.now.0 / 1000 * self.council_rate)
    }
}
