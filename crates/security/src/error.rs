//! What can be wrong with identities and their files: each text says what to do next.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::identity::LONGEST_NAME;

/// Why a text is not the identity of a node or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// It does not begin with `tokenwood://`.
    Scheme,
    /// It has another form than CLUSTER/node/ID or CLUSTER/client/NAME.
    Form,
    /// The name of the cluster is empty, too long, or has other characters than are allowed.
    Cluster,
    /// The id of the node is not a number as it is printed.
    Node,
    /// The name of the client is empty, too long, or has other characters than are allowed.
    Client,
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdentityError::Scheme => write!(f, "an identity begins with tokenwood://"),
            IdentityError::Form => {
                write!(f, "an identity is tokenwood://CLUSTER/node/ID or tokenwood://CLUSTER/client/NAME")
            }
            IdentityError::Cluster => write!(
                f,
                "the name of a cluster in a certificate has 1 to {LONGEST_NAME} letters, digits or . _ -"
            ),
            IdentityError::Node => {
                write!(f, "the id of a node is a number up to {}, without leading zeros", u32::MAX)
            }
            IdentityError::Client => {
                write!(f, "the name of a client has 1 to {LONGEST_NAME} letters, digits or . _ / @ -")
            }
        }
    }
}

impl Error for IdentityError {}

/// Why keys or certificates cannot be used.
#[derive(Debug)]
pub enum SecurityError {
    /// A certificate names no valid identity.
    Identity(IdentityError),
    /// The file is there already.
    Exists(PathBuf),
    /// Other users can read or write the key, which has these permissions.
    KeyNotPrivate(PathBuf, u32),
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file cannot be written.
    Write(PathBuf, io::Error),
}

impl fmt::Display for SecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecurityError::Identity(error) => error.fmt(f),
            SecurityError::Exists(file) => write!(
                f,
                "{} is there already and is not overwritten: move it away, or name another folder",
                file.display()
            ),
            SecurityError::KeyNotPrivate(file, mode) => write!(
                f,
                "other users can reach the key {} (mode {mode:04o}): run 'chmod 600 {}'",
                file.display(),
                file.display()
            ),
            SecurityError::Read(file, error) => write!(f, "cannot read {}: {error}", file.display()),
            SecurityError::Write(file, error) => write!(f, "cannot write {}: {error}", file.display()),
        }
    }
}

impl Error for SecurityError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SecurityError::Identity(error) => Some(error),
            SecurityError::Read(_, error) | SecurityError::Write(_, error) => Some(error),
            SecurityError::Exists(_) | SecurityError::KeyNotPrivate(..) => None,
        }
    }
}

impl From<IdentityError> for SecurityError {
    fn from(error: IdentityError) -> SecurityError {
        SecurityError::Identity(error)
    }
}
