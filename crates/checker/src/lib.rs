//! Explores every run of an algorithm at small sizes: every interleaving of requests, deliveries, exits,
//! timers and picks and, where allowed, losses, duplicates and crashes.
//!
//! The search knows no algorithm. `model` turns an algorithm into numbered parts (the state of a node, the
//! messages under way to it), `parts` caches what each of them does, so that most steps of the search are
//! table look-ups, `search` walks over states made of those numbers, `store` holds the states found, and
//! `liveness` checks whether the end is reachable from every state. A violation is reported as a
//! [trace](algorithms::trace).
//!
//! Begin with [`check`].

#![forbid(unsafe_code)]

mod fast_hash;
mod goal;
mod job;
mod liveness;
mod model;
mod orbits;
mod parts;
mod path;
mod row;
mod search;
mod store;

use std::ops::ControlFlow;

use algorithms::properties::Terms;
use algorithms::{Case, SettingError, registry};

pub use goal::{Wanted, Way, find};
pub use job::{Finding, Job, LONG_QUEUE, Progress, Seen, Stopped, Symmetry, TWO_INSIDE, Verdict, Watch};

/// Whether the algorithm of this name has any symmetry of this kind in this case, so that [`Job::symmetry`] makes
/// sense.
pub fn is_symmetric(name: &str, case: &Case, symmetry: Symmetry) -> Result<bool, SettingError> {
    registry::system(name, &case.setting).map(|system| model::is_symmetric(&system, case, symmetry))
}

/// Explores everything that the job allows for the algorithm of this name.
pub fn check(name: &str, job: &Job) -> Result<Finding, SettingError> {
    check_watched(name, job, &|_| ControlFlow::Continue(()))
}

/// The same, with a watcher.
pub fn check_watched(name: &str, job: &Job, watch: Watch<'_>) -> Result<Finding, SettingError> {
    job.validate(registry::info(name)?)?;
    let system = registry::system(name, &job.case.setting)?;
    job.refuse_without_pace(system.info())?;
    let terms = Terms::new(system.info(), job.case.setting.tokens, job.case.allowance.conditions());
    let terms = job.only.map_or(terms, |property| terms.only(property));
    let mut model = model::Model::new(system.clone(), &job.case);
    model.use_symmetry(job.symmetry)?;
    let result = search::search(&model, job, terms, None, watch)?;
    let finding = job::conclude(job, &system, &model, result);
    model.free(job.threads);
    Ok(finding)
}
