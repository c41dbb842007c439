//! The processor time of processes, and the cores of threads.

use std::fs;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::Error;

/// The unit of the kernel's counts: a hundredth of a second on every Linux.
const TICK_MICROS: f64 = 10_000.0;

/// Microseconds that this process has used, user and system, threads that have ended included.
pub fn used_by(process: u32) -> Result<f64, Error> {
    let file = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&file).map_err(Error::at(format!("cannot read {file}")))?;
    ticks(&stat)
        .map(|ticks| ticks as f64 * TICK_MICROS)
        .ok_or_else(|| Error::Measurement(format!("{file} makes no sense")))
}

/// User and system time in the text of `/proc/PID/stat`.
fn ticks(stat: &str) -> Option<u64> {
    // The name of the program comes first, in brackets, and may contain spaces and brackets itself.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// The cores that this thread may run on.
pub fn cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// From now on this thread, and threads and processes that it starts, run on these cores.
pub fn run_on(cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_matter() {
        let stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 170 30 0 0 20 0 1 0 99";
        assert_eq!(ticks(stat), Some(200));
        assert_eq!(ticks("nothing"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        assert!(used_by(std::process::id()).unwrap() >= 0.0);
        assert!(!cores().unwrap().is_empty());
    }
}
