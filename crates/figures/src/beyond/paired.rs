//! Runs from the same seeds, compared run by run: what they have in common does not blur the difference.

use simulator::{Estimate, Summary};

use crate::compare::student;

/// How two instantiations differ at one point: negative means that the first is better.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) wait: Gap,
    pub(super) messages: Gap,
}

/// A difference, and its confidence interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) estimate: Estimate,
    seeds: usize,
}

impl Difference {
    pub(super) fn between(ours: &Summary, theirs: &Summary) -> Difference {
        let gap = |value: fn(&(f64, f64)) -> f64| {
            let pairs = ours.by_seed.iter().zip(&theirs.by_seed);
            let values: Vec<f64> = pairs.map(|(ours, theirs)| value(ours) - value(theirs)).collect();
            Gap { estimate: Estimate::of(&values), seeds: values.len() }
        };
        Difference { wait: gap(|run| run.0), messages: gap(|run| run.1) }
    }

    pub(super) fn gaps(&self) -> [Gap; 2] {
        [self.wait, self.messages]
    }
}

impl Gap {
    /// Half the width of the 95 % interval.
    fn margin(&self) -> f64 {
        self.margin_at(0.95)
    }

    /// Half the width of the interval with this confidence.
    fn margin_at(&self, confidence: f64) -> f64 {
        student(confidence, self.seeds.saturating_sub(1)) * self.estimate.stderr
    }

    /// Whether it is better, with 95 % confidence.
    pub(super) fn better(&self) -> bool {
        -self.estimate.mean > self.margin()
    }

    /// Whether it is worse, with 95 % confidence that none of this many comparisons says so by chance.
    pub(super) fn worse_among(&self, comparisons: usize) -> bool {
        self.estimate.mean > self.margin_at(1.0 - 0.1 / comparisons.max(1) as f64)
    }

    /// The same for better.
    pub(super) fn better_among(&self, comparisons: usize) -> bool {
        -self.estimate.mean > self.margin_at(1.0 - 0.1 / comparisons.max(1) as f64)
    }

    /// The difference with its 95 % interval, marked where the interval excludes zero.
    pub(super) fn shown(&self) -> String {
        let (mean, margin) = (self.estimate.mean, self.margin());
        let mark = match mean {
            _ if mean > margin => " worse",
            _ if self.better() => " better",
            _ => "",
        };
        format!("{mean:+.3} ± {margin:.3}{mark}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_better_or_worse_beyond_its_interval_only() {
        let gap = |mean| Gap { estimate: Estimate { mean, stderr: 1.0, values: 20 }, seeds: 20 };
        assert!(gap(2.1).shown().ends_with("worse") && gap(-2.1).shown().ends_with("better"));
        assert_eq!(gap(2.0).shown(), "+2.000 ± 2.093");
        // Of many comparisons some are that far off by chance.
        assert!(gap(2.1).worse_among(1) && !gap(2.1).worse_among(100));
        assert!(gap(-9.0).better_among(100) && !gap(9.0).better_among(100));
    }
}
