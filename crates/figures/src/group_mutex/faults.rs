//! Text 004 with lost messages and crashes.

use simulator::{Estimate, Point, Summary};

use super::{T_C, T_M, plan, point};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBITS: [Exhibit; 2] = [
    Exhibit {
        id: "rooms-loss",
        source: "004 sec. VI",
        title: "When messages are lost",
        points: |effort| WATCHES.iter().flat_map(|watch| losses(effort, watch)).map(|it| it.1).collect(),
        draw: loss,
    },
    Exhibit {
        id: "rooms-crashes",
        source: "004 sec. II and VI",
        title: "When nodes crash and come back",
        points: |effort| WATCHES.iter().flat_map(|watch| crashes(effort, watch)).map(|it| it.1).collect(),
        draw: crash,
    },
];

const NODES: u32 = 10;
const GROUPS: u32 = 3;
const RATE: f64 = 0.03;
const LOSSES: [f64; 7] = [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2];
/// Crashes in a thousand t_m, each of a random node.
const CRASHES: [u32; 7] = [0, 1, 2, 5, 10, 20, 50];
/// How long a node is down.
const DOWN: u32 = 20;
/// When the captain's timer runs: only once it has left, or from its first START on.
const WATCHES: [&str; 2] = ["left", "start"];
/// The text's T_req.
const T_REQ: f64 = (NODES + 1) as f64 * T_M + (NODES - 1) as f64 * T_C;

fn losses(effort: &Effort, watch: &str) -> Vec<(f64, Point)> {
    let with = |share: f64| {
        let mut plan = plan(effort, NODES, GROUPS, RATE);
        plan.setting = plan.setting.with(&[("watch", watch)]);
        plan.faults.loss = share;
        // Timers run without losses, too: they must not expire.
        plan.timers = Some(true);
        (share, point(effort, plan))
    };
    effort.thin(&LOSSES).into_iter().map(with).collect()
}

fn crashes(effort: &Effort, watch: &str) -> Vec<(f64, Point)> {
    let with = |crashes: u32| {
        let mut plan = plan(effort, NODES, GROUPS, RATE);
        plan.setting = plan.setting.with(&[("watch", watch)]);
        if crashes > 0 {
            let line = format!("crash any every {} for {DOWN}", 1000.0 / f64::from(crashes));
            plan.faults.add(&line).expect("this is how a crash is written");
        }
        plan.timers = Some(true);
        (f64::from(crashes), point(effort, plan))
    };
    effort.thin(&CRASHES).into_iter().map(with).collect()
}

fn loss(effort: &Effort, results: &Results) -> Page {
    let [points, printed] = WATCHES.map(|watch| losses(effort, watch));
    let mut page = charts([&points, &printed], results, "share of messages lost");
    let none = results.of(&points[0].1);
    let per_entry =
        |summary: &Summary, kind: &str| summary.messages_by_kind.get(kind).map_or(0.0, |it| it.mean);
    let suspicions = per_entry(none, "GEN_TOKEN");
    let questions = [none, results.of(&printed[0].1)].map(|summary| per_entry(summary, "IS_COMPLETE"));
    page.claims.push(
        Claim::holds(
            "004 sec. IV",
            "Where nothing is lost, no loss is suspected.",
            suspicions == 0.0 && questions == [0.0, 0.0],
            format!(
                "{suspicions} GEN_TOKEN per entry without losses; {} IS_COMPLETE with watch=left, {} with watch=start",
                questions[0], questions[1]
            ),
        )
        .because(&format!(
            "With our longer timer: 3n + 4 messages and 2n sections ({} t_m here) instead of the text's n + 1 and n - 1 \
             ({T_REQ} t_m), which is too short (see the errata).",
            f64::from(3 * NODES + 4) * T_M + f64::from(2 * NODES) * T_C,
        )),
    );
    page.claims.push(little(&points, &printed, results));
    let (share, worst) = &points[points.len() - 1];
    // A suspicion is n - 1 messages: no node sends to itself.
    page.parts.push(Part::Text(format!(
        "With {} % of all messages lost, a node suspects {:.3} times per entry that the token or its request is lost, and a \
         captain asks {:.3} times whether a follower has completed.",
        share * 100.0,
        per_entry(results.of(worst), "GEN_TOKEN") / f64::from(NODES - 1),
        per_entry(results.of(worst), "IS_COMPLETE"),
    )));
    page
}

