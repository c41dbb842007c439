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

/// Reads a length of time: `500ms`, `10s`, `1.5m`, `1h30m`, `2d`; a number alone is in seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("'{text}' is not a length of time: write 500ms, 10s, 1h30m or 2d; 10 is 10 seconds");
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, from_unit) = rest.split_at(digits);
        let letters = from_unit.find(|letter: char| letter.is_ascii_digit()).unwrap_or(from_unit.len());
        let (unit, next) = from_unit.split_at(letters);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        seconds += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                "" if rest == text => 1.0,
                _ => return Err(wrong()),
            };
        rest = next;
    }
    if text.is_empty() {
        return Err(wrong());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("'{text}' is too long"))
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

    #[test]
    fn lengths_of_time() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("1m500ms"), Ok(Duration::from_millis(60_500)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "s", "10 s", "-1s", "1e400s", "1x", "1h30", "..5s", "1.2.3s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
