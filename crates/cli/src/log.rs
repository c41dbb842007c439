//! The log of a node, on standard error. Whatever reads it may stop to (a terminal does after Ctrl-S) or go away: the node never
//! waits for it, so a thread of its own writes, and lines that it cannot take are left out and counted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::output::note;

/// So many lines wait to be written at most.
const MOST_LINES: usize = 1024;
/// A node that ends waits so long for its last lines to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

/// What the thread that writes is told.
enum Said {
    Line(String),
    /// Everything before has been written when the other end is gone.
    End(SyncSender<()>),
}

static WRITER: OnceLock<SyncSender<Said>> = OnceLock::new();
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Writes a line soon. Never waits.
pub(crate) fn line(line: &str) {
    let writer = WRITER.get_or_init(|| {
        let (sender, said) = sync_channel(MOST_LINES);
        std::thread::spawn(move || write(&said));
        sender
    });
    if writer.try_send(Said::Line(line.to_string())).is_err() {
        LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits a moment for what was said before.
pub(crate) fn finish() {
    let (sender, end) = sync_channel(0);
    if WRITER.get().is_some_and(|writer| writer.try_send(Said::End(sender)).is_ok()) {
        // Nobody sends anything: it fails when all is written, or when that takes too long.
        _ = end.recv_timeout(LAST_LINES);
    }
}

fn write(said: &Receiver<Said>) {
    for said in said {
        match said {
            Said::Line(line) => note!("{line}"),
            Said::End(sender) => drop(sender),
        }
        let left_out = LEFT_OUT.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            note!("{left_out} lines of the log were left out: nothing read them");
        }
    }
}
