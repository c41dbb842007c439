//! Names of resources: what is allowed, what they stand for, and which node is their home.

use std::fmt;

use algorithms::NodeId;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 255;
/// The most slots a semaphore can have.
pub const MOST_SLOTS: u32 = 65_536;

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Definition {
    /// A mutex (one slot) or a semaphore.
    Slots(u32),
    /// Many readers or one writer.
    RwLock,
    /// All holders are in the same group.
    Room,
}

/// A definition without the number of slots: a name is one of these for as long as any client uses it, and
/// the number may change meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A mutex or a semaphore.
    Slots,
    /// A read-write lock.
    RwLock,
    /// A room.
    Room,
}

impl Kind {
    /// All of them, in their order.
    pub const ALL: [Kind; 3] = [Kind::Slots, Kind::RwLock, Kind::Room];
}

impl Definition {
    /// One at a time.
    pub const MUTEX: Definition = Definition::Slots(1);

    /// What it is, but for the number of slots.
    pub fn kind(self) -> Kind {
        match self {
            Definition::Slots(_) => Kind::Slots,
            Definition::RwLock => Kind::RwLock,
            Definition::Room => Kind::Room,
        }
    }

    /// The number of slots of a mutex or a semaphore.
    pub fn slots(self) -> Option<u32> {
        match self {
            Definition::Slots(slots) => Some(slots),
            Definition::RwLock | Definition::Room => None,
        }
    }

    /// Refuses what cannot be served.
    pub fn validate(self) -> Result<(), Refusal> {
        match self {
            Definition::Slots(slots) if slots == 0 || slots > MOST_SLOTS => Err(Refusal::Slots(slots)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Definition::Slots(1) => f.write_str("a mutex"),
            Definition::Slots(slots) => write!(f, "a semaphore with {slots} slots"),
            Definition::RwLock => f.write_str("a read-write lock"),
            Definition::Room => f.write_str("a room"),
        }
    }
}

/// Refuses names that are empty, too long, or cannot be printed on a line.
pub fn validate(name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        Err(Refusal::NameEmpty)
    } else if name.len() > LONGEST_NAME {
        Err(Refusal::NameTooLong(name.len()))
    } else if name.chars().any(char::is_control) {
        Err(Refusal::NameNotPrintable)
    } else {
        Ok(())
    }
}

/// The home of a name among members with these keys: the one whose key and the name together give the highest number.
/// When a member goes, only the names at home there move.
pub fn home(name: &str, members: impl IntoIterator<Item = u64>) -> NodeId {
    let of_name = number(name);
    let rank = |key: u64| mix(of_name ^ mix(key));
    let best = (0..).zip(members).max_by_key(|&(index, key)| (rank(key), std::cmp::Reverse::<NodeId>(index)));
    best.map_or(0, |(index, _)| index)
}

/// A number for a text: the same everywhere and for ever, because nodes of different versions have to agree
/// on it. Groups of rooms are compared by it.
pub fn number(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(hash)
}

/// Spreads every bit over all of them.
fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_served() {
        assert_eq!(validate(""), Err(Refusal::NameEmpty));
        assert_eq!(validate(&"ä".repeat(128)), Err(Refusal::NameTooLong(256)));
        assert_eq!(validate("a\nb"), Err(Refusal::NameNotPrintable));
        assert_eq!(validate("jobs/nightly backup ✓"), Ok(()));
    }

    #[test]
    fn homes_are_spread_evenly_and_only_those_of_a_lost_member_move() {
        let names: Vec<String> = (0..3000).map(|number| format!("name-{number}")).collect();
        let all = [11, 22, 33, 44, 55];
        let without = [11, 22, 44, 55];
        let mut counts = [0; 5];
        for name in &names {
            let before = home(name, all) as usize;
            counts[before] += 1;
            let after = without[home(name, without) as usize];
            assert!(all[before] == 33 || after == all[before], "{name}");
        }
        assert!(counts.iter().all(|count| (500..700).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_number_of_a_text_is_for_ever() {
        assert_eq!((number(""), number("a"), number("jobs")), (PINNED[0], PINNED[1], PINNED[2]));
    }

    const PINNED: [u64; 3] =
        [17_280_346_270_528_514_342, 9_413_272_369_427_828_315, 8_955_547_551_471_644_790];
}
