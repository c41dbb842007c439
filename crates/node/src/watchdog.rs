//! Hearts that beat, and a thread that misses them: how a process notices that a part of it hangs.
//!
//! A part that must not hang owns a [`Heart`] and beats it at least every [`BEAT`]. [`Watchdog::start`] looks
//! at all hearts from a thread of the operating system, outside of every runtime. Only ticks that come in
//! time count: a starved machine, a process that was stopped (SIGSTOP) or a laptop that slept delays the
//! watchdog as well, and then it starts counting again.
//!
//! A turn of the member may be long: a view change with a million names takes seconds, and threads that wait
//! for the member do not beat meanwhile. So their misses do not count while a turn lasts, and the heart of
//! the member itself has a longer limit.
//!
//! A runtime with several threads continues to beat when a task blocks one of them, but tasks that wait
//! behind it may never run. Threads have no hearts: the watchdog asks the runtime what each of them does
//! ([`Hearts::watch_threads`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};
use std::{io, thread};

use sync::IgnorePoison;
use tokio::runtime::{Handle, RuntimeMetrics};
use transport::reactor::Heartbeat;

use crate::failure::Failure;

/// How often a heart should beat.
pub const BEAT: Duration = Duration::from_millis(50);
/// A thread of a runtime hangs if a task has blocked it for this long. Longer than for hearts: the other
/// threads continue meanwhile.
pub const LONGEST_BLOCK: Duration = Duration::from_secs(3);
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
    /// The runtime whose threads are watched.
    runtime: OnceLock<RuntimeMetrics>,
}

struct Beats {
    of: &'static str,
    /// The part hangs if it has not beaten for this long.
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
    /// Marks this part as alive: one store, without any order.
    pub fn beat(&self) {
        self.0.beaten.store(true, Ordering::Relaxed);
    }
}

impl From<Heart> for Heartbeat {
    fn from(heart: Heart) -> Heartbeat {
        Heartbeat { every: BEAT, beat: Box::new(move || heart.beat()) }
    }
}

impl Hearts {
    /// The heart of a part that has this name. The part hangs if it has not beaten for this long.
    pub fn heart(&self, of: &'static str, limit: Duration, waits: Waits) -> Heart {
        let heart = Arc::new(Beats { of, limit, waits, beaten: AtomicBool::new(true) });
        self.0.hearts.lock().ignore_poison().push(Arc::downgrade(&heart));
        Heart(heart)
    }

    /// A turn of the member begins: one store, without any order.
    pub(crate) fn turn_begins(&self) {
        self.0.turn.store(true, Ordering::Relaxed);
    }

    /// The turn of the member is over.
    pub(crate) fn turn_ends(&self) {
        self.0.turn.store(false, Ordering::Relaxed);
    }

    /// Watches also the threads of this runtime: one that a task blocks for [`LONGEST_BLOCK`] hangs. For programs whose tasks
    /// never block; the first runtime counts.
    pub fn watch_threads(&self, runtime: &Handle) {
        _ = self.0.runtime.set(runtime.metrics());
    }

    /// Those that are there.
    fn alive(&self) -> Vec<Arc<Beats>> {
        let mut hearts = self.0.hearts.lock().ignore_poison();
        hearts.retain(|heart| heart.strong_count() > 0);
        hearts.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Counts missed beats.
pub struct Watchdog {
    hearts: Hearts,
    /// How many ticks each has missed.
    missed: Vec<(Weak<Beats>, u32)>,
    /// The threads of the runtime, as they were seen last, and how many ticks each has been like that.
    threads: Vec<(Seen, u32)>,
}

/// What can be seen of a thread of a runtime.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    /// Counts up when the thread begins to wait for something to do, and when it goes on.
    waits: u64,
    /// Grows when the thread has done something: at the latest after some dozens of tasks.
    busy: Duration,
}

impl Seen {
    fn is_waiting(self) -> bool {
        self.waits % 2 == 1
    }
}

impl Watchdog {
    /// Starts a thread that calls `stopped` once, when a heart has not beaten for as long as its limit.
    pub fn start(hearts: Hearts, stopped: impl FnOnce(Failure) + Send + 'static) -> io::Result<()> {
        let mut watchdog = Watchdog::new(hearts);
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

    fn new(hearts: Hearts) -> Watchdog {
        Watchdog { hearts, missed: Vec::new(), threads: Vec::new() }
    }

    /// Looks at all hearts, this long after the last time. Returns which has stopped, and its limit.
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
        stopped.or_else(|| self.blocked_thread(late, turn))
    }

    /// Looks at the threads of the runtime. Returns whether one is blocked.
    fn blocked_thread(&mut self, late: bool, turn: bool) -> Option<(&'static str, Duration)> {
        let runtime = self.hearts.0.runtime.get()?;
        self.threads.resize(runtime.num_workers(), (Seen::default(), 0));
        let mut blocked = None;
        for (number, (before, missed)) in self.threads.iter_mut().enumerate() {
            let seen = Seen {
                waits: runtime.worker_park_unpark_count(number),
                busy: runtime.worker_total_busy_duration(number),
            };
            if late || seen.is_waiting() || seen != *before {
                *missed = 0;
            } else if !turn {
                // It may wait for a turn that lasts. A node with much to do has one at many ticks, so those before still count.
                *missed += 1;
            }
            *before = seen;
            if TICK * *missed >= LONGEST_BLOCK {
                blocked = Some(("runtime, on one of its threads,", LONGEST_BLOCK));
            }
        }
        blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watchdog() -> (Hearts, Watchdog) {
        let hearts = Hearts::default();
        (hearts.clone(), Watchdog::new(hearts))
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
        hearts.turn_begins();
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

    #[test]
    fn a_thread_that_a_task_blocks_is_missed_and_busy_and_idle_ones_are_not() {
        let (hearts, mut watchdog) = watchdog();
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        hearts.watch_threads(threads.handle());
        let busy = threads.spawn(async {
            loop {
                tokio::task::yield_now().await;
            }
        });
        let mut ticks = |count: u32| {
            (0..count).find_map(|_| {
                thread::sleep(Duration::from_millis(10));
                watchdog.tick(TICK)
            })
        };
        assert_eq!(ticks(60), None, "one is busy, one idle");
        busy.abort();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        threads.spawn(async move { ended.recv() });
        // A turn of the member is why it is blocked.
        hearts.turn_begins();
        assert_eq!(ticks(60), None);
        hearts.turn_ends();
        assert_eq!(ticks(60), Some(("runtime, on one of its threads,", LONGEST_BLOCK)));
        drop(end);
        assert_eq!(ticks(25), None, "it goes on");
    }
}
