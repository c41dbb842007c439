//! Identities of nodes and clients, and the files that hold their keys: no sockets, no tasks.

#![forbid(unsafe_code)]

mod error;
mod identity;
pub mod private_files;

pub use error::{IdentityError, SecurityError};
pub use identity::{Holder, Identity, LONGEST_NAME};

/// The names by which a TLS handshake tells the ports of a node apart (ALPN).
pub mod protocols {
    /// Messages between the nodes of a view.
    pub const PEERS: &[u8] = b"tokenwood-peers/1";
    /// Consensus.
    pub const CONTROL: &[u8] = b"tokenwood-control/1";
    /// Clients and operators.
    pub const CLIENTS: &[u8] = b"tokenwood-clients/1";
}
