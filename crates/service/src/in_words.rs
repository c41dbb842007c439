//! Lengths of time as people write them, for messages.

use std::fmt;
use std::time::Duration;

/// Prints `500 ms`, `1.5 s`, `10 min`, `1 h 30 min` or `7 d`. What is shorter than a millisecond is rounded
/// away, unless it is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InWords(pub Duration);

impl fmt::Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let millis = (nanos + 500_000) / 1_000_000;
        match (nanos, millis) {
            (0, _) => f.write_str("0 s"),
            (1..1_000, _) => write!(f, "{nanos} ns"),
            (..1_000_000, _) => write!(f, "{} µs", nanos / 1_000),
            (_, ..1_000) => write!(f, "{millis} ms"),
            (_, ..60_000) => seconds(f, millis),
            _ => parts(f, millis),
        }
    }
}

/// At most three digits behind the point, and none that says nothing.
fn seconds(f: &mut fmt::Formatter<'_>, millis: u128) -> fmt::Result {
    let digits = format!("{}.{:03}", millis / 1_000, millis % 1_000);
    write!(f, "{} s", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn parts(f: &mut fmt::Formatter<'_>, millis: u128) -> fmt::Result {
    let mut left = millis;
    let mut space = "";
    for (length, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min")] {
        if left >= length {
            write!(f, "{space}{} {unit}", left / length)?;
            left %= length;
            space = " ";
        }
    }
    match left {
        0 => Ok(()),
        left => {
            f.write_str(space)?;
            seconds(f, left)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_for_people() {
        for (nanos, words) in [
            (0, "0 s"),
            (7, "7 ns"),
            (33_333, "33 µs"),
            (500_000_000, "500 ms"),
            (999_999_999, "1 s"),
            (1_500_000_000, "1.5 s"),
            (3_000_400_000, "3 s"),
            (10_020_000_000, "10.02 s"),
            (600_000_000_000, "10 min"),
            (61_500_000_000, "1 min 1.5 s"),
            (5_400_000_000_000, "1 h 30 min"),
            (86_400_000_000_000, "1 d"),
            (604_800_000_000_000, "7 d"),
        ] {
            assert_eq!(InWords(Duration::from_nanos(nanos)).to_string(), words);
        }
    }
}
