//! A node of the lock service: sockets, a clock and the control plane around the member that decides.
//!
//! [`Host`] drives [`service::Member`], which decides everything. One thread, the reactor of the crate
//! `transport`, owns the sockets of clients and peers. Begin with `host.rs`, then read `clients.rs` (clients with
//! a connection), `embedded.rs` (clients in this process), `links.rs` (peers) and `control_calls.rs` (the control plane).
//! [`failure`] and [`watchdog`] notice that a node cannot go on.

mod clients;
mod control_calls;
mod embedded;
pub mod failure;
pub mod faults;
mod first_token;
pub mod host;
mod lag;
mod limiter;
mod links;
mod local;
mod log;
mod member_line;
mod memory;
mod port;
pub mod reach;
mod start;
mod turned_away;
mod waiting;
pub mod watchdog;

pub use clients::{Place, evidence};
pub use control::Invitation;
pub use failure::{Failure, OnFailure};
pub use first_token::OnFirstToken;
pub use host::{Bootstrap, Host, HostConfig, Measured, StartError};
pub use local::LocalCluster;
pub use member_line::{Begun, Heard, Line};
pub use transport::{Encryption, Sockets};
pub use watchdog::{Heart, Hearts, Waits, Watchdog};

/// Whether this build has faults that can be provoked, for tests.
pub const FAULTS: bool = cfg!(feature = "faults") && tokenwood::FAULTS && control::FAULTS;
