//! What the search asks about parts: worked out once, verified once, and shared by all threads.

use std::sync::Arc;

use super::{InboxInfo, Model, NodeInfo, Outcome};
use crate::fast_hash::FastMap;

/// The answers so far, by the numbers of the parts.
#[derive(Default)]
pub(super) struct Answers {
    nodes: Vec<Option<Arc<NodeInfo>>>,
    inboxes: Vec<Option<Arc<InboxInfo>>>,
    deliveries: FastMap<(u32, u32), Arc<[Outcome]>>,
    renamed_nodes: Vec<Option<Arc<[u32]>>>,
    renamed_inboxes: Vec<Option<Arc<[u32]>>>,
}

fn answer<T: ?Sized>(list: &[Option<Arc<T>>], part: u32) -> Option<Arc<T>> {
    list.get(part as usize)?.clone()
}

fn keep<T: ?Sized>(list: &mut Vec<Option<Arc<T>>>, part: u32, info: Arc<T>) -> Arc<T> {
    let index = part as usize;
    if index >= list.len() {
        list.resize_with(index + 1, || None);
    }
    list[index].insert(info).clone()
}

impl Model {
    /// The state of a node, and the moves it can make by itself.
    pub(crate) fn node(&mut self, node: u32) -> Arc<NodeInfo> {
        answer(&self.answers.nodes, node).unwrap_or_else(|| {
            let info = self.node_alone(node);
            self.verify_node(node, &info);
            keep(&mut self.answers.nodes, node, Arc::new(info))
        })
    }

    /// The messages under way to a node.
    pub(crate) fn inbox(&mut self, inbox: u32) -> Arc<InboxInfo> {
        answer(&self.answers.inboxes, inbox).unwrap_or_else(|| {
            let info = self.inbox_alone(inbox);
            self.verify_inbox(inbox, &info);
            keep(&mut self.answers.inboxes, inbox, Arc::new(info))
        })
    }

    /// The effects of a message on a node: one outcome for every combination of picks.
    pub(crate) fn deliver(&mut self, node: u32, envelope: u32) -> Arc<[Outcome]> {
        if let Some(known) = self.answers.deliveries.get(&(node, envelope)) {
            return known.clone();
        }
        let outcomes: Arc<[Outcome]> = self.deliver_alone(node, envelope).into();
        self.verify_delivery(node, envelope, &outcomes);
        self.answers.deliveries.insert((node, envelope), outcomes.clone());
        outcomes
    }

    /// What stands for the state of a node under all renamings of nodes in use, the identity first.
    pub(crate) fn renamed_nodes(&mut self, node: u32) -> Arc<[u32]> {
        answer(&self.answers.renamed_nodes, node).unwrap_or_else(|| {
            let renamed = self.renamed_nodes_alone(node);
            keep(&mut self.answers.renamed_nodes, node, renamed)
        })
    }

    /// An inbox under all renamings of nodes in use, the identity first.
    pub(crate) fn renamed_inboxes(&mut self, inbox: u32) -> Arc<[u32]> {
        answer(&self.answers.renamed_inboxes, inbox).unwrap_or_else(|| {
            let renamed = self.renamed_inboxes_alone(inbox);
            keep(&mut self.answers.renamed_inboxes, inbox, renamed)
        })
    }
}
