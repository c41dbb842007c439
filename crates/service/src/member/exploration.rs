//! For drivers that explore all schedules: when two states are the same, and inputs that do not depend on the
//! clock.

use std::fmt::Write;

use algorithms::Timer;

use super::{Effect, Environment, Member};
use crate::time::Time;

impl Member {
    /// Writes down what decides about everything that this member will do, so that two states that are the same can be known as
    /// such. Counts, chance, and numbers that only have to differ are no part of it.
    pub fn describe(&self, text: &mut impl Write) {
        let Member { incarnation, standing, barred, .. } = self;
        // Writing to a text or a hash does not fail.
        _ = write!(text, "{incarnation}{standing:?}{barred:?}");
        self.core.describe(text);
    }

    /// A timer of a resource that runs is over now, however long it was to run.
    pub fn run_out(&mut self, resource: u32, timer: Timer, now: Time, effects: &mut Vec<Effect>) {
        self.core.run_out(resource, timer, now, &mut self.out);
        self.pass_on(effects);
    }

    /// The lease is renewed now, however long that could wait.
    pub fn renew_now(&mut self, environment: &dyn Environment, now: Time, effects: &mut Vec<Effect>) {
        self.renewing.renew_by(now);
        self.renew_if_due(environment, now, effects);
    }
}
