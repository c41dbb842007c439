//! The terminal, shared with a command in a process group of its own, as shells share it with their jobs.
//!
//! A command in a pipeline does not get it, because the others there may need it. If it reads from it all the same, or changes how
//! it works, the kernel stops it; then it gets the terminal and goes on.
//!
//! Ctrl-Z reaches the process group that has the terminal. If that is the command's, this program suspends the process group of
//! its caller, as the terminal would have. If it is this program's own, the others in it were reached as well: the command is
//! suspended, and this program. A SIGTSTP from elsewhere suspends the command alone, and a SIGCONT continues it.

use std::fs::File;
use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal as Blockable};
use rustix::process::{Pid, Signal, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use tokenwood::Guard;
use tokio::signal::unix::{self, SignalKind, signal};

use super::conversation::Conversation;

/// Looks after the terminal for a command.
pub(super) struct Foreground {
    /// The process group of the command, which is also the id of its first process.
    group: Pid,
    /// `None` if there is no terminal to share.
    terminal: Option<File>,
    /// Whether the command has the terminal, or had it when it was suspended.
    given: bool,
    /// This program was asked to suspend, and has asked the command.
    suspended: bool,
    suspend: unix::Signal,
    go_on: unix::Signal,
}

impl Foreground {
    pub(super) fn new(group: Pid) -> Result<Foreground> {
        let listen = |signal_: Signal| {
            signal(SignalKind::from_raw(signal_.as_raw())).context("cannot listen for signals")
        };
        let mut foreground = Foreground {
            group,
            terminal: File::options().read(true).write(true).open("/dev/tty").ok(),
            given: false,
            suspended: false,
            suspend: listen(Signal::TSTP)?,
            go_on: listen(Signal::CONT)?,
        };
        if stdin().is_terminal() && stdout().is_terminal() && foreground.terminal_is_of(getpgrp()) {
            foreground.give();
        }
        Ok(foreground)
    }

    /// The process group of the command.
    pub(super) fn group(&self) -> Pid {
        self.group
    }

    /// Waits until this program is asked to suspend, or to go on, and tells the command.
    pub(super) async fn asked(&mut self, guardian: &Conversation) {
        tokio::select! {
            _ = self.suspend.recv() => {
                self.suspended = true;
                guardian.signal(Signal::TSTP);
            }
            _ = self.go_on.recv() => guardian.signal(Signal::CONT),
        }
    }

    /// The command was stopped by this signal.
    pub(super) async fn stopped(&mut self, signal: Signal, guard: &Guard, guardian: &Conversation) {
        let has_terminal = self.terminal_is_of(self.group);
        let has_mine = self.terminal_is_of(getpgrp());
        if signal == Signal::TTIN || signal == Signal::TTOU {
            // It may have asked before it got the terminal. If this program is in the background, too, the shell above is
            // told why: it may have a terminal to give.
            if !has_terminal && !has_mine {
                suspend_callers_group(signal);
            }
            self.given = true;
            // Where nothing stops this program, a command that wants the terminal in vain shall not keep it busy.
            tokio::time::sleep(Duration::from_millis(10)).await;
        } else if has_terminal {
            // Ctrl-Z, or a command that is a program like this one and sends itself SIGSTOP then.
            self.take_back();
            suspend_callers_group(Signal::STOP);
        } else if self.suspended && has_mine {
            _ = kill_process(getpid(), Signal::STOP);
        } else {
            // The process that stopped it will continue it.
            self.suspended = false;
            return;
        }
        self.suspended = false;
        // If the lock was lost meanwhile, the command is not to do another thing.
        if guard.is_lost() {
            return;
        }
        if self.given && self.terminal_is_of(getpgrp()) {
            self.give();
        }
        guardian.signal(Signal::CONT);
    }

    fn terminal_is_of(&self, group: Pid) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| tcgetpgrp(terminal).is_ok_and(|found| found == group))
    }

    fn give(&mut self) {
        self.given = self.terminal.as_ref().is_some_and(|terminal| tcsetpgrp(terminal, self.group).is_ok());
    }

    /// Takes the terminal back from the command, if it has it. A process that does so from the background is stopped unless it
    /// blocks SIGTTOU: a thread of its own blocks it, and no other thread does.
    pub(super) fn take_back(&self) {
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

/// Stops this program and its caller until another process continues them. A session leader has no process above that would.
fn suspend_callers_group(signal: Signal) {
    if getsid(None).is_ok_and(|session| session != getpid()) {
        _ = kill_current_process_group(signal);
    }
}
