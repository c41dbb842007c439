//! The guardian of a command: a small process between `run` and its command, which ends the command in time also when `run` is
//! killed, stopped or out of memory.
//!
//! `run` tells it until when the lock is held. It hears that `run` is gone, because their socket closes. It is the reaper of
//! everything that the command starts, and the kernel kills the command when the guardian itself is killed; `run` is the
//! reaper above it, and ends the rest. Only if both are killed at the same moment, what the command has started can stay.
//!
//! It blocks all signals that can be blocked, and is in a process group of its own.

use std::ffi::{CStr, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal as Blockable};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use service::Time;
use transport::clock::machine_now;

use super::descendants;
use super::ending::{Act, Ending, OnLost};
use super::link::{FromGuardian, Heard, ToGuardian, from_bytes, line, receive_input};
use super::passed_on;
use crate::daemon::parent::end_with;

/// What the guardian is called where processes are listed: those who end `tokenwood` by name do not mean it.
pub(super) const PROCESS_NAME: &CStr = c"tw-guardian";

/// The program that runs now, also if its file was replaced meanwhile.
#[cfg(target_os = "linux")]
pub(super) fn this_program() -> Result<std::path::PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn this_program() -> Result<std::path::PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

/// The process of the guardian: `tokenwood guardian`, with a socket as its standard input.
pub(crate) fn run() -> Result<u8> {
    SigSet::all().thread_block().context("cannot block signals")?;
    _ = rustix::thread::set_name(PROCESS_NAME);
    let can_escape = descendants::reap();
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let input = receive_input(&socket)?;
    let mut ear = Ear { socket, heard: Heard::default() };
    let Some(ToGuardian::Start { command, on_lost, grace, wait_children, held_until }) = ear.first()? else {
        return Ok(0);
    };
    if let Some(why) = can_escape {
        ear.say(&FromGuardian::CanEscape { why });
    }
    let child = match start(&from_bytes(command), Stdio::from(input), None) {
        Ok(child) => child,
        Err(error) => {
            ear.say(&FromGuardian::CannotStart { why: format!("{error:#}") });
            return Ok(0);
        }
    };
    ear.say(&FromGuardian::Started { group: child.as_raw_pid() });
    let ending = Ending::new(on_lost.clone(), grace, Time(held_until), machine_now());
    Guardian { ear, child, ending, on_lost, wait_children, exited: None }.watch()?;
    Ok(0)
}

/// Starts the command in a process group of its own, through a process that arranges for its end.
fn start(command: &[OsString], input: Stdio, group: Option<Pid>) -> Result<Pid> {
    let mut starter = Command::new(this_program()?);
    starter.arg0(OsStr::from_bytes(PROCESS_NAME.to_bytes())).args([
        "guarded",
        "--parent",
        &std::process::id().to_string(),
        "--",
    ]);
    starter.args(command).stdin(input).process_group(0);
    starter.envs(group.map(|group| ("TOKENWOOD_PID", group.as_raw_pid().to_string())));
    let child = starter.spawn().context("cannot start a process for the command")?;
    Pid::from_raw(child.id().cast_signed()).context("the command has no process id")
}

/// Becomes the command. The kernel kills it when its guardian is gone.
pub(crate) fn become_command(parent: u32, command: &[OsString]) -> u8 {
    // The guardian blocks all of them, and a process begins with what its parent blocks.
    _ = SigSet::empty().thread_set_mask();
    if !end_with(parent) {
        return 137;
    }
    let Some((program, arguments)) = command.split_first() else { return 2 };
    let error = Command::new(program).args(arguments).exec();
    let (code, hint) = match error.kind() {
        io::ErrorKind::NotFound => (127, ": is it in PATH, and is it spelt right?"),
        io::ErrorKind::PermissionDenied => (126, ": is it a program, and may you run it?"),
        _ => (126, ""),
    };
    crate::terminal::output::note!("tokenwood: cannot run '{}': {error}{hint}", program.to_string_lossy());
    code
}

/// The socket to `run`.
struct Ear {
    socket: UnixStream,
    heard: Heard,
}

impl Ear {
    /// Waits for the first thing that is said; `None` if nothing is.
    fn first(&mut self) -> Result<Option<ToGuardian>> {
        loop {
            if let Some(said) = self.heard.next()? {
                return Ok(Some(said));
            }
            if self.read()? == 0 {
                return Ok(None);
            }
        }
    }

    fn read(&mut self) -> Result<usize> {
        let mut bytes = [0; 16 * 1024];
        let read = self.socket.read(&mut bytes)?;
        self.heard.0.extend_from_slice(&bytes[..read]);
        Ok(read)
    }

    /// Says something, if `run` is there to hear it.
    fn say(&mut self, said: &FromGuardian) {
        _ = self.socket.write_all(&line(said));
    }
}

struct Guardian {
    ear: Ear,
    child: Pid,
    ending: Ending,
    on_lost: OnLost,
    wait_children: bool,
    exited: Option<u8>,
}

