//! Explores every run of an algorithm at small sizes: every interleaving of requests, deliveries, exits,
//! timers and picks and, where allowed, losses, duplicates and crashes.
//!
//! The search knows no algorithm. `model` turns an algorithm into numbered parts (the state of a node, the
//! messages under way to it), `parts` caches what each of them does, so that most steps of the search are
//! table look-ups, `search` walks over states made of those numbers, `store` holds the states found, and
//! `liveness` checks whether the end is reachable from every state. A violation is reported as a [`trace`].
//!
//! Begin with [`check`].

#![forbid(unsafe_code)]

mod fast_hash;
mod job;
mod liveness;
mod model;
mod named;
mod parts;
mod path;
mod search;
mod store;
pub mod trace;

use std::sync::Mutex;

use algorithms::properties::Terms;
use algorithms::{Algorithm, SettingError};

pub use job::{Finding, Job, Progress, Seen, Verdict};
pub use named::check_named;
pub use trace::Trace;

/// Explores everything that the job allows. `progress` is called from time to time.
pub fn check<A: Algorithm>(job: &Job, progress: &(dyn Fn(Progress) + Sync)) -> Result<Finding, SettingError> {
    job.validate::<A>()?;
    let terms = Terms::new(&A::INFO, job.case.setting.tokens, job.case.faulty());
    let terms = job.only.map_or(terms, |property| terms.only(property));
    let model = Mutex::new(model::Model::<A>::new(&job.case)?);
    let result = search::search(&model, job, terms, progress);
    Ok(job::conclude::<A>(job, &model, result))
}
