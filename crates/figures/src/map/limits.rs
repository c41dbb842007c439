//! How far the algorithms are from what no algorithm can be below.

use simulator::limit::{Limit, Order};
use simulator::time::Shape;
use simulator::{Estimate, Point, Summary};

use super::exhibit::{MOST_SEEDS, one_token, several_tokens};
use super::{Contender, Map, Measure, Plane};
use crate::compare::{short, student};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBITS: [Exhibit; 1] = [Exhibit {
    id: "limit",
    source: "ours",
    title: "How far waits and messages are from what no algorithm can be below",
    points,
    draw,
}];

const RATES: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
/// Sections of the charts, in hops.
const SECTION: f64 = 1.0;
const NODES: u32 = 30;
/// The number of tokens of a pair of charts, and the algorithms in it: ours, and those that come nearest to the limit.
const CHARTS: [(u32, [&str; 4], [&str; 2]); 2] = [
    (1, ["forest", "star", "Singhal", "proxy"], ["wait-k1", "messages-k1"]),
    (3, ["forest", "balanced", "proxy parts", "Srim.–Reddy"], ["wait-k3", "messages-k3"]),
];
/// The names of ours.
const OURS: [&str; 2] = ["forest", "balanced"];
/// How far from the limit the best may be at saturation, and still touch it.
const TOUCHES: f64 = 0.05;

fn charted(effort: &Effort, tokens: u32) -> Map {
    let plane = Plane::Load { rates: effort.thin(&RATES), sections: vec![SECTION] };
    let (entries, seeds) =
        (effort.entries(1500).max(300), effort.seeds.clamp(super::LEAST_SEEDS, MOST_SEEDS));
    Map { nodes: NODES, tokens, delay: Shape::Constant, plane, entries, seed: 1, seeds }
}

fn named(map: &Map, shown: &[&str]) -> Vec<Contender> {
    map.contenders().into_iter().filter(|contender| shown.contains(&contender.short)).collect()
}

fn all_maps(effort: &Effort) -> Vec<Map> {
    [one_token(effort), several_tokens(effort)].concat()
}

fn points(effort: &Effort) -> Vec<Point> {
    let mut points: Vec<Point> = all_maps(effort).iter().flat_map(Map::points).collect();
    for (tokens, shown, _) in CHARTS {
        let map = charted(effort, tokens);
        for contender in named(&map, &shown) {
            points.extend(map.cells().map(|cell| map.point(&contender, cell)));
        }
    }
    points
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let curves: Vec<Curves> =
        CHARTS.iter().map(|(tokens, shown, _)| Curves::of(effort, results, *tokens, shown)).collect();
    let mut parts = vec![Part::Text(WHAT.to_string())];
    for (curves, (_, _, suffixes)) in curves.iter().zip(CHARTS) {
        parts
            .extend([curves.chart(Measure::Wait, suffixes[0]), curves.chart(Measure::Messages, suffixes[1])]);
    }
    let mut claims = none_below(effort, results).to_vec();
    claims.extend(curves.iter().flat_map(Curves::claims));
    Page { parts, claims }
}

const WHAT: &str = "Two things hold for every algorithm that keeps its promise whatever the length of a section. A node cannot \
    know of an exit elsewhere before a message could tell it, so an entry occupies its place for the section and a hop. And \
    at most k nodes can enter without hearing from another one; clients without memory do not tell which node is next. The \
    limit is what remains of the wait when nothing else costs time, and of the messages when a token takes one to come \
    and one to be asked for, unless it moves because of others. docs/map.md has the proofs, and which algorithms they are for.";

/// The limits of a cell.
fn limit(map: &Map, cell: (usize, usize), order: Order) -> Limit {
    let mut plan = map.plan(cell);
    // As coarse as the map.
    let entries = LIMIT_ENTRIES.min(10 * map.entries);
    (plan.entries, plan.warmup) = (entries, entries / 5);
    Limit::of(&plan, order, map.seed, LIMIT_SEEDS).expect("maps of the load are what limits are known for")
}

/// How many entries of the oracle are measured, at most.
const LIMIT_ENTRIES: u64 = 2000;
const LIMIT_SEEDS: u64 = 3;

fn of_measure(limit: &Limit, measure: Measure) -> Estimate {
    if measure == Measure::Wait { limit.wait } else { limit.messages }
}

