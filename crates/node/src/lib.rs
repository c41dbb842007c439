//! Tokenwood's networked driver: what carries messages between processes.
//!
//! The crate is layered, and only the last layer touches sockets and clocks:
//!
//! - [`link`]: one ordered, exactly-once link to one peer in one view, as a state machine without IO or clock;
//! - [`wire`]: the bytes of handshakes and frames, and typed errors for bytes that are neither;
//! - [`handshake`]: who may speak to whom, decided without IO;
//! - [`transport`]: TCP connections that come and go below links that lose nothing.
//!
//! To these, payloads are bytes. On them stands a node of the lock service ([`Host`]): the core of `service` between its peers
//! and its clients, and its lives by what the cluster agrees on. Begin with [`link`], then read [`transport::Peers`],
//! then `host.rs` and `life.rs`.

mod answers;
mod clients;
mod complaint;
mod embedded;
pub mod handshake;
pub mod host;
pub mod identity;
mod life;
pub mod link;
mod local;
mod memory;
mod orders;
mod port;
pub mod transport;
mod watching;
pub mod wire;

pub use control::Invitation;
pub use host::{First, Host, HostConfig, StartError};
pub use identity::{Identity, Member, View};
pub use link::{Limits, Link};
pub use local::LocalCluster;
pub use transport::{Inbox, Notice, Peers};
