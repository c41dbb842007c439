//! Who takes part: nodes, their incarnations, and the numbered membership in force.

use std::fmt;

use algorithms::NodeId;
use serde::{Deserialize, Serialize};

/// One life of a node: a process that starts anew is another incarnation of the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Which node.
    pub id: NodeId,
    /// Which of its lives; never used twice.
    pub incarnation: u64,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} (incarnation {})", self.id, self.incarnation)
    }
}

/// A node of a view and where it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Who it is.
    pub identity: Identity,
    /// Where it listens, as `host:port`.
    pub address: String,
}

/// The numbered membership in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its number; later views have higher ones.
    pub epoch: u64,
    /// Who belongs to it.
    pub members: Vec<Member>,
}
