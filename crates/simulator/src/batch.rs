//! Many runs on all cores. The results do not depend on the number of cores: runs share nothing, and results
//! are assembled in the order of the points.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
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
            return Err(SettingError("there must be at least one seed: --seeds 1".to_string()));
        }
        if self.seed.checked_add(self.seeds - 1).is_none() {
            let hint = "take a smaller first seed";
            return Err(SettingError(format!(
                "there are no {} seeds from {} on: {hint}",
                self.seeds, self.seed
            )));
        }
        self.plan.validate_for(&self.algorithm)
    }

    /// How many clients enter in all its runs.
    pub fn entries_of_all_runs(&self) -> u64 {
        self.plan.entries_of_a_run().saturating_mul(self.seeds)
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

/// Runs all points. `ran` is called with the index of the point now and then, in no particular order.
pub fn run_all(points: &[Point], ran: &(dyn Fn(usize) + Sync)) -> Result<Vec<Summary>, SettingError> {
    let summaries: Vec<OnceLock<Summary>> = points.iter().map(|_| OnceLock::new()).collect();
    let watch = |index: usize, _| {
        ran(index);
        ControlFlow::Continue(())
    };
    run_each(points, &watch, &|index, summary| {
        // Each point is passed on once, so its place is still empty.
        let _ = summaries[index].set(summary);
        Ok::<(), SettingError>(())
    })?;
    Ok(summaries.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// What is there of a point whose runs were ended: its index, and the runs from some of its seeds. The last
/// of them may be unfinished.
pub type Incomplete = (usize, Vec<Outcome>);

/// Runs all points and passes each on when it is complete, keeping none: for more points than fit into
/// memory. Runs begin in the order of the points, so that at any time no more points are unfinished than
/// there are threads. `watch` is called now and then with the index of a point and how many clients have
/// entered in a run of it since; it may end everything. An error of `done` does that, too.
///
/// Returns the points that are begun and not complete: none, unless `watch` has ended the runs.
pub fn run_each<E: From<SettingError> + Send>(
    points: &[Point],
    watch: &(dyn Fn(usize, u64) -> ControlFlow<()> + Sync),
    done: &(dyn Fn(usize, Summary) -> Result<(), E> + Sync),
) -> Result<Vec<Incomplete>, E> {
    points.iter().try_for_each(Point::validate)?;
    let gathered: Vec<Mutex<Vec<Outcome>>> = points.iter().map(|_| Mutex::default()).collect();
    let ended = AtomicBool::new(false);
    let one = |(index, number): (usize, u64)| -> Result<(), E> {
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        let point = &points[index];
        let watch = |entries| {
            let answer = watch(index, entries);
            if answer.is_break() {
                ended.store(true, Ordering::Relaxed);
            }
            answer
        };
        let seed = point.seed + number;
        let outcome = crate::run_watched(&point.algorithm, &point.plan, seed, Recording::Off, &watch)?;
        let mut outcomes = gathered[index].lock().ignore_poison();
        outcomes.push(outcome);
        if outcomes.len() as u64 == point.seeds && outcomes.iter().all(|outcome| outcome.finished) {
            done(index, Summary::of(&in_order(std::mem::take(&mut *outcomes))))?;
        }
        Ok(())
    };
    let runs = points.iter().enumerate();
    let runs = runs.flat_map(|(index, point)| (0..point.seeds).map(move |number| (index, number)));
    let runs = runs.take_while(|_| !ended.load(Ordering::Relaxed));
    runs.par_bridge().try_for_each(one)?;
    let left = gathered.into_iter().map(|outcomes| in_order(outcomes.into_inner().ignore_poison()));
    Ok(left.enumerate().filter(|(_, outcomes)| !outcomes.is_empty()).collect())
}

fn in_order(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    outcomes.sort_by_key(|outcome| outcome.seed);
    outcomes
}
