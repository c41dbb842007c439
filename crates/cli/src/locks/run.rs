//! `tokenwood run`: runs a command while holding a lock.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use tokenwood::Guard;
use tokio::process::{Child, Command};

use crate::locks::endpoints::{duration, runtime};
use crate::locks::foreground::Foreground;
use crate::locks::lock_arguments::{LOST, LockArguments};
use crate::terminal::output::note;
use crate::terminal::signals::Signals;

/// Run a command while holding a lock
///
/// The command finds TOKENWOOD_SLOT and TOKENWOOD_FENCE in its environment, and with --group TOKENWOOD_GROUP. Exit code:
/// that of the command; 75: timed out waiting for the lock, or --try found it held; 76: the lock was lost, and the command
/// with everything it had started was ended before another client could hold the lock.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lock: LockArguments,
    /// How long the lock survives if this program dies or cannot reach its node
    #[arg(long, value_parser = duration, default_value = "10s")]
    ttl: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    runtime()?.block_on(async {
        match arguments.lock.take(arguments.ttl).await? {
            Ok(guard) => hold(arguments, guard).await,
            Err(code) => Ok(code),
        }
    })
}

/// Runs the command until it ends or the lock is lost.
async fn hold(arguments: &Arguments, guard: Guard) -> Result<u8> {
    let (program, rest) = arguments.command.split_first().context("there is no command")?;
    let mut command = std::process::Command::new(program);
    command.args(rest).process_group(0);
    command.env("TOKENWOOD_SLOT", guard.slot().to_string()).env("TOKENWOOD_FENCE", guard.fence().to_string());
    if let Some(group) = arguments.lock.group(&guard) {
        command.env("TOKENWOOD_GROUP", group);
    }
    let mut child = Command::from(command).spawn().with_context(|| format!("cannot run '{program}'"))?;
    let group =
        child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("the command has no process id")?;
    let mut signals = Signals::listen()?;
    let mut foreground = Foreground::new(group)?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status.context("cannot wait for the command")?),
            signal = signals.next() => {
                _ = kill_process_group(group, signal);
                // A suspended command would notice only later.
                _ = kill_process_group(group, Signal::CONT);
            }
            () = foreground.look_after(&guard) => {}
            () = guard.lost() => break None,
        }
    };
    if status.is_none() {
        note!("tokenwood: {}: the lock is lost, ending the command", arguments.lock.name);
        end(&mut child, group, arguments.ttl).await;
    }
    foreground.take_back();
    Ok(status.map_or(LOST, exit_code))
}

/// Ends everything the command has started: with SIGTERM, then with SIGKILL. Another client may be granted the lock after a
/// twentieth of the ttl, or a tenth of a second if that is longer; half of that time is for SIGTERM.
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
