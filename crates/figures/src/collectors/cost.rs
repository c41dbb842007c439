//! The cost of a single request, and of a round of all nodes: 000 section III D.

use simulator::Point;
use simulator::workload::Workload;

use super::round_of;
use crate::compare::{course, formula, short};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table, Verdict};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "000 sec. III D";

/// Sixteen nodes in four groups: the global collector, one of its group, another collector, one of its group.
const ASKERS: [(u32, &str); 4] = [
    (0, "the global collector"),
    (1, "a node of its group"),
    (4, "another collector"),
    (5, "a node of another group"),
];

/// Its name here, the algorithm, its options, and the number of tokens.
type Variant = (&'static str, &'static str, &'static [(&'static str, &'static str)], u32);

const VARIANTS: [Variant; 4] = [
    ("collectors, k = 4", "collectors", &[], 4),
    ("collectors, k = 8", "collectors", &[], 8),
    ("collectors, k = 4, share=collect", "collectors", &[("share", "collect")], 4),
    ("chaudhuri-edward, k = 4", "chaudhuri-edward", &[], 4),
];

/// Roots of the sizes at which all nodes make a request.
const ROOTS: [u32; 8] = [4, 6, 8, 12, 16, 20, 26, 32];

pub(super) fn exhibit() -> Exhibit {
    Exhibit {
        id: "collectors-cost",
        source: SOURCE,
        title: "Messages of a single request and of a round in which everybody asks",
        points,
        draw,
    }
}

fn points(effort: &Effort) -> Vec<Point> {
    let singles = VARIANTS.iter().flat_map(|variant| ASKERS.map(|(node, _)| single(variant, node)));
    singles.chain(effort.thin(&ROOTS).into_iter().map(all_ask)).collect()
}

fn single((_, algorithm, options, tokens): &Variant, node: u32) -> Point {
    let plan = round_of(16, *tokens, options, Workload::Once(vec![(node, node)]));
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: 1 }
}

/// As many tokens as groups.
fn all_ask(root: u32) -> Point {
    let plan = round_of(root * root, root, &[], Workload::Once(Vec::new()));
    Point { algorithm: "collectors".to_string(), plan, seed: 1, seeds: 1 }
}

/// The text's count.
fn printed(root: f64) -> f64 {
    4.0 * (root - 1.0) - 1.0
}

/// The count with the requests and token hops inside groups.
fn ours(root: f64) -> f64 {
    2.0 * root * root + 3.0 * root - 5.0
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let roots = effort.thin(&ROOTS);
    let by_formula = |formula: fn(f64) -> f64| -> Vec<Dot> {
        roots.iter().map(|&root| Dot::exact(f64::from(root * root), formula(f64::from(root)))).collect()
    };
    let messages = |root: u32| results.of(&all_ask(root)).messages as f64;
    let simulated: Vec<Dot> =
        roots.iter().map(|&root| Dot::exact(f64::from(root * root), messages(root))).collect();
    let chart = Chart {
        suffix: "round",
        title: "Everybody asks at once, k = √n".to_string(),
        x: Axis::logarithmic("nodes (n)"),
        y: Axis::logarithmic("messages of the round"),
        series: vec![
            Series::new("4(√n − 1) − 1, the text", Origin::Formula, by_formula(printed)),
            Series::new("2n + 3√n − 5, ours", Origin::Formula, by_formula(ours)),
            Series::new("collectors", Origin::Simulated, simulated.clone()),
        ],
    };
    let count = |variant, node| results.of(&single(variant, node)).messages;
    let mut columns = vec!["who asks".to_string()];
    columns.extend(VARIANTS.iter().map(|(name, ..)| name.to_string()));
    let rows = ASKERS.map(|(node, who)| {
        let counts = VARIANTS.iter().map(|variant| count(variant, node).to_string());
        std::iter::once(who.to_string()).chain(counts).collect()
    });
    let title = "Messages of a single request, n = 16 in four groups".to_string();
    let table = Table { suffix: "single", title, columns, rows: rows.to_vec() };
    let mut claims = vec![
        Claim::holds(
            SOURCE,
            "a single request: no message if the global collector asks",
            VARIANTS.iter().all(|variant| count(variant, 0) == 0),
            format!("{} messages", count(&VARIANTS[0], 0)),
        ),
        worst(VARIANTS.iter().map(|variant| (variant.0, count(variant, 5)))),
    ];
    claims.extend(growth(&by_formula(printed), &simulated));
    claims.push(queues(&roots, results));
    Page { parts: vec![Part::Table(table), Part::Chart(chart)], claims }
}

fn worst<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Claim {
    let (mut found, mut most) = (Vec::new(), 0);
    for (name, messages) in counts {
        found.push(format!("{name}: {messages}"));
        most = most.max(messages);
    }
    let verdict = if most == 6 { Verdict::Reproduces } else { Verdict::Differs(format!("{most} at worst")) };
    let says = "a single request: 6 messages at worst".to_string();
    let reason =
        "If a group gets more tokens than it has requests, the others come back in a message of their own.";
    Claim { source: SOURCE, says, found: found.join("; "), verdict, reason: reason.to_string() }
}

fn growth(printed: &[Dot], simulated: &[Dot]) -> Vec<Claim> {
    let exponent = match (simulated.first(), simulated.last()) {
        (Some(first), Some(last)) => (last.y / first.y).ln() / (last.x / first.x).ln(),
        _ => 0.0,
    };
    let each = simulated.last().map_or(0.0, |last| last.y / last.x);
    let says = "everybody asks: 4(√n − 1) − 1 messages";
    let reason = "The text's own count begins with n requests and then leaves them out, and the token hops inside groups \
                  with them; 2n + 3√n − 5 is exact for k = √n.";
    let found = format!(
        "{}: it grows with the power {exponent:.2} of n; {} for each entry at the largest",
        course("messages", simulated),
        short(each)
    );
    let linear = "A message to ask and one with the token for each of n nodes: the round cannot take fewer than about 2n. \
                  For each entry that is a constant, which is better than √n.";
    let order = "everybody asks: O(√n) messages";
    vec![
        formula(SOURCE, says, printed, simulated).because(reason),
        Claim::holds(SOURCE, order, exponent < 0.75, found).because(linear),
    ]
}

fn queues(roots: &[u32], results: &Results) -> Claim {
    let longest = roots.iter().map(|&root| (root, results.of(&all_ask(root)).longest_queue));
    let longest: Vec<(u32, u32)> = longest.collect();
    let holds = longest.iter().all(|(root, queue)| queue <= root);
    let found: Vec<String> =
        longest.iter().map(|(root, queue)| format!("{queue} at n = {}", root * root)).collect();
    let says = "no queue is ever longer than √n";
    Claim::holds(SOURCE, says, holds, format!("longest queue {}", found.join(", ")))
}
