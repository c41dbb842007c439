//! Ordered links between the nodes of a view, over TCP connections that come and go.
//!
//! The crate knows no algorithm and no lock: a payload is bytes. It is layered, and only the last layer
//! touches sockets:
//!
//! - [`link`]: one ordered, exactly-once link to one peer in one view, as a state machine without IO or clock;
//! - [`wire`]: the bytes of handshakes and frames, and typed errors for bytes that are neither;
//! - [`handshake`]: which nodes may talk to each other, decided without IO;
//! - [`peers`]: connections that break and are opened again, below links that lose nothing;
//! - [`reactor`]: the thread or task that owns all sockets of a node. A node has it read from clients too;
//! - [`secure`], [`tls`] and [`stream`]: handshakes, encryption, and the one kind of stream that the reactor reads.
//!
//! [`clock`] is the clock that promises are counted on, [`loopback`] has addresses for tests. Begin with [`link`], then read [`Peers`] and [`reactor`].

pub mod clock;
pub mod handshake;
pub mod link;
pub mod loopback;
pub mod peers;
pub mod reactor;
pub mod secure;
pub mod stream;
pub mod tls;
pub mod wire;

pub use link::{Limits, Link};
pub use peers::{Config, Inbox, Notice, Outbox, Peers, SendError, StartError, Timing, Trouble};
pub use reactor::Sockets;
pub use secure::{Encryption, FailedHandshake, Secured};

/// Whether the clock of this build can be made to run wrong, for tests.
pub const FAULTS: bool = cfg!(feature = "faults");
