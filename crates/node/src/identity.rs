//! Who takes part: nodes, their incarnations, and the numbered membership in force.

use serde::{Deserialize, Serialize};
pub use service::Identity;

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
