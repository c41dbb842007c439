//! What the search asks about parts: verified once, and shared by all threads. Two threads that ask about the same
//! new part at once both work it out, which takes less than waiting for each other.

use std::sync::Arc;

use super::shared::Answers;
use super::{InboxInfo, Model, NodeInfo, Outcome};

/// The answers so far, by the numbers of the parts.
#[derive(Default)]
pub(super) struct PartAnswers {
    nodes: Answers<u32, Arc<NodeInfo>>,
    inboxes: Answers<u32, Arc<InboxInfo>>,
    deliveries: Answers<(u32, u32), Arc<[Outcome]>>,
    renamed_nodes: Answers<u32, Arc<[u32]>>,
    renamed_inboxes: Answers<u32, Arc<[u32]>>,
}

impl Model {
    /// The state of a node, and the moves it can make by itself.
    pub(crate) fn node(&self, node: u32) -> Arc<NodeInfo> {
        self.answers.nodes.get(&node).unwrap_or_else(|| {
            let info = self.node_alone(node);
            self.verify_node(node, &info);
            self.answers.nodes.keep(node, Arc::new(info))
        })
    }

    /// The messages under way to a node.
    pub(crate) fn inbox(&self, inbox: u32) -> Arc<InboxInfo> {
        self.answers.inboxes.get(&inbox).unwrap_or_else(|| {
            let info = self.inbox_alone(inbox);
            self.verify_inbox(inbox, &info);
            self.answers.inboxes.keep(inbox, Arc::new(info))
        })
    }

    /// The effects of a message on a node: one outcome for every combination of picks.
    pub(crate) fn deliver(&self, node: u32, envelope: u32) -> Arc<[Outcome]> {
        self.answers.deliveries.get(&(node, envelope)).unwrap_or_else(|| {
            let outcomes = self.deliver_alone(node, envelope);
            self.verify_delivery(node, envelope, &outcomes);
            self.answers.deliveries.keep((node, envelope), outcomes.into())
        })
    }

    /// What stands for the state of a node under all renamings of nodes in use, the identity first.
    pub(crate) fn renamed_nodes(&self, node: u32) -> Arc<[u32]> {
        let renamed = &self.answers.renamed_nodes;
        renamed.get(&node).unwrap_or_else(|| renamed.keep(node, self.renamed_nodes_alone(node)))
    }

    /// An inbox under all renamings of nodes in use, the identity first.
    pub(crate) fn renamed_inboxes(&self, inbox: u32) -> Arc<[u32]> {
        let renamed = &self.answers.renamed_inboxes;
        renamed.get(&inbox).unwrap_or_else(|| renamed.keep(inbox, self.renamed_inboxes_alone(inbox)))
    }
}
