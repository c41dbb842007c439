//! What is measured of nodes and friends.

use std::fs;
use std::time::Duration;

use crate::storm::Arrival;
use anyhow::{Context, Result};
use service::Time;

/// How much memory a process has in bytes: now, or at most until now.
#[derive(Clone, Copy)]
pub(crate) enum Memory {
    Now,
    Peak,
}

pub(crate) fn memory(process: u32, which: Memory) -> Result<u64> {
    let trial = match which {
        Memory::Now => "VmRSS:",
        Memory::Peak => "VmHWM:",
    };
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(trial)).context("no line of memory")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024)
}

/// How many sockets a process has open.
pub(super) fn sockets(process: u32) -> Result<usize> {
    let mut sockets = 0;
    for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
        // It may have been closed meanwhile.
        let target = fs::read_link(entry?.path()).unwrap_or_default();
        sockets += usize::from(target.to_string_lossy().starts_with("socket:"));
    }
    Ok(sockets)
}

/// How long friends waited for locks that no other client acquires.
#[derive(Default)]
pub(super) struct Waits(Vec<Duration>);

impl Waits {
    /// Those that overlap with one of these times, and the others.
    pub(super) fn around(arrivals: &[Arrival], times: &[(Time, Time)]) -> (Waits, Waits) {
        let (mut around, mut otherwise) = (Waits::default(), Waits::default());
        for arrival in arrivals {
            let overlaps = times.iter().any(|(from, until)| arrival.asked < *until && arrival.at > *from);
            let waits = if overlaps { &mut around } else { &mut otherwise };
            waits.0.push(arrival.at - arrival.asked);
        }
        around.0.sort_unstable();
        otherwise.0.sort_unstable();
        (around, otherwise)
    }

    /// So many of a hundred waited no longer than this.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        self.0.get(self.0.len() * percent / 100).or(self.0.last()).copied().unwrap_or_default()
    }

    pub(super) fn longest(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_sorted_by_when_they_were() {
        let arrival = |asked, at| Arrival {
            process: 1,
            wanted: 100,
            asked: Time(asked),
            at: Time(at),
            until: Time(at),
        };
        let arrivals = [arrival(0, 10), arrival(5, 25), arrival(40, 43), arrival(50, 51)];
        let (around, otherwise) = Waits::around(&arrivals, &[(Time(20), Time(30))]);
        assert_eq!(
            (around.longest(), otherwise.longest()),
            (Duration::from_nanos(20), Duration::from_nanos(10))
        );
        assert_eq!(otherwise.percentile(50), Duration::from_nanos(3));
        assert_eq!(Waits::default().percentile(99), Duration::ZERO);
    }

    #[test]
    fn a_process_has_memory() {
        let me = std::process::id();
        assert!(memory(me, Memory::Peak).unwrap() >= memory(me, Memory::Now).unwrap() / 2);
        sockets(me).unwrap();
    }
}
