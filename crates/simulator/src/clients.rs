//! What clients do: they ask, enter, leave, and think about it.

use algorithms::seat::Event;
use algorithms::{Action, Algorithm, Group, Groups, Input, NodeId};

use crate::agenda::Happening;
use crate::engine::Engine;
use crate::time::Ticks;
use crate::workload::Workload;

impl<A: Algorithm> Engine<'_, A> {
    pub(crate) fn ask(&mut self, node: NodeId) {
        let wish = self.load.wish();
        let desk = &mut self.desks[node as usize];
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Ask(node));
        }
        if desk.down {
            // It asks when its node is back.
            desk.asleep += 1;
            return;
        }
        self.measures.asked();
        if desk.waits || desk.inside {
            desk.queue.push_back((self.now, wish));
        } else {
            self.request(node, wish, self.now);
        }
    }

    pub(crate) fn request(&mut self, node: NodeId, groups: Groups, asked_at: Ticks) {
        let desk = &mut self.desks[node as usize];
        (desk.waits, desk.asked_at) = (true, asked_at);
        self.measures.waits_from_now(node);
        self.idle -= 1;
        self.network.record(Action::Request { node, groups });
        self.step(node, Event::Input(Input::Request(groups)));
    }

    pub(crate) fn entered(&mut self, node: NodeId, group: Group) {
        let desk = &mut self.desks[node as usize];
        (desk.waits, desk.inside) = (false, true);
        self.measures.entered(node, group, self.now - desk.asked_at, self.now);
        self.entered += 1;
        self.quiet_events = 0;
        if self.entered == self.warmup {
            self.measures.begin(self.now);
        }
        let until = self.now + self.section.draw(&mut self.sections);
        self.agenda.plan(until, Happening::Leave(node, desk.life));
    }

    pub(crate) fn leave(&mut self, node: NodeId, life: u32) {
        let desk = &mut self.desks[node as usize];
        if desk.life != life {
            return;
        }
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Leave(node, life));
        }
        desk.inside = false;
        self.idle += 1;
        self.measures.left(self.now - desk.asked_at, self.now);
        self.network.record(Action::Exit { node });
        self.step(node, Event::Input(Input::Exit));
        if self.violation.is_some() {
            return;
        }
        if !matches!(self.plan.workload, Workload::Once(_)) {
            self.think(node);
        }
        if let Some((asked_at, wish)) = self.desks[node as usize].queue.pop_front() {
            self.request(node, wish, asked_at);
        }
    }

    /// A client that is done decides when to ask again.
    pub(crate) fn think(&mut self, node: NodeId) {
        // After a crash, a client that was to ask once still has to.
        if matches!(self.plan.workload, Workload::Burst | Workload::Single) {
            if self.idle == self.plan.setting.nodes && !self.round_planned {
                let at = self.now + self.load.think(node);
                self.plan_round(at);
            }
        } else {
            let at = self.now + self.load.think(node);
            self.agenda.plan(at, Happening::Ask(node));
        }
    }

    pub(crate) fn plan_round(&mut self, at: Ticks) {
        self.round_planned = true;
        self.agenda.plan(at, Happening::Round);
    }

    pub(crate) fn round(&mut self) {
        self.round_planned = false;
        let nodes = self.plan.setting.nodes;
        if self.plan.workload == Workload::Single {
            let node = self.load.any_node(nodes);
            return self.ask(node);
        }
        for node in self.plan.workload.askers(nodes) {
            if self.violation.is_none() {
                self.ask(node);
            }
        }
    }
}
