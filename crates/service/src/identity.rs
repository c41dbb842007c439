//! The identity of a node: its id, and its incarnation.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a node, in all its incarnations. Algorithms know members by their indices in a view instead.
pub type NodeId = u32;

/// One incarnation of a node: each start of its process is another incarnation of the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The id of the node.
    pub id: NodeId,
    /// The incarnation of the node. Never used twice.
    pub incarnation: u64,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} (incarnation {})", self.id, self.incarnation)
    }
}
