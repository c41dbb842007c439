//! Rates: differences of what nodes have counted, never guesses.

use std::time::{Duration, Instant};

/// What was counted, and how much of it in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    at: Instant,
    count: u64,
    /// Unknown until there are two answers of the same incarnation.
    pub(super) per_second: Option<f64>,
}

/// Two answers that are closer to each other than this say little: the first of them stays.
const SHORTEST: Duration = Duration::from_millis(50);

impl Rate {
    /// The first that is known of it.
    pub(super) fn first(count: u64, at: Instant) -> Rate {
        Rate { at, count, per_second: None }
    }

    /// So much was counted by now; `counted` says for how long the node has counted, if not since the time before.
    pub(super) fn then(self, count: u64, at: Instant, counted: Option<Duration>) -> Rate {
        let passed = at.saturating_duration_since(self.at);
        if passed < SHORTEST {
            return self;
        }
        // It was forgotten and counted anew: all of it is new.
        let is_new = count < self.count || counted.is_some_and(|counted| counted < passed / 2);
        let more = if is_new { count } else { count - self.count };
        Rate { at, count, per_second: Some(more as f64 / passed.as_secs_f64()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_difference_of_two_counts() {
        let begin = Instant::now();
        let after = |seconds: f64| begin + Duration::from_secs_f64(seconds);
        let first = Rate::first(100, begin);
        assert_eq!(first.per_second, None);
        let second = first.then(150, after(2.0), Some(Duration::from_secs(60)));
        assert_eq!(second.per_second, Some(25.0));
        assert_eq!(second.then(151, after(2.01), None), second, "too close to say anything");
        assert_eq!(second.then(150, after(3.0), None).per_second, Some(0.0));
    }

    #[test]
    fn what_was_counted_anew_is_not_a_difference() {
        let begin = Instant::now();
        let first = Rate::first(100, begin);
        let at = begin + Duration::from_secs(10);
        assert_eq!(first.then(40, at, None).per_second, Some(4.0), "less than before");
        let anew = first.then(200, at, Some(Duration::from_secs(1)));
        assert_eq!(anew.per_second, Some(20.0), "counted for less time than has passed");
    }
}
