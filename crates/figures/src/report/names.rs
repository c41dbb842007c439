//! Names for the files and places of a report.

use std::collections::BTreeSet;

use crate::page::{Page, Part};

/// The name of each part's files, without extension. All names differ; the name of a text is not used.
pub(super) fn stems(id: &str, page: &Page) -> Vec<String> {
    let join = |suffix: &str| match suffix.trim_start_matches('-') {
        "" => id.to_string(),
        suffix => format!("{id}-{suffix}"),
    };
    let charts: BTreeSet<String> = page
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Chart(chart) => Some(join(chart.suffix)),
            Part::Map(map) => Some(join(&map.suffix)),
            _ => None,
        })
        .collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut stems = Vec::new();
    for part in &page.parts {
        let stem = match part {
            Part::Chart(chart) => join(chart.suffix),
            Part::Map(map) => join(&map.suffix),
            Part::Table(table) if charts.contains(&join(table.suffix)) => {
                format!("{}-table", join(table.suffix))
            }
            Part::Table(table) => join(table.suffix),
            Part::Text(_) => {
                stems.push(String::new());
                continue;
            }
        };
        let free = std::iter::once(stem.clone())
            .chain((2..).map(|number| format!("{stem}-{number}")))
            .find(|stem| !taken.contains(stem));
        let stem = free.unwrap_or(stem);
        taken.insert(stem.clone());
        stems.push(stem);
    }
    stems
}

/// The papers, as sources begin.
const PAPERS: &[(&str, &str)] = &[
    ("000", "K-Mutual Exclusion in Decentralized Systems (Cairo University, 2020)"),
    ("001", "S. G. Bulgannawar, A Distributed K-Mutual Exclusion Algorithm (thesis, Texas A&M, 1994)"),
    (
        "002",
        "A. S. Parihar and S. K. Chakraborty, A new resource sharing protocol in the light of token-based strategy for \
         distributed system (2023)",
    ),
    ("003", "S. Bulgannawar and N. H. Vaidya, A Distributed K-Mutual Exclusion Algorithm (ICDCS 1995)"),
    (
        "004",
        "A. Swaroop and A. K. Singh, A Fault Tolerant Token-based Algorithm for Group Mutual Exclusion in Distributed \
         Systems",
    ),
    ("ours", "Beyond the papers"),
];

/// The paper of a source, by its number, and its name.
pub(super) fn paper(source: &str) -> (&str, &str) {
    let number = source.split([' ', ',', ':']).next().unwrap_or(source);
    let known = PAPERS.iter().find(|(known, _)| *known == number);
    known.map_or((number, number), |(number, name)| (*number, *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Axis, Chart, Table};

    fn chart(suffix: &'static str) -> Part {
        let (title, x, y) = (String::new(), Axis::linear("x"), Axis::linear("y"));
        Part::Chart(Chart { suffix, title, x, y, series: Vec::new() })
    }

    fn table(suffix: &'static str) -> Part {
        Part::Table(Table { suffix, title: String::new(), columns: Vec::new(), rows: Vec::new() })
    }

    #[test]
    fn no_two_parts_share_a_file() {
        let text = Part::Text(String::new());
        let parts = vec![chart(""), text, chart("wait"), table(""), table("-rows"), chart("wait")];
        let page = Page { parts, claims: Vec::new() };
        assert_eq!(stems("demo", &page), ["demo", "", "demo-wait", "demo-table", "demo-rows", "demo-wait-2"]);
    }

    #[test]
    fn sources_lead_to_papers() {
        assert_eq!(paper("001 fig. 10").0, "001");
        assert_eq!(paper("ours").1, "Beyond the papers");
        assert_eq!(paper("elsewhere p. 3"), ("elsewhere", "elsewhere"));
    }
}
