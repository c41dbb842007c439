//! The effects of a step: messages leave, clients enter, timers start.

use algorithms::{Algorithm, Effect, Grant, NodeId, Site};

use crate::engine::Engine;
use crate::time::Ticks;

impl<'p, A: Algorithm> Engine<'p, A> {
    /// Carries out the effects of a step, and checks the properties.
    #[inline(always)]
    pub(crate) fn finish_step(&mut self, site: &Site<'p, A>) {
        self.network.record_picks(&mut self.run.picks.picks, self.run.now);
        if self.network.plain && self.effects.len() <= 1 {
            if !self.effects.is_empty() {
                self.carry_out_single(site);
            }
        } else {
            self.carry_out_all(site);
        }
        if self.run.checks {
            self.check(site);
        }
    }

    #[inline(never)]
    fn carry_out_all(&mut self, site: &Site<'p, A>) {
        // From the last to the first, because the last of a vector is easy to remove.
        self.effects.reverse();
        while let Some(effect) = self.effects.pop() {
            self.carry_out_one(site, effect);
        }
        if self.run.plan.multicast {
            self.multicast.clear();
        }
        self.network.queue_twins();
        self.forget_fates();
        self.notice_crowd();
    }

    /// Carries out the only effect of a step, in a plain run. Most are messages, which need no work at the node itself.
    #[inline(never)]
    fn carry_out_single(&mut self, site: &Site<'p, A>) {
        match self.effects.last() {
            Some(Effect::Send { to, message }) if site.can_send_to(*to) => {
                let (from, to) = (site.me, *to);
                if self.run.checks {
                    A::count_message(message, to, &mut self.run.census);
                }
                let leaves = self.run.occupy_sender(from, A::kind(message), A::words(message));
                let letter =
                    self.network.plan_arrival(&mut self.run.agenda, (self.run.now, leaves), (from, to));
                if let Some(Effect::Send { message, .. }) = self.effects.pop() {
                    self.network.put_in(letter, message);
                }
            }
            Some(Effect::Enter(grant)) => {
                // Field by field, as they were written: to read two at once, the processor waits until they are stored.
                let Grant { client, group, slot, fence } = *grant;
                self.effects.clear();
                self.enter(site.me, &Grant { client, group, slot, fence });
            }
            _ => self.carry_out_all(site),
        }
    }

    /// Most effects are messages, which need no work at the node itself.
    #[inline(always)]
    fn carry_out_one(&mut self, site: &Site<'p, A>, effect: Effect<A>) {
        match effect {
            Effect::Send { to, message } if site.can_send_to(to) => self.send(site.me, to, message),
            Effect::Enter(grant) => self.enter(site.me, &grant),
            effect => self.carry_out(site, &effect),
        }
    }

    #[inline(never)]
    fn check(&mut self, site: &Site<'p, A>) {
        self.nodes[site.me as usize].count(site, &mut self.run.census);
        self.run.check();
        self.forget_fates();
    }

    /// A trace ends with the violating step, not with the fate of its messages.
    #[inline(always)]
    fn forget_fates(&mut self) {
        if self.run.violation.is_some() {
            self.network.forget_fates();
        }
    }

    #[inline(always)]
    fn enter(&mut self, me: NodeId, grant: &Grant) {
        let mut wrong = self.nodes[me as usize].enter(me, grant);
        if wrong.is_none() && self.run.checks {
            wrong = self.run.fences.violated(me, grant);
        }
        match wrong {
            Some(wrong) => self.run.violate(wrong),
            None => self.run.entered(me, grant.client, grant.group),
        }
    }

    #[inline(never)]
    fn carry_out(&mut self, site: &Site<'p, A>, effect: &Effect<A>) {
        if let Some(wrong) = self.nodes[site.me as usize].carry_out(site, effect) {
            self.run.violate(wrong);
        } else if let Effect::Arm(timer, wait) = effect {
            self.run.arm(site.me, *timer, *wait);
        }
    }

    #[inline(always)]
    fn send(&mut self, from: NodeId, to: NodeId, message: A::Message) {
        if self.run.plan.multicast {
            return self.send_copy(from, to, message);
        }
        let leaves = self.run.occupy_sender(from, A::kind(&message), A::words(&message));
        self.post(leaves, (from, to), message);
    }

    /// With multicast, copies of one message leave together.
    #[inline(never)]
    fn send_copy(&mut self, from: NodeId, to: NodeId, message: A::Message) {
        let copy = self.multicast.iter().find(|(copy, _)| copy == &message);
        let leaves = copy.map(|(_, leaves)| *leaves).unwrap_or_else(|| {
            let leaves = self.run.occupy_sender(from, A::kind(&message), A::words(&message));
            self.multicast.push((message.clone(), leaves));
            leaves
        });
        self.post(leaves, (from, to), message);
    }

    #[inline(always)]
    fn post(&mut self, leaves: Ticks, way: (NodeId, NodeId), message: A::Message) {
        let census = self.run.checks.then_some(&mut self.run.census);
        if self.network.post(&mut self.run.agenda, (self.run.now, leaves), way, message, census) {
            self.run.measures.tampered += 1;
        }
    }
}
