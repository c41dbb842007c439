//! How many threads a command may be told to use.

use clap::builder::RangedU64ValueParser;
use simulator::Point;

/// More are a mistake: each takes memory, and they do nothing but wait for each other.
const MOST: u64 = 256;

/// What `--threads` takes.
pub(crate) fn range() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MOST)
}

/// No more threads than there are runs of these points.
pub(crate) fn at_most(wanted: Option<usize>, points: &[Point]) -> Option<usize> {
    let runs = points.iter().fold(0, |runs: u64, point| runs.saturating_add(point.seeds));
    let runs = usize::try_from(runs).unwrap_or(usize::MAX).max(1);
    wanted.map(|wanted| wanted.min(runs))
}

#[cfg(test)]
mod tests {
    use simulator::Plan;

    use super::*;

    #[test]
    fn there_are_no_more_threads_than_runs() {
        let info = algorithms::registry::info("naimi-trehel").unwrap();
        let point = Point { algorithm: info.name.to_string(), plan: Plan::of(info), seed: 1, seeds: 3 };
        assert_eq!(at_most(Some(200), &[point.clone(), point.clone()]), Some(6));
        assert_eq!(at_most(Some(2), &[point.clone(), point]), Some(2));
        assert_eq!((at_most(Some(2), &[]), at_most(None, &[])), (Some(1), None));
    }
}
