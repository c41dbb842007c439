//! Ours: the three decision mechanisms that the thesis leaves as future work (001 ch. IV sec. C, ch. VII; 003
//! sec. 5): which token to ask for, how many nodes to inform and when, and which ones.

mod everywhere;
mod paired;
mod processors;
mod sites;
mod topologies;
mod tuning;
mod uneven_start;

use simulator::time::Span;
use simulator::{Plan, Point};

use crate::{Effort, Exhibit};

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    vec![
        tuning::EXHIBIT,
        uneven_start::EXHIBIT,
        everywhere::EXHIBIT,
        processors::MULTICAST,
        processors::SLOW,
        topologies::TOPOLOGIES,
        topologies::OWN_TREE,
        sites::EXHIBIT,
    ]
}

const RATES: [f64; 11] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

/// An instantiation of the decisions, with its name in the report.
#[derive(Clone, Copy)]
struct Instance {
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const RANDOM: Instance =
    Instance { name: "random, informs 2 (published)", options: &[("choose", "random"), ("inform", "2")] };
const LAST_SEEN: Instance = Instance {
    name: "last seen, informs 2 (published)",
    options: &[("choose", "last-seen"), ("inform", "2")],
};
const FROZEN: Instance = Instance { name: "last seen, informs nobody", options: &[("choose", "last-seen")] };
const BALANCED: Instance = Instance { name: "balanced", options: &[("tuning", "balanced")] };

/// An algorithm with its options, as a curve or a row.
#[derive(Clone, Copy, PartialEq)]
struct Contender {
    label: &'static str,
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const fn plain(name: &'static str) -> Contender {
    Contender { label: name, name, options: &[] }
}

/// The algorithm of the texts as their figures have it.
const PROPOSED: Contender = Contender {
    label: "bulgannawar-vaidya, last seen, informs 2",
    name: "bulgannawar-vaidya",
    options: LAST_SEEN.options,
};
/// The same with the defaults.
const SILENT: Contender =
    Contender { label: "bulgannawar-vaidya, random, informs nobody", ..plain("bulgannawar-vaidya") };
const RAYMOND: Contender = plain("raymond-k");
const SRIMANI: Contender = plain("srimani-reddy");

/// The model of the thesis at this rate, with this instantiation.
fn point(effort: &Effort, instance: Instance, rate: f64) -> Point {
    // Fewer entries than this would show little more than the initial state.
    let entries = effort.entries(5000).max(2000);
    let mut plan = Plan { rate, entries, warmup: 500, ..Plan::default() };
    plan.setting = plan.setting.with(instance.options);
    Point { algorithm: "bulgannawar-vaidya".to_string(), plan, seed: 1, seeds: effort.seeds }
}

/// The delays and the length of the critical section of a series of figures of the thesis.
#[derive(Clone, Copy, PartialEq)]
struct Times {
    /// Ts and Tr.
    handling: f64,
    /// Tt.
    transit: f64,
    /// E.
    section: f64,
}

impl Times {
    const ALL: [Times; 6] = [
        Times { handling: 0.1, transit: 0.8, section: 0.0002 },
        Times { handling: 0.05, transit: 0.9, section: 0.0002 },
        Times { handling: 0.0, transit: 1.0, section: 0.0002 },
        Times { handling: 0.1, transit: 0.8, section: 1.0 },
        Times { handling: 0.05, transit: 0.9, section: 1.0 },
        Times { handling: 0.0, transit: 1.0, section: 1.0 },
    ];

    fn applied_to(self, mut point: Point) -> Point {
        (point.plan.send, point.plan.receive) = (self.handling, self.handling);
        (point.plan.transit, point.plan.section) =
            (Span::constant(self.transit), Span::constant(self.section));
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Page, Part, Results};

    fn page(exhibit: &Exhibit, effort: &Effort) -> Page {
        let points = (exhibit.points)(effort);
        let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
        assert!(summaries.iter().all(|summary| summary.violation.is_none()));
        (exhibit.draw)(effort, &Results::new(points, summaries))
    }

    /// Every exhibit draws all its points, also from a single seed.
    #[test]
    fn exhibits_draw() {
        for exhibit in exhibits() {
            let page = page(&exhibit, &Effort { seeds: 1, quick: true });
            assert!(!page.claims.is_empty(), "{}", exhibit.id);
            for part in &page.parts {
                match part {
                    Part::Chart(chart) => {
                        assert!(chart.series.iter().all(|series| series.dots.len() == 5), "{}", chart.title);
                    }
                    Part::Table(table) => {
                        assert!(!table.rows.is_empty());
                        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
                    }
                    Part::Map(map) => assert!(!map.cells.is_empty()),
                    Part::Text(text) => assert!(!text.contains('\n'), "a line break makes a listing"),
                }
            }
        }
    }

    /// At light load, where the published ones spend two messages on INFORM, ours is better than both in both
    /// respects, and it does not depend on a lucky start.
    #[test]
    fn balanced_beats_both_at_light_load() {
        let effort = Effort { seeds: 3, quick: false };
        let run = |instance: Instance, first: &str| {
            let mut point = point(&effort, instance, 0.05);
            point.plan.setting.options.push(("first".to_string(), first.to_string()));
            point.run().unwrap()
        };
        for first in ["spread", "same"] {
            let ours = run(BALANCED, first);
            for published in [RANDOM, LAST_SEEN] {
                let theirs = run(published, first);
                let (wait, messages) = (ours.time_to_enter.mean, ours.messages_per_entry.mean);
                assert!(wait < 0.98 * theirs.time_to_enter.mean, "{first} {}: {wait}", published.name);
                assert!(
                    messages < 0.75 * theirs.messages_per_entry.mean,
                    "{first} {}: {messages}",
                    published.name
                );
            }
        }
        // Without INFORM everything depends on the initial state.
        let (lucky, unlucky) = (run(FROZEN, "spread"), run(FROZEN, "same"));
        assert!(unlucky.time_to_enter.mean > 2.0 * lucky.time_to_enter.mean);
    }
}
