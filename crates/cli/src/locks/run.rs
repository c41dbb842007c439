//! `tokenwood run`: runs a command while holding a lock.

mod conversation;
pub(crate) mod descendants;
mod ending;
mod foreground;
pub(crate) mod guardian;
mod link;
mod passed_on;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use rustix::process::{Pid, Signal};
use tokenwood::Guard;
use tokio::time::{Instant, sleep_until};
use transport::clock::machine_now;

use crate::locks::endpoints::{duration, runtime};
use crate::locks::lock_arguments::{LOST, LockArguments, Process};
use crate::terminal::output::note;
use conversation::{Conversation, Said};
use ending::OnLost;
use foreground::Foreground;
use link::{FromGuardian, ToGuardian};
use passed_on::PassedOn;

const EXAMPLES: &str = "\
Examples:
    tokenwood run backup ./backup.sh                    # one at a time in the whole cluster
    tokenwood run gpu --slots 2 ./train.sh              # at most two at once
    tokenwood run model --group v41 ./serve.sh          # all of v41 together, never with v42
    tokenwood run config --shared ./read.sh             # readers together; --exclusive alone
    tokenwood run backup --wait 10s ./backup.sh || test $? = 75   # or not at all";

/// Run a command while holding a lock
///
/// The command and everything it has started are ended before another client can hold the lock, also when this program is
/// killed. The command finds TOKENWOOD_NAME, TOKENWOOD_SLOT, TOKENWOOD_FENCE and TOKENWOOD_ENDPOINTS in its environment, and
/// with --group TOKENWOOD_GROUP. This program passes signals on to it.
///
/// Exit code: that of the command, or 128 + the signal that ended it; 126 or 127: the command cannot be run or was not found;
/// 69: no node could be reached, or the cluster cannot grant; 75: timed out waiting for the lock, or --try found it held; 76:
/// the lock was lost, and the command was ended; 70: this program failed, and the command was ended; 2: wrong usage.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lock: LockArguments,
    /// How long the lock survives if this program dies or cannot reach its node
    #[arg(long, value_parser = duration, default_value = "10s")]
    ttl: Duration,
    /// How long the command has after SIGTERM before it is killed, within the time that the lock is still held
    #[arg(long, value_parser = duration, default_value = "5s", value_name = "TIME")]
    grace: Duration,
    /// What to do when the lock is lost or revoked: 'term' sends SIGTERM, and SIGKILL after the grace; 'kill' sends SIGKILL;
    /// 'none' lets the command go on, which breaks exclusion; anything else is run by the shell instead of SIGTERM, with the
    /// process id of the command in TOKENWOOD_PID
    #[arg(long, default_value = "term", value_name = "term|kill|none|COMMAND", value_parser = on_lost)]
    on_lost: OnLost,
    /// Hold the lock until everything that the command has started has ended, not only the command
    #[arg(long)]
    wait_children: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// The command of a guardian: see `guardian.rs`.
#[derive(Args)]
pub(crate) struct Guarded {
    /// The process id of the guardian.
    #[arg(long)]
    parent: u32,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Exit code: this program failed.
const FAILED: u8 = 70;

/// A guardian ends a command at the deadline; if it has not by so much later, it is stopped or stuck.
const GUARDIAN_LATE: Duration = Duration::from_millis(40);

fn on_lost(text: &str) -> Result<OnLost, String> {
    match text {
        "term" => Ok(OnLost::Term),
        "kill" => Ok(OnLost::Kill),
        "none" => Ok(OnLost::None),
        "" => Err("name 'term', 'kill', 'none', or a command for the shell".to_string()),
        command => Ok(OnLost::Command(command.to_string())),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    runtime()?.block_on(async {
        match arguments.lock.take(arguments.ttl, arguments.process()).await? {
            Ok(guard) => hold(arguments, guard).await,
            Err(code) => Ok(code),
        }
    })
}

pub(crate) fn guarded(arguments: &Guarded) -> u8 {
    guardian::become_command(arguments.parent, &arguments.command)
}

/// Runs the command until it ends or the lock is lost.
async fn hold(arguments: &Arguments, guard: Guard) -> Result<u8> {
    let signals = PassedOn::listen()?;
    descendants::reap();
    let start = ToGuardian::Start {
        command: link::as_bytes(&arguments.command),
        on_lost: arguments.on_lost.clone(),
        grace: arguments.grace,
        wait_children: arguments.wait_children,
        held_until: held_until(&guard),
    };
    let guardian = Conversation::start(&arguments.variables(&guard), &start)?;
    let mut said = Said::default();
    let group = loop {
        match guardian.next(&mut said).await {
            Some(FromGuardian::Started { group }) => break group,
            Some(FromGuardian::CanEscape { why }) => note!(
                "tokenwood: {why}: what the command starts in a session of its own may outlive the lock"
            ),
            Some(FromGuardian::CannotStart { why }) => {
                note!("tokenwood: {why}");
                return Ok(FAILED);
            }
            _ => {
                note!("tokenwood: the guardian of the command ended before it began");
                return Ok(FAILED);
            }
        }
    };
    let foreground = Foreground::new(Pid::from_raw(group).context("the command has no process id")?)?;
    let mut holder = Holder { arguments, guard, guardian, said, foreground, signals, lost: None };
    let code = holder.watch().await;
    holder.guardian.end().await;
    holder.foreground.take_back();
    Ok(code)
}

/// When the lock is lost unless it is renewed, on the clock that all processes of this machine share.
fn held_until(guard: &Guard) -> u64 {
    let now = machine_now();
    guard.remaining().map_or(u64::MAX, |left| (now + left).0)
}

impl Arguments {
    /// The process that holds the lock, as nodes show it. Arguments may be secret.
    fn process(&self) -> Process {
        let program = self.command.first().map(|program| program.to_string_lossy().into_owned());
        Process { id: std::process::id(), command: program.unwrap_or_default() }
    }

    /// What the command finds in its environment.
    fn variables(&self, guard: &Guard) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("TOKENWOOD_NAME", self.lock.name.clone().into()),
            ("TOKENWOOD_SLOT", guard.slot().to_string().into()),
            ("TOKENWOOD_FENCE", guard.fence().to_string().into()),
            ("TOKENWOOD_ENDPOINTS", self.lock.endpoints().join(",").into()),
        ];
        variables.extend(self.lock.group(guard).map(|group| ("TOKENWOOD_GROUP", group.into())));
        variables
    }
}

