//! What can go wrong for a client.

use std::fmt;

use service::Refusal;

/// Why there is no guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The node refused.
    Refused(Refusal),
    /// The session was lost while waiting: the node was unreachable for longer than the ttl.
    Lost,
    /// No node could be reached: each endpoint with the reason.
    NoNode(Vec<(String, String)>),
    /// Only a guard that is from a connection, and is all that its session holds, can be detached.
    CannotDetach,
    /// The node at this endpoint does not answer.
    NoAnswer {
        /// The endpoint.
        endpoint: String,
        /// Why it does not answer, in words.
        why: String,
    },
}

impl Error {
    /// Whether the request failed only because other clients hold the resource, so that a later try may
    /// succeed.
    pub fn is_taken(&self) -> bool {
        matches!(self, Error::Refused(Refusal::NotFree | Refusal::TimedOut))
    }

    /// Whether the node cannot serve any client at the moment; another node may.
    pub(crate) fn is_of_node(&self) -> bool {
        matches!(self, Error::Lost | Error::Refused(Refusal::NoLease | Refusal::Leaving))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Lost => {
                f.write_str("the session is lost: its node was unreachable for longer than the ttl")
            }
            Error::CannotDetach => f.write_str(
                "only a grant that is alone in a session of a connection can be detached: connect once more",
            ),
            Error::NoNode(tried) if tried.is_empty() => {
                f.write_str("no endpoint was named: give at least one, as host:port")
            }
            Error::NoAnswer { endpoint, why } => write!(f, "{endpoint} does not answer: {why}"),
            Error::NoNode(tried) => {
                f.write_str("no node could be reached")?;
                tried.iter().try_for_each(|(endpoint, why)| write!(f, "; {endpoint}: {why}"))
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}
