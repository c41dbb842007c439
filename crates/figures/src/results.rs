//! The results of the simulation, by point.

use std::collections::{BTreeMap, BTreeSet};

use simulator::{Point, Summary};

/// Points and their results.
#[derive(Default)]
pub struct Results {
    /// By [`key`].
    summaries: BTreeMap<String, Summary>,
}

impl Results {
    /// These points with these results, in the same order.
    pub fn new(points: Vec<Point>, summaries: Vec<Summary>) -> Results {
        Results { summaries: points.into_iter().map(|point| key(&point)).zip(summaries).collect() }
    }

    /// The result of a point. An exhibit looks up only points that it has named.
    pub fn of(&self, point: &Point) -> &Summary {
        self.summaries.get(&key(point)).expect("an exhibit draws only what it asked to have simulated")
    }

    /// Whether there is a result of a point.
    pub fn has(&self, point: &Point) -> bool {
        self.summaries.contains_key(&key(point))
    }

    /// The violations in runs of these points, each in a line that says how to reproduce it.
    pub fn violations(&self, points: &[Point]) -> Vec<String> {
        let told = |point: &Point| {
            let (seed, violation) = self.of(point).violation.as_ref()?;
            let plan = &point.plan;
            let nodes = plan.setting.nodes;
            let some =
                |what: &str, count: u32| if count > 1 { format!(", {count} {what}") } else { String::new() };
            let (tokens, groups) = (some("tokens", plan.setting.tokens), some("groups", plan.setting.groups));
            let (name, rate) = (&point.algorithm, plan.rate);
            Some(format!("{name}, {nodes} nodes{tokens}{groups}, rate {rate}, seed {seed}: {violation}"))
        };
        points.iter().filter_map(told).collect()
    }
}

/// All requested points, each once, in the order of the first request.
pub fn distinct(points: impl IntoIterator<Item = Point>) -> Vec<Point> {
    let mut seen = BTreeSet::new();
    points.into_iter().filter(|point| seen.insert(key(point))).collect()
}

/// A text that differs for different points: it names every field, and writes numbers so that they read back
/// exactly.
fn key(point: &Point) -> String {
    format!("{point:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulator::Plan;

    fn point(rate: f64, seeds: u64) -> Point {
        let plan = Plan { rate, entries: 20, warmup: 0, ..Plan::default() };
        Point { algorithm: "bulgannawar-vaidya".to_string(), plan, seed: 1, seeds }
    }

    #[test]
    fn each_point_once_in_the_order_of_first_asking() {
        let asked =
            [point(2.0, 1), point(1.0, 1), point(2.0, 1), point(2.0, 2), point(0.1 + 0.2, 1), point(0.3, 1)];
        let wanted = [point(2.0, 1), point(1.0, 1), point(2.0, 2), point(0.1 + 0.2, 1), point(0.3, 1)];
        assert_eq!(distinct(asked), wanted);
    }

    #[test]
    fn results_are_found_by_their_point() {
        let points = vec![point(0.5, 1), point(5.0, 2)];
        let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
        let results = Results::new(points.clone(), summaries);
        assert_eq!(results.of(&points[0]).seeds, 1);
        assert_eq!(results.of(&points[1]).seeds, 2);
        assert!(results.violations(&points).is_empty());
    }

    #[test]
    fn a_violation_is_told_with_its_seed() {
        let mut bad = point(1.0, 1);
        bad.plan.setting.defect = Some("idle-grant-not-queued".to_string());
        bad.plan.setting.nodes = 6;
        bad.plan.entries = 2000;
        let summaries = simulator::batch::run_all(&[bad.clone()], &|_| ()).unwrap();
        let told = Results::new(vec![bad.clone()], summaries).violations(&[bad]);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("bulgannawar-vaidya, 6 nodes") && told[0].contains("seed 1: "),
            "{}",
            told[0]
        );
    }
}
