//! What to hold and how long to wait for it, as `run` and `acquire` are told.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use client::{Guard, Lock, Options, Tokenwood};
use rustix::process::Signal;

use crate::endpoints::{Endpoints, duration};
use crate::output::note;
use crate::signals::Signals;

/// The lock was not had in time.
pub(crate) const NOT_HAD: u8 = 75;
/// The lock was held, and is not any more.
pub(crate) const LOST: u8 = 76;

/// What to hold.
#[derive(Args)]
pub(crate) struct LockArguments {
    /// The name of the lock
    pub(crate) name: String,
    /// How many may hold it at once; everybody has to say the same [default: as many as it is defined to have, or 1]
    #[arg(long, short = 'k', value_name = "K")]
    slots: Option<u32>,
    /// Hold a room instead, in this group: together with everybody in the same, never with others. Several, as A,B or
    /// repeated: in whichever of them opens first
    #[arg(long = "group", value_name = "GROUP", value_delimiter = ',', conflicts_with_all = ["slots", "shared", "exclusive"])]
    groups: Vec<String>,
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
    #[command(flatten)]
    endpoints: Endpoints,
}

impl LockArguments {
    /// Takes it, in a session that lives so long by itself. If it was not had, or somebody wants this program to end,
    /// the exit code that says so.
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
        // Whoever is asked to end while it waits gives up first, so that it is not let in when it is gone.
        let taken = tokio::select! {
            taken = taking => taken,
            signal = signals.next() => return Ok(Err(ended_by(signal))),
        };
        match taken {
            Ok(guard) => Ok(Ok(guard)),
            Err(error) if error.is_taken() => {
                note!("tokenwood: {}: {error}", self.name);
                Ok(Err(NOT_HAD))
            }
            Err(error) => Err(error).context(self.name.clone()),
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

/// The exit code of whoever was ended by a signal.
pub(crate) fn ended_by(signal: Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}
