//! The maps of the report.

use simulator::time::Shape;

use super::{Contender, GROUPS, LEAST_SEEDS, Map, Measure, Plane, RATES, SECTIONS, SKEWS, usual_entries};
use crate::compare::short;
use crate::page::{Claim, Page, Part, Verdict};
use crate::{Effort, Exhibit, Results};

/// More seeds than this tell little more about who is best.
pub(super) const MOST_SEEDS: u64 = 4;

pub(super) const EXHIBITS: [Exhibit; 3] = [
    Exhibit {
        id: "map-one-token",
        source: "ours",
        title: "Which algorithm is best where, with one token",
        points: |effort| points(&one_token(effort)),
        draw: |effort, results| draw(&one_token(effort), results, &["forest"]),
    },
    Exhibit {
        id: "map-tokens",
        source: "ours",
        title: "Which algorithm is best where, with several tokens",
        points: |effort| points(&several_tokens(effort)),
        draw: |effort, results| draw(&several_tokens(effort), results, &["forest", "balanced"]),
    },
    Exhibit {
        id: "map-groups",
        source: "ours",
        title: "Which algorithm is best where, with groups",
        points: |effort| points(&groups(effort)),
        draw: |effort, results| draw(&groups(effort), results, &["rooms", "rooms arrival"]),
    },
];

/// The shapes of delays on the maps.
const SHAPES: [Shape; 3] = [Shape::Constant, Shape::Uniform, Shape::Exponential];

fn map(effort: &Effort, nodes: u32, tokens: u32, delay: Shape, plane: Plane) -> Map {
    let seeds = effort.seeds.clamp(LEAST_SEEDS, MOST_SEEDS);
    let entries = effort.entries(usual_entries(nodes)).max(60);
    Map { nodes, tokens, delay, plane, entries, seed: 1, seeds }
}

fn load(effort: &Effort) -> Plane {
    Plane::Load { rates: effort.thin(&RATES), sections: effort.thin(&SECTIONS) }
}

/// The shapes of delays of a report: a coarse one has only the first.
fn shapes(effort: &Effort) -> Vec<Shape> {
    SHAPES[..if effort.quick { 1 } else { SHAPES.len() }].to_vec()
}

pub(super) fn one_token(effort: &Effort) -> Vec<Map> {
    // Where nodes ask all others, thirty of them take ten times as long to simulate as ten.
    let mut maps: Vec<Map> =
        shapes(effort).into_iter().map(|delay| map(effort, 10, 1, delay, load(effort))).collect();
    if !effort.quick {
        maps.push(map(effort, 30, 1, Shape::Constant, load(effort)));
    }
    maps
}

pub(super) fn several_tokens(effort: &Effort) -> Vec<Map> {
    let constant = |nodes, tokens| map(effort, nodes, tokens, Shape::Constant, load(effort));
    if effort.quick {
        return vec![constant(10, 3)];
    }
    let mut maps: Vec<Map> =
        shapes(effort).into_iter().map(|delay| map(effort, 30, 3, delay, load(effort))).collect();
    maps.extend([constant(10, 3), constant(30, 10)]);
    maps
}

fn groups(effort: &Effort) -> Vec<Map> {
    let plane = Plane::Groups {
        groups: effort.thin(&GROUPS),
        skews: effort.thin(&SKEWS),
        rate: GROUP_RATE,
        section: GROUP_SECTION,
    };
    shapes(effort).into_iter().map(|delay| map(effort, 10, 1, delay, plane.clone())).collect()
}

/// Clients of the map of groups ask so often that rooms are contended, and stay long enough to share them.
pub(super) const GROUP_RATE: f64 = 0.1;
pub(super) const GROUP_SECTION: f64 = 1.0;

fn points(maps: &[Map]) -> Vec<simulator::Point> {
    maps.iter().flat_map(Map::points).collect()
}

/// Draws maps, and judges where ours are the best.
fn draw(maps: &[Map], results: &Results, ours: &[&str]) -> Page {
    let mut parts = vec![Part::Text(WHAT.to_string())];
    for map in maps {
        for (name, measure) in Measure::ALL {
            let suffix = format!("{name}-n{}-k{}-{}", map.nodes, map.tokens, map.delay);
            parts.push(Part::Map(map.drawn(results, measure, &suffix)));
        }
    }
    let claims = [Measure::Wait, Measure::Messages]
        .map(|measure| best_everywhere(maps, results, measure, ours))
        .to_vec();
    Page { parts, claims }
}

const WHAT: &str = "Each cell is a simulation of every algorithm that fits, from the same seeds. It names the best and how \
    much better it is than the second best. A hop is 1: 0.1 at each end and 0.8 between them. docs/map.md says more.";

const WHERE: &str = "Where no node waits, an algorithm whose token is always near (a star, a proxy, a centre) needs fewer hops than \
    a path that is found; ours pay for a tree that has no centre. One that collects requests before its token moves sends \
    fewer messages, and its clients wait longer. docs/map.md, \"Where ours lose\", goes through them.";

/// In how many cells ours are the best, or as good as the best, and where they are furthest behind.
fn best_everywhere(maps: &[Map], results: &Results, measure: Measure, ours: &[&str]) -> Claim {
    let is_ours = |contender: &Contender| ours.contains(&contender.short);
    let (mut counts, mut won, mut all) = (Vec::new(), 0, 0);
    let (mut furthest, mut where_furthest) = (1.0, String::new());
    for map in maps {
        let mut best = 0;
        for cell in map.cells() {
            let Some(judged) = map.judge(results, measure, cell) else { continue };
            if is_ours(&judged.best) || judged.tied.iter().any(is_ours) {
                best += 1;
                continue;
            }
            let measured = map.measured(results, cell);
            let values = measured.iter().filter(|(contender, _)| is_ours(contender));
            let value =
                values.map(|(_, summary)| map.value(measure, cell, summary).mean).fold(f64::MAX, f64::min);
            let times = value / judged.value.mean.max(1e-9);
            if times > furthest {
                furthest = times;
                let (setting, place) = (map.setting_in_words(), map.place_in_words(cell));
                where_furthest = format!("{setting}, {place}: {}", judged.best.short);
            }
        }
        (won, all) = (won + best, all + map.cells().count());
        counts.push(format!("{best} of {} ({})", map.cells().count(), map.setting_in_words()));
    }
    let what = if measure == Measure::Wait { "the shortest wait" } else { "the fewest messages" };
    let says = format!("{} has {what}, or as good, in every cell of these maps", ours.join(" or "));
    let mut found = format!("in {}", counts.join(", "));
    if !where_furthest.is_empty() {
        found += &format!("; furthest behind, {} times the best, at {where_furthest}", short(furthest));
    }
    let mut claim = Claim::holds("ours", &says, won == all, found).because(WHERE);
    if 0 < won && won < all {
        claim.verdict = Verdict::Differs(format!("not in {} of {all} cells", all - won));
    }
    claim
}
