//! What can go wrong while something is measured.

use std::fmt;
use std::io;

use tokio::task::JoinError;

/// Why there is no figure.
#[derive(Debug)]
pub enum Error {
    /// A step that the operating system did not allow: which one, and its error.
    System(String, io::Error),
    /// Our own client has no guard.
    Client(tokenwood::Error),
    /// A task that measures panicked.
    Task(JoinError),
    /// A peer closed its connection: its name.
    HungUp(&'static str),
    /// A peer answered something that no lock needs: what.
    Peer(String),
    /// The measurement itself failed: what happened.
    Measurement(String),
    /// One workload at one peer failed: which, at which, and why.
    At {
        /// The name of the peer.
        peer: &'static str,
        /// The name of the workload.
        workload: &'static str,
        /// What went wrong there.
        why: Box<Error>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(what, error) if what.is_empty() => error.fmt(f),
            Error::System(what, error) => write!(f, "{what}: {error}"),
            Error::Client(error) => error.fmt(f),
            Error::Task(error) => error.fmt(f),
            Error::HungUp(peer) => write!(f, "{peer} hung up"),
            Error::Peer(what) | Error::Measurement(what) => f.write_str(what),
            Error::At { peer, workload, why } => write!(f, "{peer}, {workload}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(String::new(), error)
    }
}

impl From<tokenwood::Error> for Error {
    fn from(error: tokenwood::Error) -> Error {
        Error::Client(error)
    }
}

impl From<JoinError> for Error {
    fn from(error: JoinError) -> Error {
        Error::Task(error)
    }
}

impl Error {
    /// Says which step the operating system did not allow.
    pub(crate) fn at(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |error| Error::System(what, error)
    }
}
