//! The points simulated for text 002.

use algorithms::Setting;
use simulator::plan::Plan;
use simulator::time::Span;
use simulator::workload::Workload;
use simulator::{Point, Summary};

use super::formulas;
use crate::compare::short;
use crate::page::{Claim, Verdict};
use crate::{Effort, Results};

/// Messages that only swaps send.
pub(super) const SWAP_KINDS: [&str; 2] = ["ROOT", "PARENT"];

/// The size at which the load of the root is examined.
const WORK_SIZE: u32 = 31;
/// More seeds would make no visible difference in a chart.
const MOST_SEEDS: u64 = 8;
/// At saturation runs are periodic, and hardly random: errors are in the third digit or zero.
const MOST_SEEDS_AT_SATURATION: u64 = 4;
/// A rate so low that each request is served before the next is made.
const RARELY: f64 = 0.005;
/// A rate so high that some client always waits.
const AT_ONCE: f64 = 100.0;

/// Whether the root changes places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Swaps,
    Static,
}

/// A message takes a unit of time, and so does a critical section.
fn plan(nodes: u32, workload: Workload, rate: f64) -> Plan {
    Plan {
        setting: Setting::new(nodes, 1),
        rate,
        section: Span::constant(1.0),
        send: 0.0,
        receive: 0.0,
        transit: Span::constant(1.0),
        workload,
        ..Plan::default()
    }
}

fn point(algorithm: &str, plan: Plan, seeds: u64) -> Point {
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds }
}

fn tree(shape: Tree, plan: Plan) -> Point {
    let mut point = point("lacbt", plan, 1);
    if shape == Tree::Static {
        point.plan.setting.options.push(("swap".to_string(), "no".to_string()));
    }
    point
}

/// One request at a time, of a random node.
pub(super) fn light(algorithm: &str, nodes: u32, effort: &Effort) -> Point {
    // The text's own algorithm costs little, and claims depend on it.
    let own = Effort { quick: effort.quick && algorithm != "lacbt", ..*effort };
    let (entries, warmup) = (own.entries(1000), own.entries(200));
    let plan = Plan { entries, warmup, ..plan(nodes, Workload::Single, RARELY) };
    point(algorithm, plan, effort.seeds.min(MOST_SEEDS))
}

/// Every client makes a new request as soon as it has left.
pub(super) fn heavy(algorithm: &str, nodes: u32, effort: &Effort) -> Point {
    // Long enough that every node has been served a few times and runs are periodic.
    let warmup = effort.entries(500).max(4 * u64::from(nodes));
    let plan = Plan { entries: effort.entries(1500), warmup, ..plan(nodes, Workload::Think, AT_ONCE) };
    point(algorithm, plan, effort.seeds.min(MOST_SEEDS_AT_SATURATION))
}

/// All nodes make a request at once, again and again. Nothing is random. A run ends with an entry, before the
/// token is back; measuring begins with the last entry of the first round, so that as many paths are counted
/// as there are entries.
pub(super) fn burst(shape: Tree, nodes: u32, effort: &Effort) -> Point {
    let entries = effort.entries(50) * u64::from(nodes);
    tree(shape, Plan { entries, warmup: nodes.into(), ..plan(nodes, Workload::Burst, RARELY) })
}

/// Every node makes one request, all at once, as in the text's own high load.
pub(super) fn once(algorithm: &str, nodes: u32) -> Point {
    point(algorithm, plan(nodes, Workload::Once(Vec::new()), RARELY), 1)
}

/// The node on the last position makes one request.
pub(super) fn last_leaf(nodes: u32) -> Point {
    tree(Tree::Swaps, plan(nodes, Workload::Once(vec![(nodes - 1, nodes - 1)]), RARELY))
}

/// One node of each level makes one request.
pub(super) fn medium(shape: Tree, nodes: u32) -> Point {
    let branch = (0..formulas::levels(nodes)).map(|level| ((1 << level) - 1, (1 << level) - 1));
    tree(shape, plan(nodes, Workload::Once(branch.collect()), RARELY))
}

/// The points that show how the work is shared: with and without swaps, at light load and at saturation.
pub(super) fn shares_of_work(effort: &Effort) -> [[Point; 2]; 2] {
    [light("lacbt", WORK_SIZE, effort), heavy("lacbt", WORK_SIZE, effort)].map(|with| {
        let mut without = with.clone();
        without.plan.setting.options.push(("swap".to_string(), "no".to_string()));
        [with, without]
    })
}

/// Whether the swaps distribute the work: the messages that nodes send differ by less than half as much as
/// without.
pub(super) fn spread(effort: &Effort, results: &Results) -> Claim {
    let [light, heavy] = shares_of_work(effort)
        .map(|points| points.map(|point| results.of(&point).node_message_deviation.mean));
    let [[lightly, _], [heavily, _]] =
        shares_of_work(effort).map(|points| points.map(|point| swaps_for_each_entry(results.of(&point))));
    let tell = |load: &str, [with, without]: [f64; 2], swaps: f64| {
        format!("{load} {} with swaps ({swaps:.2} for each entry), {} without", short(with), short(without))
    };
    let found = format!(
        "how far the messages that nodes send for each entry of their own deviate, N = {WORK_SIZE}: {}; {}",
        tell("light load", light, lightly),
        tell("saturation", heavy, heavily)
    );
    let spreads = |[with, without]: [f64; 2]| with < without / 2.0;
    let verdict = match (spreads(light), spreads(heavy)) {
        (true, true) => Verdict::Reproduces,
        (true, false) => Verdict::Differs("only at light load".to_string()),
        (false, true) => Verdict::Differs("only at saturation".to_string()),
        (false, false) => Verdict::DoesNot,
    };
    let says = "swaps spread the root's work over the nodes".to_string();
    let reason = "The root changes places only if it wants nothing itself, and only with a node that does not wait: where \
                  everybody waits, nobody moves."
        .to_string();
    Claim { source: "002 sec. 4", says, found, verdict, reason }
}

fn swaps_for_each_entry(summary: &Summary) -> f64 {
    summary.messages_by_kind.get("ROOT").map_or(0.0, |kind| kind.mean)
}
