//! Figures 30, 31 and tables I, II of the thesis over real sockets, beside a simulation with the measured
//! times.
//!
//! Nothing is run here: the caller passes its measurements as [`Measured`], simulates the [`point`] of each,
//! and draws both with [`show`].

use algorithms::Setting;
use simulator::time::Span;
use simulator::{Estimate, Plan, Point, Summary};

use super::drawing::{columns, text};
use super::experiment::{
    CONTENDERS, ENTRIES_EACH, FACTOR, HOP, NODES, SECTION, THESIS_ROWS, TOKENS, ThesisRow,
};
use super::model::{PROPOSED, RAYMOND};
use super::socket_claims;
use crate::page::{Axis, Dot, Origin};
use crate::report::Shown;
use crate::{Chart, Page, Part, Results, Series, Table};

/// One run over sockets. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The algorithm.
    pub algorithm: String,
    /// Sizes and options.
    pub setting: Setting,
    /// How often a client that has left makes its next request, per millisecond (λ).
    pub rate: f64,
    /// The entries of each client.
    pub entries: u32,
    /// The measures of each node.
    pub samples: Vec<Sample>,
    /// The mean delay of a message.
    pub message: f64,
    /// The mean length of a critical section.
    pub section: f64,
    /// The mean time between an exit and the next request of a client; 0 if there was none.
    pub think: f64,
    /// What a hop counts for the timers, if the algorithm's timers set a pace.
    pub pace: Option<f64>,
    /// How well the clocks of the machines are known; 0 if all nodes were on one machine.
    pub clock_error: f64,
}

/// The measures of one node of a run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The messages it sent for each of its entries.
    pub messages: f64,
    /// The mean wait of its client, in milliseconds.
    pub wait: f64,
}

/// The thesis' experiment, except for the rates: those are a hundred times as high as printed, because they
/// give the numbers in its text.
pub struct Experiment {
    /// The algorithms.
    pub algorithms: Vec<String>,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of tokens.
    pub tokens: u32,
    /// The entries of each node.
    pub entries: u32,
    /// The length of a critical section, in milliseconds.
    pub section: f64,
    /// The rates, per millisecond.
    pub rates: Vec<f64>,
}

/// The thesis' own experiment.
pub fn experiment() -> Experiment {
    Experiment {
        algorithms: CONTENDERS.iter().map(|contender| contender.algorithm.to_string()).collect(),
        nodes: NODES,
        tokens: TOKENS,
        entries: ENTRIES_EACH,
        section: SECTION,
        // With as many digits as printed.
        rates: THESIS_ROWS.iter().map(|row| (row.rate * FACTOR * 1e6).round() / 1e6).collect(),
    }
}

/// Sizes, and the options with which the thesis ran an algorithm, if it did.
pub fn setting(algorithm: &str, nodes: u32, tokens: u32) -> Setting {
    let known = CONTENDERS.iter().find(|contender| contender.algorithm == algorithm);
    known.map_or_else(|| Setting::new(nodes, tokens), |contender| contender.setting(nodes, tokens))
}

/// The point to simulate beside a run: with the measured times.
pub fn point(measured: &Measured, seeds: u64) -> Point {
    let plan = Plan {
        setting: measured.setting.clone(),
        rate: if measured.think > 0.0 { 1.0 / measured.think } else { measured.rate },
        section: Span::constant(measured.section),
        send: 0.0,
        receive: 0.0,
        transit: Span::constant(measured.message),
        entries: u64::from(measured.entries) * u64::from(measured.setting.nodes),
        warmup: 0,
        ..Plan::default()
    };
    Point { algorithm: measured.algorithm.clone(), plan, seed: 1, seeds }
}

/// A run and its simulation.
pub(super) struct Pair<'a> {
    pub(super) measured: &'a Measured,
    pub(super) simulated: &'a Summary,
}

impl Pair<'_> {
    pub(super) fn messages(&self) -> Estimate {
        over_nodes(self.measured, |sample| sample.messages)
    }

    pub(super) fn wait(&self) -> Estimate {
        over_nodes(self.measured, |sample| sample.wait)
    }

    pub(super) fn message_deviation(&self) -> f64 {
        deviation(self.measured, self.messages())
    }

    pub(super) fn wait_deviation(&self) -> f64 {
        deviation(self.measured, self.wait())
    }
}

fn over_nodes(measured: &Measured, value: impl Fn(&Sample) -> f64) -> Estimate {
    let values: Vec<f64> = measured.samples.iter().map(value).collect();
    Estimate::of(&values)
}

/// The standard deviation over the nodes.
fn deviation(measured: &Measured, estimate: Estimate) -> f64 {
    estimate.stderr * (measured.samples.len() as f64).sqrt()
}

