//! Figures 30, 31 and tables I, II of the thesis: its implementation on nine workstations, simulated here.

use simulator::time::Span;
use simulator::{Plan, Point, Summary};

use super::drawing::{columns, text};
use super::model::{Contender, Measure, PROPOSED, RAYMOND, messages, wait};
use super::verdicts::{between, everywhere, finding, unless_so};
use crate::page::{Axis, Dot, Origin};
use crate::{Chart, Claim, Effort, Exhibit, Page, Part, Results, Series, Table};

pub(super) const CHAPTER_VI: &str = "001 ch. VI sec. B";
/// The nodes that took part; a tenth one collected the numbers.
pub(super) const NODES: u32 = 9;
pub(super) const TOKENS: u32 = 3;
/// A message from node to node, in milliseconds: half of the measured round trip.
pub(super) const HOP: f64 = 6.5;
/// The entries of each node.
pub(super) const ENTRIES_EACH: u32 = 200;
/// The entries of all nodes.
const ENTRIES: u64 = ENTRIES_EACH as u64 * NODES as u64;
/// The length of a critical section, in milliseconds.
pub(super) const SECTION: f64 = 2.0;
/// The text's heavy load fits rates this many times as high as printed.
pub(super) const FACTOR: f64 = 100.0;
pub(super) const CONTENDERS: [Contender; 2] = [PROPOSED, RAYMOND];

/// A row of both tables: λ in 1/ms, then the standard deviations of messages and delay, proposed and Raymond.
#[derive(Clone, Copy)]
pub(super) struct ThesisRow {
    pub(super) rate: f64,
    pub(super) messages: [f64; 2],
    pub(super) delay: [f64; 2],
}

const fn row(rate: f64, proposed: (f64, f64), raymond: (f64, f64)) -> ThesisRow {
    ThesisRow { rate, messages: [proposed.0, raymond.0], delay: [proposed.1, raymond.1] }
}

/// Tables I and II as printed.
pub(super) const THESIS_ROWS: [ThesisRow; 9] = [
    row(0.0001, (0.1628299, 0.51004291), (0.0394014, 0.55298836)),
    row(0.0004, (0.1362799, 0.54537131), (0.0793700, 0.47895460)),
    row(0.0008, (0.1646376, 0.45759222), (0.0958523, 0.57512490)),
    row(0.00095, (0.1689692, 0.39158795), (0.1300878, 0.49831504)),
    row(0.001, (0.1181891, 0.41565752), (0.1229825, 0.56785351)),
    row(0.002, (0.1621289, 0.43096136), (0.3321572, 0.42134403)),
    row(0.003, (0.1355544, 0.55824485), (0.1820960, 0.52645571)),
    row(0.005, (0.1662327, 0.41734271), (0.2610555, 0.51134079)),
    row(0.01, (0.1260511, 0.52181130), (0.4250359, 0.43649802)),
];
pub(super) const LIGHT: f64 = THESIS_ROWS[0].rate;
pub(super) const HEAVY: f64 = THESIS_ROWS[8].rate;

/// Figures 30 and 31, tables I and II.
pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-30",
            source: "001 fig. 30",
            title: "The implementation: messages for each entry, simulated",
            points,
            draw: draw_messages,
        },
        Exhibit {
            id: "thesis-31",
            source: "001 fig. 31",
            title: "The implementation: time to enter, simulated",
            points: |effort| [points(effort), vec![unhandled(effort)]].concat(),
            draw: draw_waits,
        },
        Exhibit {
            id: "thesis-table-1",
            source: "001 table I",
            title: "Spread over nine nodes, proposed algorithm",
            points,
            draw: |effort, results| draw_table(effort, results, 0),
        },
        Exhibit {
            id: "thesis-table-2",
            source: "001 table II",
            title: "Spread over nine nodes, Raymond's algorithm",
            points,
            draw: |effort, results| draw_table(effort, results, 1),
        },
    ]
}

fn point(effort: &Effort, contender: Contender, rate: f64) -> Point {
    let plan = Plan {
        setting: contender.setting(NODES, TOKENS),
        rate,
        section: Span::constant(SECTION),
        send: 0.1 * HOP,
        receive: 0.1 * HOP,
        transit: Span::constant(0.8 * HOP),
        entries: effort.entries(ENTRIES),
        warmup: effort.entries(ENTRIES / 10),
        ..Plan::default()
    };
    Point { algorithm: contender.algorithm.to_string(), plan, seed: 1, seeds: effort.seeds }
}

/// Raymond's algorithm at the highest rate, with messages that occupy no processor.
fn unhandled(effort: &Effort) -> Point {
    let mut point = point(effort, RAYMOND, HEAVY * FACTOR);
    (point.plan.send, point.plan.receive, point.plan.transit) = (0.0, 0.0, Span::constant(HOP));
    point
}

fn rows(effort: &Effort) -> Vec<ThesisRow> {
    effort.thin(&THESIS_ROWS)
}

