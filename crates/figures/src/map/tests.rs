//! Who is best is judged by means and their errors, and nothing is below the limit.

use simulator::limit;
use simulator::time::{Shape, Span};

use super::limits::{is_below, messages_limit};
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
    assert_eq!(map.measured(&results, (0, 0)).len(), 4);
    assert_eq!(map.nearest(1.0, 1.0), None);
    assert_eq!(map.nearest_groups(4, 1.0), Some((1, 1)));
    assert_eq!(map.nearest_groups(2, 0.0), Some((0, 0)));
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
    let limit = |cell: (usize, usize)| {
        let mut plan = map.plan(cell);
        (plan.send, plan.receive) = (plan.send * hop, plan.receive * hop);
        plan.transit = Span { mean: plan.transit.mean * hop, ..plan.transit };
        limit::least_wait(&plan, 1, 5).unwrap()
    };
    below_these(map, results, measure, &limit)
}

/// The same with other limits of the wait.
fn below_these(
    map: &Map,
    results: &Results,
    measure: Measure,
    limit: &dyn Fn((usize, usize)) -> Estimate,
) -> Vec<String> {
    let mut found = Vec::new();
    for cell in map.cells() {
        let least = limit(cell);
        for (contender, summary) in map.measured(results, cell) {
            let [wait, sent] =
                [Measure::Wait, Measure::Messages].map(|measure| map.value(measure, cell, summary));
            let (measured, limit) = match measure {
                Measure::Wait => (wait, Some(least)),
                _ => (sent, messages_limit(map, cell, &contender, wait)),
            };
            let Some(limit) = limit else { continue };
            if is_below(measured, limit, map.seeds, 100) {
                found.push(format!("{}: {} < {} in {cell:?}", contender.short, measured.mean, limit.mean));
            }
        }
    }
    found
}

/// Clients that ask again within a hop: a holder that enters again waits less than one that hands its token to the
/// client that has waited longest. So the wait of those that are served in turn is no limit; ours is.
#[test]
fn serving_in_turn_is_no_limit() {
    for tokens in [1, 2] {
        let mut map = small(3, tokens, Shape::Constant, &[1.0, 3.0, 10.0, 100.0], &[0.0, 10.0]);
        map.entries = 4000;
        let results = simulated(&map);
        for measure in [Measure::Wait, Measure::Messages] {
            assert_eq!(below(&map, &results, measure, 1.0), Vec::<String>::new(), "{tokens} tokens");
        }
        let in_turn = |cell| {
            let plan = map.plan(cell);
            let round = 3.0 / f64::from(tokens) * (plan.section.mean + 1.0);
            Estimate { mean: round - 1.0 / plan.rate - plan.section.mean, ..Estimate::default() }
        };
        let beaten = below_these(&map, &results, Measure::Wait, &in_turn);
        for column in [2, 3] {
            let forest =
                |line: &String| line.starts_with("forest") && line.ends_with(&format!("({column}, 0)"));
            assert!(beaten.iter().any(forest), "{beaten:?}");
        }
    }
}

/// The limit holds for every algorithm in every cell, and it would not hold if it were a tenth higher.
#[test]
fn nothing_is_below_the_limit_and_some_touch_it() {
    let (rates, sections) = ([0.001, 0.01, 0.1, 0.8, 5.0], [0.0, 1.0, 10.0]);
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
        if delay == Shape::Constant && nodes == 12 && tokens < 11 {
            assert!(!below(&map, &results, Measure::Wait, 1.1).is_empty(), "{}", map.setting_in_words());
        }
    }
}

/// At light load a node without the token needs one message at least, and the best needs two.
#[test]
fn the_limit_of_messages_is_nearly_reached() {
    let map = small(2, 1, Shape::Constant, &[0.001], &[0.0]);
    let results = simulated(&map);
    let fewest = map.judge(&results, Measure::Messages, (0, 0)).unwrap();
    let found = fewest.distance.unwrap();
    assert!((found.limit - 0.5).abs() < 0.01 && (1.8..2.4).contains(&found.times), "{found:?}");
    // A queue that is never empty: one message for each entry.
    let map = small(12, 1, Shape::Constant, &[0.5], &[1.0]);
    let results = simulated(&map);
    let found = map.judge(&results, Measure::Messages, (0, 0)).unwrap().ours.unwrap().2.unwrap();
    assert!((found.limit - 1.0).abs() < 0.03 && found.times >= 1.0, "{found:?}");
}

/// Each cell says how far its best and the best of ours are from the limit; nothing is known for groups.
#[test]
fn cells_know_their_distance() {
    let map = small(6, 1, Shape::Constant, &[0.001], &[0.0]);
    let results = simulated(&map);
    let drawn = map.drawn(&results, Measure::Wait, "");
    let cell = &drawn.cells[0][0];
    let (ours, value, distance) = cell.ours.clone().unwrap();
    let (best, own) = (cell.distance.unwrap(), distance.unwrap());
    assert_eq!((ours.as_str(), best.limit), ("forest", own.limit));
    assert!((own.times - value / own.limit).abs() < 1e-9 && best.times > 1.0 && own.times >= best.times);
    assert!(drawn.key().iter().any(|(short, _)| *short == cell.best) || cell.best == cell.label);
    let written = crate::csv::map(&drawn);
    let columns: Vec<usize> = written.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [14, 14], "{written}");
    let plane = Plane::Groups { groups: vec![2], skews: vec![0.0], rate: 0.1, section: 1.0 };
    let map = Map { plane, entries: 60, ..map };
    let judged = map.judge(&simulated(&map), Measure::Wait, (0, 0)).unwrap();
    assert!(judged.distance.is_none() && judged.ours.unwrap().0.short.starts_with("rooms"));
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
