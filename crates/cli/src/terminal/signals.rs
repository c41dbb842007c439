//! Signals that ask this program to end, so that it can leave things in order first or pass them on.

use std::sync::OnceLock;

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// Listens for them, except for those that the caller of this program ignores, as `nohup` does.
pub(crate) struct Signals {
    terminate: Option<unix::Signal>,
    interrupt: Option<unix::Signal>,
    hang_up: Option<unix::Signal>,
    quit: Option<unix::Signal>,
}

impl Signals {
    /// From now on they do not end this program by themselves.
    pub(crate) fn listen() -> Result<Signals> {
        let listen = |which: Signal| -> Result<Option<unix::Signal>> {
            if is_ignored(which) {
                return Ok(None);
            }
            let kind = SignalKind::from_raw(which.as_raw());
            Ok(Some(signal(kind).context("cannot listen for signals")?))
        };
        Ok(Signals {
            terminate: listen(Signal::TERM)?,
            interrupt: listen(Signal::INT)?,
            hang_up: listen(Signal::HUP)?,
            quit: listen(Signal::QUIT)?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = heard(&mut self.terminate) => Signal::TERM,
            () = heard(&mut self.interrupt) => Signal::INT,
            () = heard(&mut self.hang_up) => Signal::HUP,
            () = heard(&mut self.quit) => Signal::QUIT,
        }
    }
}

/// Waits for a signal, for ever if it is ignored.
async fn heard(signal: &mut Option<unix::Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether a signal was ignored when this program was started. Asked once, before this program listens for any.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    static IGNORED: OnceLock<u64> = OnceLock::new();
    let ignored = IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    });
    ignored >> (signal.as_raw() - 1) & 1 == 1
}
