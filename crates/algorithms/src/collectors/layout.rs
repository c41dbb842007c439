//! How nodes are divided into local groups, for any number of nodes.

use crate::algorithm::NodeId;
use crate::renaming::Renaming;

/// A local group, numbered from 0.
pub type LocalGroup = u32;

/// The global collector at the start: the local collector of the first group.
pub const FIRST_GLOBAL: NodeId = 0;

/// Nodes in consecutive blocks whose sizes differ by at most one, the larger ones first. The first node of
/// each block is its local collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    nodes: u32,
    groups: u32,
}

impl Layout {
    /// A layout with this many groups; 0 stands for the whole number nearest to the square root of `nodes`.
    /// `None` if a group would be empty.
    pub fn new(nodes: u32, groups: u32) -> Option<Layout> {
        let groups = if groups == 0 { nearest_root(nodes) } else { groups };
        (groups <= nodes).then_some(Layout { nodes, groups })
    }

    /// How many groups there are.
    pub fn groups(self) -> u32 {
        self.groups
    }

    /// The group of a node.
    pub fn group_of(self, node: NodeId) -> LocalGroup {
        let (size, larger) = (self.nodes / self.groups, self.nodes % self.groups);
        let in_larger = larger * (size + 1);
        if node < in_larger { node / (size + 1) } else { larger + (node - in_larger) / size }
    }

    /// The local collector of a group.
    pub fn collector(self, group: LocalGroup) -> NodeId {
        let (size, larger) = (self.nodes / self.groups, self.nodes % self.groups);
        group * size + group.min(larger)
    }

    /// The local collector of a node's group.
    pub fn collector_of(self, node: NodeId) -> NodeId {
        self.collector(self.group_of(node))
    }

    /// Whether collectors keep their numbers, and all other nodes their groups.
    pub fn is_kept_by(self, renaming: &Renaming) -> bool {
        let keeps = |node| {
            self.group_of(renaming.of(node)) == self.group_of(node)
                && (renaming.of(node) == node || !self.is_collector(node))
        };
        (0..self.nodes).all(keeps)
    }

    /// Whether a node is the local collector of its group.
    pub fn is_collector(self, node: NodeId) -> bool {
        self.collector_of(node) == node
    }
}

/// The largest g with g(g − 1) < n, which is √n rounded to the nearest whole number.
fn nearest_root(nodes: u32) -> u32 {
    let nodes = u64::from(nodes);
    let mut root: u64 = 1;
    while (root + 1) * root < nodes {
        root += 1;
    }
    root as u32
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_node_has_a_group_with_one_collector() {
        for nodes in 1..=60 {
            for groups in 1..=nodes {
                let layout = Layout::new(nodes, groups).unwrap();
                let sizes: Vec<usize> = (0..groups)
                    .map(|group| (0..nodes).filter(|&node| layout.group_of(node) == group).count())
                    .collect();
                assert_eq!(sizes.iter().sum::<usize>(), nodes as usize);
                assert!(sizes[0] - sizes[groups as usize - 1] <= 1 && sizes.is_sorted_by(|a, b| a >= b));
                let collectors = (0..nodes).filter(|&node| layout.is_collector(node));
                assert!(collectors.map(|node| layout.group_of(node)).eq(0..groups));
            }
        }
        assert_eq!(Layout::new(3, 4), None);
        assert!(Layout::new(9, 0).unwrap().is_collector(FIRST_GLOBAL));
    }

    #[test]
    fn the_number_of_groups_is_the_nearest_to_the_root() {
        let groups = |nodes| Layout::new(nodes, 0).unwrap().groups();
        let expected = [1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4];
        assert_eq!((1..=13).map(groups).collect::<Vec<_>>(), expected);
        assert_eq!((groups(16), groups(128), groups(10_000)), (4, 11, 100));
    }
}
