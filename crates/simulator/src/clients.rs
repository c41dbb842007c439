//! The behaviour of clients: they request, enter, leave and think.

use algorithms::info::Clients;
use algorithms::node::Event as NodeEvent;
use algorithms::{Action, Algorithm, ClientId, Groups, Input, NodeId};

use crate::agenda::Event;
use crate::engine::Engine;
use crate::processor::ClientState;
use crate::time::Ticks;
use crate::workload::Workload;

impl<A: Algorithm> Engine<'_, A> {
    /// A client makes a request, or waits behind the client that its node serves.
    pub(crate) fn client_requests(&mut self, node: NodeId) {
        let (info, groups) = (self.info(), self.run.load.groups_wanted(node));
        let processor = &mut self.run.processors[node as usize];
        if let Some(until) = processor.paused(self.run.now) {
            return self.run.agenda.plan(until, Event::Request(node));
        }
        if processor.down {
            // It makes its request when its node has restarted.
            processor.postponed += 1;
            return;
        }
        self.run.measures.asked();
        if info.clients == Clients::Many {
            let client = processor.idle_client();
            self.request(node, client, groups, self.run.now);
        } else if processor.client(0).waits || processor.client(0).inside {
            processor.queue.push_back((self.run.now, groups));
        } else {
            self.request_inlined(node, 0, groups, self.run.now);
        }
    }

    /// Passes a request to the node.
    #[inline(never)]
    fn request(&mut self, node: NodeId, client: ClientId, groups: Groups, asked_at: Ticks) {
        self.request_inlined(node, client, groups, asked_at);
    }

    #[inline(always)]
    fn request_inlined(&mut self, node: NodeId, client: ClientId, groups: Groups, asked_at: Ticks) {
        let switches = self.run.measures.all_switches;
        *self.run.processors[node as usize].client(client) =
            ClientState { waits: true, inside: false, asked_at, switches };
        self.run.present += 1;
        self.network.record(Action::Request { node, client, groups });
        self.step(node, NodeEvent::Input(Input::Request { client, groups }));
    }

    /// A client leaves, unless its node has crashed since it entered. Its most frequent caller inlines
    /// [`Engine::exit_inlined`]; all others share this.
    #[inline(never)]
    pub(crate) fn exit(&mut self, node: NodeId, client: ClientId, incarnation: u32) {
        self.exit_inlined(node, client, incarnation);
    }

    #[inline(always)]
    pub(crate) fn exit_inlined(&mut self, node: NodeId, client: ClientId, incarnation: u32) {
        let processor = &mut self.run.processors[node as usize];
        if processor.incarnation != incarnation {
            return;
        }
        if let Some(until) = processor.paused(self.run.now) {
            return self.run.agenda.plan(until, Event::Exit(node, client, incarnation));
        }
        let state = processor.client(client);
        state.inside = false;
        self.run.present -= 1;
        self.run.measures.left(self.run.now - state.asked_at, self.run.now);
        self.network.record(Action::Exit { node, client });
        self.step(node, NodeEvent::Input(Input::Exit { client }));
        if self.run.violation.is_some() {
            return;
        }
        if !matches!(self.run.plan.workload, Workload::Once(_)) {
            self.run.think(node);
        }
        if let Some((asked_at, groups)) = self.run.processors[node as usize].queue.pop_front() {
            self.request(node, 0, groups, asked_at);
        }
    }

    /// All nodes make a request at once, or a single client does.
    pub(crate) fn round(&mut self) {
        self.run.round_planned = false;
        let nodes = self.run.plan.setting.nodes;
        if self.run.plan.workload == Workload::Single {
            let node = self.run.load.any_node(nodes);
            return self.client_requests(node);
        }
        for node in self.run.plan.workload.askers(nodes) {
            if self.run.violation.is_none() {
                self.client_requests(node);
            }
        }
    }
}