/// Holds the lock for a command.
struct Holder<'a> {
    arguments: &'a Arguments,
    guard: Guard,
    guardian: Conversation,
    said: Said,
    foreground: Foreground,
    signals: PassedOn,
    /// When the guardian is late, once the lock is lost or revoked.
    lost: Option<Instant>,
}

impl Holder<'_> {
    /// Until the command has ended. Returns the exit code.
    async fn watch(&mut self) -> u8 {
        let mut next_look = Instant::now();
        loop {
            let is_lost = self.lost.is_some();
            let late = self.lost.unwrap_or(next_look);
            tokio::select! {
                said = self.guardian.next(&mut self.said) => match said {
                    Some(FromGuardian::Exited { .. }) if is_lost => return LOST,
                    Some(FromGuardian::Exited { code }) => return code,
                    Some(FromGuardian::Ended { left }) => return self.ended(&left),
                    Some(said) => self.hear(said).await,
                    None => return self.without_guardian(),
                },
                signal = self.signals.next() => {
                    self.guardian.signal(signal);
                    // A suspended command would notice only later.
                    if signal != Signal::WINCH && signal != Signal::URG {
                        self.guardian.signal(Signal::CONT);
                    }
                }
                () = self.foreground.asked(&self.guardian) => {}
                () = self.guard.lost(), if !is_lost => self.lose(),
                () = sleep_until(next_look), if !is_lost => next_look = self.look(),
                () = sleep_until(late), if is_lost && self.arguments.on_lost != OnLost::None => {
                    return self.without_guardian();
                }
            }
        }
    }

    /// Tells the guardian until when the lock is held. Returns when to look again.
    fn look(&self) -> Instant {
        self.guardian.say(&ToGuardian::Renewed { held_until: held_until(&self.guard) });
        let left = self.guard.remaining().unwrap_or(self.arguments.ttl);
        Instant::now() + (left / 8).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }

    fn lose(&mut self) {
        let left = self.guard.remaining().unwrap_or_default();
        self.guardian.say(if left.is_zero() { &ToGuardian::Lost } else { &ToGuardian::Revoked });
        self.lost = Some(Instant::now() + left + GUARDIAN_LATE);
        let name = &self.arguments.lock.name;
        let what = if left.is_zero() { "lost" } else { "revoked" };
        let then = match self.arguments.on_lost {
            OnLost::None => "the command goes on without it",
            _ => "ending the command",
        };
        note!("tokenwood: {name}: the lock is {what}, {then}");
    }

    async fn hear(&mut self, said: FromGuardian) {
        match said {
            FromGuardian::Stopped { signal } => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    self.foreground.stopped(signal, &self.guard, &self.guardian).await;
                }
            }
            FromGuardian::Asked if self.lost.is_none() => note!(
                "tokenwood: {}: no node confirms the lock, ending the command before it is lost",
                self.arguments.lock.name
            ),
            _ => {}
        }
    }

    fn ended(&self, left: &[i32]) -> u8 {
        if !left.is_empty() {
            let ids: Vec<String> = left.iter().map(i32::to_string).collect();
            note!(
                "tokenwood: {}: the lock is lost, and these processes of another user could not be ended: {}",
                self.arguments.lock.name,
                ids.join(", ")
            );
        } else if self.lost.is_none() {
            note!("tokenwood: {}: the lock is lost, and the command was ended", self.arguments.lock.name);
        }
        LOST
    }

    /// The guardian was killed, or does not do what it is for: this program ends the command.
    fn without_guardian(&self) -> u8 {
        descendants::kill_all(self.foreground.group());
        if self.lost.is_some() {
            return LOST;
        }
        note!("tokenwood: the guardian of the command was killed, so the command was ended");
        FAILED
    }
}
