//! The log of a node, on standard error. Libraries emit events of `tracing`; this writes them.
//!
//! The reader of the log may stop (a terminal does after Ctrl-S) or go away: the node never waits for it. An event is captured
//! where it happens and put into a queue; a thread of its own makes a line of it and writes that. What the queue cannot take is
//! left out and counted. Lines of the audit are never filtered, and have room of their own in the queue.

mod capture;
mod queue;
mod record;

use std::io::Write;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use serde::Deserialize;
use tracing::Level;

use capture::Capture;
use queue::Queue;
use record::Record;
pub(crate) use record::timestamp;

use crate::terminal::table::count;

/// A node that ends waits so long for its last lines to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: one object per line
    Json,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
        }
    }
}

/// What is written: everything of this level and those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Threshold(pub(crate) Level);

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        match text {
            "error" => Ok(Threshold(Level::ERROR)),
            "warn" => Ok(Threshold(Level::WARN)),
            "info" => Ok(Threshold(Level::INFO)),
            "debug" => Ok(Threshold(Level::DEBUG)),
            "trace" => Ok(Threshold(Level::TRACE)),
            _ => Err(format!("'{text}' is not a level: write error, warn, info, debug or trace")),
        }
    }
}

impl TryFrom<String> for Threshold {
    type Error = String;

    fn try_from(text: String) -> Result<Threshold, String> {
        text.parse()
    }
}

impl Threshold {
    pub(crate) fn name(self) -> &'static str {
        record::level(self.0)
    }
}

static QUEUE: OnceLock<&'static Queue> = OnceLock::new();

/// From now on events are written. Once in a process.
pub(crate) fn start(format: Format, threshold: Threshold) {
    let queue = *QUEUE.get_or_init(|| Box::leak(Box::default()));
    // It fails only if a log was started before, which then goes on.
    if tracing::subscriber::set_global_default(Capture::new(threshold.0, queue)).is_ok() {
        // Without a thread there is no log: that must not keep the node from serving.
        _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || write(queue, format));
    }
}

/// Waits a moment for what was said before. Returns whether all of it was written.
pub(crate) fn finish() -> bool {
    QUEUE.get().is_some_and(|queue| queue.wait_until_written(LAST_LINES))
}

/// Waits a moment for what was said before. What is said from now on is not written.
pub(crate) fn close() {
    finish();
    CLOSED.store(true, Ordering::Relaxed);
}

static CLOSED: AtomicBool = AtomicBool::new(false);

fn write(queue: &Queue, format: Format) {
    loop {
        let (record, left_out) = queue.take();
        let mut lines = record.map_or_else(String::new, |record| record.line(format));
        if left_out > 0 {
            lines += &lines_left_out(left_out).line(format);
        }
        // All of it at once, so that lines of several threads do not mix. If nothing reads it, there is nothing to be done.
        if !CLOSED.load(Ordering::Relaxed) {
            _ = std::io::stderr().write_all(lines.as_bytes());
        }
        queue.written();
    }
}

fn lines_left_out(left_out: u64) -> Record {
    Record {
        time: SystemTime::now(),
        level: Level::WARN,
        target: "log",
        message: format!("{} left out of this log: nothing read it", count(left_out, "line")),
        fields: vec![("left_out", left_out.into())],
    }
}
