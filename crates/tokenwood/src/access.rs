//! How a client gets in: what it trusts, and what it shows.

use std::io;

use service::auth::Secret;
use transport::{Encryption, Secured};

/// How a client gets in: whether its connections are encrypted, and what it shows to the nodes.
///
/// The default is a connection without encryption, as nodes on this machine take it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Whether connections are encrypted, whom the client trusts, and the certificate that it shows.
    pub encryption: Encryption,
    /// The token that says who the client is, for clusters that ask.
    pub token: Option<Secret>,
}

impl Access {
    /// The token, if it can be shown here: others on the network could read it on a connection that is not encrypted.
    pub(crate) fn token_over(&self, stream: &Secured) -> io::Result<Option<Secret>> {
        let is_far = stream.address().is_some_and(|address| !address.ip().is_loopback());
        if self.token.is_some() && !stream.is_encrypted() && is_far {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a token is not sent without encryption: name the CA of the cluster",
            ));
        }
        Ok(self.token.clone())
    }
}
