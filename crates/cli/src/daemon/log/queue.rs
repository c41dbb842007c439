//! The records that wait to be written: bounded, and putting one in never waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sync::IgnorePoison;

use super::capture::AUDIT;
use super::record::Record;

/// So many lines wait to be written at most,
const MOST_LINES: usize = 1024;
/// and so many more if they are for the audit.
const MOST_AUDITS: usize = 1024;

/// Records on their way to the thread that writes.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// There is something to write.
    more: Condvar,
    /// Everything is written.
    idle: Condvar,
}

#[derive(Default)]
struct Waiting {
    records: VecDeque<Record>,
    left_out: u64,
    /// One is being written.
    writing: bool,
}

impl Queue {
    /// Puts a record in, or counts it. The lock is held only for moments, never while anything is written or formatted.
    pub(crate) fn put(&self, record: Record) {
        let mut waiting = self.waiting();
        let most = if record.target == AUDIT { MOST_LINES + MOST_AUDITS } else { MOST_LINES };
        if waiting.records.len() >= most {
            waiting.left_out += 1;
        } else {
            waiting.records.push_back(record);
        }
        drop(waiting);
        self.more.notify_one();
    }

    /// Waits for the next one. The writer that takes it says when it is written. Also how many were left out, once the others have
    /// been written.
    pub(crate) fn take(&self) -> (Option<Record>, u64) {
        let mut waiting = self.waiting();
        while waiting.records.is_empty() && waiting.left_out == 0 {
            waiting = self.more.wait(waiting).ignore_poison();
        }
        waiting.writing = true;
        let record = waiting.records.pop_front();
        let left_out = if waiting.records.is_empty() { std::mem::take(&mut waiting.left_out) } else { 0 };
        (record, left_out)
    }

    /// What was taken is written.
    pub(crate) fn written(&self) {
        self.waiting().writing = false;
        self.idle.notify_all();
    }

    /// Waits until everything is written, but not for longer than this. Returns whether it is.
    pub(crate) fn wait_until_written(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut waiting = self.waiting();
        while waiting.writing || !waiting.records.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            waiting = self.idle.wait_timeout(waiting, left).ignore_poison().0;
        }
        true
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().ignore_poison()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tracing::Level;

    use super::*;

    fn record(target: &'static str) -> Record {
        Record {
            time: SystemTime::now(),
            level: Level::INFO,
            target,
            message: String::new(),
            fields: Vec::new(),
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_audit_still_fits() {
        let queue = Queue::default();
        (0..MOST_LINES + 7).for_each(|_| queue.put(record("node")));
        queue.put(record(AUDIT));
        assert!(!queue.wait_until_written(Duration::from_millis(1)), "nothing writes");
        let mut taken = Vec::new();
        let left_out = loop {
            let (record, left_out) = queue.take();
            queue.written();
            taken.extend(record.map(|record| record.target));
            if left_out > 0 {
                break left_out;
            }
        };
        assert_eq!((taken.len(), left_out), (MOST_LINES + 1, 7));
        assert_eq!(taken.last(), Some(&AUDIT));
        assert!(queue.wait_until_written(Duration::ZERO));
    }
}