fn points(effort: &Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for contender in CONTENDERS {
        for factor in [1.0, FACTOR] {
            points.extend(rows(effort).into_iter().map(|row| point(effort, contender, row.rate * factor)));
        }
    }
    points
}

struct Bench<'a> {
    effort: &'a Effort,
    results: &'a Results,
}

impl Bench<'_> {
    fn of(&self, contender: Contender, rate: f64) -> &Summary {
        self.results.of(&point(self.effort, contender, rate))
    }

    fn chart(&self, suffix: &'static str, factor: f64, label: &str, measure: Measure) -> Part {
        let curve = |contender: Contender| {
            let dot = |row: ThesisRow| {
                let rate = row.rate * factor;
                Dot::measured(rate, measure(self.of(contender, rate)))
            };
            let dots = rows(self.effort).into_iter().map(dot).collect();
            Series::new(contender.label, Origin::Simulated, dots)
        };
        let rates = if factor == 1.0 { "λ as printed" } else { "λ a hundred times as printed" };
        Part::Chart(Chart {
            suffix,
            title: format!("Nine nodes, k = 3, E = 2 ms, 6.5 ms for each message, {rates}: {label}"),
            x: Axis::linear("λ, requests per millisecond and node"),
            y: Axis::linear(label),
            series: CONTENDERS.map(curve).into(),
        })
    }

    fn charts(&self, label: &str, measure: Measure) -> Vec<Part> {
        vec![self.chart("printed", 1.0, label, measure), self.chart("hundredfold", FACTOR, label, measure)]
    }

    /// The entries per millisecond, as a share of what three tokens allow.
    fn share_used(&self, rate: f64) -> f64 {
        self.of(PROPOSED, rate).throughput.mean * (HOP + SECTION) / f64::from(TOKENS)
    }

    fn note(&self) -> Part {
        let used = 100.0 * self.share_used(HEAVY);
        let hundredfold = 100.0 * self.share_used(HEAVY * FACTOR);
        text(&format!(
            "Simulated, not measured on machines. The text gives the round trip (13 ms) but not how it is divided: here a tenth \
             of a message's 6.5 ms is spent on each processor, as in figure 10. At the rates printed the nodes pause for 100 ms \
             or more between entries of 2 ms, so that at the highest of them the tokens are in use for {used:.0} % of what they \
             could give: this is no heavy load. With rates a hundred times as high it is {hundredfold:.0} %, and all numbers that the \
             text gives in words come out about right, at light and at heavy load. So the unit of λ is probably misprinted; \
             both are shown."
        ))
    }
}

/// Why Raymond's algorithm sends more messages than in the text.
pub(super) const TOGETHER: &str =
    "Two replies are never due to the same node at once, so that none are sent together; see figure 14.";
const UNIT: &str = "At the printed rates the load is never heavy; see the note on the unit of λ.";

/// A claim about heavy load: at the printed rate, and at a hundred times that.
fn at_heavy_load(bench: &Bench, claim: Claim, contender: Contender, measure: Measure) -> Claim {
    let value = |rate| measure(bench.of(contender, rate)).mean;
    let found = format!(
        "{:.2} at λ = {HEAVY}/ms as printed, {:.2} at λ = {}/ms",
        value(HEAVY),
        value(HEAVY * FACTOR),
        HEAVY * FACTOR
    );
    unless_so(finding(claim, found), UNIT)
}

fn draw_messages(effort: &Effort, results: &Results) -> Page {
    let bench = Bench { effort, results };
    let count = |contender, rate| bench.of(contender, rate).messages_per_entry.mean;
    let mean = |contender| {
        let rows = rows(effort);
        rows.iter().map(|row| count(contender, row.rate)).sum::<f64>() / rows.len() as f64
    };
    let light = "The proposed algorithm sends three to four messages at light load.";
    let heavy = "It sends two messages at heavy load.";
    let raymond = "Raymond's algorithm sends about 15 messages.";
    let bounds = "Raymond's algorithm sends between 2n−k−1 = 14 and 2(n−1) = 16 messages.";
    let claims = vec![
        between(CHAPTER_VI, light, (3.0, 4.0), count(PROPOSED, LIGHT), 0.0),
        at_heavy_load(
            &bench,
            Claim::number(CHAPTER_VI, heavy, 2.0, count(PROPOSED, HEAVY), 0.05),
            PROPOSED,
            messages,
        ),
        unless_so(Claim::number(CHAPTER_VI, raymond, 15.0, mean(RAYMOND), 0.03), TOGETHER),
        between(CHAPTER_VI, bounds, (14.0, 16.0), mean(RAYMOND), super::messages::EDGE),
        better(&bench, "The proposed algorithm sends fewer messages than Raymond's.", messages),
    ];
    let mut parts = bench.charts("messages for each entry", messages);
    parts.push(bench.note());
    Page { parts, claims }
}

