//! Signals that ask this program to end, so that it can leave things in order first or pass them on.

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// Listens for them.
pub(crate) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hang_up: unix::Signal,
    quit: unix::Signal,
}

impl Signals {
    /// From now on they do not end this program by themselves.
    pub(crate) fn listen() -> Result<Signals> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hang_up.recv() => Signal::HUP,
            _ = self.quit.recv() => Signal::QUIT,
        }
    }
}
