//! Hearts that beat, and a thread that misses them: how a process notices that a part of it hangs.
//!
//! A part that must not hang owns a [`Heart`] and beats it at least every [`BEAT`]. [`Watchdog::start`] looks at all hearts
//! from a thread of the operating system, outside of every runtime. Only ticks that come in time count: a machine that is starved,
//! a process that was stopped (SIGSTOP) or a laptop that slept delays the watchdog as well, and then it begins to count anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::failure::Failure;

/// How often a heart should beat.
pub const BEAT: Duration = Duration::from_millis(50);
/// How often the watchdog looks.
const TICK: Duration = Duration::from_millis(100);
/// A tick that comes so much later than it should says nothing about hearts.
const LATE: Duration = Duration::from_millis(50);

/// All hearts of a process. Clones are the same.
#[derive(Clone, Default)]
pub struct Hearts(Arc<Mutex<Vec<Weak<Beats>>>>);

struct Beats {
    of: &'static str,
    beaten: AtomicBool,
}

/// One heart. A part that ends in good order drops it.
pub struct Heart(Arc<Beats>);

impl Heart {
    /// Says that this part is alive: one store, without any order.
    pub fn beat(&self) {
        self.0.beaten.store(true, Ordering::Relaxed);
    }
}

impl Hearts {
    /// The heart of a part that has this name.
    pub fn heart(&self, of: &'static str) -> Heart {
        let heart = Arc::new(Beats { of, beaten: AtomicBool::new(true) });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&heart));
        Heart(heart)
    }

    /// Those that are there.
    fn alive(&self) -> Vec<Arc<Beats>> {
        let mut hearts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hearts.retain(|heart| heart.strong_count() > 0);
        hearts.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Counts missed beats.
pub struct Watchdog {
    hearts: Hearts,
    /// A heart that misses so many ticks in a row has stopped.
    most_missed: u32,
    /// How many ticks each has missed.
    missed: Vec<(Weak<Beats>, u32)>,
}

impl Watchdog {
    /// Starts a thread that calls `stopped` once, when a heart has not beaten for so long.
    pub fn start(
        hearts: Hearts,
        limit: Duration,
        stopped: impl FnOnce(Failure) + Send + 'static,
    ) -> io::Result<()> {
        let mut watchdog = Watchdog::new(hearts, limit);
        let watch = move || {
            let mut last = Instant::now();
            loop {
                thread::sleep(TICK);
                let since = last.elapsed();
                last = Instant::now();
                if let Some(part) = watchdog.tick(since) {
                    return stopped(Failure::Hangs { part, limit });
                }
            }
        };
        thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
    }

    fn new(hearts: Hearts, limit: Duration) -> Watchdog {
        let most_missed = limit.as_millis().div_ceil(TICK.as_millis());
        Watchdog { hearts, most_missed: u32::try_from(most_missed).unwrap_or(u32::MAX), missed: Vec::new() }
    }

    /// Looks at all hearts, so long after the last time. Returns whose has stopped.
    fn tick(&mut self, since: Duration) -> Option<&'static str> {
        let late = since > TICK + LATE;
        let before = std::mem::take(&mut self.missed);
        let mut stopped = None;
        for heart in self.hearts.alive() {
            let weak = Arc::downgrade(&heart);
            let missed =
                before.iter().find(|(other, _)| other.ptr_eq(&weak)).map_or(0, |(_, missed)| *missed);
            let beaten = heart.beaten.swap(false, Ordering::Relaxed);
            let missed = if beaten || late { 0 } else { missed + 1 };
            if missed >= self.most_missed {
                stopped = Some(heart.of);
            }
            self.missed.push((weak, missed));
        }
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watchdog() -> (Hearts, Watchdog) {
        let hearts = Hearts::default();
        (hearts.clone(), Watchdog::new(hearts, Duration::from_secs(1)))
    }

    #[test]
    fn a_heart_that_stops_is_missed_after_ten_ticks() {
        let (hearts, mut watchdog) = watchdog();
        let (one, _other) = (hearts.heart("one"), hearts.heart("other"));
        for _ in 0..10 {
            one.beat();
            assert_eq!(watchdog.tick(TICK), None);
        }
        one.beat();
        assert_eq!(watchdog.tick(TICK), Some("other"));
    }

    #[test]
    fn a_late_tick_says_nothing() {
        let (hearts, mut watchdog) = watchdog();
        let _heart = hearts.heart("one");
        for tick in 0..1000 {
            let since = if tick % 10 == 0 { TICK * 2 } else { TICK };
            assert_eq!(watchdog.tick(since), None, "{tick}");
        }
    }

    #[test]
    fn a_heart_that_is_dropped_is_not_missed() {
        let (hearts, mut watchdog) = watchdog();
        let heart = hearts.heart("one");
        (0..9).for_each(|_| _ = watchdog.tick(TICK));
        drop(heart);
        assert!((0..20).all(|_| watchdog.tick(TICK).is_none()));
    }
}
