//! How far what was measured in a cell is from what no algorithm can be below.

use algorithms::registry;
use simulator::time::units;
use simulator::{Estimate, Summary, limit};

use super::{Contender, Map, Measure};
use crate::page::Distance;

/// How many entries of the oracle are measured, at most, and from how many seeds.
const ENTRIES: u64 = 2000;
const SEEDS: u64 = 3;

impl Map {
    /// What was measured of an algorithm in a cell.
    pub fn value(&self, measure: Measure, cell: (usize, usize), summary: &Summary) -> Estimate {
        match measure {
            Measure::Wait => self.whole_wait(cell, summary),
            Measure::Messages => summary.messages_per_entry,
            Measure::Fairness => summary.fairness,
        }
    }

    /// The mean wait. Where clients wait longer than they think, or one is left waiting for so long, it is taken from the
    /// throughput: those that have not entered yet then count, too.
    fn whole_wait(&self, cell: (usize, usize), summary: &Summary) -> Estimate {
        let (plan, wait) = (self.plan(cell), summary.time_to_enter);
        let (nodes, throughput) = (f64::from(self.nodes), summary.throughput);
        let (every, thinks) = (nodes / throughput.mean, 1.0 / plan.rate);
        let mean = every - thinks - plan.section.mean;
        let is_left = summary.longest_wait > units(summary.waits.max()).max(thinks);
        if !mean.is_finite() || !is_left && mean <= thinks {
            return wait;
        }
        Estimate { mean, stderr: every / throughput.mean * throughput.stderr, ..throughput }
    }

    /// The least mean wait of any algorithm in a cell; `None`: not known for groups.
    pub fn least_wait(&self, cell: (usize, usize)) -> Option<Estimate> {
        let mut plan = self.plan(cell);
        // As coarse as the map.
        let entries = ENTRIES.min(10 * self.entries);
        (plan.entries, plan.warmup) = (entries, entries / 5);
        limit::least_wait(&plan, self.seed, SEEDS).ok()
    }

    /// The fewest messages of an algorithm that waits so long in a cell; `None` if nothing is known.
    pub fn fewest_messages(&self, cell: (usize, usize), wait: f64) -> Option<f64> {
        limit::fewest_messages(&self.plan(cell), wait)
    }

    /// How far an algorithm is from its limit in a cell, in which that is the least wait; `None` where no limit is known, or where it is 0.
    pub fn distance(
        &self,
        measure: Measure,
        cell: (usize, usize),
        least: Option<Estimate>,
        (contender, summary): (&Contender, &Summary),
    ) -> Option<Distance> {
        let limit = match measure {
            Measure::Wait => least?.mean,
            Measure::Messages if contender.is_driven_by_messages() => {
                self.fewest_messages(cell, self.whole_wait(cell, summary).mean)?
            }
            Measure::Messages | Measure::Fairness => return None,
        };
        let value = self.value(measure, cell, summary).mean;
        (limit > 0.0).then(|| Distance { limit, times: value / limit })
    }
}

impl Contender {
    /// Whether a client that waits enters only when its node receives a message.
    pub(super) fn is_driven_by_messages(&self) -> bool {
        registry::info(self.algorithm).is_ok_and(|info| !info.relies_on_pace())
    }
}
