//! All exhibits of texts 000 and 002, with little effort: they can be drawn, and the numbers make sense.

use figures::{Claim, Effort, Exhibit, Page, Part, Results, Verdict, exhibits, results};

const LITTLE: Effort = Effort { seeds: 1, quick: true };

fn of_these_texts() -> Vec<Exhibit> {
    let ours = |exhibit: &Exhibit| exhibit.id.starts_with("collectors-") || exhibit.id.starts_with("tree-");
    exhibits().into_iter().filter(ours).collect()
}

fn drawn(exhibits: &[Exhibit]) -> Vec<Page> {
    let points = results::distinct(exhibits.iter().flat_map(|exhibit| (exhibit.points)(&LITTLE)));
    let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
    for (point, summary) in points.iter().zip(&summaries) {
        assert!(summary.violation.is_none(), "{}: {:?}", point.algorithm, summary.violation);
    }
    let results = Results::new(points, summaries);
    exhibits.iter().map(|exhibit| (exhibit.draw)(&LITTLE, &results)).collect()
}

fn check(id: &str, page: &Page) {
    assert!(!page.parts.is_empty() && !page.claims.is_empty(), "{id} shows nothing");
    for claim in page.claims.iter().filter(|claim| claim.verdict != Verdict::Reproduces) {
        assert!(!claim.reason.is_empty(), "{id} does not say why: {}", claim.says);
    }
    for part in &page.parts {
        match part {
            Part::Chart(chart) => {
                assert!(!chart.series.is_empty(), "{id}");
                for series in &chart.series {
                    assert!(!series.dots.is_empty(), "{id}: {}", series.label);
                    assert!(series.dots.is_sorted_by(|a, b| a.x < b.x), "{id}: {}", series.label);
                    let sound = |value: f64| value.is_finite() && value >= 0.0;
                    assert!(
                        series.dots.iter().all(|dot| sound(dot.y) && sound(dot.error)),
                        "{id}: {}",
                        series.label
                    );
                }
            }
            Part::Table(table) => {
                assert!(
                    table.rows.iter().all(|row| row.len() == table.columns.len()),
                    "{id}: {}",
                    table.title
                );
                assert!(
                    table.rows.iter().flatten().all(|cell| !cell.contains("NaN")),
                    "{id}: {}",
                    table.title
                );
            }
            Part::Map(map) => assert!(!map.cells.is_empty()),
            Part::Text(text) => assert!(!text.is_empty()),
        }
    }
    for claim in &page.claims {
        assert!(!claim.says.is_empty() && !claim.found.is_empty(), "{id}: {claim:?}");
        assert!(!claim.found.contains("NaN") && !claim.found.contains("inf"), "{id}: {claim:?}");
    }
}

fn claim<'p>(exhibits: &[Exhibit], pages: &'p [Page], id: &str, says: &str) -> &'p Claim {
    let place = exhibits.iter().position(|exhibit| exhibit.id == id).unwrap();
    pages[place].claims.iter().find(|claim| claim.says.contains(says)).unwrap()
}

#[test]
fn everything_can_be_drawn_and_the_verdicts_are_what_was_found_before() {
    let exhibits = of_these_texts();
    let pages = drawn(&exhibits);
    for (exhibit, page) in exhibits.iter().zip(&pages) {
        check(exhibit.id, page);
    }
    let verdict = |id, says| claim(&exhibits, &pages, id, says).verdict.clone();
    assert_eq!(verdict("collectors-4", "the time falls"), Verdict::Reproduces);
    assert_eq!(verdict("collectors-5", "messages falls"), Verdict::DoesNot);
    assert_eq!(verdict("collectors-11", "Chaudhuri–Edward: messages"), Verdict::Reproduces);
    assert_eq!(verdict("collectors-cost", "O(√n)"), Verdict::DoesNot);
    assert_eq!(verdict("tree-20", "the series (6)"), Verdict::Reproduces);
    assert!(matches!(verdict("tree-20", "everybody asks: 6["), Verdict::Differs(_)));
    assert_eq!(verdict("tree-medium", "one node of each level"), Verdict::Reproduces);
    assert_eq!(verdict("tree-table-2", "Lamport: 3(N − 1) messages at heavy"), Verdict::Reproduces);
    assert_eq!(verdict("tree-table-2", "if all attempt at once and once"), Verdict::Reproduces);
}

#[test]
fn the_wanted_figures_are_there_and_no_name_is_used_twice() {
    let mut ids: Vec<&str> = exhibits().iter().map(|exhibit| exhibit.id).collect();
    for number in 4..=15 {
        assert!(ids.contains(&format!("collectors-{number}").as_str()), "figure {number}");
    }
    for id in ["collectors-cost", "tree-19", "tree-20", "tree-medium", "tree-table-2"] {
        assert!(ids.contains(&id), "{id}");
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}
