//! Points that are simulated with a line of progress, until all are done or a signal asks to stop.

use std::sync::OnceLock;

use algorithms::SettingError;
use simulator::batch::{self, Incomplete};
use simulator::{Point, Summary};

use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// What there is of some points.
pub(crate) struct Simulated {
    /// Those that are complete, in their order.
    pub(crate) points: Vec<Point>,
    /// What was measured of them.
    pub(crate) summaries: Vec<Summary>,
    /// Those that a signal has ended.
    pub(crate) incomplete: Vec<Incomplete>,
}

/// Simulates points. `entered` is called now and then with the number of new entries.
pub(crate) fn simulate(points: &[Point], entered: &(dyn Fn(u64) + Sync)) -> Result<Simulated, SettingError> {
    let summaries: Vec<OnceLock<Summary>> = points.iter().map(|_| OnceLock::new()).collect();
    let watch = |_, entries| {
        entered(entries);
        interrupt::answer()
    };
    let incomplete = batch::run_each(points, &watch, &|index, summary| {
        // Each point is passed on once, so its place is still empty.
        let _ = summaries[index].set(summary);
        Ok::<(), SettingError>(())
    })?;
    let complete = points.iter().cloned().zip(summaries.into_iter().map(OnceLock::into_inner));
    let (points, summaries) = complete.filter_map(|(point, summary)| Some((point, summary?))).unzip();
    Ok(Simulated { points, summaries, incomplete })
}

/// The same with a line of progress.
pub(crate) fn simulate_visibly(what: &str, points: &[Point]) -> Result<Simulated, SettingError> {
    let progress = progress(what, points);
    let simulated = simulate(points, &|entries| progress.add(entries));
    progress.finish();
    simulated
}

/// A line of progress over all runs of these points.
pub(crate) fn progress(what: &str, points: &[Point]) -> Progress {
    Progress::new(what, points.iter().map(Point::entries_of_all_runs).fold(0, u64::saturating_add))
}