/// Whether a node that leaves knows of all that wait: not where each token has a queue of its own.
pub(super) fn serves_in_turn(contender: &Contender, tokens: u32) -> bool {
    let queue_for_each_token =
        ["forest", "bulgannawar-vaidya"].contains(&contender.algorithm) || contender.is_partitioned();
    tokens == 1 || !queue_for_each_token
}

/// The wait to compare with a limit. Where clients wait longer than they think it is taken from the throughput: clients
/// that have not entered yet then count, too.
pub(super) fn whole_wait(map: &Map, cell: (usize, usize), summary: &Summary, limit: Estimate) -> Estimate {
    let plan = map.plan(cell);
    if limit.mean * plan.rate <= 1.0 {
        return summary.time_to_enter;
    }
    let (nodes, throughput) = (f64::from(map.nodes), summary.throughput);
    Estimate {
        mean: nodes / throughput.mean - 1.0 / plan.rate - plan.section.mean,
        stderr: nodes / throughput.mean.powi(2) * throughput.stderr,
    }
}

/// An algorithm below the limit of a cell, by more than chance allows among so many comparisons.
pub(super) fn is_below(measured: Estimate, limit: Estimate, seeds: u64, comparisons: usize) -> bool {
    let confidence = 1.0 - 0.1 / comparisons.max(1) as f64;
    let margin = student(confidence, 2 * (seeds as usize - 1)) * measured.stderr.hypot(limit.stderr);
    measured.mean + margin < limit.mean * (1.0 - 1e-9)
}

/// What was compared with the limits of all cells.
#[derive(Default)]
struct Compared {
    all: usize,
    below: usize,
    /// The algorithm that comes nearest with constant delays, and how many times the limit it has.
    nearest: Option<(f64, &'static str)>,
}

impl Compared {
    fn add(&mut self, measured: Estimate, limit: Estimate, below: bool, constant: Option<&'static str>) {
        self.all += 1;
        self.below += usize::from(below);
        let ratio = measured.mean / limit.mean.max(1e-9);
        if let Some(name) = constant
            && self.nearest.is_none_or(|(nearest, _)| ratio < nearest)
        {
            self.nearest = Some((ratio, name));
        }
    }

    fn claim(&self, what: &str) -> Claim {
        let (times, name) = self.nearest.unwrap_or_default();
        let says = format!("no algorithm {what} than its limit, in any cell of any map");
        let found = format!(
            "below it in {} of {} comparisons; the nearest, with constant delays, has {} times the limit ({name})",
            self.below,
            self.all,
            short(times)
        );
        Claim::holds("ours", &says, self.below == 0, found)
    }
}

fn none_below(effort: &Effort, results: &Results) -> [Claim; 2] {
    let maps = all_maps(effort);
    let comparisons: usize = maps.iter().map(|map| map.cells().count() * map.contenders().len()).sum();
    let (mut waits, mut messages) = (Compared::default(), Compared::default());
    for map in &maps {
        for cell in map.cells() {
            let [in_turn, any] = [Order::InTurn, Order::Any].map(|order| limit(map, cell, order));
            for (contender, summary) in map.measured(results, cell) {
                let takes_turns = serves_in_turn(&contender, map.tokens);
                let limit = if takes_turns { in_turn } else { any };
                let constant = (map.delay == Shape::Constant).then_some(contender.short);
                let below = |measured, limit| is_below(measured, limit, map.seeds, comparisons);
                let wait = whole_wait(map, cell, summary, limit.wait);
                waits.add(wait, limit.wait, below(wait, limit.wait), constant);
                if takes_turns {
                    let sent = summary.messages_per_entry;
                    messages.add(sent, limit.messages, below(sent, limit.messages), constant);
                }
            }
        }
    }
    let why = "Below: by more than chance allows in any of so many comparisons. Where each token has a queue of its own (forest, \
               bulgannawar-vaidya and partitions with several tokens) a node may enter again while others wait elsewhere: there the limit \
               is that for any order, and there is none for messages.";
    [waits.claim("waits less").because(why), messages.claim("sends fewer messages").because(why)]
}

/// The curves of a pair of charts.
struct Curves {
    map: Map,
    measured: Vec<(Contender, [Vec<Dot>; 2])>,
    in_turn: [Vec<Dot>; 2],
    any: Vec<Dot>,
}

impl Curves {
    fn of(effort: &Effort, results: &Results, tokens: u32, shown: &[&str]) -> Curves {
        let map = charted(effort, tokens);
        let rates = effort.thin(&RATES);
        let curve = |value: &dyn Fn((usize, usize)) -> Estimate| -> Vec<Dot> {
            map.cells().map(|cell| Dot::measured(rates[cell.0], value(cell))).collect()
        };
        let measured = |contender: Contender| {
            let of = |measure: Measure| curve(&|cell| measure.of(results.of(&map.point(&contender, cell))));
            (contender, [of(Measure::Wait), of(Measure::Messages)])
        };
        let limits = |order, measure| -> Vec<Dot> {
            let exact = |cell: (usize, usize)| {
                Dot::exact(rates[cell.0], of_measure(&limit(&map, cell, order), measure).mean)
            };
            map.cells().map(exact).collect()
        };
        let in_turn = [Measure::Wait, Measure::Messages].map(|measure| limits(Order::InTurn, measure));
        let any = limits(Order::Any, Measure::Wait);
        let measured = named(&map, shown).into_iter().map(measured).collect();
        Curves { map, measured, in_turn, any }
    }

