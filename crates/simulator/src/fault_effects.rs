//! The effects of faults on nodes.

use algorithms::node::Event as NodeEvent;
use algorithms::{Action, Algorithm, NodeId, SettingError, Violation};

use crate::agenda::Event;
use crate::engine::Engine;
use crate::fault::Verb;
use crate::time::Ticks;

impl<A: Algorithm> Engine<'_, A> {
    /// After a run with faults: no client makes requests, no more faults happen, and messages under way are
    /// handled. A client that still waits then would wait for ever, though others were served.
    pub(crate) fn settle(&mut self) -> Result<Option<Violation>, SettingError> {
        if self.run.plan.faults.is_empty() || self.run.ended_by_watcher {
            return Ok(None);
        }
        (self.run.settling, self.run.may_be_over) = (true, true);
        self.run.quiet_events = 0;
        self.network.end_faults();
        self.run_until_over()
    }

    /// Refuses a run that never sent a message that was to be lost: it shows nothing about that loss.
    pub(crate) fn refuse_unless_lost(&self) -> Result<(), SettingError> {
        let Some((lost, sent)) = self.network.never_lost() else { return Ok(()) };
        let mut kinds: Vec<&str> = self.run.measures.kinds.iter().map(|count| count.kind).collect();
        kinds.sort_unstable();
        let (kind, kinds) = (&lost.kind, kinds.join(", "));
        Err(SettingError(match sent {
            0 => format!("lose: the run sent no {kind}; it sent {kinds}"),
            _ => format!(
                "lose: the run sent only {sent} {kind}, so {lost} was not lost: take more entries or a smaller number"
            ),
        }))
    }

    /// A fault begins.
    pub(crate) fn fault(&mut self, index: u32) {
        let fault = &self.run.plan.faults.verbs[index as usize];
        if let Some(every) = fault.every {
            self.run.agenda.plan(self.run.now + every, Event::Fault(index));
        }
        let nodes = u64::from(self.run.plan.setting.nodes);
        let (first, last) = fault.nodes.unwrap_or_else(|| {
            let node = self.run.faults.below(nodes) as NodeId;
            (node, node)
        });
        let (verb, until) = (fault.verb, self.run.now + fault.lasts);
        if verb == Verb::Partition {
            let now = self.run.now;
            self.network.partitions.retain(|&(_, _, healed)| healed > now);
            return self.network.partitions.push((first, last, until));
        }
        for node in first..=last {
            match verb {
                Verb::Pause => self.run.pause(node, until),
                _ => self.crash(node, until),
            }
        }
    }

    /// A crashed node restarts, unless it has crashed again.
    pub(crate) fn restart(&mut self, node: NodeId) {
        let processor = &mut self.run.processors[node as usize];
        if !processor.down || processor.down_until > self.run.now {
            return;
        }
        processor.down = false;
        let clients = std::mem::take(&mut processor.postponed);
        self.network.record(Action::Restart { node });
        self.step(node, NodeEvent::Restart);
        for _ in 0..clients {
            self.run.think(node);
        }
    }

    /// A node crashes: its state, its inbox and its unsent messages are lost.
    fn crash(&mut self, node: NodeId, until: Ticks) {
        let processor = &mut self.run.processors[node as usize];
        processor.down_until = processor.down_until.max(until);
        self.run.agenda.plan(until, Event::Restart(node));
        if std::mem::replace(&mut processor.down, true) {
            return;
        }
        processor.incarnation += 1;
        (processor.busy_until, processor.paused_until, processor.receiving) =
            (self.run.now, self.run.now, false);
        // Its state is gone; its clients make their requests again after the restart.
        let (waiting, inside) = processor.present();
        processor.forget_clients();
        let behind = processor.queue.len() as u32;
        processor.postponed += waiting + inside + behind;
        processor.queue.clear();
        let inbox: Vec<u32> = processor.inbox.drain(..).collect();
        (0..waiting + behind).for_each(|_| self.run.measures.waiter_lost());
        (0..inside).for_each(|_| self.run.measures.holder_lost(self.run.now));
        self.run.present -= waiting + inside;
        self.network.record(Action::Crash { node });
        self.step(node, NodeEvent::Crash);
        // Messages that had arrived are lost, and so are those that it had not sent yet.
        inbox.into_iter().for_each(|letter| self.deliver(letter));
        let unsent =
            self.network.lose_unsent(node, self.run.now, self.run.checks.then_some(&mut self.run.census));
        self.run.measures.tampered += unsent;
    }
}
