//! The state that the root owns and hands on with the token: positions, queue, and the next root.

use alloc::vec::Vec;

use super::{Context, Defect, Message, Out};
use crate::algorithm::NodeId;
use crate::census::Census;
use crate::tree::{Shape, children};

/// The state of the root. It exists once, at the root or in a ROOT message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Root {
    /// The node at each position of the tree.
    positions: Vec<NodeId>,
    /// The waiting nodes, first come first served.
    queue: Vec<NodeId>,
    /// The position that the next swap tries first; swaps go from the last position to the first.
    turn: u32,
    /// How many swaps there have been.
    epoch: u32,
}

/// The position above a position.
pub(super) fn parent(position: u32, defect: Option<Defect>) -> Option<u32> {
    if defect == Some(Defect::ParentByCeil) {
        // ⌈(i − 1) / 2⌉, equation (1)
        return position.checked_sub(1).map(|above| above.div_ceil(2));
    }
    Shape::Binary.parent(position)
}

impl Root {
    pub(super) fn start(nodes: u32) -> Root {
        Root { positions: (0..nodes).collect(), queue: Vec::new(), turn: nodes - 1, epoch: 0 }
    }

    pub(super) fn positions(&self) -> &[NodeId] {
        &self.positions
    }

    pub(super) fn queue(&self) -> &[NodeId] {
        &self.queue
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn waits(&self, node: NodeId) -> bool {
        self.queue.contains(&node)
    }

    pub(super) fn count(&self, census: &mut Census) {
        census.queue_of(self.queue.iter().copied());
    }

    pub(super) fn words(&self) -> u32 {
        (self.positions.len() + self.queue.len()) as u32 + 2
    }

    pub(super) fn enqueue(&mut self, site: &Context<'_>, origin: NodeId, position: u32) {
        let defective = site.has_defect(Defect::PlacesInRequests);
        // The text queues positions. No node in the queue is ever swapped, so a position gives the same node
        // now as when its turn comes.
        let by_position = self.positions.get(position as usize).filter(|_| defective);
        self.queue.push(by_position.copied().unwrap_or(origin));
    }

    /// Takes the head off the queue. Returns the path from the root to it, both included.
    pub(super) fn next_way(&mut self, site: &Context<'_>, out: &mut Out<'_>) -> Option<Vec<NodeId>> {
        let next = *self.queue.first()?;
        let Some(position) = (0..site.nodes).find(|&position| self.at(position) == next) else {
            out.never("a node of the queue has no position");
            return None;
        };
        if site.has_defect(Defect::OnePathInTable) && ![0, site.nodes - 1].contains(&position) {
            return None;
        }
        self.queue.remove(0);
        let up = core::iter::successors(Some(position), |&position| Shape::Binary.parent(position));
        let mut way: Vec<NodeId> = up.map(|position| self.at(position)).collect();
        way.reverse();
        Some(way)
    }

    /// The position to change places with: the next whose node does not wait, as far as the root knows.
    pub(super) fn candidate(&mut self, site: &Context<'_>, out: &mut Out<'_>) -> Option<u32> {
        let mut position = self.turn;
        let mut found = None;
        // Each round ends the loop or goes down a position, so there are fewer rounds than nodes.
        for round in 0.. {
            if position == 0 {
                break;
            }
            if round == site.nodes {
                out.never("the loop of the swap does not end");
                break;
            }
            if self.waits(self.at(position)) {
                out.note("a swap passed over a waiting node");
                position -= 1;
                continue;
            }
            found = Some(position);
            if !site.has_defect(Defect::SwapLoopForever) {
                break;
            }
        }
        let last = site.nodes - 1;
        self.turn = match position.checked_sub(1) {
            Some(next @ 1..) => next,
            None if site.has_defect(Defect::SwapIndexUnderflow) => {
                out.never("the index of the swap falls below 0");
                last
            }
            Some(0) | None => last,
        };
        found
    }

    /// Changes places with the node at a position and tells every node whose parent changes. Returns the new
    /// root, and the new parent of this node.
    pub(super) fn swap(&mut self, site: &Context<'_>, position: u32, out: &mut Out<'_>) -> (NodeId, NodeId) {
        self.epoch += 1;
        self.positions.swap(0, position as usize);
        for moved in [0, position] {
            let parent = self.at(moved);
            let below = children(moved, site.nodes).map(|child| self.at(child));
            for child in below.filter(|&child| child != site.me) {
                if !site.has_defect(Defect::NobodyIsTold) {
                    out.send(child, Message::Parent { parent, epoch: self.epoch });
                }
            }
        }
        let above = parent(position, site.rules.defect).unwrap_or(0);
        (self.at(0), self.at(above))
    }

    fn at(&self, position: u32) -> NodeId {
        self.positions[position as usize]
    }
}
