//! Text 004, section VI: what the loss of a single message costs, and how soon it is repaired.

use std::ops::RangeInclusive;

use simulator::workload::Workload;
use simulator::{Point, Summary};

use super::{T_C, T_M, plan, point};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table, Verdict};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBITS: [Exhibit; 2] = [
    Exhibit {
        id: "rooms-lost-token",
        source: SOURCE,
        title: "What it takes to regenerate a lost token",
        points: |effort| SIZES.iter().flat_map(|&nodes| token_points(effort, nodes)).collect(),
        draw: lost_token,
    },
    Exhibit {
        id: "rooms-lost-message",
        source: SOURCE,
        title: "What a lost START or COMPLETE costs, and how soon it is repaired",
        points: |effort| CASES.iter().flat_map(|case| case.points(effort)).collect(),
        draw: lost_message,
    },
];

const SOURCE: &str = "004 sec. VI";
const SIZES: [u32; 4] = [5, 10, 20, 30];
/// Every run is short, so their number does not depend on the effort.
const SEEDS: RangeInclusive<u64> = 1..=20;

/// One client at a time; the run from this seed, in which this TOKEN is lost, if any.
fn token_point(effort: &Effort, nodes: u32, seed: u64, lost: Option<u32>) -> Point {
    let mut plan = plan(effort, nodes, 3, 1.0);
    plan.workload = Workload::Single;
    (plan.entries, plan.warmup) = (u64::from(nodes) * 5, 0);
    plan.timers = Some(true);
    if let Some(number) = lost {
        plan.set(info(), "lose", &format!("TOKEN:{number}")).expect("this is how a message is lost");
    }
    Point { seed, seeds: 1, ..point(effort, plan) }
}

fn info() -> &'static algorithms::Info {
    &<algorithms::drs_gme::DrsGme as algorithms::Algorithm>::INFO
}

/// The first token that is ever sent, and one that is sent when most nodes have had it.
fn lost_tokens(nodes: u32) -> [u32; 2] {
    [1, 3 * nodes]
}

fn token_points(effort: &Effort, nodes: u32) -> Vec<Point> {
    let of = |seed| {
        let with = lost_tokens(nodes).map(|number| token_point(effort, nodes, seed, Some(number)));
        std::iter::once(token_point(effort, nodes, seed, None)).chain(with)
    };
    SEEDS.flat_map(of).collect()
}

/// How many messages of this kind a run sent.
fn sent(summary: &Summary, kind: &str) -> f64 {
    let per_entry = summary.messages_by_kind.get(kind).map_or(0.0, |it| it.mean);
    (per_entry * summary.entries as f64 / summary.seeds as f64).round()
}

/// The extra messages of each kind in every run in which one TOKEN is lost: the same clients ask in the same order.
struct Regeneration {
    gen_token: f64,
    copies: f64,
    requests: f64,
    hints: f64,
}

impl Regeneration {
    fn cost(&self) -> f64 {
        self.gen_token + self.copies
    }
}

fn regenerations(effort: &Effort, results: &Results, nodes: u32) -> Vec<Regeneration> {
    let of = |seed| {
        let without = results.of(&token_point(effort, nodes, seed, None));
        lost_tokens(nodes).map(|number| {
            let with = results.of(&token_point(effort, nodes, seed, Some(number)));
            let extra = |kind| sent(with, kind) - sent(without, kind);
            Regeneration {
                gen_token: extra("GEN_TOKEN"),
                copies: extra("TOKEN"),
                requests: extra("REQUEST"),
                hints: extra("HINT"),
            }
        })
    };
    SEEDS.flat_map(of).collect()
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.reduce(f64::min).unwrap_or(0.0)
}

fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.reduce(f64::max).unwrap_or(0.0)
}

fn lost_token(effort: &Effort, results: &Results) -> Page {
    let sizes: Vec<(f64, Vec<Regeneration>)> =
        SIZES.iter().map(|&nodes| (f64::from(nodes), regenerations(effort, results, nodes))).collect();
    let dots = |value: &dyn Fn(&[Regeneration]) -> f64| -> Vec<Dot> {
        sizes.iter().map(|(nodes, runs)| Dot::exact(*nodes, value(runs))).collect()
    };
    let formula = |value: fn(f64) -> f64| -> Vec<Dot> {
        sizes.iter().map(|(nodes, _)| Dot::exact(*nodes, value(*nodes))).collect()
    };
    let (fewest, greatest) = (
        dots(&|runs| least(runs.iter().map(Regeneration::cost))),
        dots(&|runs| most(runs.iter().map(Regeneration::cost))),
    );
    let claims = vec![
        bound_claim("The best case of a regeneration is n + 1 messages.", &fewest, |n| n + 1.0, -1.0, "n"),
        bound_claim(
            "The worst case of a regeneration is 2n messages.",
            &greatest,
            |n| 2.0 * n,
            -1.0,
            "at most 2n - 1",
        ),
    ];
    let chart = Chart {
        suffix: "",
        title: "GEN_TOKEN and copies of the token after the loss of one TOKEN".to_string(),
        x: Axis::linear("nodes (n)"),
        y: Axis::linear("extra messages"),
        series: vec![
            Series::new("fewest of 40 runs", Origin::Simulated, fewest),
            Series::new("most of 40 runs", Origin::Simulated, greatest),
            Series::new("n + 1: printed, best", Origin::Formula, formula(|n| n + 1.0)),
            Series::new("2n: printed, worst", Origin::Formula, formula(|n| 2.0 * n)),
        ],
    };
    let text = "One client asks at a time, so one node suspects the loss. The messages are those that a run with the loss \
                sends beyond the run of the same clients without it. A reader can count the same:\n\n\
                tokenwood simulate drs-gme --nodes 10 --groups 3 --workload single --rate 1 --cs 5 --send 0 \\\n    \
                --receive 0 --transit 1 --timers on --entries 50 --warmup 0 --lose TOKEN:30";
    Page { parts: vec![Part::Chart(chart), Part::Table(table(&sizes)), Part::Text(text.to_string())], claims }
}

