//! The path to each token, stored only where it does not lead home.

use alloc::vec::Vec;

use super::TokenId;
use crate::algorithm::NodeId;

/// For each token the next node on the path to it. The pointer of a token that is here, or that this node
/// waits for, is never used and leads home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pointers {
    /// The pointers that do not lead home, in the order of tokens; so equal pointers are equal values.
    elsewhere: Vec<(TokenId, NodeId)>,
}

impl Pointers {
    /// The next node on the path to this token.
    pub(super) fn to(&self, token: TokenId, home: NodeId) -> NodeId {
        self.index(token).map_or(home, |index| self.elsewhere[index].1)
    }

    pub(super) fn set(&mut self, token: TokenId, node: NodeId, home: NodeId) {
        match self.index(token) {
            Ok(index) if node == home => _ = self.elsewhere.remove(index),
            Ok(index) => self.elsewhere[index].1 = node,
            Err(_) if node == home => {}
            Err(index) => self.elsewhere.insert(index, (token, node)),
        }
    }

    /// Lets the pointer lead home.
    pub(super) fn clear(&mut self, token: TokenId) {
        if let Ok(index) = self.index(token) {
            self.elsewhere.remove(index);
        }
    }

    /// Whether all pointers lead home.
    pub(super) fn all_lead_home(&self) -> bool {
        self.elsewhere.is_empty()
    }

    /// Whether some pointer leads to this node, which is not the home.
    pub(super) fn lead_to(&self, node: NodeId) -> bool {
        self.elsewhere.iter().any(|&(_, next)| next == node)
    }

    /// For how many of the tokens before this one the pointer does not lead home.
    pub(super) fn count_elsewhere_below(&self, token: TokenId) -> usize {
        self.elsewhere.partition_point(|&(other, _)| other < token)
    }

    /// The tokens whose pointer does not lead home.
    pub(super) fn elsewhere(&self) -> Vec<TokenId> {
        self.elsewhere.iter().map(|&(token, _)| token).collect()
    }

    fn index(&self, token: TokenId) -> Result<usize, usize> {
        self.elsewhere.binary_search_by_key(&token, |&(other, _)| other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_lead_home_is_kept() {
        let mut pointers = Pointers::default();
        for (token, node) in [(7, 1), (2, 9), (7, 3), (4, 5)] {
            pointers.set(token, node, 5);
        }
        assert_eq!([0, 2, 4, 7].map(|token| pointers.to(token, 5)), [5, 9, 5, 3]);
        assert_eq!(pointers.elsewhere(), [2, 7]);
        pointers.set(2, 5, 5);
        pointers.clear(7);
        pointers.clear(0);
        assert!(pointers.all_lead_home());
        assert_eq!(pointers, Pointers::default());
    }
}
