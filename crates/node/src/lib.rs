//! Tokenwood's networked driver: what carries messages between processes.
//!
//! The crate is layered, and only the last layer touches sockets and clocks:
//!
//! - [`link`]: one ordered, exactly-once link to one peer in one view, as a state machine without IO or clock;
//! - [`wire`]: the bytes of handshakes and frames, and typed errors for bytes that are neither;
//! - [`handshake`]: who may speak to whom, decided without IO;
//! - [`transport`]: TCP connections that come and go below links that lose nothing.
//!
//! To these, payloads are bytes. [`workbench`] runs any algorithm between them. Begin with [`link`], then read
//! [`transport::Peers`], which is what a node uses.

mod answers;
mod clients;
mod embedded;
pub mod handshake;
pub mod host;
pub mod identity;
pub mod link;
mod local;
mod memory;
mod orders;
pub mod transport;
mod watching;
pub mod wire;
pub mod workbench;

pub use host::{Host, HostConfig};
pub use identity::{Identity, Member, View};
pub use link::{Limits, Link};
pub use local::LocalCluster;
pub use transport::{Inbox, Notice, Peers};
