//! The claim of 001 and 003 about one token: fewer messages than Trehel and Naimi's algorithm, from which theirs derives.

use simulator::{Estimate, Plan, Point, Summary};

use crate::compare::short;
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "001 ch. IV; 003 sec. 2";
const NODES: u32 = 30;
const RATES: [f64; 9] = [0.0005, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 4.0];
/// The loads at which the claim is judged, and their names.
const LOADS: [(f64, &str); 3] = [(0.0005, "light"), (0.01, "medium"), (4.0, "saturation")];
/// A node thinks for a shorter time than it takes to send two INFORM messages.
const HASTE: f64 = 10.0;

/// Its name here, the algorithm and its options.
type Contender = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const TREHEL: Contender = ("naimi-trehel", "naimi-trehel", &[]);
const SILENT: Contender =
    ("bulgannawar-vaidya, informs nobody", "bulgannawar-vaidya", &[("choose", "last-seen")]);
const INFORMS: Contender =
    ("bulgannawar-vaidya, informs 2", "bulgannawar-vaidya", &[("choose", "last-seen"), ("inform", "2")]);
const CONTENDERS: [Contender; 3] = [TREHEL, SILENT, INFORMS];

pub(super) fn exhibit() -> Exhibit {
    Exhibit {
        id: "thesis-one-token",
        source: SOURCE,
        title: "One token: beside Trehel and Naimi's algorithm",
        points: |effort| {
            let rates = effort.thin(&RATES).into_iter().chain(LOADS.map(|(rate, _)| rate)).chain([HASTE]);
            let mut points: Vec<Point> = Vec::new();
            for point in rates.flat_map(|rate| CONTENDERS.map(|contender| point(effort, contender, rate))) {
                if !points.contains(&point) {
                    points.push(point);
                }
            }
            points
        },
        draw,
    }
}

/// The model of the thesis with one token.
fn point(effort: &Effort, (_, algorithm, options): Contender, rate: f64) -> Point {
    let entries = effort.entries(5000);
    let mut plan = Plan { rate, entries, warmup: entries / 10, ..Plan::default() };
    (plan.setting.nodes, plan.setting.tokens) = (NODES, 1);
    plan.setting = plan.setting.with(options);
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let value = |contender, rate, measure: fn(&Summary) -> Estimate| {
        measure(results.of(&point(effort, contender, rate)))
    };
    let messages: fn(&Summary) -> Estimate = |summary| summary.messages_per_entry;
    let wait: fn(&Summary) -> Estimate = |summary| summary.time_to_enter;
    let chart = |suffix, what, measure| {
        let curve = |contender: Contender| {
            let rates = effort.thin(&RATES).into_iter();
            let dots = rates.map(|rate| Dot::measured(rate, value(contender, rate, measure)));
            Series::new(contender.0, Origin::Simulated, dots.collect())
        };
        Part::Chart(Chart {
            suffix,
            title: format!("n = {NODES}, one token"),
            x: Axis::logarithmic("request rate (λ)"),
            y: Axis::linear(what),
            series: CONTENDERS.map(curve).to_vec(),
        })
    };
    let judged = LOADS.into_iter().flat_map(|(rate, load)| {
        [(SILENT, "informing nobody"), (INFORMS, "informing 2 (ν = 2)")].map(|(ours, how)| {
            let [trehel, sent] = [TREHEL, ours].map(|contender| value(contender, rate, messages));
            let [trehel_wait, our_wait] = [TREHEL, ours].map(|contender| short(value(contender, rate, wait).mean));
            // The difference has to be larger than chance makes it.
            let error = (trehel.stderr.powi(2) + sent.stderr.powi(2)).sqrt();
            let says = format!(
                "one token, {load} (λ = {rate}), {how}: fewer messages than Trehel and Naimi's algorithm"
            );
            let (sent_by, beside) = (short(sent.mean), short(trehel.mean));
            let found =
                format!("{sent_by} messages beside {beside}; wait {our_wait} beside {trehel_wait}");
            Claim::holds(SOURCE, &says, trehel.mean - sent.mean > 2.0 * error, found).because(
                "A node that waits keeps requests instead of passing them on, so the gain comes with waiting. At light \
                 load no node waits: the paths are the same, and INFORM messages come on top.",
            )
        })
    });
    let claims = judged.chain([haste(&|contender| results.of(&point(effort, contender, HASTE)))]).collect();
    let parts = vec![
        chart("messages", "messages for each entry", messages),
        chart("wait", "time to enter (units)", wait),
    ];
    Page { parts, claims }
}

/// Whether every node enters if nodes ask again before their INFORM messages are sent.
fn haste<'a>(of: &dyn Fn(Contender) -> &'a Summary) -> Claim {
    let [silent, informs] = [SILENT, INFORMS].map(|contender| of(contender).fairness.mean);
    let says = format!("one token, informing 2: every node enters at λ = {HASTE}, too");
    let found = format!(
        "Jain's index {} (informing nobody: {}; if one node has all entries of a run, it is {} there)",
        short(informs),
        short(silent),
        short(1.0 / f64::from(NODES))
    );
    Claim::holds("ours", &says, informs > 0.9, found).because(
        "Sending two INFORM messages takes 0.2, and a node thinks for 0.1: it asks again before it has read the requests of \
         the others, and has the token. A node that has begun to do so has all entries, as long as it is in such haste; the curves \
         end before.",
    )
}