fn table(sizes: &[(f64, Vec<Regeneration>)]) -> Table {
    let row = |(nodes, runs): &(f64, Vec<Regeneration>)| {
        let range = |value: &dyn Fn(&Regeneration) -> f64| {
            format!("{} to {}", least(runs.iter().map(value)), most(runs.iter().map(value)))
        };
        vec![
            nodes.to_string(),
            range(&|run| run.gen_token),
            range(&|run| run.copies),
            range(&Regeneration::cost),
            format!("{} to {}", nodes + 1.0, 2.0 * nodes),
            range(&|run| run.requests + run.hints),
        ]
    };
    let columns = ["n", "GEN_TOKEN", "copies", "together", "printed", "more REQUEST and HINT afterwards"];
    Table {
        suffix: "-kinds",
        title: "Extra messages after the loss of one TOKEN".to_string(),
        columns: columns.map(String::from).to_vec(),
        rows: sizes.iter().map(row).collect(),
    }
}

/// Compares the extreme of the runs with the printed formula: `off` messages beside it are what the wire explains.
fn bound_claim(says: &str, seen: &[Dot], printed: fn(f64) -> f64, off: f64, ours: &str) -> Claim {
    let differences: Vec<f64> = seen.iter().map(|dot| dot.y - printed(dot.x)).collect();
    let (low, high) = (least(differences.iter().copied()), most(differences.iter().copied()));
    let pairs: Vec<String> = seen.iter().map(|dot| format!("{} at n = {}", dot.y, dot.x)).collect();
    let verdict = match (low, high) {
        (0.0, 0.0) => Verdict::Reproduces,
        (_, high) if high <= off => Verdict::Differs(format!("on the wire it is {ours}")),
        _ => Verdict::DoesNot,
    };
    let reason = "The text counts the GEN_TOKEN of a node to itself. A copy comes from every node that handed the token over \
                  since the asker last had it, and from the asker itself if it ever handed it over."
        .to_string();
    Claim { source: SOURCE, says: says.to_string(), found: pairs.join(", "), verdict, reason }
}

/// A single fault in a round in which all nodes ask at once.
struct Case {
    name: &'static str,
    groups: u32,
    /// A parameter and its value, as on the command line.
    fault: (&'static str, &'static str),
    /// How many extra messages the text says it takes, if it does.
    printed: Option<f64>,
}

/// With one group the captain is node 0 and the other nine follow it; with two, START:8 is the last of the second
/// session, sent when it opens.
const CASES: [Case; 4] = [
    Case { name: "a COMPLETE is lost", groups: 2, fault: ("lose", "COMPLETE:1"), printed: Some(2.0) },
    Case {
        name: "a follower is late and still inside",
        groups: 1,
        fault: ("fault", "pause 1 at 0.5 for 8"),
        printed: Some(1.0),
    },
    Case {
        name: "a START is lost in the course of a session",
        groups: 1,
        fault: ("lose", "START:1"),
        printed: None,
    },
    Case {
        name: "a START is lost when a session opens",
        groups: 2,
        fault: ("lose", "START:8"),
        printed: None,
    },
];

const ROUND_NODES: u32 = 10;
const WATCHES: [&str; 2] = ["left", "start"];

impl Case {
    fn point(&self, effort: &Effort, watch: &str, faulty: bool) -> Point {
        let mut plan = plan(effort, ROUND_NODES, self.groups, 1.0);
        plan.workload = Workload::Once(Vec::new());
        (plan.entries, plan.warmup) = (u64::from(ROUND_NODES), 0);
        plan.timers = Some(true);
        plan.setting = plan.setting.with(&[("watch", watch)]);
        if faulty {
            plan.set(info(), self.fault.0, self.fault.1).expect("this is how a fault is written");
        }
        Point { seeds: *SEEDS.end(), ..point(effort, plan) }
    }

    fn points(&self, effort: &Effort) -> Vec<Point> {
        let of = |watch| [self.point(effort, watch, false), self.point(effort, watch, true)];
        WATCHES.into_iter().flat_map(of).collect()
    }

