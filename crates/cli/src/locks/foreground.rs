//! The terminal, shared with a command in a process group of its own, as shells share it with their jobs.
//!
//! A command in a pipeline does not get it, because the others there may need it. If it reads from it all the same, or changes how
//! it works, the kernel stops it; then it gets the terminal and goes on. When it is suspended (Ctrl-Z), this program takes
//! the terminal back and suspends itself, so that the shell above notices.

use std::fs::File;
use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal as Blockable};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, getsid, kill_current_process_group,
    kill_process_group, waitid,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use tokenwood::Guard;
use tokio::signal::unix::{self, SignalKind, signal};

/// Looks after the terminal for a command.
pub(crate) struct Foreground {
    /// The process group of the command, which is also the id of its first process.
    group: Pid,
    /// `None` if there is no terminal to share.
    terminal: Option<File>,
    /// Whether the command has the terminal, or had it when it was suspended.
    given: bool,
    /// The command was asked to suspend.
    suspended: bool,
    /// Something happened to the command: it may have been stopped.
    changes: unix::Signal,
    /// Ctrl-Z was typed, and the command does not have the terminal.
    suspend: unix::Signal,
}

impl Foreground {
    pub(crate) fn new(group: Pid) -> Result<Foreground> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        let mut foreground = Foreground {
            group,
            terminal: File::options().read(true).write(true).open("/dev/tty").ok(),
            given: false,
            suspended: false,
            changes: listen(SignalKind::child())?,
            suspend: listen(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
        };
        if stdin().is_terminal() && stdout().is_terminal() && foreground.terminal_is_of(getpgrp()) {
            foreground.give();
        }
        Ok(foreground)
    }

    /// Lets the command have the terminal, and suspends this program with it, for ever.
    pub(crate) async fn look_after(&mut self, guard: &Guard) {
        loop {
            // It may have been stopped before this program listened.
            if let Some(signal) = self.stopped_by() {
                self.stopped(signal, guard);
                // Where nothing stops this program, a command that wants the terminal in vain shall not keep it busy.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tokio::select! {
                _ = self.changes.recv() => {}
                _ = self.suspend.recv() => {
                    self.suspended = true;
                    _ = kill_process_group(self.group, Signal::TSTP);
                }
            }
        }
    }

    /// The signal that has stopped the command since this was last asked.
    fn stopped_by(&self) -> Option<Signal> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let signal = waitid(WaitId::Pid(self.group), options).ok()??.stopping_signal()?;
        Signal::from_named_raw(signal)
    }

    fn stopped(&mut self, signal: Signal, guard: &Guard) {
        let wants_terminal = signal == Signal::TTIN || signal == Signal::TTOU;
        // A command that is a program like this one sends itself SIGSTOP when it is suspended; others are stopped like that by a
        // process that will continue them.
        let suspended = signal == Signal::TSTP
            || signal == Signal::STOP && (self.suspended || self.terminal_is_of(self.group));
        if !wants_terminal && !suspended {
            return;
        }
        // It may have asked before it got the terminal.
        let has_terminal = wants_terminal && self.terminal_is_of(self.group);
        if !has_terminal && (suspended || !self.terminal_is_of(getpgrp())) {
            self.take_back();
            // The shell above is told why: it, too, may have a terminal to give.
            suspend_myself(if wants_terminal { signal } else { Signal::STOP });
            self.suspended = false;
            // If the lock was lost meanwhile, the command is not to do another thing.
            if guard.is_lost() {
                return;
            }
        }
        if (wants_terminal || self.given) && self.terminal_is_of(getpgrp()) {
            self.give();
        }
        _ = kill_process_group(self.group, Signal::CONT);
    }

    fn terminal_is_of(&self, group: Pid) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| tcgetpgrp(terminal).is_ok_and(|found| found == group))
    }

    fn give(&mut self) {
        self.given = self.terminal.as_ref().is_some_and(|terminal| tcsetpgrp(terminal, self.group).is_ok());
    }

    /// Takes the terminal back from the command, if it has it. A process that does so from the background is stopped unless it
    /// blocks SIGTTOU: a thread of its own blocks it, and no other thread does.
    pub(crate) fn take_back(&self) {
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.terminal_is_of(self.group)) else {
            return;
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if SigSet::from(Blockable::SIGTTOU).thread_block().is_ok() {
                    _ = tcsetpgrp(terminal, getpgrp());
                }
            });
        });
    }
}

/// Stops this program until another process continues it. A session leader has no process above that would.
fn suspend_myself(signal: Signal) {
    if getsid(None).is_ok_and(|session| session != getpid()) {
        _ = kill_current_process_group(signal);
    }
}
