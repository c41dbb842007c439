//! For whoever explores all that can happen to nodes: what makes two states the same, and timers that run out in any order.

use std::fmt::Write;

use super::*;

impl Core {
    /// Writes down what decides about everything this node will do, so that two states that are the same can be known as
    /// such. What was counted, and what is left to chance, are no part of it.
    pub fn describe(&self, text: &mut impl Write) {
        let Core { membership, lease, sessions, origin, admission, .. } = self;
        let leaves = admission.leaves();
        // Writing to a text or a hash does not fail.
        _ = write!(text, "{membership:?}{lease:?}{sessions:?}{origin:?}{leaves:?}");
        for (number, request) in self.requests.iter() {
            _ = write!(text, "{number}{request:?}");
        }
        for (number, resource) in self.resources.iter() {
            _ = write!(text, "{number}{resource:?}");
        }
    }

    /// The timers that run, each with the number of its resource.
    pub fn timers(&self) -> Vec<(u32, Timer)> {
        let running = |armed: &&Armed| armed.runs_out.is_some();
        let of = |(number, resource): (u32, &Resource)| -> Vec<(u32, Timer)> {
            resource.timers.iter().filter(running).map(|armed| (number, armed.timer)).collect()
        };
        self.resources.iter().flat_map(of).collect()
    }

    /// A timer that runs is over now, however long it was to run.
    pub fn run_out(&mut self, resource: u32, timer: Timer, now: Time, out: &mut Out) {
        self.check_lease(now, out);
        let Some(found) = self.resources.get_mut(resource) else { return };
        let Some(place) = found.timers.iter().position(|armed| armed.timer == timer) else { return };
        let armed = found.timers.swap_remove(place);
        self.agenda.cancel(armed.planned, Due::Timer(resource, timer));
        self.step(resource, Input::Expire(timer), now, out);
    }
}