    fn chart(&self, measure: Measure, suffix: &'static str) -> Part {
        let (which, label) = if measure == Measure::Wait {
            (0, "time to enter (hops)")
        } else {
            (1, "messages for each entry")
        };
        let simulated = |(contender, curves): &(Contender, [Vec<Dot>; 2])| {
            Series::new(contender.label(), Origin::Simulated, curves[which].clone())
        };
        let mut series: Vec<Series> = self.measured.iter().map(simulated).collect();
        series.push(Series::new("limit, waiters in turn", Origin::Formula, self.in_turn[which].clone()));
        if measure == Measure::Wait {
            series.push(Series::new("limit, any order", Origin::Formula, self.any.clone()));
        }
        Part::Chart(Chart {
            suffix,
            title: format!("How far from the limit: {}, sections of one hop", self.map.setting_in_words()),
            x: Axis::logarithmic("requests of a client that has left, per hop (λ)"),
            y: Axis::logarithmic(label),
            series,
        })
    }

    /// How many times the limit each curve is, at the first rate or at the last.
    fn ratio(&self, curve: &[Vec<Dot>; 2], which: usize, last: bool) -> f64 {
        let at = |dots: &[Dot]| if last { dots.last() } else { dots.first() }.map_or(0.0, |dot| dot.y);
        at(&curve[which]) / at(&self.in_turn[which]).max(1e-9)
    }

    fn nearest(&self, which: usize, last: bool) -> (f64, &'static str) {
        let ratios =
            self.measured.iter().map(|(contender, curve)| (self.ratio(curve, which, last), contender.short));
        ratios.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, ""))
    }

    fn claims(&self) -> Vec<Claim> {
        let setting = format!("n = {NODES}, k = {}, sections of one hop", self.map.tokens);
        let (best, by) = self.nearest(0, true);
        let touches = format!("{setting}: at saturation the best waits no longer than the limit, within 5 %");
        let found = format!("{} times the limit ({by})", short(best));
        let mut claims = vec![Claim::holds("ours", &touches, best <= 1.0 + TOUCHES, found)];
        for (contender, curve) in
            self.measured.iter().filter(|(contender, _)| OURS.contains(&contender.short))
        {
            let [light, full] = [false, true].map(|last| [0, 1].map(|which| self.ratio(curve, which, last)));
            let nearest = [0, 1].map(|which| self.nearest(which, false));
            let says = format!(
                "{setting}: {} waits as long as the limit at saturation, and at light load no longer than the best of these",
                contender.short
            );
            let found = format!(
                "at the highest rate {} times the limit in waits and {} in messages; at the lowest {} and {}, where the best \
                 are {} ({}) and {} ({})",
                short(full[0]),
                short(full[1]),
                short(light[0]),
                short(light[1]),
                short(nearest[0].0),
                nearest[0].1,
                short(nearest[1].0),
                nearest[1].1
            );
            let near = |ratio: f64, best: f64| ratio <= best * (1.0 + TOUCHES);
            let holds = near(full[0], 1.0) && near(light[0], nearest[0].0);
            claims.push(Claim::holds("ours", &says, holds, found).because(
                "At light load an algorithm with a fixed centre is one hop from its token; a path of pointers is longer. In \
                 return no node of ours has more to do than the others.",
            ));
        }
        claims
    }
}
