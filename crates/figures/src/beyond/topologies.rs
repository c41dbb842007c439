//! The thesis' plan (001 ch. VII): its algorithm on machines whose nodes are not all linked with each other, such as the
//! nCube, a hypercube, and the MasPar, a mesh. Also the algorithms whose trees are those machines.

use simulator::topology::Topology;
use simulator::{Plan, Point};

use super::{Contender, PROPOSED, RAYMOND, SILENT, SRIMANI, plain};
use crate::compare::short;
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "001 ch. VII";

pub(super) const TOPOLOGIES: Exhibit = Exhibit {
    id: "topologies",
    source: SOURCE,
    title: "The same on a hypercube, a tree, a grid and a ring",
    points: |effort| {
        let on = |contender| {
            NETWORKS
                .into_iter()
                .flat_map(move |network| RATES.map(|rate| point(effort, contender, network, rate)))
        };
        CONTENDERS.into_iter().flat_map(on).collect()
    },
    draw: draw_topologies,
};

pub(super) const OWN_TREE: Exhibit = Exhibit {
    id: "own-tree",
    source: "ours",
    title: "One token on a network that has the shape of the algorithm's own tree",
    points: |effort| {
        let all = OWN.into_iter().flat_map(|(contender, network)| {
            [(contender, Topology::Full), (contender, network), (NAIMI_TREHEL, network)]
        });
        all.flat_map(|(contender, network)| RATES.map(|rate| point(effort, contender, network, rate)))
            .collect()
    },
    draw: draw_own_tree,
};

/// An algorithm with its number of tokens.
#[derive(Clone, Copy)]
struct With(Contender, u32);

const fn one(
    label: &'static str,
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
) -> With {
    With(Contender { label, name, options }, 1)
}

const NODES: u32 = 16;
/// Light load, and saturation.
const RATES: [f64; 2] = [0.0002, 1.0];
const NETWORKS: [Topology; 5] =
    [Topology::Full, Topology::Hypercube, Topology::Grid, Topology::Tree, Topology::Ring];

const OURS: With = With(PROPOSED, 2);
const NAIMI_TREHEL: With = one("naimi-trehel", "naimi-trehel", &[]);
const RIVALS: [With; 2] = [With(RAYMOND, 2), With(SRIMANI, 2)];
const CONTENDERS: [With; 7] = [
    OURS,
    With(SILENT, 2),
    With(plain("forest"), 2),
    RIVALS[0],
    RIVALS[1],
    NAIMI_TREHEL,
    one("raymond-tree", "raymond-tree", &[]),
];

/// Algorithms on trees, and the network that has the links of the tree. All trees but the open cube are fixed, and all
/// messages travel along them.
const OWN: [(With, Topology); 5] = [
    (one("raymond-tree", "raymond-tree", &[]), Topology::Tree),
    (one("raymond-tree shape=line", "raymond-tree", &[("shape", "line")]), Topology::Line),
    (one("raymond-tree shape=star", "raymond-tree", &[("shape", "star")]), Topology::Star),
    (one("helary behaviour=proxy tree=star", "helary", &PROXY_STAR), Topology::Star),
    (one("helary behaviour=open-cube", "helary", &[("behaviour", "open-cube")]), Topology::Hypercube),
];
const PROXY_STAR: [(&str, &str); 2] = [("behaviour", "proxy"), ("tree", "star")];

