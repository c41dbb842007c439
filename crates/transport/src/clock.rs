//! The clock that promises are counted on: it also counts time asleep, because a promise runs out while a laptop or a
//! virtual machine sleeps.
//!
//! A build with the feature `faults` can be given a clock that runs wrong, to see what comes of it: `tokenwood ordeal` does so.
//! The machine's own clock is never touched.

#[cfg(feature = "faults")]
use std::sync::OnceLock;
#[cfg(any(feature = "faults", test))]
use std::time::Duration;

use service::Time;

/// How the clock of this process runs wrong: `RATE`, or `RATE,STEP@AFTER` with both in seconds. `1.08` is 8 %
/// too fast, `1,-2@5` goes back by two seconds when the process is five seconds old. Only builds with the
/// feature `faults` read it.
pub const FAKE: &str = "TOKENWOOD_FAKE_CLOCK";

/// Now, as this process sees it.
#[cfg(not(feature = "faults"))]
pub fn now() -> Time {
    machine_now()
}

/// Now, as this process sees it.
#[cfg(feature = "faults")]
pub fn now() -> Time {
    static FAKED: OnceLock<Option<(Fake, Time)>> = OnceLock::new();
    let faked = FAKED.get_or_init(|| {
        let text = std::env::var(FAKE).ok().filter(|text| !text.is_empty())?;
        // A test of a wrong clock must not go on with a right one.
        let fake = Fake::read(&text).unwrap_or_else(|| panic!("{FAKE}: '{text}' is no RATE[,STEP@AFTER]"));
        Some((fake, machine_now()))
    });
    match faked {
        None => machine_now(),
        Some((fake, begun)) => fake.shown(*begun, machine_now()),
    }
}

/// Now, by the clock that all processes of the machine share, however wrong this one's runs.
pub fn machine_now() -> Time {
    let time = rustix::time::clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Time(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// A clock that runs wrong.
#[cfg(any(feature = "faults", test))]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fake {
    rate: f64,
    step_seconds: f64,
    after: Duration,
}

#[cfg(any(feature = "faults", test))]
impl Fake {
    fn read(text: &str) -> Option<Fake> {
        let (rate, step) = text.split_once(',').unwrap_or((text, "0@0"));
        let (step, after) = step.split_once('@')?;
        let (rate, step_seconds): (f64, f64) = (rate.parse().ok()?, step.parse().ok()?);
        let after = Duration::try_from_secs_f64(after.parse().ok()?).ok()?;
        (rate > 0.0 && rate.is_finite() && step_seconds.is_finite()).then_some(Fake {
            rate,
            step_seconds,
            after,
        })
    }

    /// What it shows at this moment, if it was right at the beginning.
    fn shown(&self, begun: Time, now: Time) -> Time {
        let passed = now - begun;
        let step = if passed >= self.after { self.step_seconds } else { 0.0 };
        let wrong = (begun.0 as f64) + passed.as_secs_f64().mul_add(self.rate, step) * 1e9;
        Time(wrong.max(0.0) as u64)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
/// Elsewhere the plain clock counts time asleep, or nothing does.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_wrong_clock_is_wrong_as_it_was_told() {
        let begun = Time(100 * SECOND);
        let shown = |text: &str, seconds: u64| {
            Fake::read(text).unwrap().shown(begun, Time(begun.0 + seconds * SECOND)).0 / 1000 * 1000
        };
        assert_eq!(shown("1.5", 10), 115 * SECOND);
        assert_eq!(shown("0.5", 10), 105 * SECOND);
        assert_eq!(shown("1,-2@5", 4), 104 * SECOND);
        assert_eq!(shown("1,-2@5", 5), 103 * SECOND);
        assert_eq!(shown("1,60@5", 6), 166 * SECOND);
        for text in ["", "fast", "0", "-1", "1,5", "1,5@", "1,5@-1", "inf"] {
            assert_eq!(Fake::read(text), None, "{text}");
        }
    }
}
