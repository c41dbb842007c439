//! The behaviour of clients: they request, enter, leave and think.

use algorithms::info::Clients;
use algorithms::node::Event as NodeEvent;
use algorithms::{Action, Algorithm, ClientId, Grant, Groups, Input, NodeId};

use crate::agenda::Event;
use crate::engine::Engine;
use crate::processor::ClientState;
use crate::time::Ticks;
use crate::workload::Workload;

impl<A: Algorithm> Engine<'_, A> {
    pub(crate) fn client_requests(&mut self, node: NodeId) {
        let (info, groups) = (self.info(), self.load.groups_wanted());
        let processor = &mut self.processors[node as usize];
        if let Some(until) = processor.paused(self.now) {
            return self.agenda.plan(until, Event::Request(node));
        }
        if processor.down {
            // It makes its request when its node has restarted.
            processor.postponed += 1;
            return;
        }
        self.measures.asked();
        if info.clients == Clients::Many {
            let client = processor.idle_client();
            self.request(node, client, groups, self.now);
        } else if processor.clients[0].waits || processor.clients[0].inside {
            processor.queue.push_back((self.now, groups));
        } else {
            self.request(node, 0, groups, self.now);
        }
    }

    pub(crate) fn request(&mut self, node: NodeId, client: ClientId, groups: Groups, asked_at: Ticks) {
        let switches = self.measures.all_switches;
        self.processors[node as usize].clients[client as usize] =
            ClientState { waits: true, inside: false, asked_at, switches };
        self.present += 1;
        self.network.record(Action::Request { node, client, groups });
        self.step(node, NodeEvent::Input(Input::Request { client, groups }));
    }

    pub(crate) fn entered(&mut self, node: NodeId, Grant { client, group, .. }: Grant) {
        let processor = &mut self.processors[node as usize];
        let state = &mut processor.clients[client as usize];
        (state.waits, state.inside) = (false, true);
        self.measures.entered(node, group, state, self.now);
        self.entered += 1;
        self.quiet_events = 0;
        if self.entered == self.warmup {
            self.measures.begin(self.now);
        }
        let until = self.now + self.section.draw(&mut self.sections);
        self.agenda.plan(until, Event::Exit(node, client, processor.incarnation));
    }

    pub(crate) fn exit(&mut self, node: NodeId, client: ClientId, incarnation: u32) {
        let processor = &mut self.processors[node as usize];
        if processor.incarnation != incarnation {
            return;
        }
        if let Some(until) = processor.paused(self.now) {
            return self.agenda.plan(until, Event::Exit(node, client, incarnation));
        }
        let state = &mut processor.clients[client as usize];
        state.inside = false;
        self.present -= 1;
        self.measures.left(self.now - state.asked_at, self.now);
        self.network.record(Action::Exit { node, client });
        self.step(node, NodeEvent::Input(Input::Exit { client }));
        if self.violation.is_some() {
            return;
        }
        if !matches!(self.plan.workload, Workload::Once(_)) {
            self.think(node);
        }
        if let Some((asked_at, groups)) = self.processors[node as usize].queue.pop_front() {
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
            self.agenda.plan(at, Event::Request(node));
        }
    }

    pub(crate) fn plan_round(&mut self, at: Ticks) {
        self.round_planned = true;
        self.agenda.plan(at, Event::Round);
    }

    pub(crate) fn round(&mut self) {
        self.round_planned = false;
        let nodes = self.plan.setting.nodes;
        if self.plan.workload == Workload::Single {
            let node = self.load.any_node(nodes);
            return self.client_requests(node);
        }
        for node in self.plan.workload.askers(nodes) {
            if self.violation.is_none() {
                self.client_requests(node);
            }
        }
    }
}
