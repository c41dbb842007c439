//! What the ranking of 003 rests on: every copy of a message costs its sender time and counts as a message, and all nodes
//! are equally fast.

use simulator::slow::Slow;
use simulator::{Estimate, Plan, Point, Summary};

use super::{Contender, PROPOSED, RATES, RAYMOND, SILENT, SRIMANI, plain};
use crate::compare::short;
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table, Verdict};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "003 sec. 4";

/// The k-mutex algorithms that 003 compares with all others, and two that broadcast.
const CONTENDERS: [Contender; 6] =
    [PROPOSED, SILENT, RAYMOND, SRIMANI, plain("naimi-trehel"), plain("suzuki-kasami")];

pub(super) const MULTICAST: Exhibit = Exhibit {
    id: "multicast",
    source: SOURCE,
    title: "The same where the network can send one message to many nodes",
    points: |effort| {
        let rates = effort.thin(&RATES);
        let both = |multicast: bool| {
            let rates = rates.clone();
            rates
                .into_iter()
                .flat_map(move |rate| CONTENDERS.map(|it| multicast_point(effort, it, rate, multicast)))
        };
        both(false).chain(both(true)).collect()
    },
    draw: draw_multicast,
};

pub(super) const SLOW: Exhibit = Exhibit {
    id: "slow-nodes",
    source: SOURCE,
    title: "The same where three of thirty nodes are ten times slower",
    points: |effort| {
        let of = |it| {
            SLOW_RATES
                .into_iter()
                .flat_map(move |rate| [false, true].map(|slow| slow_point(effort, it, rate, slow)))
        };
        SLOW_CONTENDERS.into_iter().flat_map(of).collect()
    },
    draw: draw_slow,
};

const SLOW_NODES: (u32, u32) = (0, 2);
const SLOW_RATES: [f64; 3] = [0.005, 0.05, 0.5];
const SLOW_CONTENDERS: [Contender; 7] =
    [PROPOSED, SILENT, plain("forest"), RAYMOND, SRIMANI, plain("collectors"), plain("naimi-trehel")];

fn plan(effort: &Effort, contender: Contender, rate: f64) -> Plan {
    let info = algorithms::registry::info(contender.name).expect("it is registered");
    let entries = effort.entries(2000);
    let mut plan = Plan { rate, entries, warmup: entries / 10, ..Plan::of(info) };
    plan.setting = plan.setting.with(contender.options);
    plan
}

