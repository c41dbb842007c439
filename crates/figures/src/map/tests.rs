//! Who is best is judged by means and their errors, and nothing is below the limit.

use simulator::limit::{Limit, Order};
use simulator::time::{Shape, Span};

use super::limits::{is_below, serves_in_turn, whole_wait};
use super::*;
use crate::Effort;

fn small(nodes: u32, tokens: u32, delay: Shape, rates: &[f64], sections: &[f64]) -> Map {
    let plane = Plane::Load { rates: rates.to_vec(), sections: sections.to_vec() };
    Map { nodes, tokens, delay, plane, entries: 40 * u64::from(nodes), seed: 1, seeds: 3 }
}

fn simulated(map: &Map) -> Results {
    let points = map.points();
    let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
    for (point, summary) in points.iter().zip(&summaries) {
        assert!(summary.violation.is_none(), "{point:?}: {:?}", summary.violation);
    }
    Results::new(points, summaries)
}

/// Light load: a star sends the fewest messages. Saturation: a tie of all that hand tokens on directly.
#[test]
fn who_is_best_at_both_ends() {
    let map = small(20, 1, Shape::Constant, &[0.001, 10.0], &[1.0]);
    let results = simulated(&map);
    let light = map.judge(&results, Measure::Messages, (0, 0)).unwrap();
    assert_eq!(light.best.label(), "neilsen-mizuno shape=star");
    assert!(light.tied.is_empty() && light.margin.ends_with("% less"), "{light:?}");
    let full = map.judge(&results, Measure::Wait, (1, 0)).unwrap();
    assert!(full.tied.len() >= MANY, "{full:?}");
    let drawn = map.drawn(&results, Measure::Wait, "");
    assert_eq!((drawn.cells.len(), drawn.cells[0].len()), (1, 2));
    assert_eq!(drawn.cells[0][1].label, TIE);
    assert!(drawn.cells[0][1].best.starts_with("tie of "));
}

#[test]
fn groups_have_a_map_of_their_own() {
    let plane = Plane::Groups { groups: vec![2, 4], skews: vec![0.0, 2.0], rate: 0.1, section: 1.0 };
    let map = Map { nodes: 6, tokens: 1, delay: Shape::Uniform, plane, entries: 100, seed: 1, seeds: 2 };
    let results = simulated(&map);
    assert_eq!(map.cells().count(), 4);
    assert_eq!(map.plan((1, 1)).group_choice, GroupChoice::Zipf(2.0));
    assert_eq!(map.measured(&results, (0, 0)).len(), 3);
    assert_eq!(map.nearest(1.0, 1.0), None);
}

#[test]
fn the_nearest_cell() {
    let map = small(5, 1, Shape::Constant, &RATES, &SECTIONS);
    assert_eq!(map.nearest(0.0011, 0.0), Some((0, 0)));
    assert_eq!(map.nearest(50.0, 400.0), Some((6, 4)));
    assert_eq!(map.nearest(0.02, 0.001), Some((3, 0)));
    assert_eq!(map.nearest(0.2, 0.9), Some((5, 2)));
}

/// The algorithms of a map that are below their limit, if a hop of the limit is so many times as long.
fn below(map: &Map, results: &Results, measure: Measure, hop: f64) -> Vec<String> {
    let mut found = Vec::new();
    for cell in map.cells() {
        let mut plan = map.plan(cell);
        (plan.send, plan.receive) = (plan.send * hop, plan.receive * hop);
        plan.transit = Span { mean: plan.transit.mean * hop, ..plan.transit };
        let [in_turn, any] = [Order::InTurn, Order::Any].map(|order| Limit::of(&plan, order, 1, 5).unwrap());
        for (contender, summary) in map.measured(results, cell) {
            let takes_turns = serves_in_turn(&contender, map.tokens);
            let limit = if takes_turns { in_turn } else { any };
            let (measured, limit) = match measure {
                Measure::Wait => (whole_wait(map, cell, summary, limit.wait), limit.wait),
                _ if !takes_turns => continue,
                _ => (measure.of(summary), limit.messages),
            };
            if is_below(measured, limit, map.seeds, 100) {
                found.push(format!("{}: {} < {} in {cell:?}", contender.short, measured.mean, limit.mean));
            }
        }
    }
    found
}

/// The limit holds for every algorithm in every cell, and it would not hold if it were a tenth higher.
#[test]
fn nothing_is_below_the_limit_and_some_touch_it() {
    let (rates, sections) = ([0.001, 0.01, 0.1, 1.0, 5.0], [0.0, 1.0, 10.0]);
    let (constant, varied) = (Shape::Constant, Shape::Exponential);
    let sizes = [
        (2, 1, constant),
        (12, 1, constant),
        (12, 3, constant),
        (12, 11, constant),
        (8, 1, varied),
        (8, 3, varied),
    ];
    for (nodes, tokens, delay) in sizes {
        let map = small(nodes, tokens, delay, &rates, &sections);
        let results = simulated(&map);
        for measure in [Measure::Wait, Measure::Messages] {
            assert_eq!(
                below(&map, &results, measure, 1.0),
                Vec::<String>::new(),
                "{}",
                map.setting_in_words()
            );
        }
        if delay == Shape::Constant && tokens == 1 {
            assert!(!below(&map, &results, Measure::Wait, 1.1).is_empty(), "{}", map.setting_in_words());
        }
    }
}

/// With two nodes and one token a request and the token are needed half of the time, and it takes no more.
#[test]
fn the_limit_of_messages_is_reached() {
    let map = small(2, 1, Shape::Constant, &[0.001], &[0.0]);
    let results = simulated(&map);
    let limit = Limit::of(&map.plan((0, 0)), Order::InTurn, 1, 5).unwrap().messages.mean;
    assert!((limit - 1.0).abs() < 0.15, "{limit}");
    let fewest = map.judge(&results, Measure::Messages, (0, 0)).unwrap().value.mean;
    assert!(fewest < 1.2 * limit, "{fewest} beside {limit}");
}

/// Every exhibit of maps draws all its points, also quickly.
#[test]
fn exhibits_draw() {
    let effort = Effort { seeds: 1, quick: true };
    for exhibit in exhibits() {
        let points = crate::results::distinct((exhibit.points)(&effort));
        let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
        let page = (exhibit.draw)(&effort, &Results::new(points, summaries));
        assert!(!page.parts.is_empty() && !page.claims.is_empty(), "{}", exhibit.id);
        for claim in &page.claims {
            assert!(!claim.found.contains("NaN") && !claim.found.contains("inf"), "{claim:?}");
        }
    }
}
