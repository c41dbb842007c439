//! A summary of several runs of one plan.

use std::collections::BTreeMap;

use algorithms::Violation;
use hdrhistogram::Histogram;

use crate::column::Column;
use crate::engine::Outcome;
use crate::measures::new_histogram;
use crate::time::{Ticks, units};

/// A mean over runs, and its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; 0 if there is only one value.
    pub stderr: f64,
    /// Of how many values it is the mean.
    pub values: usize,
}

impl Estimate {
    /// The mean of these values.
    pub fn of(values: &[f64]) -> Estimate {
        let (number, count) = (values.len(), values.len() as f64);
        if values.is_empty() {
            return Estimate::default();
        }
        let mean = values.iter().sum::<f64>() / count;
        if values.len() == 1 {
            return Estimate { mean, stderr: 0.0, values: number };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Estimate { mean, stderr: (variance / count).sqrt(), values: number }
    }

    /// Its standard error, which a single value does not tell.
    pub fn error(&self) -> Option<f64> {
        (self.values > 1).then_some(self.stderr)
    }
}

/// The measures of several runs, each from its own seed.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The number of runs.
    pub seeds: u64,
    /// Entries measured in all of them.
    pub entries: u64,
    /// Messages simulated in all of them, warm-up included.
    pub messages: u64,
    /// The mean wait and the messages for each entry of each run, in the order of the seeds: two plans run
    /// from the same seeds can be compared run by run.
    pub by_seed: Vec<(f64, f64)>,
    /// The wait from request to entry.
    pub time_to_enter: Estimate,
    /// All waits, in ticks.
    pub waits: Histogram<u64>,
    /// The longest wait of a client that has entered.
    pub longest_entered: f64,
    /// The longest wait, unfinished ones included.
    pub longest_wait: f64,
    /// From the beginning to the last exit or the last message, whichever is later.
    pub settled: Estimate,
    /// From the beginning to the last exit.
    pub last_exit: Estimate,
    /// Messages for each entry.
    pub messages_per_entry: Estimate,
    /// The same by kind.
    pub messages_by_kind: BTreeMap<&'static str, Estimate>,
    /// Words in each message.
    pub words_per_message: Estimate,
    /// Words for each entry.
    pub words_per_entry: Estimate,
    /// From an exit with waiters to the entry it made possible.
    pub sync_delay: Estimate,
    /// From the exit of the last client inside, with waiters, to the next entry.
    pub changeover: Estimate,
    /// From request to exit.
    pub response: Estimate,
    /// Entries per unit of time.
    pub throughput: Estimate,
    /// The mean number of clients inside.
    pub concurrency: Estimate,
    /// The largest number of clients inside at once.
    pub most_inside: u32,
    /// Entries into another group than the previous one, for each entry.
    pub switches_per_entry: Estimate,
    /// The most changes of the group during a wait.
    pub most_switches_waited: u64,
    /// Jain's index over the entries of the nodes.
    pub fairness: Estimate,
    /// The fewest entries of a node in a run.
    pub fewest_entries: u64,
    /// The most entries of a node in a run.
    pub most_entries: u64,
    /// The mean wait of each node's clients, in units.
    pub node_waits: Vec<f64>,
    /// The spread over the nodes of their mean waits: the standard deviation, as in the thesis' tables.
    pub node_wait_deviation: Estimate,
    /// The same for the messages that a node sends for each of its entries.
    pub node_message_deviation: Estimate,
    /// The longest queue seen.
    pub longest_queue: u32,
    /// How many bytes a node took at the end of a run, at most.
    pub bytes_per_node: u64,
    /// The first violation, with the seed of its run.
    pub violation: Option<(u64, Violation)>,
}

impl Summary {
    /// Sums up runs, in the order of their seeds.
    pub fn of(runs: &[Outcome]) -> Summary {
        let estimate = |value: &dyn Fn(&Outcome) -> f64| {
            let values: Vec<f64> = runs.iter().map(value).collect();
            Estimate::of(&values)
        };
        let measured = |value: fn(&crate::Measures) -> f64| estimate(&|run| value(&run.measures));
        let mut waits = new_histogram();
        for run in runs {
            waits.add(&run.measures.waits).expect("a histogram that resizes itself takes every value");
        }
        let mut time_to_enter = measured(crate::Measures::mean_wait);
        if let [run] = runs {
            let batches = run.measures.batches();
            (time_to_enter.stderr, time_to_enter.values) = (batches.stderr, batches.values);
        }
        let longest =
            |of: fn(&crate::Measures) -> Ticks| runs.iter().map(|run| of(&run.measures)).max().unwrap_or(0);
        let by_node = || runs.iter().flat_map(|run| &run.measures.by_node).map(|count| count.entries);
        Summary {
            seeds: runs.len() as u64,
            entries: runs.iter().map(|run| run.measures.entries).sum(),
            messages: runs.iter().map(|run| run.messages).sum(),
            by_seed: runs
                .iter()
                .map(|run| (run.measures.mean_wait(), run.measures.messages_per_entry()))
                .collect(),
            time_to_enter,
            waits,
            longest_entered: units(longest(|measures| measures.longest_entered)),
            longest_wait: units(longest(crate::Measures::longest_wait)),
            settled: measured(crate::Measures::settled),
            last_exit: measured(|run| units(run.last_exit.saturating_sub(run.began))),
            messages_per_entry: measured(crate::Measures::messages_per_entry),
            messages_by_kind: by_kind(runs),
            words_per_message: measured(crate::Measures::words_per_message),
            words_per_entry: measured(|run| run.words_per_message() * run.messages_per_entry()),
            sync_delay: measured(crate::Measures::sync_delay),
            changeover: measured(crate::Measures::changeover),
            response: measured(crate::Measures::response),
            throughput: measured(crate::Measures::throughput),
            concurrency: measured(crate::Measures::concurrency),
            most_inside: runs.iter().map(|run| run.measures.most_inside).max().unwrap_or(0),
            switches_per_entry: measured(|run| run.switches as f64 / run.entries.max(1) as f64),
            most_switches_waited: runs.iter().map(|run| run.measures.most_switches_waited).max().unwrap_or(0),
            fairness: measured(crate::Measures::fairness),
            fewest_entries: by_node().min().unwrap_or(0),
            most_entries: by_node().max().unwrap_or(0),
            node_waits: node_waits(runs),
            node_wait_deviation: estimate(&|run| {
                deviation(run, |node| units(node.waited as u64) / node.entries.max(1) as f64)
            }),
            node_message_deviation: estimate(&|run| {
                deviation(run, |node| node.sent as f64 / node.entries.max(1) as f64)
            }),
            bytes_per_node: runs.iter().map(|run| run.bytes_per_node).max().unwrap_or(0),
            longest_queue: runs.iter().map(|run| run.longest_queue).max().unwrap_or(0),
            violation: runs.iter().find_map(|run| run.violation.clone().map(|found| (run.seed, found))),
        }
    }

