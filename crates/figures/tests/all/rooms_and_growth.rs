//! The exhibits of text 004 and of growth: they draw small results, and every number is finite.

use figures::page::Part;
use figures::{Effort, Exhibit, Page, Results, Verdict, group_mutex, growth, results};
use simulator::{Point, Summary};

const TINY: Effort = Effort { seeds: 1, quick: true };

fn all() -> Vec<Exhibit> {
    [group_mutex::exhibits(), growth::exhibits()].concat()
}

/// A small result of a point: a few entries of a system of at most a hundred nodes. A run in which a certain message
/// is lost is short, and has to be long enough for that message.
fn taste(point: &Point) -> Summary {
    let mut small = point.clone();
    if !small.plan.faults.lose.is_empty() {
        return small.run().unwrap();
    }
    (small.plan.entries, small.plan.warmup) = (40, 0);
    small.plan.setting.nodes = small.plan.setting.nodes.min(100);
    small.plan.setting.tokens = small.plan.setting.tokens.min(small.plan.setting.nodes);
    small.run().unwrap()
}

fn draw(exhibit: &Exhibit) -> Page {
    let points = results::distinct((exhibit.points)(&TINY));
    let summaries = points.iter().map(taste).collect();
    (exhibit.draw)(&TINY, &Results::new(points, summaries))
}

#[test]
fn names_are_unique() {
    let mut ids: Vec<&str> = all().iter().map(|exhibit| exhibit.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn every_exhibit_draws_finite_numbers() {
    for exhibit in all() {
        let page = draw(&exhibit);
        assert!(!page.parts.is_empty() && !page.claims.is_empty(), "{}", exhibit.id);
        let mut suffixes = Vec::new();
        for part in &page.parts {
            match part {
                Part::Chart(chart) => {
                    suffixes.push(chart.suffix);
                    for series in &chart.series {
                        assert!(!series.dots.is_empty(), "{}: {}", exhibit.id, series.label);
                        for dot in &series.dots {
                            let finite = dot.x.is_finite() && dot.y.is_finite() && dot.error.is_finite();
                            assert!(finite, "{}: {} {dot:?}", exhibit.id, series.label);
                        }
                    }
                }
                Part::Table(table) => {
                    suffixes.push(table.suffix);
                    let even = table.rows.iter().all(|row| row.len() == table.columns.len());
                    assert!(even && !table.rows.is_empty(), "{}: {}", exhibit.id, table.title);
                }
                Part::Map(map) => assert!(!map.cells.is_empty()),
                Part::Text(text) => assert!(!text.is_empty()),
            }
        }
        let count = suffixes.len();
        suffixes.sort_unstable();
        suffixes.dedup();
        assert_eq!(suffixes.len(), count, "{}: files of the same name", exhibit.id);
    }
}

#[test]
fn every_point_is_one_that_can_be_run() {
    for effort in [TINY, Effort { seeds: 20, quick: false }] {
        for exhibit in all() {
            for point in (exhibit.points)(&effort) {
                point.validate().unwrap_or_else(|why| panic!("{}: {why}", exhibit.id));
            }
        }
    }
}

#[test]
fn table_1_is_as_printed() {
    let table = all().into_iter().find(|exhibit| exhibit.id == "rooms-table-1").unwrap();
    let page = draw(&table);
    assert_eq!(page.claims[0].verdict, Verdict::Reproduces, "{}", page.claims[0].found);
}

/// Runs in which one message is lost are short: they are made as they are.
#[test]
fn a_loss_costs_what_the_report_says() {
    let verdicts = |id: &str| -> Vec<Verdict> {
        let exhibit = all().into_iter().find(|exhibit| exhibit.id == id).unwrap();
        let points = results::distinct((exhibit.points)(&TINY));
        let summaries = points.iter().map(|point| point.run().unwrap()).collect();
        let page = (exhibit.draw)(&TINY, &Results::new(points, summaries));
        page.claims.into_iter().map(|claim| claim.verdict).collect()
    };
    let message = verdicts("rooms-lost-message");
    assert_eq!(message[..4], vec![Verdict::Reproduces; 4]);
    assert_eq!(message[4..], [Verdict::Differs("by choice: here they start it, too".to_string())]);
    let on_the_wire = |what: &str| Verdict::Differs(format!("on the wire it is {what}"));
    assert_eq!(verdicts("rooms-lost-token"), [on_the_wire("n"), on_the_wire("at most 2n - 1")]);
}
