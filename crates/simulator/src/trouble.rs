//! The effects of faults on nodes.

use algorithms::node::Event;
use algorithms::{Action, Algorithm, NodeId, Violation};

use crate::agenda::Happening;
use crate::desk::Visit;
use crate::engine::Engine;
use crate::fault::Verb;
use crate::time::Ticks;

impl<A: Algorithm> Engine<'_, A> {
    /// After a run with faults: no client makes requests, no more faults happen, and messages under way are
    /// handled. A client that still waits then would wait for ever, though others were served.
    pub(crate) fn settle(&mut self) -> Option<Violation> {
        if self.plan.faults.is_empty() {
            return None;
        }
        self.settling = true;
        self.quiet_events = 0;
        self.network.calm_down();
        while self.present > 0 {
            let Some((time, happening)) = self.agenda.next() else { return Some(self.stuck()) };
            self.now = time;
            self.happen(happening);
            self.quiet_events += 1;
            if self.violation.is_some() || self.quiet_events > self.most_quiet() {
                return Some(self.violation.take().unwrap_or_else(|| self.stuck()));
            }
        }
        None
    }

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
        let (verb, until) = (fault.verb, self.now + fault.lasts);
        if verb == Verb::Partition {
            let now = self.now;
            self.network.partitions.retain(|&(_, _, healed)| healed > now);
            return self.network.partitions.push((first, last, until));
        }
        for node in first..=last {
            match verb {
                Verb::Pause => self.pause(node, until),
                _ => self.crash(node, until),
            }
        }
    }

    /// Pauses a node, unless it has crashed.
    fn pause(&mut self, node: NodeId, until: Ticks) {
        let desk = &mut self.desks[node as usize];
        if !desk.down {
            desk.paused_until = desk.paused_until.max(until);
        }
    }

    /// A crashed node restarts, unless it has crashed again.
    pub(crate) fn mend(&mut self, node: NodeId) {
        let desk = &mut self.desks[node as usize];
        if !desk.down || desk.down_until > self.now {
            return;
        }
        desk.down = false;
        let clients = std::mem::take(&mut desk.asleep);
        self.network.record(Action::Restart { node });
        self.step(node, Event::Restart);
        for _ in 0..clients {
            self.think(node);
        }
    }

    fn crash(&mut self, node: NodeId, until: Ticks) {
        let desk = &mut self.desks[node as usize];
        desk.down_until = desk.down_until.max(until);
        self.agenda.plan(until, Happening::Mend(node));
        if std::mem::replace(&mut desk.down, true) {
            return;
        }
        desk.life += 1;
        (desk.busy_until, desk.paused_until, desk.receiving) = (self.now, self.now, false);
        // Its state is gone; its clients make their requests again after the restart.
        let (waiting, inside) = desk.present();
        desk.visits.fill(Visit::default());
        let behind = desk.queue.len() as u32;
        desk.asleep += waiting + inside + behind;
        desk.queue.clear();
        let inbox: Vec<u32> = desk.inbox.drain(..).collect();
        (0..waiting + behind).for_each(|_| self.measures.gave_up(true, false, self.now));
        (0..inside).for_each(|_| self.measures.gave_up(false, true, self.now));
        self.present -= waiting + inside;
        self.network.record(Action::Crash { node });
        self.step(node, Event::Crash);
        // Messages that had arrived are lost, and so are those that it had not sent yet.
        inbox.into_iter().for_each(|letter| self.deliver(letter));
        let unsent = self.network.lose_unsent(node, self.now, self.plan.check.then_some(&mut self.census));
        self.measures.tampered += unsent;
    }
}
