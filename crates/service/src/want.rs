//! What a client wants of a resource: a slot, to read or to write, or to be in one of some groups.

use std::fmt;
use std::sync::Arc;

use algorithms::rooms::Mode;
use serde::{Deserialize, Serialize};

use crate::grant::Grant;
use crate::name::{self, Definition};
use crate::refusal::Refusal;

/// The most groups that a request names.
pub const MOST_GROUPS: usize = 64;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// A slot of a mutex or a semaphore.
    Slot,
    /// The client wants to read.
    Read,
    /// The client wants to write.
    Write,
    /// The client wants to be in any one of these groups, the first if the choice is its own.
    AnyOf(Arc<[Arc<str>]>),
    /// A slot of a mutex or a semaphore, however many slots it is defined to have. If it is not defined, the request says how
    /// many.
    AnySlot,
}

/// What a group takes besides its name.
const GROUP_BYTES: usize = 48;
/// This many bytes of groups count as one more request.
const WEIGHED_BYTES: u64 = 256;

impl Want {
    /// Refuses what does not go with what the resource is.
    pub fn validate(&self, definition: Definition) -> Result<(), Refusal> {
        match (self, definition) {
            (Want::AnyOf(groups), Definition::Room) if groups.is_empty() => Err(Refusal::NoGroup),
            (Want::AnyOf(groups), Definition::Room) if groups.len() > MOST_GROUPS => {
                Err(Refusal::TooManyGroups(MOST_GROUPS))
            }
            (Want::AnyOf(groups), Definition::Room) => {
                groups.iter().try_for_each(|group| name::validate(group))
            }
            (Want::Slot | Want::AnySlot, Definition::Slots(_))
            | (Want::Read | Want::Write, Definition::RwLock) => Ok(()),
            _ => Err(Refusal::WantsOther(definition)),
        }
    }

    /// As how many requests it counts: groups take memory.
    pub(crate) fn weight(&self) -> u64 {
        let Want::AnyOf(groups) = self else { return 1 };
        let bytes: usize = groups.iter().map(|group| group.len() + GROUP_BYTES).sum();
        1 + bytes as u64 / WEIGHED_BYTES
    }

    /// The same by numbers, for a room or a read-write lock; `None` for a slot.
    pub(crate) fn numbered(&self) -> Option<Numbered> {
        Some(match self {
            Want::Slot | Want::AnySlot => return None,
            Want::Read => Numbered::Read,
            Want::Write => Numbered::Write,
            Want::AnyOf(groups) => Numbered::AnyOf(groups.iter().map(|group| name::number(group)).collect()),
        })
    }

    /// The group that it is granted in, if it is granted and names groups.
    pub fn group(&self, grant: Option<&Grant>) -> Option<&str> {
        match (self, grant) {
            (Want::AnyOf(groups), Some(grant)) => groups.get(grant.group as usize).map(|group| &**group),
            _ => None,
        }
    }

    /// Which of the groups that it names this one is.
    pub(crate) fn index_of_group(&self, group: u64) -> u32 {
        match self {
            Want::AnyOf(groups) => {
                let index = groups.iter().position(|named| name::number(named) == group);
                index.map_or(0, |index| index as u32)
            }
            _ => 0,
        }
    }
}

/// What a client wants, by numbers, as nodes tell each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Numbered {
    /// The client wants to read.
    Read,
    /// The client wants to write: alone.
    Write,
    /// The client wants to be in any one of these groups.
    AnyOf(Box<[u64]>),
}

impl Numbered {
    /// Whether a client may ask for that.
    pub(crate) fn is_within_limits(&self) -> bool {
        !matches!(self, Numbered::AnyOf(groups) if groups.is_empty() || groups.len() > MOST_GROUPS)
    }
}

/// The groups of a read-write lock.
const READERS: u64 = 0;
const WRITER: u64 = 1;

impl Mode for Numbered {
    type Group = u64;

    fn first(&self) -> u64 {
        match self {
            Numbered::Read => READERS,
            Numbered::Write => WRITER,
            Numbered::AnyOf(groups) => groups.first().copied().unwrap_or(0),
        }
    }

    fn contains(&self, group: u64) -> bool {
        match self {
            Numbered::Read => group == READERS,
            Numbered::Write => group == WRITER,
            Numbered::AnyOf(groups) => groups.contains(&group),
        }
    }

    fn is_exclusive(&self, _group: u64) -> bool {
        *self == Numbered::Write
    }
}

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Numbered::Read => f.write_str("read"),
            Numbered::Write => f.write_str("write"),
            Numbered::AnyOf(groups) => groups
                .iter()
                .enumerate()
                .try_for_each(|(index, group)| write!(f, "{}{group:x}", if index == 0 { "" } else { "+" })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_go_with_what_the_resource_is() {
        let groups = |names: &[&str]| Want::AnyOf(names.iter().map(|name| Arc::from(*name)).collect());
        assert_eq!(Want::Slot.validate(Definition::Slots(3)), Ok(()));
        assert_eq!(Want::Read.validate(Definition::RwLock), Ok(()));
        assert_eq!(groups(&["a", "b"]).validate(Definition::Room), Ok(()));
        assert_eq!(groups(&[]).validate(Definition::Room), Err(Refusal::NoGroup));
        assert_eq!(groups(&[""]).validate(Definition::Room), Err(Refusal::NameEmpty));
        assert_eq!(groups(&["x"; 65]).validate(Definition::Room), Err(Refusal::TooManyGroups(64)));
        assert_eq!(Want::Slot.validate(Definition::Room), Err(Refusal::WantsOther(Definition::Room)));
        assert_eq!(groups(&["a", "b"]).index_of_group(name::number("b")), 1);
    }
}