/// What the printed rule for T2 gains where messages of all kinds are lost.
fn little(left: &[(f64, Point)], start: &[(f64, Point)], results: &Results) -> Claim {
    let wait = |points: &[(f64, Point)]| results.of(&points[points.len() - 1].1).time_to_enter;
    let (left_wait, start_wait) = (wait(left), wait(start));
    let share = left[left.len() - 1].0;
    Claim::holds(
        "ours",
        "Where messages of all kinds are lost, it matters little when T2 runs.",
        (start_wait.mean / left_wait.mean - 1.0).abs() < 0.05,
        format!(
            "{:.1} ± {:.1} t_m to enter with watch=start, {:.1} ± {:.1} with watch=left, at a loss of {share}",
            start_wait.mean, start_wait.stderr, left_wait.mean, left_wait.stderr
        ),
    )
    .because(
        "Most of the wait is for lost requests and tokens, which the other timer repairs. What a single lost START gains is \
         in rooms-lost-message.",
    )
}

fn crash(effort: &Effort, results: &Results) -> Page {
    let [left, start] = WATCHES.map(|watch| crashes(effort, watch));
    charts([&left, &start], results, "crashes in 1000 t_m")
}

/// Wait, messages and throughput against the rate of faults; and that the system keeps going.
fn charts(watched: [&[(f64, Point)]; 2], results: &Results, x: &str) -> Page {
    let points = || watched.into_iter().flatten();
    let chart = |suffix: &'static str, title: &str, y: &str, value: fn(&Summary) -> Estimate| {
        let curve = |(watch, points): (&str, &[(f64, Point)])| {
            let dots = points.iter().map(|(share, point)| Dot::measured(*share, value(results.of(point))));
            Series::new(format!("watch={watch}"), Origin::Simulated, dots.collect())
        };
        Part::Chart(Chart {
            suffix,
            title: format!("{title} (n = {NODES}, {GROUPS} groups, λ = {RATE})"),
            x: Axis::linear(x),
            y: Axis::linear(y),
            series: WATCHES.into_iter().zip(watched).map(curve).collect(),
        })
    };
    let kinds = ["REQUEST", "TOKEN", "START", "COMPLETE", "HINT", "GEN_TOKEN", "IS_COMPLETE"];
    let row = |(share, point): &(f64, Point)| {
        let summary = results.of(point);
        let of_kind = |kind: &&str| summary.messages_by_kind.get(*kind).map_or(0.0, |it| it.mean);
        let mut row = vec![share.to_string(), format!("{:.2}", summary.time_to_enter.mean)];
        row.push(format!("{:.1}", summary.longest_wait));
        row.extend(kinds.iter().map(|kind| format!("{:.3}", of_kind(kind))));
        row
    };
    let mut columns = vec![x.to_string(), "time to enter".to_string(), "longest wait".to_string()];
    columns.extend(kinds.map(String::from));
    let table = Table {
        suffix: "-kinds",
        title: "Waits in t_m, and messages per entry by kind (watch=left)".to_string(),
        columns,
        rows: watched[0].iter().map(row).collect(),
    };
    let violations: Vec<String> = points()
        .filter_map(|(share, point)| {
            let (seed, violation) = results.of(point).violation.as_ref()?;
            Some(format!("at {share} from seed {seed}: {violation}"))
        })
        .collect();
    let entries: u64 = points().map(|(_, point)| results.of(point).entries).sum();
    let found = if violations.is_empty() {
        format!("{entries} entries, no property violated, no client left waiting")
    } else {
        violations.join("; ")
    };
    let claim = Claim::holds(
        "004 sec. V",
        "Transient faults neither admit two groups at once nor leave a client waiting.",
        violations.is_empty(),
        found,
    )
    .because("With the corrections of the errata; what is printed does both.");
    Page {
        parts: vec![
            chart("-wait", "Time to enter", "time to enter in t_m", |it| it.time_to_enter),
            chart("-messages", "Messages per entry", "messages per entry", |it| it.messages_per_entry),
            chart("-throughput", "Throughput", "entries per t_m", |it| it.throughput),
            Part::Table(table),
        ],
        claims: vec![claim],
    }
}
