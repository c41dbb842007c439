//! The flags of `run` and `acquire`: which lock to acquire, and how long to wait for it.

use std::convert::Infallible;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use rustix::process::Signal;
use service::InWords;
use tokenwood::label::{Label, of_this_process};
use tokenwood::{Error, Guard, Lock, NoAnswer, Options, Refusal, Tokenwood};
use tokio::time::{Instant, sleep};

use crate::locks::cluster::UNAVAILABLE;
use crate::locks::endpoints::{Endpoints, duration, unreached};
use crate::locks::holders::Clients;
use crate::locks::mismatch;
use crate::terminal::failure;
use crate::terminal::output::note;
use crate::terminal::signals::Signals;

/// Exit code: timed out waiting for the lock, or `--try` found it held.
pub(crate) const NOT_HAD: u8 = 75;
/// Exit code: the lock is lost.
pub(crate) const LOST: u8 = 76;

/// Between tries to reach a node.
const RETRY: Duration = Duration::from_millis(200);

/// A program that waits says nothing at first, because most locks are granted soon.
const SILENT_AT_FIRST: Duration = Duration::from_millis(500);
/// So often it looks whether anything has changed.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What to do if `--try` finds a lock held.
const NO_TRY: &str = "leave out --try to wait for it";

/// The process that a lock is for, as nodes show it.
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) command: String,
}

/// Which lock to hold.
#[derive(Args)]
pub(crate) struct LockArguments {
    /// The name of the lock
    pub(crate) name: String,
    /// How many clients may hold it at once; all clients must give the same number [default: as it is defined, or 1]
    #[arg(long, short = 'k', value_name = "K")]
    slots: Option<u32>,
    /// Hold a room instead, in this group: together with clients of the same group, never with others. With several, as
    /// A,B or repeated, in the first of them that opens
    #[arg(long = "group", value_name = "GROUP", value_delimiter = ',', value_parser = group, conflicts_with_all = ["slots", "shared", "exclusive"])]
    groups: Vec<String>,
    /// Hold a read-write lock instead, as a reader: together with other readers
    #[arg(long, conflicts_with_all = ["slots", "exclusive"])]
    shared: bool,
    /// Hold a read-write lock instead, as a writer: alone
    #[arg(long, conflicts_with = "slots")]
    exclusive: bool,
    /// Time out after this long, for instance 10s. That includes the time until a node can be reached and the cluster can
    /// grant; 0s takes a free lock [default: wait for ever for the lock, but not for a node]
    #[arg(long, value_parser = duration, conflicts_with = "try_once")]
    wait: Option<Duration>,
    /// Do not wait: fail if another client holds the lock
    #[arg(long = "try")]
    try_once: bool,
    /// The exit code if the lock is not granted in time, or --try finds it held [default: 75]
    #[arg(long, short = 'E', value_name = "CODE")]
    conflict_exit_code: Option<u8>,
    /// A text for those who look at who holds or waits for the lock, for instance the number of a build
    #[arg(long, value_name = "TEXT", env = "TOKENWOOD_LABEL")]
    label: Option<String>,
    /// Do not tell the nodes user, host, process id and program
    #[arg(long)]
    no_label: bool,
    #[command(flatten)]
    endpoints: Endpoints,
}

impl LockArguments {
    /// Acquires the lock in a session with this ttl. If it is not granted, or a signal asks this program to end, the exit
    /// code that says so.
    pub(crate) async fn take(&self, ttl: Duration, holder: Process) -> Result<Result<Guard, u8>> {
        let mut signals = Signals::listen()?;
        let label = self.label(holder);
        label.validate().with_context(|| format!("--label '{}'", label.text))?;
        let options = Options { ttl, label: Some(label), access: self.endpoints.access()? };
        let until = self.wait.and_then(|wait| Instant::now().checked_add(wait));
        // A waiter that is asked to end cancels first, so that it is not granted the lock when it is gone.
        tokio::select! {
            taken = self.take_by(until, &options) => taken,
            signal = signals.next() => Ok(Err(ended_by(signal))),
        }
    }

    async fn take_by(&self, until: Option<Instant>, options: &Options) -> Result<Result<Guard, u8>> {
        let tokenwood = match self.connect_by(until, options).await {
            Ok(tokenwood) => tokenwood,
            Err(error) => return self.not_connected(error),
        };
        let lock = self.lock(&tokenwood);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let taking = async {
            match left {
                _ if self.try_once => lock.try_acquire().await,
                Some(Duration::ZERO) => lock.try_acquire().await,
                Some(left) => lock.acquire_within(left).await,
                None => lock.acquire().await,
            }
        };
        let taken = tokio::select! {
            taken = taking => taken,
            never = self.tell_while_waiting(options.label.as_ref()), if stderr().is_terminal() => match never {},
        };
        match taken {
            Ok(guard) => Ok(Ok(guard)),
            Err(error) if error.is_taken() => {
                let (message, hint) = self.not_granted().await;
                Ok(Err(failure::fail(self.conflict_exit_code.unwrap_or(NOT_HAD), message, hint)))
            }
            Err(Error::Refused(refusal @ (Refusal::NoLease | Refusal::Leaving))) => {
                let message = format!("lock '{}': {refusal}", self.name);
                let hint = "'tokenwood status' shows which nodes are there";
                Ok(Err(failure::fail(UNAVAILABLE, message, Some(hint))))
            }
            Err(error @ (Error::NoNode(_) | Error::Lost)) => self.not_connected(error),
            Err(Error::Refused(refusal)) => {
                Err(anyhow!("lock '{}': {}", self.name, mismatch::in_words(&refusal, &self.name)))
            }
            Err(error) => Err(anyhow!("lock '{}': {error}", self.name)),
        }
    }

