//! The flags of `run` and `acquire`: which lock to acquire, and how long to wait for it.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use rustix::process::Signal;
use tokenwood::{Guard, Lock, Options, Tokenwood};

use crate::locks::endpoints::{Endpoints, duration};
use crate::terminal::output::note;
use crate::terminal::signals::Signals;

/// Exit code: timed out waiting for the lock, or `--try` found it held.
pub(crate) const NOT_HAD: u8 = 75;
/// Exit code: the lock is lost.
pub(crate) const LOST: u8 = 76;

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
    #[arg(long = "group", value_name = "GROUP", value_delimiter = ',', conflicts_with_all = ["slots", "shared", "exclusive"])]
    groups: Vec<String>,
    /// Hold a read-write lock instead, as a reader: together with other readers
    #[arg(long, conflicts_with_all = ["slots", "exclusive"])]
    shared: bool,
    /// Hold a read-write lock instead, as a writer: alone
    #[arg(long, conflicts_with = "slots")]
    exclusive: bool,
    /// Time out after this long, for instance 10s [default: wait for ever]
    #[arg(long, value_parser = duration, conflicts_with = "try_once")]
    wait: Option<Duration>,
    /// Do not wait: fail if another client holds the lock
    #[arg(long = "try")]
    try_once: bool,
    #[command(flatten)]
    endpoints: Endpoints,
}

impl LockArguments {
    /// Acquires the lock in a session with this ttl. If it is not granted, or a signal asks this program to end, the exit
    /// code that says so.
    pub(crate) async fn take(&self, ttl: Duration) -> Result<Result<Guard, u8>> {
        let mut signals = Signals::listen()?;
        let tokenwood = self.endpoints.connect(Options { ttl }).await?;
        let lock = self.lock(&tokenwood);
        let taking = async {
            match self.wait {
                _ if self.try_once => lock.try_acquire().await,
                Some(wait) => lock.acquire_within(wait).await,
                None => lock.acquire().await,
            }
        };
        // A waiter that is asked to end cancels first, so that it is not granted the lock when it is gone.
        let taken = tokio::select! {
            taken = taking => taken,
            signal = signals.next() => return Ok(Err(ended_by(signal))),
        };
        match taken {
            Ok(guard) => Ok(Ok(guard)),
            Err(error) if error.is_taken() => {
                note!("tokenwood: {}", self.not_granted());
                Ok(Err(NOT_HAD))
            }
            Err(error) => Err(error).with_context(|| format!("lock '{}'", self.name)),
        }
    }

    /// Why the lock was not granted, and what to do next.
    fn not_granted(&self) -> String {
        let name = &self.name;
        match self.wait {
            Some(wait) => {
                format!("timed out after {wait:?} waiting for lock '{name}'; see 'tokenwood locks'")
            }
            None => format!("lock '{name}' is held by another client; leave out --try to wait for it"),
        }
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

    /// The group that it is held in, if it is a room.
    pub(crate) fn group(&self, guard: &Guard) -> Option<&str> {
        self.groups.get(guard.group() as usize).map(|group| &**group)
    }
}

/// The exit code of a program that was ended by a signal.
pub(crate) fn ended_by(signal: Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}
