//! `tokenwood run`: runs a command while holding a lock.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use client::{Error, Guard, Lock, Options, Tokenwood};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::endpoints::{Endpoints, duration, runtime};

/// The lock was not had in time.
const NOT_HAD: u8 = 75;
/// The lock was lost, and the command was ended.
const LOST: u8 = 76;

/// Run a command while holding a lock
///
/// The command finds TOKENWOOD_SLOT and TOKENWOOD_FENCE in its environment. Exit code: that of the command; 75 if the
/// lock was not had in time; 76 if it was lost, and the command with everything it had started was ended before anybody
/// else could hold the lock.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The name of the lock
    name: String,
    /// How many may hold it at once; everybody has to say the same [default: 1]
    #[arg(long, short = 'k', value_name = "K")]
    slots: Option<u32>,
    /// Hold a room instead, in this group: together with everybody in the same, never with others
    #[arg(long, conflicts_with_all = ["slots", "shared", "exclusive"])]
    group: Option<String>,
    /// Hold a read-write lock instead, together with others who say --shared
    #[arg(long, conflicts_with_all = ["slots", "exclusive"])]
    shared: bool,
    /// Hold a read-write lock instead, alone
    #[arg(long, conflicts_with = "slots")]
    exclusive: bool,
    /// Wait so long at most, for instance 10s [default: for ever]
    #[arg(long, value_parser = duration, conflicts_with = "try_once")]
    wait: Option<Duration>,
    /// Do not wait for anybody
    #[arg(long = "try")]
    try_once: bool,
    /// How long the lock survives if this program dies or cannot reach its node
    #[arg(long, value_parser = duration, default_value = "10s")]
    ttl: Duration,
    #[command(flatten)]
    endpoints: Endpoints,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    runtime()?.block_on(async {
        let tokenwood = arguments.endpoints.connect(Options { ttl: arguments.ttl }).await?;
        match acquire(arguments, &lock(arguments, &tokenwood)).await {
            Ok(guard) => hold(arguments, guard).await,
            Err(error) if error.is_taken() => {
                eprintln!("tokenwood: {}: {error}", arguments.name);
                Ok(NOT_HAD)
            }
            Err(error) => Err(error).context(arguments.name.clone()),
        }
    })
}

fn lock(arguments: &Arguments, tokenwood: &Tokenwood) -> Lock {
    let name = &arguments.name;
    match &arguments.group {
        Some(group) => tokenwood.room(name).group(group),
        None if arguments.shared => tokenwood.rwlock(name).read(),
        None if arguments.exclusive => tokenwood.rwlock(name).write(),
        None => tokenwood.semaphore(name, arguments.slots.unwrap_or(1)),
    }
}

async fn acquire(arguments: &Arguments, lock: &Lock) -> Result<Guard, Error> {
    match arguments.wait {
        _ if arguments.try_once => lock.try_acquire().await,
        Some(wait) => lock.acquire_within(wait).await,
        None => lock.acquire().await,
    }
}

/// Runs the command until it ends or the lock is lost.
async fn hold(arguments: &Arguments, guard: Guard) -> Result<u8> {
    let (program, rest) = arguments.command.split_first().context("there is no command")?;
    let mut command = std::process::Command::new(program);
    command.args(rest).process_group(0);
    command.env("TOKENWOOD_SLOT", guard.slot().to_string()).env("TOKENWOOD_FENCE", guard.fence().to_string());
    let mut child = Command::from(command).spawn().with_context(|| format!("cannot run '{program}'"))?;
    let group =
        child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("the command has no process id")?;
    let mut forwarded = Forwarded::new()?;
    loop {
        tokio::select! {
            status = child.wait() => return Ok(exit_code(status.context("the command cannot be waited for")?)),
            signal = forwarded.next() => {
                _ = kill_process_group(group, signal);
            }
            () = guard.lost() => break,
        }
    }
    eprintln!("tokenwood: {}: the lock is lost, ending the command", arguments.name);
    end(&mut child, group, arguments.ttl).await;
    Ok(LOST)
}

/// Ends everything the command has started: politely, and then not. There is a twentieth of the time to live until
/// somebody else may be let in, or a tenth of a second if that is longer; half of it is for the polite way.
async fn end(child: &mut Child, group: Pid, ttl: Duration) {
    _ = kill_process_group(group, Signal::TERM);
    let polite = (ttl / 40).max(Duration::from_millis(50));
    _ = tokio::time::timeout(polite, child.wait()).await;
    _ = kill_process_group(group, Signal::KILL);
    _ = child.wait().await;
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Signals that are passed on to the command.
struct Forwarded {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
}

impl Forwarded {
    fn new() -> Result<Forwarded> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        Ok(Forwarded {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hang_up.recv() => Signal::HUP,
            _ = self.quit.recv() => Signal::QUIT,
        }
    }
}
