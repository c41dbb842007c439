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
        points: |effort| losses(effort).into_iter().map(|(_, point)| point).collect(),
        draw: loss,
    },
    Exhibit {
        id: "rooms-crashes",
        source: "004 sec. II and VI",
        title: "When nodes crash and come back",
        points: |effort| crashes(effort).into_iter().map(|(_, point)| point).collect(),
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
/// The text's T_req.
const T_REQ: f64 = (NODES + 1) as f64 * T_M + (NODES - 1) as f64 * T_C;

fn losses(effort: &Effort) -> Vec<(f64, Point)> {
    let with = |share: f64| {
        let mut plan = plan(effort, NODES, GROUPS, RATE);
        plan.faults.loss = share;
        // Timers run without losses, too: they must not expire.
        plan.timers = Some(true);
        (share, point(effort, plan))
    };
    effort.thin(&LOSSES).into_iter().map(with).collect()
}

fn crashes(effort: &Effort) -> Vec<(f64, Point)> {
    let with = |crashes: u32| {
        let mut plan = plan(effort, NODES, GROUPS, RATE);
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
    let points = losses(effort);
    let mut page = charts(&points, results, "share of messages lost");
    let none = results.of(&points[0].1);
    let per_entry =
        |summary: &Summary, kind: &str| summary.messages_by_kind.get(kind).map_or(0.0, |it| it.mean);
    let suspicions = per_entry(none, "GEN_TOKEN");
    page.claims.push(
        Claim::holds(
            "004 sec. IV",
            "Where nothing is lost, no loss is suspected.",
            suspicions == 0.0,
            format!("{suspicions} GEN_TOKEN per entry without losses"),
        )
        .because(&format!(
            "With our longer timer: 3n + 4 messages and 2n sections ({} t_m here) instead of the text's n + 1 and n - 1 \
             ({T_REQ} t_m), which is too short (see the errata).",
            f64::from(3 * NODES + 4) * T_M + f64::from(2 * NODES) * T_C,
        )),
    );
    let (share, worst) = &points[points.len() - 1];
    // A suspicion is n - 1 messages: no node sends to itself.
    page.parts.push(Part::Text(format!(
        "With {} % of all messages lost, a node suspects {:.3} times per entry that the token or its request is lost, and a \
         captain asks {:.3} times whether a follower has completed. Without losses it asks {:.3} times: the answer \
         arrives at the very moment at which its timer runs out.",
        share * 100.0,
        per_entry(results.of(worst), "GEN_TOKEN") / f64::from(NODES - 1),
        per_entry(results.of(worst), "IS_COMPLETE"),
        per_entry(none, "IS_COMPLETE"),
    )));
    page
}

fn crash(effort: &Effort, results: &Results) -> Page {
    charts(&crashes(effort), results, "crashes in 1000 t_m")
}

/// Wait, messages and throughput against the rate of faults; and that the system keeps going.
fn charts(points: &[(f64, Point)], results: &Results, x: &str) -> Page {
    let chart = |suffix: &'static str, title: &str, y: &str, value: fn(&Summary) -> Estimate| {
        let dots = points.iter().map(|(share, point)| Dot::measured(*share, value(results.of(point))));
        Part::Chart(Chart {
            suffix,
            title: format!("{title} (n = {NODES}, {GROUPS} groups, λ = {RATE})"),
            x: Axis::linear(x),
            y: Axis::linear(y),
            series: vec![Series::new("drs-gme", Origin::Simulated, dots.collect())],
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
        title: "Waits in t_m, and messages per entry by kind".to_string(),
        columns,
        rows: points.iter().map(row).collect(),
    };
    let violations: Vec<String> = points
        .iter()
        .filter_map(|(share, point)| {
            let (seed, violation) = results.of(point).violation.as_ref()?;
            Some(format!("at {share} from seed {seed}: {violation}"))
        })
        .collect();
    let entries: u64 = points.iter().map(|(_, point)| results.of(point).entries).sum();
    let found = if violations.is_empty() {
        format!("{entries} entries, no property violated, nobody left waiting")
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