fn draw_waits(effort: &Effort, results: &Results) -> Page {
    let bench = Bench { effort, results };
    let at = |contender, rate| bench.of(contender, rate).time_to_enter.mean;
    let ours = "At high load the proposed algorithm waits 25 ms, about four hops.";
    let theirs = "At high load Raymond's algorithm waits about 27 ms, four to five hops.";
    let free = results.of(&unhandled(effort)).time_to_enter.mean;
    let fits = |contender, says: &str, printed: f64| {
        let rate = HEAVY * FACTOR;
        let says = format!("{says} (With rates a hundred times as high.)");
        Claim::number("ours", &says, printed, at(contender, rate), 0.12)
    };
    let claims = vec![
        at_heavy_load(
            &bench,
            Claim::number(CHAPTER_VI, ours, 25.0, at(PROPOSED, HEAVY), 0.1),
            PROPOSED,
            wait,
        ),
        at_heavy_load(
            &bench,
            Claim::number(CHAPTER_VI, theirs, 27.0, at(RAYMOND, HEAVY), 0.1),
            RAYMOND,
            wait,
        ),
        fits(PROPOSED, ours, 25.0),
        fits(RAYMOND, theirs, 27.0)
            .because(&format!("If messages occupied no processor it would be {free:.1}.")),
        better(&bench, "The proposed algorithm waits less than Raymond's.", wait),
    ];
    let mut parts = bench.charts("mean time to enter, ms", wait);
    parts.push(bench.note());
    Page { parts, claims }
}

fn better(bench: &Bench, says: &str, measure: Measure) -> Claim {
    let value = |contender, rate| measure(bench.of(contender, rate)).mean;
    let rows = rows(bench.effort);
    let rates = rows.iter().flat_map(|row| [row.rate, row.rate * FACTOR]);
    let holds: Vec<(f64, bool)> =
        rates.map(|rate| (rate, value(PROPOSED, rate) < value(RAYMOND, rate))).collect();
    let ends = [LIGHT, HEAVY, HEAVY * FACTOR];
    let found =
        ends.map(|rate| format!("λ = {rate}: {:.2} and {:.2}", value(PROPOSED, rate), value(RAYMOND, rate)));
    everywhere("001 ch. VI sec. B, ch. VII", says, &holds, &found.join(", "))
}

fn draw_table(effort: &Effort, results: &Results, number: usize) -> Page {
    let bench = Bench { effort, results };
    let contender = CONTENDERS[number];
    let mut cells = Vec::new();
    let mut largest = (0.0_f64, 0.0_f64);
    for row in rows(effort) {
        let (here, hundredfold) = (bench.of(contender, row.rate), bench.of(contender, row.rate * FACTOR));
        for summary in [here, hundredfold] {
            largest.0 = largest.0.max(summary.node_message_deviation.mean / summary.messages_per_entry.mean);
            largest.1 = largest.1.max(summary.node_wait_deviation.mean / summary.time_to_enter.mean);
        }
        cells.push(vec![
            format!("{:.6}", row.rate),
            format!("{:.4}", row.messages[number]),
            format!("{:.4}", here.node_message_deviation.mean),
            format!("{:.4}", hundredfold.node_message_deviation.mean),
            format!("{:.4}", row.delay[number]),
            format!("{:.4}", here.node_wait_deviation.mean),
            format!("{:.4}", hundredfold.node_wait_deviation.mean),
        ]);
    }
    let names = [
        "λ, 1/ms",
        "messages, printed",
        "messages, ours",
        "messages, ours at 100 λ",
        "delay in ms, printed",
        "delay in ms, ours",
        "delay in ms, ours at 100 λ",
    ];
    let table = Table {
        suffix: "",
        title: format!("Standard deviations over the nine nodes, 200 entries for each: {}", contender.label),
        columns: columns(&names),
        rows: cells,
    };
    let found = format!(
        "at most {:.0} % of the mean for messages and {:.0} % for delays",
        largest.0 * 100.0,
        largest.1 * 100.0
    );
    let note = text(
        "Each of our numbers is the mean over all seeds of the standard deviation over the nodes of a run: of their mean waits, and of \
         the messages that they send for each of their own entries, whichever node these are for. What the text counts for a node is \
         not said. A run has 1800 entries in all, so that nodes have about 200 each, where the \
         implementation let each have exactly 200: this adds to the spread of messages, most where everybody answers everybody. \
         For rates a hundred times as high see figure 30.",
    );
    let says = "The standard deviations are small compared with the means (here: at most a tenth at 200 entries for each node).";
    // With fewer entries per node means vary more.
    let allowed = 0.1 * (ENTRIES as f64 / effort.entries(ENTRIES) as f64).sqrt();
    let claim = Claim::holds(CHAPTER_VI, says, largest.0 <= allowed && largest.1 <= allowed, found);
    let reason = "Chance: each node has only so many entries, and their waits vary as widely as 0, 1, 2 or more hops; and a node that \
                  happens to be asked more often than it asks sends more for each of its own entries.";
    Page { parts: vec![Part::Table(table), note], claims: vec![unless_so(claim, reason)] }
}
