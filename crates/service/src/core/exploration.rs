//! For exploring all schedules of nodes: when two states are equal, and timers that expire in any order.

use std::fmt::Write;

use algorithms::Timer;

use super::state::Due;
use super::{Core, Effects};
use crate::resource::{Input, Resource};
use crate::time::Time;

impl Core {
    /// Writes down all that decides about what this node will do: equal states have equal texts. Counts and chance
    /// are no part of it.
    pub fn describe(&self, text: &mut impl Write) {
        let Core { membership, lease, sessions, change, .. } = self;
        let (origin, leaves) = (self.names.origin(), self.admission.leaves());
        // Writing to a text or a hash does not fail.
        _ = write!(text, "{membership:?}{:?}{sessions:?}{origin:?}{leaves:?}{change:?}", lease.state());
        for (number, request) in self.requests.iter() {
            _ = write!(text, "{number}{request:?}");
        }
        _ = write!(text, "{:?}", self.requests.asked_again());
        for (number, resource) in self.names.iter() {
            _ = write!(text, "{number}{resource:?}");
        }
    }

    /// The timers that run, each with the number of its resource.
    pub fn timers(&self) -> Vec<(u32, Timer)> {
        let of = |(number, resource): (u32, &Resource)| -> Vec<(u32, Timer)> {
            resource.timers().running().map(|timer| (number, timer)).collect()
        };
        self.names.iter().flat_map(of).collect()
    }

    /// A timer that runs is over now, however long it was to run.
    pub fn run_out(&mut self, resource: u32, timer: Timer, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        let Some(found) = self.names.get_mut(resource) else { return };
        let Some(planned) = found.timers_mut().take(timer) else { return };
        self.deadlines.cancel(planned, Due::Timer(resource, timer));
        self.step(resource, Input::Expire(timer), now, out);
    }
}
