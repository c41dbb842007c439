//! What can go wrong for a client.

use std::fmt;
use std::io;
use std::time::Duration;

use service::Refusal;

/// Why there is no guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The node refused.
    Refused(Refusal),
    /// The session was lost while waiting: its node did not confirm it in time, or started again.
    Lost,
    /// No node could be reached: each endpoint with the reason.
    NoNode(Vec<(String, NoAnswer)>),
    /// Only a guard that is from a connection, and is all that its session holds, can be detached.
    CannotDetach,
    /// The node at this endpoint does not answer.
    NoAnswer {
        /// The endpoint.
        endpoint: String,
        /// Why it does not answer.
        why: NoAnswer,
    },
    /// The cluster did not do what an operator asked for: the reason, in the words of the node.
    NotDone(String),
}

/// Why a node does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The operating system reports an error: its kind, and its text.
    System(io::ErrorKind, String),
    /// No answer came within this time.
    TimedOut(Duration),
    /// Something answers there, in another protocol.
    NotANode,
    /// The connection was closed before the greeting was over.
    ClosedEarly,
    /// The connection was closed.
    Closed,
    /// The connection was closed before the session was open.
    NeverOpened,
    /// The node and this client have no protocol version in common.
    NoCommonVersion {
        /// The oldest and the newest version that the node speaks.
        node: (u8, u8),
        /// The oldest and the newest version that this client speaks.
        client: (u8, u8),
    },
    /// The node refuses this client.
    Refused(Refusal),
    /// The node sent something that is no frame.
    Malformed(String),
    /// The node answered another question than the one that was asked.
    Unexpected,
    /// The node sends the same page of a listing again and again.
    RepeatsPage,
    /// No node knows the address for clients.
    UnknownAddress,
    /// Another node answers there.
    OtherNode {
        /// The node that answers.
        found: u32,
        /// The node that was meant.
        wanted: u32,
    },
    /// A node of another cluster answers there, with the same id.
    OtherCluster(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::System(_, text) | NoAnswer::Malformed(text) => f.write_str(text),
            NoAnswer::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            NoAnswer::NotANode => f.write_str("not a Tokenwood node (is this the port for clients?)"),
            NoAnswer::ClosedEarly => {
                f.write_str("it closed the connection: not a Tokenwood node, or one that is stopping")
            }
            NoAnswer::Closed => f.write_str("it closed the connection"),
            NoAnswer::NeverOpened => f.write_str("it closed the connection before the session was open"),
            NoAnswer::NoCommonVersion { node, client } => write!(
                f,
                "no protocol version in common: the node speaks {} to {}, this client {} to {}",
                node.0, node.1, client.0, client.1
            ),
            NoAnswer::Refused(refusal) => refusal.fmt(f),
            NoAnswer::Unexpected => f.write_str("unexpected answer: does the node run another version?"),
            NoAnswer::RepeatsPage => {
                f.write_str("it repeats the same page: does the node run another version?")
            }
            NoAnswer::UnknownAddress => f.write_str("its address for clients is not known yet"),
            NoAnswer::OtherNode { found, wanted } => write!(
                f,
                "node {found} answers there: start node {wanted} with --advertise HOST:PORT, where clients reach it"
            ),
            NoAnswer::OtherCluster(cluster) => {
                write!(f, "a node of another cluster answers there ('{cluster}')")
            }
        }
    }
}

impl std::error::Error for NoAnswer {}

impl NoAnswer {
    /// Whether it comes from a node that runs, and does not serve this client.
    pub fn is_of_a_node(&self) -> bool {
        use NoAnswer::{NoCommonVersion, OtherCluster, OtherNode, RepeatsPage, Unexpected};
        matches!(
            self,
            NoAnswer::Refused(_)
                | NoCommonVersion { .. }
                | OtherNode { .. }
                | OtherCluster(_)
                | RepeatsPage
                | Unexpected
        )
    }
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> NoAnswer {
        NoAnswer::System(error.kind(), error.to_string())
    }
}

impl Error {
    /// Whether the request failed only because other clients hold the resource, so that a later try may
    /// succeed.
    pub fn is_taken(&self) -> bool {
        matches!(self, Error::Refused(Refusal::NotFree | Refusal::TimedOut))
    }

    /// Whether another node may serve the request: this one serves no client at the moment.
    pub(crate) fn may_succeed_elsewhere(&self) -> bool {
        matches!(self, Error::Lost | Error::Refused(Refusal::NoLease | Refusal::Leaving))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Lost => f.write_str(
                "the session is lost: its node did not confirm it in time; it is down, cut off or has no lease",
            ),
            Error::CannotDetach => f.write_str(
                "only a grant that is alone in a session of a connection can be detached: connect once more",
            ),
            Error::NoNode(tried) if tried.is_empty() => {
                f.write_str("no endpoint was named: give at least one, as host:port")
            }
            Error::NotDone(why) => f.write_str(why),
            Error::NoAnswer { endpoint, why } => write!(f, "{endpoint} does not answer: {why}"),
            Error::NoNode(tried) => {
                let refused = tried.iter().any(|(_, why)| why.is_of_a_node());
                f.write_str(if refused { "no node serves this" } else { "no node could be reached" })?;
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
