//! The control plane: what Tokenwood's nodes agree on, by consensus, kept on disk. Nothing per lock.
//!
//! The registry is `service::registry`, which is pure; consensus is openraft's part. This crate puts files
//! and sockets around both: a data folder that names its owner ([`folder`]), a log that is flushed before
//! anything is acknowledged, and one connection per peer. It decides nothing: `service::leases` decides who
//! is in a view, and when a lease has run out.
//!
//! Begin with [`Control`]. `docs/control.md` says in words what is stored and what survives what.

#![forbid(unsafe_code)]

mod config;
mod control;
mod disk;
mod error;
pub mod folder;
mod invitation;
mod leading;
mod look;
mod network;
mod refused_call;
mod server;
mod shared;
mod state_machine;
mod store;
#[cfg(test)]
mod test_folder;
mod types;
pub mod voters;
mod wire;

pub use config::{Config, ConfigError, Timing};
pub use control::Control;
pub use disk::{MAY_PANIC, SLOW_DISK};
pub use error::{AskError, ChangeError, FoundError, NotLeading, ProposeError, StartError};
pub use invitation::{Invitation, NoInvitation};
pub use look::{Majority, Neighbour};
pub use refused_call::{OnRefusedCall, RefusedCall};
pub use wire::{CallRefusal, FIRST_BYTES, Hello, MAGIC, is_for_us};

/// Whether this build has faults that can be provoked, for tests.
pub const FAULTS: bool = cfg!(feature = "faults");
