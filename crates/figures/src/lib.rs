//! The figures, tables and claims of the papers, computed anew by the simulator and set beside what the papers say.
//!
//! An [`Exhibit`] is one of them: it names the points that have to be simulated and then draws a [`Page`] from the
//! results. [`exhibits`] lists all of them. This crate runs nothing by itself and writes no picture without being asked:
//! `tokenwood reproduce` collects the points of all exhibits wanted, simulates each once, and hands the results round.

#![forbid(unsafe_code)]

mod beside;
pub mod beyond;
pub mod binary_tree;
pub mod chart;
pub mod collectors;
pub mod csv;
mod escape;
pub mod group_mutex;
pub mod page;
pub mod report;
pub mod results;
pub mod scale;
mod scene;
pub mod thesis;

use simulator::Point;

pub use page::{Chart, Claim, Page, Part, Series, Table, Verdict};
pub use results::Results;

/// A figure, table or group of claims of a paper.
#[derive(Clone, Copy)]
pub struct Exhibit {
    /// Its name on the command line and of its files, such as `thesis-10`.
    pub id: &'static str,
    /// Where it is printed, such as "001 fig. 10"; or "ours".
    pub source: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// What has to be simulated for it.
    pub points: fn(&Effort) -> Vec<Point>,
    /// What it shows, once that is done.
    pub draw: fn(&Effort, &Results) -> Page,
}

/// How much work to put into each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// So many seeds.
    pub seeds: u64,
    /// Only a few points to a curve and a few entries to a point.
    pub quick: bool,
}

impl Effort {
    /// So many entries to a point, or a tenth of that if it has to be quick.
    pub fn entries(&self, entries: u64) -> u64 {
        if self.quick { (entries / 10).max(1) } else { entries }
    }

    /// All of these values, or every third if it has to be quick (the first and the last always).
    pub fn thin<T: Copy>(&self, values: &[T]) -> Vec<T> {
        if !self.quick || values.len() <= 4 {
            return values.to_vec();
        }
        let last = values.len() - 1;
        (0..=last).filter(|index| index % 3 == 0 || *index == last).map(|index| values[index]).collect()
    }
}

/// All exhibits, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    let parts = [
        thesis::exhibits,
        collectors::exhibits,
        binary_tree::exhibits,
        group_mutex::exhibits,
        scale::exhibits,
        beyond::exhibits,
    ];
    parts.into_iter().flat_map(|part| part()).collect()
}
