//! The figures, tables and claims of the papers, recomputed by the simulator and set beside the printed ones.
//!
//! An [`Exhibit`] is one of them: it names the points to simulate and then draws a [`Page`] from the results.
//! [`exhibits`] lists all of them. This crate runs nothing and writes no file by itself: `tokenwood
//! reproduce` collects the points of all requested exhibits, simulates each once, and passes the results to
//! each exhibit.

#![forbid(unsafe_code)]

pub mod beyond;
pub mod binary_tree;
pub mod cell_map;
pub mod chart;
pub mod collectors;
mod compare;
pub mod csv;
mod escape;
pub mod group_mutex;
pub mod growth;
pub mod map;
pub mod page;
pub mod report;
pub mod results;
mod scene;
pub mod thesis;

use simulator::Point;

pub use page::{CellMap, Chart, Claim, Page, Part, Series, Table, Verdict};
pub use results::Results;

/// A figure, table or group of claims of a paper.
#[derive(Clone, Copy)]
pub struct Exhibit {
    /// Its name on the command line and of its files, such as `thesis-10`.
    pub id: &'static str,
    /// Where it is printed, such as "001 fig. 10"; or "ours".
    pub source: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// The points to simulate for it.
    pub points: fn(&Effort) -> Vec<Point>,
    /// Draws it from the results.
    pub draw: fn(&Effort, &Results) -> Page,
}

/// How much work to put into each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of seeds.
    pub seeds: u64,
    /// Whether a curve has only a few points and a point only a few entries.
    pub quick: bool,
}

impl Effort {
    /// The number of entries for a point, or a tenth of it in a quick run.
    pub fn entries(&self, entries: u64) -> u64 {
        if self.quick { (entries / 10).max(1) } else { entries }
    }

    /// All of these values, or every third in a quick run (the first and the last always).
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
        growth::exhibits,
        beyond::exhibits,
        map::exhibits,
    ];
    parts.into_iter().flat_map(|part| part()).collect()
}
