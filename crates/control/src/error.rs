//! Errors of the control plane. Each says in a line what to do.

use std::fmt;

use crate::config::ConfigError;
use crate::folder::FolderError;
use crate::shared::LONGEST_ENTRY;
use crate::wire::Response;

/// Why the control plane of a node does not start. Nothing was changed.
#[derive(Debug)]
pub enum StartError {
    /// The configuration makes no sense.
    Config(ConfigError),
    /// The data folder cannot be used.
    Folder(FolderError),
    /// Consensus does not start.
    Raft(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Folder(error) => error.fmt(f),
            StartError::Raft(error) => write!(f, "the control plane does not start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a cluster was not founded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundError {
    /// Not 1, 3, 5 or 7 voters.
    Voters(usize),
    /// The founding node is not among the voters.
    NotAmong,
    /// This node belongs to a cluster already.
    Already,
    /// The node has stopped, or cannot write.
    Stopped(String),
}

impl fmt::Display for FoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundError::Voters(count) => write!(f, "a cluster cannot have {count} voters: name 1, 3, 5 or 7"),
            FoundError::NotAmong => f.write_str("the founding node is not among the voters: name it too"),
            FoundError::Already => {
                f.write_str("this node already belongs to a cluster: start it without founding one")
            }
            FoundError::Stopped(why) => write!(f, "the control plane has stopped: {why}"),
        }
    }
}

impl std::error::Error for FoundError {}

/// Why a proposal was not committed. It may still commit later, unless it was too long: look at the registry
/// before proposing it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposeError {
    /// Another node leads.
    NotLeading {
        /// The leader, if that is known here.
        leader: Option<u32>,
    },
    /// No majority answered in time.
    Unknown,
    /// The entry is longer than the limit.
    TooLong(usize),
    /// The control plane of this node, or of the leader, has stopped.
    Stopped(String),
}

impl fmt::Display for ProposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProposeError::NotLeading { leader: Some(leader) } => {
                write!(f, "node {leader} is the leader: ask it")
            }
            ProposeError::NotLeading { leader: None } => {
                f.write_str("there is no leader at the moment: try again in a few seconds")
            }
            ProposeError::Unknown => f.write_str(
                "no majority of the voters answered: the entry may still commit, so look before trying again",
            ),
            ProposeError::TooLong(bytes) => {
                write!(f, "the entry has {bytes} bytes, and the limit is {LONGEST_ENTRY}")
            }
            ProposeError::Stopped(why) => write!(f, "the control plane has stopped: {why}"),
        }
    }
}

impl std::error::Error for ProposeError {}

/// Why the voters have not changed, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// Not 1, 3, 5 or 7 voters.
    Voters(usize),
    /// The node has not been admitted.
    Unknown(u32),
    /// The node was admitted, but has not answered.
    Unheard(u32),
    /// Another change is under way.
    InProgress,
    /// The change was not committed.
    Propose(ProposeError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Voters(count) => {
                write!(f, "a cluster cannot have {count} voters: name 1, 3, 5 or 7")
            }
            ChangeError::Unknown(node) => write!(f, "node {node} is not known: admit it first"),
            ChangeError::Unheard(node) => {
                write!(
                    f,
                    "node {node} was admitted, but does not answer: check that it runs, and at that address"
                )
            }
            ChangeError::InProgress => {
                f.write_str("another change of the voters is in progress: try again when it is done")
            }
            ChangeError::Propose(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}

/// It could not be shown that this node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLeading;

impl fmt::Display for NotLeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this node is not the leader, or cannot reach a majority of the voters")
    }
}

impl std::error::Error for NotLeading {}

/// Why the leader did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// There is no leader, as far as this node knows, or the leader is unreachable.
    NoLeader,
    /// The leader refused the request, for this reason.
    Refused(String),
}

impl AskError {
    pub(crate) fn of(response: Response) -> AskError {
        match response {
            Response::Refused(why) | Response::Failed(why) => AskError::Refused(why),
            _ => AskError::NoLeader,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NoLeader => f.write_str(
                "there is no leader at the moment, or it is unreachable: try again in a few seconds",
            ),
            AskError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AskError {}