    /// A percentile of the waits, in units. It has three digits, and is no longer than the longest.
    pub fn wait_at(&self, percentile: f64) -> f64 {
        units(self.waits.value_at_percentile(percentile)).min(self.longest_entered)
    }

    /// Every measure with its name, always in the same order. Messages by kind come last, since the kinds
    /// differ between algorithms.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            Column::new("entries_measured", self.entries),
            Column::new("messages", self.messages),
            Column::new("time_to_enter", self.time_to_enter.mean),
            Column::new("time_to_enter_stderr", self.time_to_enter.error()),
            Column::new("time_to_enter_p50", self.wait_at(50.0)),
            Column::new("time_to_enter_p90", self.wait_at(90.0)),
            Column::new("time_to_enter_p99", self.wait_at(99.0)),
            Column::new("time_to_enter_max", self.longest_entered),
            Column::new("longest_wait", self.longest_wait),
        ];
        let mut estimate = |name: &str, estimate: Estimate| {
            columns.push(Column::new(name, estimate.mean));
            columns.push(Column::new(format!("{name}_stderr"), estimate.error()));
        };
        estimate("messages_per_entry", self.messages_per_entry);
        estimate("words_per_message", self.words_per_message);
        estimate("words_per_entry", self.words_per_entry);
        estimate("sync_delay", self.sync_delay);
        estimate("response_time", self.response);
        estimate("throughput", self.throughput);
        estimate("concurrency", self.concurrency);
        estimate("switches_per_entry", self.switches_per_entry);
        estimate("fairness", self.fairness);
        estimate("settled", self.settled);
        estimate("node_wait_deviation", self.node_wait_deviation);
        estimate("node_message_deviation", self.node_message_deviation);
        let violation = self.violation.as_ref();
        columns.extend([
            Column::new("most_inside", self.most_inside),
            Column::new("fewest_entries", self.fewest_entries),
            Column::new("most_entries", self.most_entries),
            Column::new("longest_queue", self.longest_queue),
            Column::new("bytes_per_node", self.bytes_per_node),
            Column::new("violation", violation.map(|(_, violation)| violation.to_string())),
            Column::new("violation_seed", violation.map(|(seed, _)| *seed)),
        ]);
        for (kind, estimate) in &self.messages_by_kind {
            columns.push(Column::new(format!("messages_by_kind_{kind}"), estimate.mean));
            columns.push(Column::new(format!("messages_by_kind_{kind}_stderr"), estimate.error()));
        }
        columns
    }
}

/// The mean wait of each node's clients over all runs.
fn node_waits(runs: &[Outcome]) -> Vec<f64> {
    let nodes = runs.first().map_or(0, |run| run.measures.by_node.len());
    let mean = |node: usize| {
        let counts = runs.iter().map(|run| &run.measures.by_node[node]);
        let (waited, entries) =
            counts.fold((0, 0), |(waited, entries), count| (waited + count.waited, entries + count.entries));
        units(waited as u64) / entries.max(1) as f64
    };
    (0..nodes).map(mean).collect()
}

fn by_kind(runs: &[Outcome]) -> BTreeMap<&'static str, Estimate> {
    let mut kinds: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for count in &run.measures.kinds {
            let values = kinds.entry(count.kind).or_insert_with(|| vec![0.0; runs.len()]);
            values[index] = count.messages as f64 / run.measures.entries.max(1) as f64;
        }
    }
    kinds.into_iter().map(|(kind, values)| (kind, Estimate::of(&values))).collect()
}

/// The standard deviation of a value over the nodes of a run.
fn deviation(run: &Outcome, value: impl Fn(&crate::measures::NodeCount) -> f64) -> f64 {
    let values: Vec<f64> = run.measures.by_node.iter().map(value).collect();
    Estimate::of(&values).stderr * (values.len() as f64).sqrt()
}