/// The runs of one algorithm, from the lowest rate to the highest.
pub(super) struct Line<'a> {
    pub(super) algorithm: &'a str,
    pub(super) pairs: Vec<Pair<'a>>,
}

/// The exhibits of all runs, and of their simulations with this many seeds.
pub fn show(all: &[Measured], seeds: u64, results: &Results) -> Vec<Shown> {
    let mut lines: Vec<Line> = Vec::new();
    for measured in all {
        let pair = Pair { measured, simulated: results.of(&point(measured, seeds)) };
        match lines.iter_mut().find(|line| line.algorithm == measured.algorithm) {
            Some(line) => line.pairs.push(pair),
            None => lines.push(Line { algorithm: &measured.algorithm, pairs: vec![pair] }),
        }
    }
    for line in &mut lines {
        line.pairs.sort_by(|one, other| one.measured.rate.total_cmp(&other.measured.rate));
    }
    let points: Vec<Point> = all.iter().map(|measured| point(measured, seeds)).collect();
    let violations = results.violations(&points);
    let shown = |id, source, title, page| Shown { id, source, title, page, violations: violations.clone() };
    let mut exhibits = vec![
        shown("sockets-30", "001 fig. 30", "Over sockets: messages for each entry", messages(&lines)),
        shown("sockets-31", "001 fig. 31", "Over sockets: time to enter", waits(&lines)),
    ];
    let tables = [
        ("sockets-table-1", "001 table I", "Over sockets: spread over the nodes, proposed algorithm"),
        ("sockets-table-2", "001 table II", "Over sockets: spread over the nodes, Raymond's algorithm"),
    ];
    for (number, (id, source, title)) in tables.into_iter().enumerate() {
        let found = lines.iter().find(|line| line.algorithm == CONTENDERS[number].algorithm);
        exhibits.extend(found.map(|line| shown(id, source, title, spread(line, number))));
    }
    exhibits.push(shown("sockets-runs", "ours", "Over sockets: every run in numbers", every_run(&lines)));
    exhibits
}

fn messages(lines: &[Line]) -> Page {
    let label = "messages for each entry";
    let chart = chart(lines, label, |pair| pair.messages(), |summary| summary.messages_per_entry);
    Page { parts: vec![chart, note(lines)], claims: socket_claims::messages(lines) }
}

fn waits(lines: &[Line]) -> Page {
    let chart = chart(lines, "mean time to enter, ms", |pair| pair.wait(), |summary| summary.time_to_enter);
    Page { parts: vec![chart, note(lines)], claims: socket_claims::waits(lines) }
}

/// Two curves for each algorithm.
fn chart(
    lines: &[Line],
    label: &str,
    measured: fn(&Pair) -> Estimate,
    simulated: fn(&Summary) -> Estimate,
) -> Part {
    let mut series = Vec::new();
    for Line { algorithm, pairs } in lines {
        let dots = pairs.iter().map(|pair| Dot::measured(pair.measured.rate, measured(pair))).collect();
        series.push(Series::new(format!("{algorithm}, measured"), Origin::Measured, dots));
        let dot = |pair: &Pair| Dot::measured(pair.measured.rate, simulated(pair.simulated));
        let dots = pairs.iter().map(dot).collect();
        series.push(Series::new(format!("{algorithm}, simulated"), Origin::Simulated, dots));
    }
    Part::Chart(Chart {
        suffix: "",
        title: format!("{}: {label}", sizes(lines)),
        x: Axis::linear("λ, requests per millisecond and node"),
        y: Axis::linear(label),
        series,
    })
}

fn sizes(lines: &[Line]) -> String {
    let Some(Pair { measured, .. }) = lines.first().and_then(|line| line.pairs.first()) else {
        return "Nothing was run".to_string();
    };
    let Setting { nodes, tokens, .. } = measured.setting;
    let message = range(lines, |measured| measured.message);
    format!(
        "{nodes} processes over TCP, k = {tokens}, {} entries each, {message} for each message",
        measured.entries
    )
}

/// The range of a time over all runs.
fn range(lines: &[Line], time: fn(&Measured) -> f64) -> String {
    let times = || lines.iter().flat_map(|line| &line.pairs).map(|pair| time(pair.measured));
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let digits = if most < 0.05 { 4 } else { 2 };
    format!("{least:.digits$} to {most:.digits$} ms")
}

