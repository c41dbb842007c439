//! How far the algorithms are from what no algorithm can be below.

use simulator::time::Shape;
use simulator::{Estimate, Point};

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
/// How far from the limit the best may be at saturation, and still touch it.
const TOUCHES: f64 = 0.05;
/// Values below so many times the limit are near it.
const NEAR: f64 = 1.1;

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
    [one_token(effort), several_tokens(effort), crowded(effort)].concat()
}

/// Few nodes whose clients ask again within a hop, run for long: there a holder that enters again and again waits least.
fn crowded(effort: &Effort) -> Vec<Map> {
    let plane = Plane::Load { rates: CROWDED.to_vec(), sections: vec![0.0, 10.0] };
    let seeds = effort.seeds.clamp(super::LEAST_SEEDS, MOST_SEEDS);
    let entries = effort.entries(3000);
    let map = |tokens| {
        let plane = plane.clone();
        Map { nodes: 3, tokens, delay: Shape::Constant, plane, entries, seed: 1, seeds }
    };
    vec![map(1), map(2)]
}

const CROWDED: [f64; 4] = [1.0, 3.0, 10.0, 100.0];

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
    know of an exit or a request elsewhere before a message could tell it. So at most k nodes are inside, or would enter \
    within a hop if they asked. And clients without memory do not tell which node is next. The limit of the wait is what \
    remains when nothing else costs time. That of messages depends on the wait: one that lets clients wait may send \
    fewer. docs/map.md has the proofs.";

/// An algorithm below the limit of a cell, by more than chance allows among so many comparisons.
pub(super) fn is_below(measured: Estimate, limit: Estimate, seeds: u64, comparisons: usize) -> bool {
    measured.mean + margin(measured, limit, seeds, comparisons) < limit.mean * (1.0 - 1e-9)
}

/// What chance allows in all of so many comparisons.
fn margin(measured: Estimate, limit: Estimate, seeds: u64, comparisons: usize) -> f64 {
    let confidence = 1.0 - 0.1 / comparisons.max(1) as f64;
    student(confidence, 2 * (seeds as usize - 1)) * measured.stderr.hypot(limit.stderr)
}

/// What was compared with the limits of all cells.
#[derive(Default)]
struct Compared {
    all: usize,
    below: usize,
    /// What each comparison near the limit can tell, as a share of it.
    margins: Vec<f64>,
    /// The algorithm that comes nearest with constant delays, and how many times the limit it has.
    nearest: Option<(f64, &'static str)>,
}

impl Compared {
    fn add(&mut self, (measured, limit): (Estimate, Estimate), map: &Map, all: usize, name: &'static str) {
        self.all += 1;
        self.below += usize::from(is_below(measured, limit, map.seeds, all));
        let least = limit.mean.max(1e-9);
        let ratio = measured.mean / least;
        if ratio < NEAR {
            self.margins.push(margin(measured, limit, map.seeds, all) / least);
        }
        if map.delay == Shape::Constant && self.nearest.is_none_or(|(nearest, _)| ratio < nearest) {
            self.nearest = Some((ratio, name));
        }
    }

