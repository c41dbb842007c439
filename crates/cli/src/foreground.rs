//! The terminal, shared with a command in a process group of its own, as shells share it with their jobs.
//!
//! A command that only writes never gets it, so that pipelines stay as they are. One that reads from it, or changes how it
//! works, is stopped by the kernel; then it gets the terminal and goes on. When it is suspended (Ctrl-Z), this program takes
//! the terminal back and suspends itself, so that the shell above notices.

use std::fs::File;

use anyhow::{Context, Result};
use client::Guard;
use nix::sys::signal::{SigSet, Signal as Blockable};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, getsid, kill_current_process_group,
    kill_process_group, waitid,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use tokio::signal::unix::{self, SignalKind, signal};

/// Looks after the terminal for a command.
pub(crate) struct Foreground {
    /// The process group of the command, which is also the id of its first process.
    group: Pid,
    /// `None` if there is no terminal to share.
    terminal: Option<File>,
    /// Whether the command has the terminal, or had it when it was suspended.
    given: bool,
    /// Something happened to the command: it may have been stopped.
    changes: unix::Signal,
    /// Somebody types Ctrl-Z, and the command does not have the terminal.
    suspend: unix::Signal,
}

impl Foreground {
    pub(crate) fn new(group: Pid) -> Result<Foreground> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        Ok(Foreground {
            group,
            terminal: File::options().read(true).write(true).open("/dev/tty").ok(),
            given: false,
            changes: listen(SignalKind::child())?,
            suspend: listen(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
        })
    }

    /// Lets the command have the terminal, and suspends this program with it, for ever.
    pub(crate) async fn look_after(&mut self, guard: &Guard) {
        loop {
            // It may have been stopped before anybody listened.
            if let Some(signal) = self.stopped_by() {
                self.stopped(signal, guard);
            }
            tokio::select! {
                _ = self.changes.recv() => {}
                _ = self.suspend.recv() => {
                    _ = kill_process_group(self.group, Signal::TSTP);
                }
            }
        }
    }

    /// The signal that has stopped the command since this was last asked.
    fn stopped_by(&self) -> Option<i32> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(self.group), options).ok()??.stopping_signal()
    }

    fn stopped(&mut self, signal: i32, guard: &Guard) {
        let wants_terminal = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw).contains(&signal);
        if wants_terminal && self.is_ours() {
            self.give();
        } else if wants_terminal || signal == Signal::TSTP.as_raw() {
            self.suspend_myself();
            // If the lock was lost meanwhile, the command is not to do another thing.
            if guard.is_lost() {
                return;
            }
            if self.given && self.is_ours() {
                self.give();
            }
        } else {
            // Stopped by somebody who knows why.
            return;
        }
        _ = kill_process_group(self.group, Signal::CONT);
    }

    fn is_ours(&self) -> bool {
        self.terminal
            .as_ref()
            .is_some_and(|terminal| tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
    }

    fn give(&mut self) {
        self.given = self.terminal.as_ref().is_some_and(|terminal| tcsetpgrp(terminal, self.group).is_ok());
    }

    fn suspend_myself(&self) {
        self.take_back();
        // Whoever leads a session has nobody above to wake it again.
        if getsid(None).is_ok_and(|session| session != getpid()) {
            _ = kill_current_process_group(Signal::STOP);
        }
    }

    /// Takes the terminal back from the command. Whoever does so from the background is stopped, unless it is deaf to that: so a
    /// thread of its own does it, and nothing else is.
    pub(crate) fn take_back(&self) {
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.given) else { return };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if SigSet::from(Blockable::SIGTTOU).thread_block().is_ok() {
                    _ = tcsetpgrp(terminal, getpgrp());
                }
            });
        });
    }
}
