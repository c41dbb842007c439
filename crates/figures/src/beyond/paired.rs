//! Runs from the same seeds, compared run by run: what they have in common does not blur the difference.

use simulator::{Estimate, Summary};

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

/// The t such that this share of Student's distribution with these degrees of freedom lies between −t and t.
fn student(share: f64, freedom: usize) -> f64 {
    if freedom == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e6);
    // Halving an interval of a million sixty times leaves nothing of it.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if share_within(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The share of Student's distribution between −t and t: the finite sums for whole degrees of freedom.
fn share_within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2;
    let (mut term, mut sum) = (if odd == 1 { cosine } else { 1.0 }, 0.0);
    for index in 1..=(freedom - odd) / 2 {
        sum += term;
        term *= cosine * cosine * (2 * index - 1 + odd) as f64 / (2 * index + odd) as f64;
    }
    if odd == 1 { (angle + sine * sum) * 2.0 / std::f64::consts::PI } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_as_in_printed_tables() {
        let table =
            [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 4, 2.776), (0.95, 19, 2.093), (0.999, 5, 6.869)];
        for (share, freedom, printed) in table {
            assert!((student(share, freedom) - printed).abs() < 0.001, "{share} {freedom}");
        }
        assert_eq!(student(0.95, 0), 0.0);
    }

    #[test]
    fn a_gap_is_better_or_worse_beyond_its_interval_only() {
        let gap = |mean| Gap { estimate: Estimate { mean, stderr: 1.0 }, seeds: 20 };
        assert!(gap(2.1).shown().ends_with("worse") && gap(-2.1).shown().ends_with("better"));
        assert_eq!(gap(2.0).shown(), "+2.000 ± 2.093");
        // Of many comparisons some are that far off by chance.
        assert!(gap(2.1).worse_among(1) && !gap(2.1).worse_among(100));
        assert!(gap(-9.0).better_among(100) && !gap(9.0).better_among(100));
    }
}
