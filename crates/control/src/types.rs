//! The types of consensus, in openraft's terms: entries of the registry, committed by numbered nodes.

use std::io::Cursor;

use openraft::impls::{BasicNode, OneshotResponder, TokioRuntime};
use service::registry::{Applied, Entry as Proposal, Leadership};

openraft::declare_raft_types!(
    /// Entries of the registry are committed, and the result of applying them is the answer.
    pub(crate) Types:
        D = Proposal,
        R = Applied,
        NodeId = u64,
        Node = BasicNode,
        Entry = openraft::Entry<Types>,
        SnapshotData = Cursor<Vec<u8>>,
        Responder = OneshotResponder<Types>,
        AsyncRuntime = TokioRuntime,
);

pub(crate) type LogEntry = openraft::Entry<Types>;
pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Membership = openraft::StoredMembership<u64, BasicNode>;
pub(crate) type Raft = openraft::Raft<Types>;
pub(crate) type Snapshot = openraft::Snapshot<Types>;
pub(crate) type SnapshotMeta = openraft::SnapshotMeta<u64, BasicNode>;
pub(crate) type StorageError = openraft::StorageError<u64>;
pub(crate) type Vote = openraft::Vote<u64>;

/// A leader's term and node, as the registry knows them. Openraft wants 64 bits for a node; ours have 32.
pub(crate) fn leadership(leader: openraft::LeaderId<u64>) -> Leadership {
    Leadership { term: leader.term, node: u32::try_from(leader.node_id).unwrap_or(u32::MAX) }
}
