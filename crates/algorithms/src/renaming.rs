//! Permutations of the numbers of nodes, or of the clients of one node: what the checker needs to count states
//! that differ only in who is who once.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::NodeId;

/// A permutation of the nodes, or of the clients of one node: the new number of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming(Vec<NodeId>);

impl Renaming {
    /// All permutations of this many nodes or clients, the identity first. There are n! of them.
    pub fn all(nodes: u32) -> Vec<Renaming> {
        let mut all = vec![Vec::new()];
        for _ in 0..nodes {
            let longer = |names: Vec<NodeId>| {
                let free = (0..nodes).filter(|node| !names.contains(node)).collect::<Vec<_>>();
                free.into_iter().map(move |node| [&names[..], &[node]].concat())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all.into_iter().map(Renaming).collect()
    }

    /// Whether each of them keeps its number.
    pub fn is_identity(&self) -> bool {
        (0..).zip(&self.0).all(|(node, name)| node == *name)
    }

    /// The permutation that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Renaming {
        let mut inverse = self.clone();
        (0..).zip(&self.0).for_each(|(node, name)| inverse.0[*name as usize] = node);
        inverse
    }

    /// The new number of a node or client. A number that none of them has stays as it is.
    #[inline]
    pub fn of(&self, node: NodeId) -> NodeId {
        self.0.get(node as usize).copied().unwrap_or(node)
    }

    /// Gives these nodes their new numbers.
    pub fn rename<'a>(&self, nodes: impl IntoIterator<Item = &'a mut NodeId>) {
        for node in nodes {
            *node = self.of(*node);
        }
    }

    /// Puts what a list has for each node at the place of its new number. In a list for the first nodes alone,
    /// an entry that has no such place is dropped.
    pub fn move_entries<T: Clone>(&self, by_node: &mut [T]) {
        let before = by_node.to_vec();
        for (node, entry) in (0..).zip(before) {
            if let Some(place) = by_node.get_mut(self.of(node) as usize) {
                *place = entry;
            }
        }
    }
}

impl fmt::Display for Renaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = (0..).zip(&self.0).filter(|(node, name)| node != *name);
        for (index, (node, name)) in changed.enumerate() {
            write!(f, "{}{node} to {name}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn all_permutations_once_and_the_identity_first() {
        let all = Renaming::all(4);
        assert_eq!(all.len(), 24);
        assert!(all[0].is_identity());
        assert!(all.iter().enumerate().all(|(index, one)| !all[..index].contains(one)));
        assert_eq!(Renaming::all(1).len(), 1);
    }

    #[test]
    fn entries_follow_their_nodes() {
        let turn = Renaming(vec![1, 2, 0]);
        let mut by_node = ['a', 'b', 'c'];
        turn.move_entries(&mut by_node);
        assert_eq!(by_node, ['c', 'a', 'b']);
        let mut queue = [2, 0, 7];
        turn.rename(&mut queue);
        assert_eq!(queue, [0, 1, 7]);
        assert_eq!(turn.to_string(), "0 to 1, 1 to 2, 2 to 0");
        turn.inverse().move_entries(&mut by_node);
        assert_eq!(by_node, ['a', 'b', 'c']);
    }
}