fn note(lines: &[Line]) -> Part {
    let machines = if lines.iter().flat_map(|line| &line.pairs).any(|pair| pair.measured.clock_error > 0.0) {
        let error = range(lines, |measured| measured.clock_error);
        format!("on machines whose clocks are known within {error}, which times of messages may be off by")
    } else {
        "all on one machine".to_string()
    };
    text(&format!(
        "Measured: each node is a process with a connection to each other one, {machines}; another process hands out the \
         plan and collects. A wait runs from asking to entering. Every step of every node was replayed through the pure code \
         afterwards and had the same effects, and by the clock never more than k were inside. A message took {} \
         on average, from being sent to being handled; a client stayed inside for {}. In the thesis these were {HOP} and \
         {SECTION} ms, so waits can only be compared with its own if messages are held up as long (--hop {HOP}ms). The rates are a hundred times as \
         high as printed where nothing else was asked for: see thesis-30.\n\nSimulated: with the mean times of messages, sections and pauses that were measured in the same run, taken as \
         constant (pauses as exponential); messages occupy no processor. What remains as a difference is what varies: \
         processes share the cores, so that messages are late together. Over sockets every client enters \
         equally often and then stops, so that a run ends with a lighter load. A simulated run ends with its last entry, and the messages of requests \
         that still wait count, so that its mean may be above what an entry costs at most, by more the shorter the run is. In a simulated run some enter more often than others, \
         where the algorithm is unfair much more, and a mean over entries is then not one over nodes.",
        range(lines, |measured| measured.message),
        range(lines, |measured| measured.section),
    ))
}

/// The row of the tables with this rate, as printed or a hundred times that.
fn thesis_row(rate: f64) -> Option<&'static ThesisRow> {
    let near = |one: f64| (one - rate).abs() < 1e-6 * rate;
    THESIS_ROWS.iter().find(|row| near(row.rate) || near(row.rate * FACTOR))
}

fn spread(line: &Line, number: usize) -> Page {
    let mut rows = Vec::new();
    for pair in &line.pairs {
        let row = thesis_row(pair.measured.rate);
        let print = |value: fn(&ThesisRow) -> [f64; 2]| {
            row.map_or("–".to_string(), |row| format!("{:.4}", value(row)[number]))
        };
        rows.push(vec![
            pair.measured.rate.to_string(),
            row.map_or("–".to_string(), |row| format!("{:.6}", row.rate)),
            print(|row| row.messages),
            format!("{:.4}", pair.message_deviation()),
            format!("{:.4}", pair.simulated.node_message_deviation.mean),
            print(|row| row.delay),
            format!("{:.4}", pair.wait_deviation()),
            format!("{:.4}", pair.simulated.node_wait_deviation.mean),
        ]);
    }
    let names = [
        "λ, 1/ms",
        "λ as printed",
        "messages, printed",
        "messages, measured",
        "messages, simulated",
        "delay in ms, printed",
        "delay in ms, measured",
        "delay in ms, simulated",
    ];
    let title = format!("Standard deviations over the nodes, {}: {}", line.algorithm, entries_each(line));
    let table = Table { suffix: "", title, columns: columns(&names), rows };
    let counted = text(
        "Of the mean waits of the nodes, and of the messages that they send for each of their own entries, whichever node these are for. \
         The delays of the thesis go with messages of 6.5 ms. Simulated nodes share the entries of a run, so that they do not all have the \
         same number: this adds to the spread of messages, most where everybody answers everybody.",
    );
    Page { parts: vec![Part::Table(table), counted], claims: vec![socket_claims::spread(line)] }
}

fn entries_each(line: &Line) -> String {
    line.pairs.first().map_or(String::new(), |pair| format!("{} entries each", pair.measured.entries))
}

fn every_run(lines: &[Line]) -> Page {
    let mut rows = Vec::new();
    for pair in lines.iter().flat_map(|line| &line.pairs) {
        let Pair { measured, simulated } = pair;
        let numbers = [
            measured.message,
            measured.section,
            measured.think,
            pair.messages().mean,
            pair.message_deviation(),
            simulated.messages_per_entry.mean,
            simulated.node_message_deviation.mean,
            pair.wait().mean,
            pair.wait_deviation(),
            simulated.time_to_enter.mean,
            simulated.node_wait_deviation.mean,
        ];
        let mut row = vec![measured.algorithm.clone(), measured.rate.to_string()];
        row.extend(numbers.map(|number| format!("{number:.3}")));
        rows.push(row);
    }
    let names = [
        "algorithm",
        "λ, 1/ms",
        "a message, ms",
        "inside, ms",
        "pause, ms",
        "messages",
        "S.D.",
        "simulated",
        "S.D.",
        "wait, ms",
        "S.D.",
        "simulated",
        "S.D.",
    ];
    let title = sizes(lines);
    let table = Table { suffix: "", title, columns: columns(&names), rows };
    Page { parts: vec![Part::Table(table), note(lines)], claims: Vec::new() }
}

/// The runs of the thesis' own algorithm and of Raymond's, if both are there.
pub(super) fn rivals<'a>(lines: &'a [Line<'a>]) -> Option<[&'a Line<'a>; 2]> {
    let find = |algorithm: &str| lines.iter().find(|line| line.algorithm == algorithm);
    Some([find(PROPOSED.algorithm)?, find(RAYMOND.algorithm)?])
}