impl Guardian {
    /// Watches over the command until it has ended.
    fn watch(mut self) -> Result<()> {
        let changes = SignalFd::with_flags(&SigSet::from(Blockable::SIGCHLD), SfdFlags::SFD_CLOEXEC)?;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        let mut run_is_there = true;
        loop {
            if self.has_ended() {
                return Ok(());
            }
            set(&timer, self.ending.next())?;
            let (changed, said) = {
                let mut waits =
                    vec![PollFd::new(&changes, PollFlags::IN), PollFd::new(&timer, PollFlags::IN)];
                if run_is_there {
                    waits.push(PollFd::new(&self.ear.socket, PollFlags::IN));
                }
                match poll(&mut waits, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error).context("cannot wait for the command"),
                }
                let ready = |at: usize| waits.get(at).is_some_and(|wait| !wait.revents().is_empty());
                (ready(0), ready(2))
            };
            if changed {
                changes.read_signal()?;
            }
            if said {
                run_is_there = self.listen();
            }
            let act = self.ending.look(machine_now());
            self.act(act);
        }
    }

    /// Hears what `run` says. Returns whether it is still there.
    fn listen(&mut self) -> bool {
        let there = self.ear.read().is_ok_and(|read| read > 0);
        loop {
            match self.ear.heard.next() {
                Ok(Some(said)) => self.hear(&said),
                Ok(None) => break,
                // Only a program of another version would say something else.
                Err(_) => return self.begin(),
            }
        }
        there || self.begin()
    }

    fn hear(&mut self, said: &ToGuardian) {
        match said {
            ToGuardian::Start { .. } => {}
            ToGuardian::Renewed { held_until } => self.ending.renewed(Time(*held_until), machine_now()),
            ToGuardian::Revoked => _ = self.begin(),
            ToGuardian::Lost => self.act((self.on_lost != OnLost::None).then_some(Act::Kill)),
            ToGuardian::Signal(signal) => {
                if let Some(signal) = passed_on::numbered(*signal) {
                    self.pass_on(signal);
                }
            }
        }
    }

    /// The lock is not renewed any more.
    fn begin(&mut self) -> bool {
        let act = self.ending.begin(machine_now());
        self.act(act);
        false
    }

    fn pass_on(&self, signal: Signal) {
        if self.exited.is_none() || self.wait_children {
            _ = kill_process_group(self.child, signal);
        }
    }

    fn act(&mut self, act: Option<Act>) {
        match act {
            None => {}
            Some(Act::Ask) => {
                self.ear.say(&FromGuardian::Asked);
                match &self.on_lost {
                    OnLost::Command(command) => self.run_instead(&command.clone()),
                    _ => descendants::signal_all(Signal::TERM),
                }
                // A suspended command would notice only later.
                descendants::signal_all(Signal::CONT);
            }
            Some(Act::Kill) => {
                let left = descendants::kill_all(self.child).into_iter().collect();
                self.ear.say(&FromGuardian::Ended { left });
                std::process::exit(0);
            }
        }
    }

    /// Runs what the user wants to be run when the lock is about to be lost.
    fn run_instead(&self, command: &str) {
        let shell = ["/bin/sh", "-c", command].map(OsString::from);
        if let Err(error) = start(&shell, Stdio::null(), Some(self.child)) {
            crate::terminal::output::note!("tokenwood: cannot run the command for a lost lock: {error:#}");
            descendants::signal_all(Signal::TERM);
        }
    }

    /// Looks at what has become of the command. Says so, and returns true, if there is nothing left to do.
    fn has_ended(&mut self) -> bool {
        let none_left = loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((process, status))) if process == self.child => self.changed(status),
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if self.ending.has_begun() {
            if none_left {
                self.ear.say(&FromGuardian::Ended { left: Vec::new() });
            }
            return none_left;
        }
        match self.exited {
            Some(code) if none_left || !self.wait_children => {
                self.ear.say(&FromGuardian::Exited { code });
                true
            }
            _ => false,
        }
    }

    fn changed(&mut self, status: WaitStatus) {
        if let Some(signal) = status.stopping_signal() {
            self.ear.say(&FromGuardian::Stopped { signal });
        } else {
            let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
            self.exited = Some(u8::try_from(code.unwrap_or(0)).unwrap_or(u8::MAX));
        }
    }
}

/// Sets the timer to this moment.
fn set(timer: &OwnedFd, at: Option<Time>) -> Result<()> {
    let wait = at.map(|at| (at - machine_now()).max(Duration::from_nanos(1)));
    let it_value = wait.map_or(Timespec { tv_sec: 0, tv_nsec: 0 }, |wait| Timespec {
        tv_sec: wait.as_secs().cast_signed(),
        tv_nsec: wait.subsec_nanos().into(),
    });
    let when = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), &when)?;
    Ok(())
}
