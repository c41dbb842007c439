//! Hearts that beat, and a thread that misses them: how a process notices that a part of it hangs.
//!
//! A part that must not hang owns a [`Heart`] and beats it at least every [`BEAT`]. [`Watchdog::start`] looks at all hearts
//! from a thread of the operating system, outside of every runtime. Only ticks that come in time count: a machine that is starved,
//! a process that was stopped (SIGSTOP) or a laptop that slept delays the watchdog as well, and then it begins to count anew.
//!
//! A turn of the member may be long: a view change with a million names takes seconds, and threads that wait for the member do
//! not beat meanwhile. So their misses do not count while a turn lasts, and the heart of the member itself has a longer limit.

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
pub struct Hearts(Arc<All>);

#[derive(Default)]
struct All {
    hearts: Mutex<Vec<Weak<Beats>>>,
    /// A turn of a member lasts.
    turn: AtomicBool,
}

struct Beats {
    of: &'static str,
    /// It hangs if it has not beaten for so long.
    limit: Duration,
    /// It may have to wait for a turn of the member.
    waits: Waits,
    beaten: AtomicBool,
}

/// Whether a part may have to wait for a turn of the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Its misses do not count while a turn lasts.
    ForTurns,
    /// Its misses always count.
    ForNothing,
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
    /// The heart of a part that has this name. It hangs if it has not beaten for so long.
    pub fn heart(&self, of: &'static str, limit: Duration, waits: Waits) -> Heart {
        let heart = Arc::new(Beats { of, limit, waits, beaten: AtomicBool::new(true) });
        self.0.hearts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&heart));
        Heart(heart)
    }

    /// A turn of the member begins or ends: one store, without any order.
    pub(crate) fn turn(&self, lasts: bool) {
        self.0.turn.store(lasts, Ordering::Relaxed);
    }

    /// Those that are there.
    fn alive(&self) -> Vec<Arc<Beats>> {
        let mut hearts = self.0.hearts.lock().unwrap_or_else(PoisonError::into_inner);
        hearts.retain(|heart| heart.strong_count() > 0);
        hearts.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Counts missed beats.
pub struct Watchdog {
    hearts: Hearts,
    /// How many ticks each has missed.
    missed: Vec<(Weak<Beats>, u32)>,
}

impl Watchdog {
    /// Starts a thread that calls `stopped` once, when a heart has not beaten for as long as its limit.
    pub fn start(hearts: Hearts, stopped: impl FnOnce(Failure) + Send + 'static) -> io::Result<()> {
        let mut watchdog = Watchdog { hearts, missed: Vec::new() };
        let watch = move || {
            let mut last = Instant::now();
            loop {
                thread::sleep(TICK);
                let since = last.elapsed();
                last = Instant::now();
                if let Some((part, limit)) = watchdog.tick(since) {
                    return stopped(Failure::Hangs { part, limit });
                }
            }
        };
        thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
    }

    /// Looks at all hearts, so long after the last time. Returns which has stopped, and its limit.
    fn tick(&mut self, since: Duration) -> Option<(&'static str, Duration)> {
        let late = since > TICK + LATE;
        let turn = self.hearts.0.turn.load(Ordering::Relaxed);
        let before = std::mem::take(&mut self.missed);
        let mut stopped = None;
        for heart in self.hearts.alive() {
            let weak = Arc::downgrade(&heart);
            let missed =
                before.iter().find(|(other, _)| other.ptr_eq(&weak)).map_or(0, |(_, missed)| *missed);
            let beaten = heart.beaten.swap(false, Ordering::Relaxed);
            let excused = late || turn && heart.waits == Waits::ForTurns;
            let missed = if beaten || excused { 0 } else { missed + 1 };
            if TICK * missed >= heart.limit {
                stopped = Some((heart.of, heart.limit));
            }
            self.missed.push((weak, missed));
        }
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watchdog() -> (Hearts, Watchdog) {
        let hearts = Hearts::default();
        (hearts.clone(), Watchdog { hearts, missed: Vec::new() })
    }

    #[test]
    fn a_heart_that_stops_is_missed_after_ten_ticks() {
        let (hearts, mut watchdog) = watchdog();
        let heart = |of| hearts.heart(of, SECOND, Waits::ForNothing);
        let (one, _other) = (heart("one"), heart("other"));
        for _ in 0..10 {
            one.beat();
            assert_eq!(watchdog.tick(TICK), None);
        }
        one.beat();
        assert_eq!(watchdog.tick(TICK), Some(("other", SECOND)));
    }

    #[test]
    fn a_late_tick_says_nothing() {
        let (hearts, mut watchdog) = watchdog();
        let _heart = hearts.heart("one", SECOND, Waits::ForNothing);
        for tick in 0..1000 {
            let since = if tick % 10 == 0 { TICK * 2 } else { TICK };
            assert_eq!(watchdog.tick(since), None, "{tick}");
        }
    }

    #[test]
    fn a_long_turn_excuses_those_that_wait_for_it_but_not_for_ever() {
        let (hearts, mut watchdog) = watchdog();
        let _runtime = hearts.heart("runtime", SECOND, Waits::ForTurns);
        let _member = hearts.heart("member", 3 * SECOND, Waits::ForNothing);
        hearts.turn(true);
        assert!((0..30).all(|_| watchdog.tick(TICK).is_none()));
        assert_eq!(watchdog.tick(TICK), Some(("member", 3 * SECOND)));
    }

    #[test]
    fn a_heart_that_is_dropped_is_not_missed() {
        let (hearts, mut watchdog) = watchdog();
        let heart = hearts.heart("one", SECOND, Waits::ForNothing);
        (0..9).for_each(|_| _ = watchdog.tick(TICK));
        drop(heart);
        assert!((0..20).all(|_| watchdog.tick(TICK).is_none()));
    }
}