fn multicast_point(effort: &Effort, contender: Contender, rate: f64, multicast: bool) -> Point {
    let plan = Plan { multicast, ..plan(effort, contender, rate) };
    Point { algorithm: contender.name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn slow_point(effort: &Effort, contender: Contender, rate: f64, slow: bool) -> Point {
    let slow = slow.then(|| Slow { nodes: vec![SLOW_NODES], factor: 10.0 });
    let plan = Plan { slow, ..plan(effort, contender, rate) };
    Point { algorithm: contender.name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn draw_multicast(effort: &Effort, results: &Results) -> Page {
    let rates = effort.thin(&RATES);
    let curve = |contender: Contender, multicast: bool, measure: fn(&Summary) -> Estimate| -> Vec<Dot> {
        let of = |&rate| {
            Dot::measured(rate, measure(results.of(&multicast_point(effort, contender, rate, multicast))))
        };
        rates.iter().map(of).collect()
    };
    let chart = |suffix, what, measure: fn(&Summary) -> Estimate, multicast| {
        let title = if multicast { "with multicast" } else { "without, as in the text" };
        Part::Chart(Chart {
            suffix,
            title: format!("n = 30, k = 3 or 1, {title}"),
            x: Axis::logarithmic("request rate (λ)"),
            y: Axis::linear(what),
            series: CONTENDERS
                .map(|it| Series::new(it.label, Origin::Simulated, curve(it, multicast, measure)))
                .to_vec(),
        })
    };
    let (sends, waits) = ("messages for each entry", "time to enter (units)");
    let parts = vec![
        chart("messages-without", sends, |summary| summary.messages_per_entry, false),
        chart("messages-with", sends, |summary| summary.messages_per_entry, true),
        chart("wait-without", waits, |summary| summary.time_to_enter, false),
        chart("wait-with", waits, |summary| summary.time_to_enter, true),
    ];
    let sent = |contender, multicast| -> Vec<f64> {
        curve(contender, multicast, |summary| summary.messages_per_entry).iter().map(|dot| dot.y).collect()
    };
    Page { parts, claims: [false, true].map(|multicast| fewest(&rates, multicast, &sent)).to_vec() }
}

/// Whether the algorithm of the texts sends fewer messages than its rivals at every rate.
fn fewest(rates: &[f64], multicast: bool, sent: &dyn Fn(Contender, bool) -> Vec<f64>) -> Claim {
    let ours = sent(PROPOSED, multicast);
    let others = [RAYMOND, SRIMANI].map(|rival| sent(rival, multicast));
    let is_more = |&(index, _): &(usize, &f64)| others.iter().any(|other| ours[index] >= other[index]);
    let lost: Vec<String> =
        rates.iter().enumerate().filter(is_more).map(|(_, rate)| rate.to_string()).collect();
    let at = |index: usize| {
        let [ours, raymond, srimani, silent] =
            [PROPOSED, RAYMOND, SRIMANI, SILENT].map(|it| short(sent(it, multicast)[index]));
        format!(
            "at {} {ours} beside {raymond} (raymond-k) and {srimani} (srimani-reddy), informing nobody {silent}",
            rates[index]
        )
    };
    let found = format!("{}; {}", at(0), at(rates.len() - 1));
    let verdict = match lost.len() {
        0 => Verdict::Reproduces,
        all if all == rates.len() => Verdict::DoesNot,
        _ => Verdict::Differs(format!("not at λ = {}", lost.join(", "))),
    };
    // The texts count every copy; that their ranking needs it is ours to ask.
    let (source, says, reason) = if multicast {
        (
            "ours",
            "it does so with multicast, too",
            "A broadcast counts once, so algorithms that ask all nodes pay only for the answers. At light load most \
             requests of srimani-reddy find the token where it is asked for, while two INFORM messages follow every entry.",
        )
    } else {
        (
            SOURCE,
            "the algorithm sends fewer messages than those of Raymond and of Srimani and Reddy",
            "Every copy of a broadcast counts, and costs its sender time.",
        )
    };
    Claim { source, says: says.to_string(), found, verdict, reason: reason.to_string() }
}

/// The mean waits of the slow nodes and of all others.
fn apart(summary: &Summary) -> (f64, f64) {
    let slow = SLOW_NODES.1 as usize + 1;
    let mean = |waits: &[f64]| waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    (mean(&summary.node_waits[..slow]), mean(&summary.node_waits[slow..]))
}

fn draw_slow(effort: &Effort, results: &Results) -> Page {
    let columns = ["algorithm", "λ", "all equally fast", "slow nodes", "other nodes", "others, times"];
    let mut rows = Vec::new();
    let mut worst: Vec<(f64, &str)> = Vec::new();
    for contender in SLOW_CONTENDERS {
        let mut most = 0.0_f64;
        for rate in SLOW_RATES {
            let equal = results.of(&slow_point(effort, contender, rate, false)).time_to_enter.mean;
            let (slow, others) = apart(results.of(&slow_point(effort, contender, rate, true)));
            most = most.max(others / equal);
            let numbers = [equal, slow, others, others / equal].map(short);
            rows.push([contender.label.to_string(), rate.to_string()].into_iter().chain(numbers).collect());
        }
        worst.push((most, contender.label));
    }
    worst.sort_by(|one, other| one.0.total_cmp(&other.0));
    let table = Table {
        suffix: "",
        title: "Time to enter where nodes 0 to 2 take ten times as long to send and to receive; n = 30"
            .to_string(),
        columns: columns.map(str::to_string).to_vec(),
        rows,
    };
    let listed: Vec<String> = worst.iter().map(|(most, name)| format!("{name} {}", short(*most))).collect();
    let found = format!("the wait of the other nodes grows at most: {} times", listed.join(", "));
    let broadcasts = worst.iter().position(|(_, name)| *name == RAYMOND.label).unwrap_or(0);
    let tokens = worst.iter().position(|(_, name)| *name == PROPOSED.label).unwrap_or(0);
    let says = "nodes that are fast suffer less from slow ones where tokens move along queues than where all nodes are asked";
    Page {
        parts: vec![Part::Table(table)],
        claims: vec![Claim::holds("ours", says, tokens < broadcasts, found)],
    }
}
