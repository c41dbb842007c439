//! Ends a process that has failed, at once and for certain: a node that does only half of its work is worse than none.
//!
//! What failed says so in the log; if the log does not get through, directly on standard error. Nothing here waits for long: a thread
//! ends the process in any case.

use std::sync::Once;
use std::thread;
use std::time::Duration;

use node::{Failure, Hearts, OnFailure, Watchdog};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::daemon::log;

/// How a process ends that has failed: EX_SOFTWARE of sysexits.h.
pub(crate) const FAILED: u8 = 70;

/// After so long the process ends also if saying why, or ending in good order, hangs.
const LAST_RESORT: Duration = Duration::from_millis(700);

/// From now on any panic ends the process.
pub(crate) fn on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        // The one thread whose panic is an answer.
        if thread::current().name() == Some(control::MAY_PANIC) {
            return;
        }
        let thread = thread::current();
        let name = thread.name().unwrap_or("without a name");
        let what = panic.payload_as_str().unwrap_or("no reason");
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        stop(&format!("a panic{place} in thread '{name}': {what}"));
    }));
}

/// What a node calls when it has failed.
pub(crate) fn on_failure() -> OnFailure {
    OnFailure::new(|failure| stop(&failure.to_string()))
}

/// Ends the process if a heart stops, or a task blocks a thread of this runtime.
pub(crate) fn watch(hearts: Hearts) -> std::io::Result<()> {
    hearts.watch_threads(&tokio::runtime::Handle::current());
    Watchdog::start(hearts, |failure: Failure| stop(&failure.to_string()))
}

/// Says why, and ends the process.
pub(crate) fn stop(why: &str) -> ! {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| {
        // It cannot hang: no handlers, no destructors. If there are no threads left, the rest has to do.
        let last_resort = || {
            thread::sleep(LAST_RESORT);
            std::process::abort();
        };
        _ = thread::Builder::new().name("last resort".to_owned()).spawn(last_resort);
        tracing::error!(target: "tokenwood", code = FAILED, "this process has failed and ends: {why}");
        if !log::finish() {
            say_directly(&format!("tokenwood: this process has failed and ends: {why}\n"));
        }
        std::process::exit(FAILED.into());
    });
    // Another thread is about to end the process.
    loop {
        thread::park();
    }
}

/// Writes to standard error, unless that would have to be waited for. The standard library's own way would wait for a thread that hangs
/// while it writes.
fn say_directly(line: &str) {
    let stderr = rustix::stdio::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut ready, Some(&at_once)).is_ok_and(|ready| ready > 0) {
        // A pipe that is ready takes a page at once.
        let bytes = line.as_bytes();
        _ = rustix::io::write(stderr, &bytes[..bytes.len().min(4096)]);
    }
}
