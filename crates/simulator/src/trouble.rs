//! What faults do to nodes.

use algorithms::seat::Event;
use algorithms::{Action, Algorithm, NodeId};

use crate::agenda::Happening;
use crate::engine::Engine;
use crate::fault::Verb;

impl<A: Algorithm> Engine<'_, A> {
    /// A fault begins.
    pub(crate) fn fault(&mut self, index: u32) {
        let fault = &self.plan.faults.verbs[index as usize];
        if let Some(every) = fault.every {
            self.agenda.plan(self.now + every, Happening::Fault(index));
        }
        let nodes = u64::from(self.plan.setting.nodes);
        let (first, last) = fault.nodes.unwrap_or_else(|| {
            let node = self.faults.below(nodes) as NodeId;
            (node, node)
        });
        let until = self.now + fault.lasts;
        if fault.verb == Verb::Partition {
            self.network.partitions.insert(index, (first, last));
            return self.agenda.plan(until, Happening::Mend(first, index));
        }
        for node in first..=last {
            let desk = &mut self.desks[node as usize];
            match fault.verb {
                Verb::Pause => desk.paused_until = desk.paused_until.max(until),
                _ if desk.down => {}
                _ => {
                    self.crash(node);
                    self.agenda.plan(until, Happening::Mend(node, index));
                }
            }
        }
    }

    /// A fault is over.
    pub(crate) fn mend(&mut self, node: NodeId, index: u32) {
        if self.plan.faults.verbs[index as usize].verb == Verb::Partition {
            self.network.partitions.remove(&index);
            return;
        }
        let desk = &mut self.desks[node as usize];
        if let Some(until) = desk.paused(self.now) {
            return self.agenda.plan(until, Happening::Mend(node, index));
        }
        desk.down = false;
        let clients = std::mem::take(&mut desk.asleep);
        self.step(node, Event::Restart, Action::Restart { node });
        for _ in 0..clients {
            self.think(node);
        }
    }

    fn crash(&mut self, node: NodeId) {
        let desk = &mut self.desks[node as usize];
        desk.life += 1;
        desk.down = true;
        (desk.busy_until, desk.receiving) = (self.now, false);
        // What it was doing is gone; its clients ask again when it is back.
        let (waits, inside) = (std::mem::take(&mut desk.waits), std::mem::take(&mut desk.inside));
        desk.asleep += u32::from(waits || inside) + desk.queue.len() as u32;
        let behind = desk.queue.len();
        desk.queue.clear();
        let inbox: Vec<u32> = desk.inbox.drain(..).collect();
        self.measures.gave_up(waits, inside, self.now);
        (0..behind).for_each(|_| self.measures.gave_up(true, false, self.now));
        self.idle += u32::from(waits || inside);
        self.step(node, Event::Crash, Action::Crash { node });
        // Messages that had arrived find nobody.
        for letter in inbox {
            self.agenda.plan(self.now, Happening::Arrive(letter));
        }
    }
}