    /// The fewest and the most extra messages of a run.
    fn extra(&self, effort: &Effort, results: &Results, watch: &str) -> (f64, f64) {
        let [without, with] = [false, true].map(|faulty| results.of(&self.point(effort, watch, faulty)));
        let pairs = with.by_seed.iter().zip(&without.by_seed);
        let extras: Vec<f64> = pairs
            .map(|((_, with), (_, without))| ((with - without) * f64::from(ROUND_NODES)).round())
            .collect();
        (least(extras.iter().copied()), most(extras.iter().copied()))
    }

    /// By how much the longest wait grows.
    fn delay(&self, effort: &Effort, results: &Results, watch: &str) -> f64 {
        let [without, with] =
            [false, true].map(|faulty| results.of(&self.point(effort, watch, faulty)).longest_wait);
        with - without
    }
}

fn exactly((least, most): (f64, f64)) -> String {
    if least == most { format!("{most}") } else { format!("{least} to {most}") }
}

fn lost_message(effort: &Effort, results: &Results) -> Page {
    let row = |case: &Case| {
        let mut row = vec![case.name.to_string(), format!("--{} '{}'", case.fault.0, case.fault.1)];
        row.push(case.printed.map_or("not said".to_string(), |printed| printed.to_string()));
        row.extend(WATCHES.map(|watch| exactly(case.extra(effort, results, watch))));
        row.extend(WATCHES.map(|watch| format!("{:.1}", case.delay(effort, results, watch))));
        row
    };
    let columns = [
        "what happens",
        "how",
        "extra messages, printed",
        "watch=left",
        "watch=start",
        "longest wait grows by (watch=left)",
        "(watch=start)",
    ];
    let table = Table {
        suffix: "",
        title: format!("All {ROUND_NODES} nodes ask at once, t_c = {T_C} t_m, {} runs each", SEEDS.end()),
        columns: columns.map(String::from).to_vec(),
        rows: CASES.iter().map(row).collect(),
    };
    let text = "A reader can count the same, with and without the last option:\n\n\
                tokenwood simulate drs-gme --nodes 10 --groups 2 --workload once --cs 5 --send 0 --receive 0 \\\n    \
                --transit 1 --timers on --seeds 20 --set watch=start --lose COMPLETE:1";
    Page {
        parts: vec![Part::Table(table), Part::Text(text.to_string())],
        claims: repair_claims(&|case, watch| case.extra(effort, results, watch), &|case, watch| {
            case.delay(effort, results, watch)
        }),
    }
}

type Extra<'a> = &'a dyn Fn(&Case, &str) -> (f64, f64);
type Delay<'a> = &'a dyn Fn(&Case, &str) -> f64;

fn repair_claims(extra: Extra<'_>, delay: Delay<'_>) -> Vec<Claim> {
    let [complete, late, course, opening] = &CASES;
    let counted = |case: &Case, says: &str, expected: f64| {
        let found = WATCHES.map(|watch| extra(case, watch));
        let holds = found.iter().all(|&range| range == (expected, expected));
        let text = format!("{} with watch=left, {} with watch=start", exactly(found[0]), exactly(found[1]));
        Claim::holds(SOURCE, says, holds, text)
    };
    let [left, start] = WATCHES.map(|watch| delay(course, watch));
    let opened = delay(opening, "start");
    let followers = 2.0 * T_M + T_C;
    let about = |delay: f64, expected: f64| (delay - expected).abs() < 0.01 * T_M;
    vec![
        counted(complete, "A lost COMPLETE costs two extra messages.", 2.0)
            .because("IS_COMPLETE, and the COMPLETE that answers it."),
        counted(late, "A follower that cannot complete in time costs one extra message.", 1.0)
            .because("It is still inside when IS_COMPLETE arrives, and ignores it."),
        Claim {
            source: "004 sec. IV",
            ..counted(course, "IS_COMPLETE stands for a lost START.", 1.0)
                .because("One extra message, which takes the place of the one that was lost.")
        },
        Claim::holds(
            "004 app. A, events 2 and 9",
            "The START of event 2 starts T2, the captain inside or not: if it is lost, its follower enters T_fol = 2 t_m + t_c later.",
            about(start, followers) && left > start,
            format!("{start:.1} t_m later with watch=start, {left:.1} t_m with watch=left; t_c = {T_C} t_m"),
        )
        .because("With watch=left the timer starts when the captain leaves."),
        Claim {
            source: "004 app. A, event 6",
            says: "The STARTs of an opening start no timer.".to_string(),
            found: format!("the wait grows by {opened:.1} t_m if one is lost (watch=start)"),
            verdict: if about(opened, followers) {
                Verdict::Differs("by choice: here they start it, too".to_string())
            } else {
                Verdict::DoesNot
            },
            reason: "As printed, a follower whose START is lost waits for ever if the captain has left and the queue is not \
                     empty: GEN_TOKEN then joins the queue of a session that does not end. It is the defect opening-unwatched."
                .to_string(),
        },
    ]
}
