//! The path to each token, stored only where it differs from the path at the start. A node that serves its
//! token's queue learns about a few tokens; with a thousand tokens the unchanged paths would only fill the
//! caches.

use alloc::vec::Vec;

use crate::algorithm::{NodeId, TokenId};
use crate::renaming::Renaming;

/// For each token the next node on the path to it. Where the path leads at the start is a rule of the
/// algorithm, which passes it as `first` with every call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pointers {
    /// The pointers that differ from the start, in the order of tokens; so equal pointers are equal values.
    changed: Vec<(TokenId, NodeId)>,
}

impl Pointers {
    /// The next node on the path to this token.
    #[inline]
    pub(crate) fn to(&self, token: TokenId, first: NodeId) -> NodeId {
        self.index(token).map_or(first, |index| self.changed[index].1)
    }

    /// Lets the pointer of this token lead to this node.
    #[inline]
    pub(crate) fn set(&mut self, token: TokenId, node: NodeId, first: NodeId) {
        match self.index(token) {
            Ok(index) if node != first => self.changed[index].1 = node,
            index => self.keep_or_drop(index, (token, node), first),
        }
    }

    #[inline(never)]
    fn keep_or_drop(&mut self, index: Result<usize, usize>, pointer: (TokenId, NodeId), first: NodeId) {
        match index {
            Ok(index) => _ = self.changed.remove(index),
            Err(index) if pointer.1 != first => self.changed.insert(index, pointer),
            Err(_) => {}
        }
    }

    /// Lets the pointer lead where it led at the start.
    pub(crate) fn reset(&mut self, token: TokenId) {
        if let Ok(index) = self.index(token) {
            self.changed.remove(index);
        }
    }

    /// Whether all pointers lead where they led at the start.
    pub(crate) fn are_unchanged(&self) -> bool {
        self.changed.is_empty()
    }

    /// Whether some changed pointer leads to this node.
    pub(crate) fn lead_to(&self, node: NodeId) -> bool {
        self.changed.iter().any(|&(_, next)| next == node)
    }

    /// How many of the tokens before this one have a changed pointer.
    pub(crate) fn count_changed_below(&self, token: TokenId) -> usize {
        self.changed.partition_point(|&(changed, _)| changed < token)
    }

    /// The tokens whose pointers have changed, in ascending order.
    pub(crate) fn changed(&self) -> impl Iterator<Item = TokenId> {
        self.changed.iter().map(|&(token, _)| token)
    }

    /// Renames nodes. A node that pointers lead to at the start must keep its number.
    pub(crate) fn rename(&mut self, renaming: &Renaming) {
        renaming.rename(self.changed.iter_mut().map(|(_, next)| next));
    }

    /// Renames tokens that have the number of a node.
    pub(crate) fn rename_tokens(&mut self, renaming: &Renaming) {
        renaming.rename(self.changed.iter_mut().map(|(token, _)| token));
        self.changed.sort_unstable();
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
    fn only_changed_pointers_are_kept() {
        let mut pointers = Pointers::default();
        for (token, node) in [(7, 1), (2, 9), (7, 3), (4, 5)] {
            pointers.set(token, node, 5);
        }
        assert_eq!([0, 2, 4, 7].map(|token| pointers.to(token, 5)), [5, 9, 5, 3]);
        assert!(pointers.changed().eq([2, 7]));
        assert_eq!([2, 3, 8].map(|token| pointers.count_changed_below(token)), [0, 1, 2]);
        assert!(pointers.lead_to(9) && !pointers.lead_to(5));
        pointers.set(2, 5, 5);
        pointers.reset(7);
        pointers.reset(0);
        assert!(pointers.are_unchanged());
        assert_eq!(pointers, Pointers::default());
    }

    #[test]
    fn each_token_may_have_its_own_first_node() {
        let mut pointers = Pointers::default();
        for (token, node) in [(7, 1), (2, 9), (7, 3), (4, 4)] {
            pointers.set(token, node, token);
        }
        assert_eq!([0, 2, 4, 7].map(|token| pointers.to(token, token)), [0, 9, 4, 3]);
        assert!(pointers.changed().eq([2, 7]));
        pointers.set(2, 2, 2);
        pointers.set(7, 7, 7);
        assert_eq!(pointers, Pointers::default());
    }
}
