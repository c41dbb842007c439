//! How a client gets in: what it trusts, and what it shows.

use transport::Encryption;

/// How a client gets in: whether its connections are encrypted, and what it shows to the nodes.
///
/// The default is a connection without encryption, as nodes on this machine take it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Whether connections are encrypted, whom the client trusts, and the certificate that it shows.
    pub encryption: Encryption,
}
