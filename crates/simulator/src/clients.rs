//! The behaviour of clients: they request, enter, leave and think.

use algorithms::info::Clients;
use algorithms::node::Event;
use algorithms::{Action, Algorithm, ClientId, Grant, Groups, Input, NodeId};

use crate::agenda::Happening;
use crate::desk::Visit;
use crate::engine::Engine;
use crate::time::Ticks;
use crate::workload::Workload;

impl<A: Algorithm> Engine<'_, A> {
    pub(crate) fn ask(&mut self, node: NodeId) {
        let groups = self.load.draw_groups();
        let desk = &mut self.desks[node as usize];
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Ask(node));
        }
        if desk.down {
            // It makes its request when its node has restarted.
            desk.asleep += 1;
            return;
        }
        self.measures.asked();
        if A::INFO.clients == Clients::Many {
            let client = desk.idle_client();
            self.request(node, client, groups, self.now);
        } else if desk.visits[0].waits || desk.visits[0].inside {
            desk.queue.push_back((self.now, groups));
        } else {
            self.request(node, 0, groups, self.now);
        }
    }

    pub(crate) fn request(&mut self, node: NodeId, client: ClientId, groups: Groups, asked_at: Ticks) {
        let switches = self.measures.all_switches;
        self.desks[node as usize].visits[client as usize] =
            Visit { waits: true, inside: false, asked_at, switches };
        self.present += 1;
        self.network.record(Action::Request { node, client, groups });
        self.step(node, Event::Input(Input::Request { client, groups }));
    }

    pub(crate) fn entered(&mut self, node: NodeId, Grant { client, group, .. }: Grant) {
        let desk = &mut self.desks[node as usize];
        let visit = &mut desk.visits[client as usize];
        (visit.waits, visit.inside) = (false, true);
        self.measures.entered(node, group, visit, self.now);
        self.entered += 1;
        self.quiet_events = 0;
        if self.entered == self.warmup {
            self.measures.begin(self.now);
        }
        let until = self.now + self.section.draw(&mut self.sections);
        self.agenda.plan(until, Happening::Leave(node, client, desk.life));
    }

    pub(crate) fn leave(&mut self, node: NodeId, client: ClientId, life: u32) {
        let desk = &mut self.desks[node as usize];
        if desk.life != life {
            return;
        }
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Leave(node, client, life));
        }
        let visit = &mut desk.visits[client as usize];
        visit.inside = false;
        self.present -= 1;
        self.measures.left(self.now - visit.asked_at, self.now);
        self.network.record(Action::Exit { node, client });
        self.step(node, Event::Input(Input::Exit { client }));
        if self.violation.is_some() {
            return;
        }
        if !matches!(self.plan.workload, Workload::Once(_)) {
            self.think(node);
        }
        if let Some((asked_at, groups)) = self.desks[node as usize].queue.pop_front() {
            self.request(node, 0, groups, asked_at);
        }
    }

    /// A client that has left decides when to make its next request.
    pub(crate) fn think(&mut self, node: NodeId) {
        // After a crash, a client that makes one request still has to.
        if matches!(self.plan.workload, Workload::Burst | Workload::Single) {
            if self.present == 0 && !self.round_planned {
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
