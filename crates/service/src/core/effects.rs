//! Steps of resources, and their effects.

use algorithms::{Timer, Wait};

use super::state::Due;
use super::{Core, Effects, PeerContent, PeerMessage};
use crate::resource::{Effect, Input, Looked, Planned, ResourceMessage};
use crate::time::Time;
use crate::view::MemberIndex;

impl Core {
    /// Feeds a resource with an input, and carries out the effects.
    pub(super) fn step(&mut self, number: u32, input: Input, now: Time, out: &mut Effects) {
        let position = self.membership.position();
        let resource = self.names.get_mut(number).expect("a resource in use is not forgotten");
        let in_view = resource.epoch() == self.membership.epoch();
        assert!(in_view || self.config.defect.is_some(), "a resource is used before it is in the view");
        let (hand_off, grants) = (input.hand_off(), self.counts.grants);
        match input {
            Input::Deliver(from, message) => {
                // A message that contradicts what this node knows changes nothing.
                let before = resource.mark();
                resource.step(position, Input::Deliver(from, message), &mut self.workspace);
                if let Some(what) = self.workspace.take_contradiction() {
                    resource.undo(before);
                    return out.contradictions.push((from, what));
                }
                resource.keep();
            }
            input => resource.step(position, input, &mut self.workspace),
        }
        resource.use_at(now);
        self.carry_out_effects(number, now, out);
        if let Some(hand_off) = hand_off {
            self.metrics.handed_off(hand_off, self.counts.grants - grants);
        }
        self.list_if_idle(number, now);
    }

    /// Carries out the effects of a step, in order.
    pub(super) fn carry_out_effects(&mut self, number: u32, now: Time, out: &mut Effects) {
        let mut effects = self.workspace.take();
        for effect in effects.drain(..) {
            self.carry_out(number, effect, now, out);
        }
        self.workspace.put_back(effects);
    }

    fn carry_out(&mut self, number: u32, effect: Effect, now: Time, out: &mut Effects) {
        match effect {
            Effect::Send(to, message) => self.send_about(number, to, message, out),
            Effect::Grant { client, slot, fence, group } => {
                self.grant(client, (slot, fence, group), now, out);
            }
            Effect::Arm(timer, wait) => self.arm(number, timer, wait, now),
            Effect::Disarm(timer) => self.disarm(number, timer),
            Effect::Never(what) => panic!("a resource does what it cannot: {what}"),
        }
    }

    /// Sends a message about a resource.
    pub(super) fn send_about(
        &mut self,
        number: u32,
        to: MemberIndex,
        message: ResourceMessage,
        out: &mut Effects,
    ) {
        let Some(resource) = self.names.get(number) else { return };
        let (name, definition) = (resource.name().clone(), resource.definition());
        self.counts.sent += 1;
        let content = PeerContent::Resource { name, definition, message };
        out.messages.push((to, PeerMessage { epoch: self.membership.epoch(), content }));
    }

    fn arm(&mut self, number: u32, timer: Timer, wait: Wait, now: Time) {
        let at = now + self.config.hop * wait.hops;
        let Some(resource) = self.names.get_mut(number) else { return };
        let Some(Planned { at, instead_of }) = resource.timers_mut().arm(timer, at) else { return };
        if let Some(before) = instead_of {
            self.deadlines.cancel(before, Due::Timer(number, timer));
        }
        self.deadlines.plan(at, Due::Timer(number, timer));
    }

    fn disarm(&mut self, number: u32, timer: Timer) {
        if let Some(resource) = self.names.get_mut(number) {
            resource.timers_mut().disarm(timer);
        }
    }

    /// Looks at a timer at the time that was planned. It expires, unless it was stopped or started again.
    pub(super) fn timer_due(&mut self, number: u32, timer: Timer, now: Time, out: &mut Effects) {
        // With the view before, its timers end.
        self.bring_into_view(number, now, out);
        let Some(resource) = self.names.get_mut(number) else { return };
        match resource.timers_mut().look(timer, now) {
            Some(Looked::Again(at)) => self.deadlines.plan(at, Due::Timer(number, timer)),
            Some(Looked::RanOut) => self.step(number, Input::Expire(timer), now, out),
            Some(Looked::Stopped) | None => {}
        }
    }
}
