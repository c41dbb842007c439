//! Tokenwood's networked driver: what carries messages between processes.
//!
//! The crate is layered, and only the last layer touches sockets and clocks:
//!
//! - [`link`]: one ordered, exactly-once link to one peer in one view, as a state machine without IO or clock;
//! - [`wire`]: the bytes of handshakes and frames, and typed errors for bytes that are neither;
//! - [`handshake`]: which nodes may talk to each other, decided without IO;
//! - [`transport`]: TCP connections that come and go below links that lose nothing.
//!
//! To these, payloads are bytes. On them stands a node of the lock service ([`Host`]): it drives [`service::Member`], which
//! decides everything, with sockets, the clock and the control plane. One thread, the reactor, owns the sockets of clients
//! and peers. Begin with [`link`], then read [`transport::Peers`] and `reactor.rs`, then `host.rs`, `clients.rs`, `links.rs`
//! and `errands.rs`.

mod clients;
mod embedded;
mod errands;
pub mod failure;
pub mod faults;
pub mod handshake;
pub mod host;
mod limiter;
pub mod link;
mod links;
mod local;
mod log;
mod memory;
mod port;
mod reactor;
mod start;
pub mod transport;
pub mod watchdog;
pub mod wire;

pub use control::Invitation;
pub use failure::{Failure, OnFailure};
pub use host::{First, Host, HostConfig, StartError};
pub use link::{Limits, Link};
pub use local::LocalCluster;
pub use reactor::Sockets;
pub use service::Identity;
pub use service::view::{View, ViewMember};
pub use transport::{Inbox, Notice, Outbox, Peers};
pub use watchdog::{Heart, Hearts, Waits, Watchdog};

/// Whether this build has faults that can be provoked, for tests.
pub const FAULTS: bool = cfg!(feature = "faults") && client::FAULTS && control::FAULTS;
