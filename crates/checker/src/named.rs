//! The checker by an algorithm's name. The code for every algorithm is instantiated here, once, and not again
//! in each program that uses it.

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Setting, SettingError, Step, Violation};

use crate::job::{Finding, Job, Progress};
use crate::trace::{BadTrace, Replay, Trace};

/// [Checks](crate::check) the algorithm of this name.
pub fn check_named(
    name: &str,
    job: &Job,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Finding, SettingError> {
    registry::visit(name, Check { job, progress })?
}

impl Trace {
    /// [The trace of a run](Trace::of) of the algorithm of this name.
    pub fn of_named(
        name: &str,
        setting: &Setting,
        faulty: bool,
        violation: Option<&Violation>,
        steps: &[Step],
    ) -> Result<Trace, SettingError> {
        registry::visit(name, Record { setting, faulty, violation, steps })
    }

    /// Replays the steps, with the algorithm that the trace names.
    pub fn replay_named(&self) -> Result<Replay, BadTrace> {
        registry::visit(&self.algorithm, Take(self)).map_err(|error| BadTrace(error.to_string()))?
    }
}

struct Check<'a> {
    job: &'a Job,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl Visitor for Check<'_> {
    type Output = Result<Finding, SettingError>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        crate::check::<A>(self.job, self.progress)
    }
}

struct Record<'a> {
    setting: &'a Setting,
    faulty: bool,
    violation: Option<&'a Violation>,
    steps: &'a [Step],
}

impl Visitor for Record<'_> {
    type Output = Trace;

    fn visit<A: Algorithm>(self) -> Trace {
        Trace::of::<A>(self.setting, self.faulty, self.violation, self.steps)
    }
}

struct Take<'a>(&'a Trace);

impl Visitor for Take<'_> {
    type Output = Result<Replay, BadTrace>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        self.0.replay::<A>()
    }
}
