//! The path to each token, stored only where it has changed since the start. A node that serves its token's
//! queue learns about a few tokens; with a thousand tokens the unchanged paths would only fill the caches.

use alloc::vec::Vec;

use super::TokenId;
use crate::algorithm::NodeId;

/// For each token the next node on the path to it. At the start every path leads to the node with the token's
/// number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pointers {
    /// The paths that differ from the start, in the order of tokens; so equal pointers are equal values.
    changed: Vec<(TokenId, NodeId)>,
}

impl Pointers {
    /// The next node on the path to this token.
    #[inline]
    pub(super) fn to(&self, token: TokenId) -> NodeId {
        self.index(token).map_or(token, |index| self.changed[index].1)
    }

    #[inline]
    pub(super) fn set(&mut self, token: TokenId, node: NodeId) {
        match self.index(token) {
            Ok(index) if node == token => _ = self.changed.remove(index),
            Ok(index) => self.changed[index].1 = node,
            Err(_) if node == token => {}
            Err(index) => self.changed.insert(index, (token, node)),
        }
    }

    #[inline]
    fn index(&self, token: TokenId) -> Result<usize, usize> {
        self.changed.binary_search_by_key(&token, |&(changed, _)| changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_changed_is_kept() {
        let mut pointers = Pointers::default();
        for (token, node) in [(7, 1), (2, 9), (7, 3), (4, 4)] {
            pointers.set(token, node);
        }
        assert_eq!([0, 2, 4, 7].map(|token| pointers.to(token)), [0, 9, 4, 3]);
        assert_eq!(pointers.changed, [(2, 9), (7, 3)]);
        pointers.set(2, 2);
        pointers.set(7, 7);
        assert_eq!(pointers, Pointers::default());
    }
}
