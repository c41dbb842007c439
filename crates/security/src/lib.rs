//! Keys, certificates and identities of nodes and clients: what handshakes need, without sockets or tasks.

#![forbid(unsafe_code)]

mod caller;
mod certificate;
mod configs;
mod credentials;
mod error;
mod fault;
mod identity;
mod inspect;
pub mod issue;
mod load;
pub mod private_files;
#[cfg(test)]
mod tests;
mod trust;
mod verify;

pub use caller::caller;
pub use certificate::{Facts, identity_of};
pub use credentials::{Credentials, Files};
pub use error::{IdentityError, SecurityError};
pub use fault::CertificateFault;
pub use identity::{Holder, Identity, LONGEST_NAME};
pub use inspect::Contents;
pub use load::Expiry;
pub use protocols::{CLIENTS, CONTROL, PEERS};
pub use verify::{Callers, take_refused};

/// The names by which a TLS handshake tells the ports of a node apart (ALPN).
pub mod protocols {
    /// Messages between the nodes of a view.
    pub const PEERS: &[u8] = b"tokenwood-peers/1";
    /// Consensus.
    pub const CONTROL: &[u8] = b"tokenwood-control/1";
    /// Clients and operators.
    pub const CLIENTS: &[u8] = b"tokenwood-clients/1";
}