    fn claim(mut self, what: &str) -> Claim {
        let (times, name) = self.nearest.unwrap_or_default();
        let says = format!("no algorithm {what} than its limit, in any cell of any map");
        self.margins.sort_by(f64::total_cmp);
        let near = self.margins.len();
        let found = format!(
            "below it in {} of {} comparisons; the nearest, with constant delays, has {} times the limit ({name})",
            self.below,
            self.all,
            short(times)
        );
        let tells = self.margins.get(near / 2).map_or(String::new(), |half| {
            let percent = short(100.0 * half);
            format!("; {near} are within a tenth of it, and half of these tell a difference of {percent} %")
        });
        let found = found + &tells;
        Claim::holds("ours", &says, self.below == 0, found)
    }
}

fn none_below(effort: &Effort, results: &Results) -> [Claim; 2] {
    let maps = all_maps(effort);
    let comparisons: usize = maps.iter().map(|map| map.cells().count() * map.contenders().len()).sum();
    let (mut waits, mut messages) = (Compared::default(), Compared::default());
    for map in &maps {
        for cell in map.cells() {
            let least = map.least_wait(cell);
            for (contender, summary) in map.measured(results, cell) {
                let wait = map.value(Measure::Wait, cell, summary);
                if let Some(limit) = least.filter(|limit| limit.mean > 0.0) {
                    waits.add((wait, limit), map, comparisons, contender.short);
                }
                if let Some(limit) = messages_limit(map, cell, &contender, wait) {
                    let sent = map.value(Measure::Messages, cell, summary);
                    messages.add((sent, limit), map, comparisons, contender.short);
                }
            }
        }
    }
    let why = "Below: by more than chance allows in any of so many comparisons. The limit of messages is that for the wait of the \
               algorithm itself; there is none where clients ask again within a hop, nor for makki, which uses timers.";
    [waits.claim("waits less").because(why), messages.claim("sends fewer messages").because(why)]
}

/// The fewest messages of an algorithm that has this wait, with the error of that.
pub(super) fn messages_limit(
    map: &Map,
    cell: (usize, usize),
    contender: &Contender,
    wait: Estimate,
) -> Option<Estimate> {
    if !contender.is_driven_by_messages() {
        return None;
    }
    let mean = map.fewest_messages(cell, wait.mean)?;
    let longer = map.fewest_messages(cell, wait.mean + wait.stderr).unwrap_or_default();
    Some(Estimate { mean, stderr: mean - longer, ..wait })
}

/// The curves of a pair of charts.
struct Curves {
    map: Map,
    measured: Vec<Curve>,
    /// What no algorithm can be below; in messages: none that waits no longer than the slowest of these.
    limits: [Vec<Dot>; 2],
}

/// An algorithm: its waits and its messages, and how many times the limit they are at the least rate and at the highest.
struct Curve {
    contender: Contender,
    dots: [Vec<Dot>; 2],
    light: [Option<f64>; 2],
    full: [Option<f64>; 2],
}

const PAIR: [Measure; 2] = [Measure::Wait, Measure::Messages];

impl Curves {
    fn of(effort: &Effort, results: &Results, tokens: u32, shown: &[&str]) -> Curves {
        let map = charted(effort, tokens);
        let rates = effort.thin(&RATES);
        let last = (rates.len() - 1, 0);
        let measured: Vec<Curve> = named(&map, shown)
            .into_iter()
            .map(|contender| {
                let of = |cell| results.of(&map.point(&contender, cell));
                let dots = PAIR.map(|measure| {
                    let dot = |cell: (usize, usize)| {
                        Dot::measured(rates[cell.0], map.value(measure, cell, of(cell)))
                    };
                    map.cells().map(dot).collect()
                });
                let far = |cell| {
                    let least = map.least_wait(cell);
                    PAIR.map(|measure| map.distance(measure, cell, least, (&contender, of(cell))))
                };
                let [light, full] = [(0, 0), last].map(|cell| far(cell).map(|far| Some(far?.times)));
                Curve { contender, dots, light, full }
            })
            .collect();
        let exact = |cell: (usize, usize), limit: Option<f64>| Some(Dot::exact(rates[cell.0], limit?));
        let waits = map.cells().filter_map(|cell| exact(cell, Some(map.least_wait(cell)?.mean))).collect();
        let slowest =
            |cell: (usize, usize)| measured.iter().map(|curve| curve.dots[0][cell.0].y).fold(0.0, f64::max);
        let messages = map.cells().filter_map(|cell| exact(cell, map.fewest_messages(cell, slowest(cell))));
        let limits = [waits, messages.collect()];
        Curves { map, measured, limits }
    }

    fn chart(&self, measure: Measure, suffix: &'static str) -> Part {
        let (which, label, limit) = if measure == Measure::Wait {
            (0, "time to enter (hops)", "limit for all algorithms")
        } else {
            (1, "messages for each entry", "limit for all that wait no longer than these")
        };
        let simulated = |curve: &Curve| {
            Series::new(curve.contender.label(), Origin::Simulated, curve.dots[which].clone())
        };
        let mut series: Vec<Series> = self.measured.iter().map(simulated).collect();
        series.push(Series::new(limit, Origin::Formula, self.limits[which].clone()));
        Part::Chart(Chart {
            suffix,
            title: format!("How far from the limit: {}, sections of one hop", self.map.setting_in_words()),
            x: Axis::logarithmic("requests of a client that has left, per hop (λ)"),
            y: Axis::logarithmic(label),
            series,
        })
    }

    /// The nearest to the limit, and its name.
    fn nearest(&self, times: impl Fn(&Curve) -> Option<f64>) -> (f64, &'static str) {
        let ratios = self.measured.iter().filter_map(|curve| Some((times(curve)?, curve.contender.short)));
        ratios.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, ""))
    }

    fn claims(&self) -> Vec<Claim> {
        let setting = format!("n = {NODES}, k = {}, sections of one hop", self.map.tokens);
        let (best, by) = self.nearest(|curve| curve.full[0]);
        let touches = format!("{setting}: at saturation the best waits no longer than the limit, within 5 %");
        let found = format!("{} times the limit ({by})", short(best));
        let mut claims = vec![Claim::holds("ours", &touches, best <= 1.0 + TOUCHES, found)];
        for curve in self.measured.iter().filter(|curve| curve.contender.is_ours()) {
            let nearest = [0, 1].map(|which| self.nearest(|curve| curve.light[which]));
            let says = format!(
                "{setting}: {} waits as long as the limit at saturation, and at light load no longer than the best of these",
                curve.contender.short
            );
            let times = |times: Option<f64>| times.map_or("no known number of".to_string(), short);
            let found = format!(
                "at the highest rate {} times the limit in waits; at the lowest {} and in messages {}, where the best are {} \
                 ({}) and {} ({})",
                times(curve.full[0]),
                times(curve.light[0]),
                times(curve.light[1]),
                short(nearest[0].0),
                nearest[0].1,
                short(nearest[1].0),
                nearest[1].1
            );
            let near =
                |ratio: Option<f64>, best: f64| ratio.is_some_and(|ratio| ratio <= best * (1.0 + TOUCHES));
            let holds = near(curve.full[0], 1.0) && near(curve.light[0], nearest[0].0);
            claims.push(Claim::holds("ours", &says, holds, found).because(
                "At light load an algorithm with a fixed centre is one hop from its token; a path of pointers is longer. In \
                 return no node of ours has more to do than the others.",
            ));
        }
        claims
    }
}
