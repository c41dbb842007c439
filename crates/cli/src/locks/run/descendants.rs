//! Everything that a command has started, also what has left its process group and its session.
//!
//! A process that is the reaper of its descendants becomes the parent of those whose own parent has ended. So all of them are
//! below it in the tree of processes, whatever they do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

/// Between looks at processes that were killed and have not ended.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Where the system does not show what it is, a child that is not found so often never will be.
const MOST_MISSED: u32 = 100_000;

/// Makes this process the reaper of its descendants. Returns why what it starts can escape all the same, if it can.
pub(crate) fn reap() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::set_child_subreaper(Some(getpid())) {
            return Some(format!("this system does not hand orphans over ({error})"));
        }
        if !parents().contains_key(&getpid().as_raw_pid()) {
            return Some("/proc does not show processes".to_string());
        }
        None
    }
    #[cfg(not(target_os = "linux"))]
    Some("this system does not hand orphans over".to_string())
}

/// Kills all descendants, and this process group, until there is none. Returns those that may not be killed, because they run as
/// another user.
///
/// That there is none is known from the kernel alone: a process that starts another one and ends, again and again, can be missed
/// each time that one looks.
pub(crate) fn kill_all(group: Pid) -> BTreeSet<i32> {
    let (mut before, mut refused) = (BTreeSet::new(), BTreeSet::new());
    let (mut pause, mut missed) = (Duration::ZERO, 0);
    while has_children() {
        _ = kill_process_group(group, Signal::KILL);
        let found = all();
        for process in &found {
            if send(*process, Signal::KILL) == Err(Errno::PERM) {
                refused.insert(*process);
            }
        }
        // Those that were found before end when they are scheduled next, or when the disk that they wait for answers.
        let nothing_new = found.is_subset(&before);
        if nothing_new && pause == LONGEST_PAUSE && !found.is_empty() && found.is_subset(&refused) {
            return found;
        }
        missed = if found.is_empty() { missed + 1 } else { 0 };
        if missed == MOST_MISSED {
            return found;
        }
        let wait = nothing_new && !found.is_empty();
        pause = if wait { (pause * 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE) } else { Duration::ZERO };
        before = found;
        std::thread::sleep(pause);
    }
    BTreeSet::new()
}

/// Sends a signal to all descendants.
pub(crate) fn signal_all(signal: Signal) {
    for process in all() {
        _ = send(process, signal);
    }
}

fn send(process: i32, signal: Signal) -> Result<(), Errno> {
    Pid::from_raw(process).map_or(Ok(()), |process| kill_process(process, signal))
}

/// Takes note of children that have ended, so that their ids are free. Whether there are others.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// All descendants of this process.
fn all() -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut to_ask = vec![getpid().as_raw_pid()];
    while let Some(process) = to_ask.pop() {
        let Some(children) = children(process) else { return below(getpid().as_raw_pid()) };
        to_ask.extend(children.into_iter().filter(|child| found.insert(*child)));
    }
    found
}

/// The children of a process, as far as it is still there; `None` if the kernel does not tell.
fn children(process: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Some(children) };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(ids) => children.extend(ids.split_whitespace().filter_map(|id| id.parse::<i32>().ok())),
            // Either the thread has just ended, or its kernel was built without this.
            Err(_) if thread.path().join("stat").exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

/// The same from a look at all processes, which takes longer.
fn below(process: i32) -> BTreeSet<i32> {
    let parents = parents();
    let is_below = |id: i32| {
        let mut at = id;
        // A tree that changes while it is read may have a circle in it.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == process => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|id| is_below(*id)).collect()
}

/// The parents of all processes.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(folder) = fs::read_dir("/proc") else { return BTreeMap::new() };
    folder
        .filter_map(|entry| {
            let id: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read(format!("/proc/{id}/stat")).ok()?;
            Some((id, parent(&String::from_utf8_lossy(&line))?))
        })
        .collect()
}

/// The parent in a line of `/proc/ID/stat`. The name of the program, in parentheses, can contain anything.
fn parent(line: &str) -> Option<i32> {
    let (_, rest) = line.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_process_is_read_whatever_its_name() {
        assert_eq!(parent("17 (sh) S 16 17 3 0"), Some(16));
        assert_eq!(parent("17 (a) R 9 (b)) Z 16 17 3 0"), Some(16));
        assert_eq!(parent("nothing"), None);
    }

    #[test]
    fn both_ways_to_find_descendants_find_them() {
        let script = "sh -c 'sleep 60 & wait' & wait";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let begun = std::time::Instant::now();
        let mut found = BTreeSet::new();
        while found.len() < 3 && begun.elapsed() < Duration::from_secs(20) {
            found =
                all().into_iter().filter(|process| *process == id || below(id).contains(process)).collect();
        }
        let mut also: BTreeSet<i32> = below(id);
        also.insert(id);
        for process in &also {
            _ = send(*process, Signal::KILL);
        }
        child.wait().unwrap();
        assert_eq!((found.len(), &found), (3, &also));
    }
}
