//! The mode in which a client acquires a room. The rules know no more of it than this trait, so that the
//! workbench can name groups by bits of a word and a node by any numbers.

use core::fmt::{self, Debug, Display};
use core::hash::Hash;

use crate::algorithm::{Group, Groups};

/// The groups that a client accepts (any one of them will do), and whether it shares them with others.
pub trait Mode: Clone + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// The name of a group.
    type Group: Copy + Ord + Hash + Debug + Display + Send + Sync + 'static;

    /// The group to open for this client if the choice is its own.
    fn first(&self) -> Self::Group;

    /// Whether the client accepts this group.
    fn contains(&self, group: Self::Group) -> bool;

    /// Whether this group, which the client accepts, is exclusive for it: the client is a writer.
    fn is_exclusive(&self, group: Self::Group) -> bool;
}

/// A mode in the workbench: groups are small numbers, and a setting says which of them are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AnyOf {
    groups: Groups,
    /// Those of `groups` that are exclusive.
    exclusive: Groups,
}

impl AnyOf {
    /// Any one of these groups; those from `first_exclusive` on are exclusive.
    pub fn new(groups: Groups, first_exclusive: Group) -> AnyOf {
        AnyOf { groups, exclusive: groups.iter().filter(|&group| group >= first_exclusive).collect() }
    }

    /// The groups that it names.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// How many groups it names.
    pub fn len(&self) -> u32 {
        self.groups.len()
    }

    /// Whether it names no group, which no client requests.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl Mode for AnyOf {
    type Group = Group;

    fn first(&self) -> Group {
        self.groups.first().unwrap_or(0)
    }

    fn contains(&self, group: Group) -> bool {
        self.groups.contains(group)
    }

    fn is_exclusive(&self, group: Group) -> bool {
        self.exclusive.contains(group)
    }
}

impl Display for AnyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.groups)
    }
}
