//! Nodes come and go: they begin new lives, join for the first time, leave, and leases are changed.

use std::time::Duration;

use service::Defect;
use service::leases::{Input, Lease};

use crate::council::Life;
use crate::faults::{FIRST, Machine};
use crate::run::{Event, Run};

/// A cluster grows to so many nodes at most: as many as a set of them has bits for when it is parted.
const MOST_NODES: usize = 16;

/// Sessions that hold something at a node that leaves are kept alive for so long at most.
const LONGEST_GOODBYE: Duration = Duration::from_secs(2);

impl Run {
    /// A node begins a new life, and asks to be let in.
    pub(crate) fn start(&mut self, node: usize) {
        let defect = self.plan.defect;
        let machine = &mut self.machines[node];
        machine.life += 1;
        machine.core.take_if(|_| defect != Some(Defect::ResumesAfterExclusion));
        machine.lease = Lease::new(machine.life).with_defect(defect);
        machine.early.clear();
        let life: Life = (machine.id, machine.life);
        machine.up = !machine.leaves;
        if machine.leaves {
            return;
        }
        if let Some(council) = &self.council {
            let view = council.registry.view();
            if defect == Some(Defect::MembersById) && view.place(life.0).is_some() {
                self.plan_in(1, Event::View { node, life: life.1, view });
            }
        }
        self.plan_in(1, Event::Renew(node, life.1));
    }

    /// A node joins that was never there.
    pub(crate) fn join(&mut self) {
        let node = self.machines.len();
        if node >= MOST_NODES || self.council.is_none() {
            return;
        }
        let mut machine = Machine::new(FIRST + node as u32, &self.plan);
        machine.clock.rate = self.rate();
        machine.life = 0;
        self.machines.push(machine);
        self.happened.log.push(format!("{} node {node} joins", self.now.0));
        self.happened.joined += 1;
        self.start(node);
    }

    /// A node is to leave, unless it is the last.
    pub(crate) fn leave(&mut self) {
        let stays = |machine: &Machine| machine.core.is_some() && !machine.leaves;
        let nodes: Vec<usize> =
            (0..self.machines.len()).filter(|node| stays(&self.machines[*node])).collect();
        if nodes.len() < 2 || self.council.is_none() {
            return;
        }
        let node = nodes[self.below(nodes.len() as u64) as usize];
        self.happened.log.push(format!("{} node {node} is to leave", self.now.0));
        let machine = &mut self.machines[node];
        machine.leaves = true;
        let life = machine.life;
        self.at_node(node, |core, now, out| core.depart(now + LONGEST_GOODBYE, now, out));
        self.plan_in(1, Event::Goodbye(node, life));
    }

    /// A node that is to leave says goodbye as soon as nobody believes anything there, and is gone when it is no member any
    /// more. The last one stays.
    pub(crate) fn goodbye(&mut self, node: usize, life: u64) {
        let clock = self.node_clock(node);
        let machine = &mut self.machines[node];
        let member = self.council.as_ref().and_then(|council| council.life(machine.id)) == Some(life);
        let Some(core) = machine.core.as_mut().filter(|_| machine.life == life) else { return };
        if !member {
            self.happened.log.push(format!("{} node {node} has left", self.now.0));
            self.happened.left += 1;
            machine.core = None;
            machine.up = false;
            return self.maybe_elect(node);
        }
        let others = self.council.as_ref().is_some_and(|council| council.registry.members.len() > 1);
        if others && core.has_departed(clock) {
            let input = Input::Goodbye { id: machine.id, incarnation: life };
            let leader = self.council.as_ref().and_then(|council| council.leader());
            let after = self.hop();
            if let Some(who) = leader.filter(|_| !self.is_cut_off(node)) {
                self.plan_in(after, Event::Lead { who, input });
            }
        }
        self.plan_in(100_000_000, Event::Goodbye(node, life));
    }

    /// Two nodes do not reach each other any more, whatever happens.
    pub(crate) fn split(&mut self) {
        let for_ever = self.now + Duration::from_secs(1000);
        for way in [(0, 1), (1, 0)] {
            self.blocked.insert(way, (self.now, for_ever));
        }
    }

    /// Leases are to become longer or shorter.
    pub(crate) fn change_leases(&mut self) {
        let lasts = Duration::from_secs(1 + self.below(3));
        if let Some(who) = self.council.as_ref().and_then(|council| council.leader()) {
            self.lead(who, Input::Lasts(lasts));
        }
    }
}
