//! Many runs on all cores. The results do not depend on the number of cores: runs share nothing, and results
//! are assembled in the order of the points.

use std::sync::{Mutex, OnceLock};

use algorithms::SettingError;
use rayon::prelude::*;
use sync::IgnorePoison;

use crate::{Outcome, Plan, Recording, Summary};

/// A plan for an algorithm, to be run from several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The algorithm's name.
    pub algorithm: String,
    /// What to simulate.
    pub plan: Plan,
    /// The first seed.
    pub seed: u64,
    /// How many seeds from there on.
    pub seeds: u64,
}

impl Point {
    /// Refuses a point that cannot be run, before anything runs.
    pub fn validate(&self) -> Result<(), SettingError> {
        if self.seeds == 0 {
            return Err(SettingError("there must be at least one seed".to_string()));
        }
        self.plan.validate_for(&self.algorithm)
    }

    /// Runs the point from all its seeds.
    pub fn run(&self) -> Result<Summary, SettingError> {
        let mut summaries = run_all(std::slice::from_ref(self), &|_| ())?;
        Ok(summaries.remove(0))
    }

    /// Runs the point once and records every step.
    pub fn record(&self, seed: u64) -> Result<Outcome, SettingError> {
        crate::run(&self.algorithm, &self.plan, seed, Recording::On)
    }
}

/// Does something on this many threads, or on all cores. What is run in there gives the same results on any number.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    run: impl FnOnce() -> T + Send,
) -> Result<T, SettingError> {
    let Some(threads) = threads else { return Ok(run()) };
    if threads == 0 {
        let hint = "leave the number out to use all cores";
        return Err(SettingError(format!("there must be at least one thread: {hint}")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| SettingError(format!("cannot start {threads} threads: {error}")))?;
    Ok(pool.install(run))
}

/// Runs all points. `ran` is called with the index of the point after each run, in no particular order.
pub fn run_all(points: &[Point], ran: &(dyn Fn(usize) + Sync)) -> Result<Vec<Summary>, SettingError> {
    let summaries: Vec<OnceLock<Summary>> = points.iter().map(|_| OnceLock::new()).collect();
    run_each(points, ran, &|index, summary| {
        // Each point is passed on once, so its place is still empty.
        let _ = summaries[index].set(summary);
        Ok::<(), SettingError>(())
    })?;
    Ok(summaries.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// Runs all points and passes each on when it is complete, keeping none: for more points than fit into
/// memory. Runs begin in the order of the points, so that at any time no more points are unfinished than
/// there are threads. `ran` is called with the index of the point after each run; an error of `done` ends
/// everything.
pub fn run_each<E: From<SettingError> + Send>(
    points: &[Point],
    ran: &(dyn Fn(usize) + Sync),
    done: &(dyn Fn(usize, Summary) -> Result<(), E> + Sync),
) -> Result<(), E> {
    points.iter().try_for_each(Point::validate)?;
    let gathered: Vec<Mutex<Vec<Outcome>>> = points.iter().map(|_| Mutex::default()).collect();
    let one = |(index, number): (usize, u64)| {
        let point = &points[index];
        let seed = point.seed.wrapping_add(number);
        let outcome = crate::run(&point.algorithm, &point.plan, seed, Recording::Off)?;
        ran(index);
        let mut outcomes = gathered[index].lock().ignore_poison();
        outcomes.push(outcome);
        if outcomes.len() as u64 == point.seeds {
            let mut outcomes = std::mem::take(&mut *outcomes);
            outcomes.sort_by_key(|outcome| outcome.seed.wrapping_sub(point.seed));
            done(index, Summary::of(&outcomes))?;
        }
        Ok(())
    };
    let runs = points.iter().enumerate();
    let runs = runs.flat_map(|(index, point)| (0..point.seeds).map(move |number| (index, number)));
    runs.par_bridge().try_for_each(one)
}
