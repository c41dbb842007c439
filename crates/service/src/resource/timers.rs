//! The timers of a resource.

use std::fmt;

use algorithms::Timer;

use crate::time::Time;

/// The timers that run, or are planned to be looked at: at most one entry for each timer.
///
/// Most timers are stopped and started again long before they expire. That moves only the time at which they
/// expire; the driver looks at the time that was planned, which is never later, and then plans again. So the
/// deadlines have exactly one entry for each timer here: at its planned time.
#[derive(Clone)]
pub(crate) struct Timers(Vec<Armed>);

#[derive(Clone, Debug)]
struct Armed {
    timer: Timer,
    /// When it expires, if it runs.
    runs_out: Option<Time>,
    /// When it is looked at.
    planned: Time,
}

/// When a timer has to be looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Time,
    /// The time that was planned before and is not needed any more.
    pub(crate) instead_of: Option<Time>,
}

/// The state of a timer at the time that was planned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// The timer was started again, and is due at this time.
    Again(Time),
    /// The timer has expired.
    RanOut,
    /// The timer was stopped.
    Stopped,
}

impl Timers {
    pub(crate) fn new() -> Timers {
        Timers(Vec::new())
    }

    /// Starts a timer, or starts it again. Returns what has to be planned, if anything has.
    pub(crate) fn arm(&mut self, timer: Timer, at: Time) -> Option<Planned> {
        match self.0.iter_mut().find(|armed| armed.timer == timer) {
            Some(armed) if armed.planned <= at => {
                armed.runs_out = Some(at);
                None
            }
            Some(armed) => {
                let instead_of = Some(armed.planned);
                (armed.runs_out, armed.planned) = (Some(at), at);
                Some(Planned { at, instead_of })
            }
            None => {
                self.0.push(Armed { timer, runs_out: Some(at), planned: at });
                Some(Planned { at, instead_of: None })
            }
        }
    }

    /// Stops a timer. It stays planned to be looked at.
    pub(crate) fn disarm(&mut self, timer: Timer) {
        if let Some(armed) = self.0.iter_mut().find(|armed| armed.timer == timer) {
            armed.runs_out = None;
        }
    }

    /// The time has come that was planned for a timer. Unless it is to be looked at again, it is taken out.
    pub(crate) fn look(&mut self, timer: Timer, now: Time) -> Option<Looked> {
        let index = self.index(timer)?;
        let armed = &mut self.0[index];
        match armed.runs_out {
            Some(at) if at > now => {
                armed.planned = at;
                Some(Looked::Again(at))
            }
            runs_out => {
                self.0.swap_remove(index);
                Some(if runs_out.is_some() { Looked::RanOut } else { Looked::Stopped })
            }
        }
    }

    /// Takes out a timer, whether it runs or not. Returns when it was planned to be looked at.
    pub(crate) fn take(&mut self, timer: Timer) -> Option<Time> {
        let index = self.index(timer)?;
        Some(self.0.swap_remove(index).planned)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// All timers, with the times at which they are looked at.
    pub(crate) fn planned(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.0.iter().map(|armed| (armed.timer, armed.planned))
    }

    /// The timers that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = Timer> {
        self.0.iter().filter(|armed| armed.runs_out.is_some()).map(|armed| armed.timer)
    }

    fn index(&self, timer: Timer) -> Option<usize> {
        self.0.iter().position(|armed| armed.timer == timer)
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_started_anew_is_planned_again_only_when_it_is_looked_at() {
        let mut timers = Timers::new();
        assert_eq!(timers.arm(1, Time(10)), Some(Planned { at: Time(10), instead_of: None }));
        timers.disarm(1);
        assert_eq!(timers.running().count(), 0);
        assert_eq!(timers.arm(1, Time(20)), None, "it is looked at before");
        assert_eq!(timers.look(1, Time(10)), Some(Looked::Again(Time(20))));
        assert_eq!(timers.planned().collect::<Vec<_>>(), [(1, Time(20))]);
        assert_eq!(timers.look(1, Time(20)), Some(Looked::RanOut));
        assert_eq!(timers.look(1, Time(20)), None, "it is gone");
    }

    #[test]
    fn a_timer_that_gets_shorter_is_planned_at_once() {
        let mut timers = Timers::new();
        timers.arm(1, Time(10));
        assert_eq!(timers.arm(1, Time(5)), Some(Planned { at: Time(5), instead_of: Some(Time(10)) }));
        timers.disarm(1);
        assert_eq!(timers.look(1, Time(5)), Some(Looked::Stopped));
        assert_eq!(timers.take(1), None);
    }
}