fn point(effort: &Effort, With(contender, tokens): With, topology: Topology, rate: f64) -> Point {
    // At first nodes that are near each other follow each other; it takes dozens of rounds until that is forgotten.
    let entries = effort.entries(1000);
    let mut plan = Plan { rate, topology, entries, warmup: entries, ..Plan::default() };
    (plan.setting.nodes, plan.setting.tokens) = (NODES, tokens);
    plan.setting = plan.setting.with(contender.options);
    Point { algorithm: contender.name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

/// The mean number of links between two different nodes.
fn mean_distance(topology: Topology) -> f64 {
    let hops = (0..NODES).flat_map(|from| (0..NODES).map(move |to| topology.hops(NODES, from, to)));
    f64::from(hops.sum::<u32>()) / f64::from(NODES * (NODES - 1))
}

fn draw_topologies(effort: &Effort, results: &Results) -> Page {
    let wait = |contender, network, rate| results.of(&point(effort, contender, network, rate)).time_to_enter;
    let mut by_distance = NETWORKS;
    by_distance.sort_by(|one, other| mean_distance(*one).total_cmp(&mean_distance(*other)));
    let chart = |suffix, title: &str, rate| {
        let curve = |contender: With| {
            let dot = |network| Dot::measured(mean_distance(network), wait(contender, network, rate));
            Series::new(contender.0.label, Origin::Simulated, by_distance.map(dot).to_vec())
        };
        Part::Chart(Chart {
            suffix,
            title: format!("n = 16, k = 2 or 1, {title}"),
            x: Axis::logarithmic("mean number of links between two nodes"),
            y: Axis::logarithmic("time to enter (units)"),
            series: CONTENDERS.map(curve).to_vec(),
        })
    };
    let names: Vec<String> = by_distance
        .iter()
        .map(|network| format!("{network} {} ({})", short(mean_distance(*network)), network.diameter(NODES)))
        .collect();
    let about = format!(
        "Mean number of links between two nodes, and the largest in brackets: {}. A message takes the transit time (0.8) \
         for each link; the nodes that it passes spend no time on it.",
        names.join(", ")
    );
    let rows = CONTENDERS.into_iter().flat_map(|contender| {
        RATES.map(|rate| {
            let start = [contender.0.label.to_string(), contender.1.to_string(), rate.to_string()];
            let waits = by_distance.map(|network| short(wait(contender, network, rate).mean));
            start.into_iter().chain(waits).collect()
        })
    });
    let columns = ["algorithm", "k", "λ"].map(str::to_string).into_iter();
    let table = Table {
        suffix: "waits",
        title: "Time to enter on each network, n = 16".to_string(),
        columns: columns.chain(by_distance.map(|network| network.to_string())).collect(),
        rows: rows.collect(),
    };
    let parts = vec![
        Part::Text(about),
        chart("light", "light load (λ = 0.0002)", RATES[0]),
        chart("saturated", "saturation (λ = 1)", RATES[1]),
        Part::Table(table),
    ];
    let mean = |contender, network, rate| wait(contender, network, rate).mean;
    Page { parts, claims: vec![ranking(&mean, RATES[0]), ranking(&mean, RATES[1]), proportion(&mean)] }
}

/// The ranking of the texts, on every network.
fn ranking(mean: &dyn Fn(With, Topology, f64) -> f64, rate: f64) -> Claim {
    let mut lost = Vec::new();
    for network in NETWORKS {
        let ours = mean(OURS, network, rate);
        for rival in RIVALS {
            let theirs = mean(rival, network, rate);
            if theirs < ours {
                lost.push(format!("{} ({network}: {} beside {})", rival.0.label, short(theirs), short(ours)));
            }
        }
    }
    let load = if rate < 0.01 { "light load" } else { "saturation" };
    let says = format!(
        "the algorithm waits less than raymond-k and srimani-reddy on every network of {NODES} nodes at {load}"
    );
    let found = match &lost[..] {
        [] => "it does on all five".to_string(),
        lost => format!("less waits {}", lost.join(", ")),
    };
    // The thesis plans to try these machines; it claims nothing of them.
    Claim::holds("ours", &says, lost.is_empty(), found).because(
        "At light load srimani-reddy asks all nodes at once, so the token comes after one message there and one back. The \
         request of the proposed algorithm is passed on along its path, and each stage crosses the network.",
    )
}

/// Token algorithms send to any node, so that their waits follow the mean distance.
fn proportion(mean: &dyn Fn(With, Topology, f64) -> f64) -> Claim {
    let rate = RATES[1];
    let longer = |contender| {
        let of = |network: Topology| {
            // Both processors take 0.1, each link takes 0.8.
            let message = 0.2 + 0.8 * mean_distance(network);
            mean(contender, network, rate) / mean(contender, Topology::Full, rate) / message
        };
        NETWORKS.map(of)
    };
    let [ours, rival] = [With(SILENT, 2), RIVALS[0]].map(longer);
    let range = |values: [f64; 5]| {
        let (least, most) = values
            .into_iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        format!("{} to {}", short(least), short(most))
    };
    let holds = ours.into_iter().all(|value| (value - 1.0).abs() < 0.1);
    let found = format!(
        "its wait, beside that on a full network and the time of a mean message: {} times; raymond-k: {} times",
        range(ours),
        range(rival)
    );
    let says = "at saturation the algorithm, informing nobody, waits as much longer as a message between two nodes takes on average (here: within a tenth)";
    Claim::holds("ours", says, holds, found).because(
        "Each hand-off is one message between two nodes that chance puts next to each other in the queue.",
    )
}

fn draw_own_tree(effort: &Effort, results: &Results) -> Page {
    let of = |contender, network, rate| results.of(&point(effort, contender, network, rate));
    let mut rows = Vec::new();
    let (mut unequal, mut lost) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (contender, network) in OWN {
        for (rate, lost) in RATES.into_iter().zip(&mut lost) {
            let [full, own] = [Topology::Full, network].map(|network| of(contender, network, rate));
            let path_reversal = of(NAIMI_TREHEL, network, rate);
            let waits = [full, own, path_reversal].map(|summary| summary.time_to_enter.mean);
            let messages = [own, path_reversal].map(|summary| summary.messages_per_entry.mean);
            let place = format!("{} ({network}", contender.0.label);
            if network != Topology::Hypercube && waits[0] != waits[1] {
                unequal.push(format!("{place}: {} beside {})", short(waits[1]), short(waits[0])));
            }
            if waits[1] >= waits[2] {
                lost.push(format!("{place}: {} beside {})", short(waits[1]), short(waits[2])));
            }
            let start = [contender.0.label.to_string(), network.to_string(), rate.to_string()];
            rows.push(start.into_iter().chain(waits.map(short)).chain(messages.map(short)).collect());
        }
    }
    let columns = [
        "algorithm",
        "network",
        "λ",
        "wait, full network",
        "wait, own network",
        "wait, naimi-trehel there",
        "messages",
        "messages, naimi-trehel",
    ];
    let table = Table {
        suffix: "",
        title: "Time to enter and messages for each entry, n = 16, k = 1".to_string(),
        columns: columns.map(str::to_string).to_vec(),
        rows,
    };
    let judged = |says: &str, exceptions: &[String]| {
        let found = match exceptions {
            [] => "everywhere".to_string(),
            places => format!("not {}", places.join(", ")),
        };
        Claim::holds("ours", says, exceptions.is_empty(), found).because(
            "On a star a hand-off through the centre is two messages, each with its sending and receiving, where path \
             reversal sends one over two links. The open cube changes its tree, so its neighbours need not be those of the \
             hypercube.",
        )
    };
    let claims = vec![
        judged(
            "an algorithm with a fixed tree waits on the network of that tree exactly as on a full one",
            &unequal,
        ),
        judged(
            "on the network of its tree an algorithm waits less than path reversal at light load",
            &lost[0],
        ),
        judged(
            "on the network of its tree an algorithm waits less than path reversal at saturation",
            &lost[1],
        ),
    ];
    Page { parts: vec![Part::Table(table)], claims }
}