    /// Connects to a node; with --wait, until then.
    async fn connect_by(&self, until: Option<Instant>, options: &Options) -> Result<Tokenwood, Error> {
        loop {
            let error = match Tokenwood::connect_with(self.endpoints.named(), options.clone()).await {
                Err(error) if refused(&error).is_none() => error,
                connected => return connected,
            };
            let now = Instant::now();
            match until.filter(|until| *until > now) {
                Some(until) => sleep(RETRY.min(until - now)).await,
                None => return Err(error),
            }
        }
    }

    /// No node opened a session: wrong usage, or a cluster that cannot be reached or cannot grant.
    fn not_connected(&self, error: Error) -> Result<Result<Guard, u8>> {
        if let Some(refusal) = refused(&error) {
            return Err(anyhow!("lock '{}': {refusal}", self.name));
        }
        let about = format!("lock '{}': ", self.name);
        Ok(Err(failure::fail_with(UNAVAILABLE, &about, &unreached(error))))
    }

    /// Why the lock was not granted, and what to do next.
    async fn not_granted(&self) -> (String, Option<&'static str>) {
        let name = &self.name;
        let clients = Clients::of(&self.endpoints, name).await.unwrap_or_default();
        let held = clients.in_words(None);
        match (self.wait.map(InWords), held) {
            (Some(wait), Some(held)) => {
                (format!("timed out after {wait} waiting for lock '{name}': {held}"), None)
            }
            (Some(wait), None) => {
                (format!("timed out after {wait} waiting for lock '{name}'"), Some("see 'tokenwood locks'"))
            }
            (None, Some(held)) => (format!("lock '{name}' is {held}"), Some(NO_TRY)),
            (None, None) => (format!("lock '{name}' was held by another client"), Some(NO_TRY)),
        }
    }

    /// Says at a terminal what this program waits for, and again when that changes.
    async fn tell_while_waiting(&self, me: Option<&Label>) -> Infallible {
        let (name, mut said) = (&self.name, None);
        sleep(SILENT_AT_FIRST).await;
        loop {
            let now = match Clients::of(&self.endpoints, name).await {
                Some(clients) => clients.in_words(me).map(|words| (clients.sessions(me), words)),
                None => Some((Vec::new(), "no node answers; trying again".to_string())),
            };
            // Only the time has changed otherwise.
            if let Some((who, words)) = now.filter(|(who, _)| said.as_ref() != Some(who)) {
                note!("tokenwood: waiting for lock '{name}': {words}");
                said = Some(who);
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Who holds the lock, if it is granted to this process or on behalf of another.
    fn label(&self, holder: Process) -> Label {
        let text = self.label.clone().unwrap_or_default();
        if self.no_label {
            return Label { text, ..Label::default() };
        }
        let Process { id, command } = holder;
        Label { process: id, command: Label::part(&command), text, ..of_this_process() }
    }

    fn lock(&self, tokenwood: &Tokenwood) -> Lock {
        let name = &self.name;
        if !self.groups.is_empty() {
            return tokenwood.room(name).any_of(self.groups.iter().map(|group| &**group));
        }
        match (self.shared, self.exclusive) {
            (true, _) => tokenwood.rwlock(name).read(),
            (_, true) => tokenwood.rwlock(name).write(),
            _ => match self.slots {
                Some(slots) => tokenwood.semaphore(name, slots),
                None => tokenwood.as_defined(name),
            },
        }
    }

    /// The nodes that are asked.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.endpoints.named()
    }

    /// The group that it is held in, if it is a room.
    pub(crate) fn group(&self, guard: &Guard) -> Option<&str> {
        self.groups.get(guard.group() as usize).map(|group| &**group)
    }
}

/// A group that can be: an empty one is most often a variable that is not set.
fn group(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("a group needs a name: is a variable empty?".to_string()),
        false => Ok(text.to_string()),
    }
}

/// Why a node that was reached serves this client not at all.
fn refused(error: &Error) -> Option<&Refusal> {
    let Error::NoNode(tried) = error else { return None };
    tried.iter().find_map(|(_, why)| match why {
        NoAnswer::Refused(refusal) if !matches!(refusal, Refusal::NoLease | Refusal::Leaving) => {
            Some(refusal)
        }
        _ => None,
    })
}

/// The exit code of a program that was ended by a signal.
pub(crate) fn ended_by(signal: Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}
