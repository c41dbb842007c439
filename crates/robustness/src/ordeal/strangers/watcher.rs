//! `tokenwood watch` that is suspended.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::super::trial::{ENDS_WITHIN, Trial};

/// It watches all nodes after so long.
const WATCHES_WITHIN: Duration = Duration::from_secs(20);

/// A watcher, suspended from the beginning.
pub(super) struct Watcher {
    child: Child,
    /// So many events it has said that it missed.
    missed: Arc<AtomicU64>,
}

impl Watcher {
    pub(super) async fn suspended(trial: &Trial) -> Result<Watcher> {
        let mut command = Command::from(trial.setups[0].command()?);
        command.args(["watch", "--format", "json", "--endpoint", &trial.endpoints(0).join(",")]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start a watcher")?;
        let mut notes = BufReader::new(child.stderr.take().context("a watcher has no notes")?).lines();
        let mut events =
            BufReader::new(child.stdout.take().context("a watcher has no standard output")?).lines();
        let missed = Arc::new(AtomicU64::new(0));
        let counted = missed.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = events.next_line().await {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                if event["event"] == "missed" {
                    counted.fetch_add(event["events"].as_u64().unwrap_or(0), Ordering::Relaxed);
                }
            }
        });
        for _ in trial.nodes.running() {
            timeout(WATCHES_WITHIN, notes.next_line())
                .await
                .context("a watcher does not begin to watch")??;
        }
        // Nothing reads its notes from now on.
        drop(notes);
        let watcher = Watcher { child, missed };
        watcher.signal(Signal::STOP)?;
        Ok(watcher)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(process.context("a watcher has ended")?, signal)
            .context("cannot send a watcher a signal")
    }

    /// Goes on, and is asked to end when it has said that it missed something or that takes too long. Returns how much it
    /// missed, and whether it ended well.
    pub(super) async fn resume(mut self, limit: Duration) -> Result<(u64, bool)> {
        self.signal(Signal::CONT)?;
        let begun = Instant::now();
        while self.missed.load(Ordering::Relaxed) == 0 && begun.elapsed() < limit {
            sleep(Duration::from_millis(20)).await;
        }
        self.signal(Signal::TERM)?;
        let ended = timeout(ENDS_WITHIN, self.child.wait()).await;
        let well = matches!(ended, Ok(Ok(status)) if status.success());
        Ok((self.missed.load(Ordering::Relaxed), well))
    }
}
