//! The registry, which the cluster commits: members of the view, definitions, how long leases last. Nothing
//! per lock.
//!
//! Consensus commits entries in order, and every node applies them alike. A leader decides on a view only
//! after it has waited until the lost node's lease has certainly run out; that decision is void under another
//! leader, or after another view. So an entry says what it was based on, and applying it checks that.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::leases::validate_lease;
use crate::limits::Bound;
use crate::name::{self, Definition};
use crate::refusal::Refusal;
use crate::view::{LAST_EPOCH, View, ViewMember};

/// The shortest time that an invitation lasts.
pub const SHORTEST_INVITATION: Duration = Duration::from_secs(1);
/// The longest time that an invitation lasts: its secret may be read by others meanwhile.
pub const LONGEST_INVITATION: Duration = Duration::from_secs(7 * 86_400);
/// The most invitations that can be open.
pub const MOST_INVITATIONS: usize = 1024;
/// The most names that can be defined: every node keeps all of them.
pub const MOST_DEFINITIONS: usize = 1 << 17;
/// The longest address of a node, in bytes.
pub const LONGEST_ADDRESS: usize = 512;
/// The last incarnation. A clock that counts nanoseconds from 1970 reaches it in 2262.
pub const LAST_INCARNATION: u64 = u64::MAX >> 1;

/// Refuses a time that invitations cannot last.
pub fn validate_invitation(lasts: Duration) -> Result<(), Refusal> {
    let can_be = (SHORTEST_INVITATION..=LONGEST_INVITATION).contains(&lasts);
    if can_be { Ok(()) } else { Err(Refusal::Invitation(lasts)) }
}

/// A member of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// Unique per start of a process: a node that comes back is another member.
    pub incarnation: u64,
    /// Where the member's peers reach it.
    pub address: String,
    /// Where clients reach the member.
    pub clients: String,
    /// The number of the first view that this incarnation was in. Applying a view sets it, whatever was
    /// proposed.
    pub joined: u64,
}

impl MemberEntry {
    /// An incarnation of a node, with its addresses for peers and for clients.
    pub fn new(incarnation: u64, address: &str, clients: &str) -> MemberEntry {
        let (address, clients) = (address.to_owned(), clients.to_owned());
        MemberEntry { incarnation, address, clients, joined: 0 }
    }

    /// Refuses what cannot be a member, and says why.
    pub fn validate(&self) -> Result<(), InvalidMember> {
        let longest = self.address.len().max(self.clients.len());
        if longest > LONGEST_ADDRESS {
            return Err(InvalidMember::AddressTooLong(longest));
        }
        if self.incarnation > LAST_INCARNATION {
            return Err(InvalidMember::Incarnation);
        }
        Ok(())
    }

    /// The identity of the member with this id.
    pub fn identity(&self, id: u32) -> Identity {
        Identity { id, incarnation: self.incarnation }
    }
}

/// Why a node cannot be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidMember {
    /// An address has this many bytes, more than [`LONGEST_ADDRESS`].
    AddressTooLong(usize),
    /// The incarnation is beyond [`LAST_INCARNATION`].
    Incarnation,
}

impl fmt::Display for InvalidMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidMember::AddressTooLong(bytes) => {
                write!(f, "an address has {bytes} bytes, and the limit is {LONGEST_ADDRESS}")
            }
            InvalidMember::Incarnation => {
                write!(f, "incarnations end at {LAST_INCARNATION}: check the clock of this node")
            }
        }
    }
}

impl std::error::Error for InvalidMember {}

/// A node that may join the cluster, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// A node that knows the secret may join under this id.
    pub secret: u128,
    /// When the invitation expires, in seconds since 1970 on the clock of the leader.
    pub until: u64,
}

/// A leadership: a term, and the node that led in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Leadership {
    /// The term.
    pub term: u64,
    /// The node.
    pub node: u32,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The next view.
    View {
        /// It replaces the view of this number, and no other.
        base_epoch: u64,
        /// The leadership under which the view was decided. It is worth nothing under another.
        decided_by: Leadership,
        /// The members of the next view, by id.
        members: BTreeMap<u32, MemberEntry>,
    },
    /// From now on a name stands for this. Of what is defined only the number of slots can change.
    Define {
        /// The name.
        name: Arc<str>,
        /// What the name stands for; `None` ends the definition.
        definition: Option<Definition>,
    },
    /// How long leases last.
    Lease {
        /// The entry replaces the value with this number only, so that a repeated proposal counts once.
        base: u64,
        /// How long leases are to last.
        lasts: Duration,
        /// A leader decides on a shorter time only after it has waited until no lease of the longer time is
        /// valid; like a view, that decision is void under another leadership.
        decided_by: Leadership,
    },
    /// A node may join under a new id; or `None`: the invitation was used or withdrawn.
    Invite {
        /// The id of the invited node.
        id: u32,
        /// The secret that the node has to know, and until when it counts.
        invitation: Option<Invitation>,
    },
}

/// The state that the entries applied so far have produced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    /// The number of the view; 0 before the first.
    pub epoch: u64,
    /// The members of the view, by id.
    pub members: BTreeMap<u32, MemberEntry>,
    /// The highest incarnation that each node ever had in a view: an incarnation is never admitted again.
    pub incarnations: BTreeMap<u32, u64>,
    /// Names that were defined.
    pub definitions: BTreeMap<Arc<str>, Definition>,
    /// How long leases last.
    pub lease: Duration,
    /// How often the length of leases was changed.
    pub lease_changes: u64,
    /// Open invitations, by the ids of the invited nodes.
    pub invitations: BTreeMap<u32, Invitation>,
}

/// The effect of a committed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Applied {
    /// The entry counts.
    Yes,
    /// It was decided under another leadership than it was committed under, or for another view: it changes
    /// nothing.
    Outdated,
    /// It admits an incarnation that was in a view before and left it, or an older one.
    OldIncarnation,
    /// The name is defined as something that cannot become what was proposed: only the number of slots can change.
    DefinedAs(Definition),
    /// It asks for what no node may ask for: a lease, a name or an address out of bounds, or more than there can be.
    OutOfBounds,
    /// The cluster has used up the numbers of views. The last view stays in force.
    NoMoreViews,
}

impl Applied {
    /// Why a definition that was proposed does not count, if it does not.
    pub fn of_definition(self, proposed: &Entry) -> Result<(), Refusal> {
        match (self, proposed) {
            (Applied::Yes, _) => Ok(()),
            (Applied::DefinedAs(defined), Entry::Define { definition: Some(asked), .. }) => {
                Err(Refusal::DefinedAs { defined, asked: *asked })
            }
            (Applied::OutOfBounds, Entry::Define { name, definition: Some(asked) }) => {
                name::validate(name)?;
                asked.validate()?;
                let most = MOST_DEFINITIONS as u64;
                Err(Refusal::Bound { bound: Bound::Definitions, most })
            }
            _ => Err(Refusal::NotAgreed("another change was committed first: try again".to_string())),
        }
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            epoch: 0,
            members: BTreeMap::new(),
            incarnations: BTreeMap::new(),
            definitions: BTreeMap::new(),
            lease: Duration::from_secs(3),
            lease_changes: 0,
            invitations: BTreeMap::new(),
        }
    }
}

impl Registry {
    /// Applies an entry that was committed under this leadership.
    ///
    /// Any node may propose anything, so this checks what nodes check before they propose.
    pub fn apply(&mut self, entry: &Entry, agreed_under: Leadership) -> Applied {
        if !self.is_within_bounds(entry) {
            return Applied::OutOfBounds;
        }
        match entry {
            Entry::View { base_epoch, decided_by, members } => {
                if *base_epoch != self.epoch || *decided_by != agreed_under {
                    return Applied::Outdated;
                }
                if self.epoch >= LAST_EPOCH {
                    return Applied::NoMoreViews;
                }
                if members.iter().any(|(id, member)| self.was_here(*id, member)) {
                    return Applied::OldIncarnation;
                }
                self.epoch += 1;
                let before = std::mem::replace(&mut self.members, members.clone());
                for (id, member) in &mut self.members {
                    let stayed = before.get(id).filter(|before| before.incarnation == member.incarnation);
                    member.joined = stayed.map_or(self.epoch, |before| before.joined);
                    self.incarnations.insert(*id, member.incarnation);
                }
            }
            Entry::Define { name, definition: Some(definition) } => {
                let defined = self.definitions.get(name);
                if let Some(defined) = defined.filter(|defined| defined.kind() != definition.kind()) {
                    return Applied::DefinedAs(*defined);
                }
                self.definitions.insert(name.clone(), *definition);
            }
            Entry::Define { name, definition: None } => _ = self.definitions.remove(name),
            Entry::Lease { base, lasts, decided_by } => {
                if *base != self.lease_changes || *decided_by != agreed_under {
                    return Applied::Outdated;
                }
                self.lease_changes += 1;
                self.lease = *lasts;
            }
            Entry::Invite { id, invitation: Some(invitation) } => {
                // Ids are never used twice.
                if *id < self.next_id() {
                    return Applied::Outdated;
                }
                self.invitations.insert(*id, invitation.clone());
            }
            Entry::Invite { id, invitation: None } => {
                if self.invitations.remove(id).is_none() {
                    return Applied::Outdated;
                }
                // From now on the id counts as used, whether or not the node ever becomes a member.
                self.incarnations.entry(*id).or_insert(0);
            }
        }
        Applied::Yes
    }

    /// Whether an entry is within bounds, whichever node decided it.
    fn is_within_bounds(&self, entry: &Entry) -> bool {
        match entry {
            Entry::View { members, .. } => members.values().all(|member| member.validate().is_ok()),
            Entry::Define { name, definition: Some(definition) } => {
                let fits = self.definitions.len() < MOST_DEFINITIONS || self.definitions.contains_key(name);
                fits && name::validate(name).is_ok() && definition.validate().is_ok()
            }
            Entry::Lease { lasts, .. } => validate_lease(*lasts).is_ok(),
            // The id after the last has to be a number, too.
            Entry::Invite { id, invitation: Some(_) } => {
                *id < u32::MAX && self.invitations.len() < MOST_INVITATIONS
            }
            Entry::Define { definition: None, .. } | Entry::Invite { invitation: None, .. } => true,
        }
    }

    /// The lowest id above all that a node has had or was promised.
    pub fn next_id(&self) -> u32 {
        let last = |ids: Option<&u32>| ids.map_or(0, |id| id.saturating_add(1));
        last(self.incarnations.keys().next_back()).max(last(self.invitations.keys().next_back()))
    }

    /// The members of the view in force.
    pub fn identities(&self) -> impl Iterator<Item = Identity> {
        self.members.iter().map(|(id, member)| member.identity(*id))
    }

    /// Whether exactly this incarnation is a member.
    pub fn is_member(&self, who: Identity) -> bool {
        self.members.get(&who.id).is_some_and(|member| member.incarnation == who.incarnation)
    }

    /// The view in force.
    pub fn view(&self) -> View {
        let member = |(id, member): (&u32, &MemberEntry)| ViewMember {
            joined: member.joined,
            ..ViewMember::new(member.identity(*id), &member.address)
        };
        View { epoch: self.epoch, members: self.members.iter().map(member).collect() }
    }

    /// Whether this incarnation, or a later one of this node, has been in a view, and is not in the present
    /// one.
    fn was_here(&self, id: u32, member: &MemberEntry) -> bool {
        let highest = self.incarnations.get(&id);
        !self.is_member(member.identity(id)) && highest.is_some_and(|highest| member.incarnation <= *highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Leadership = Leadership { term: 1, node: 0 };

    fn view(base_epoch: u64, incarnations: &[(u32, u64)]) -> Entry {
        let member = |&(id, incarnation)| (id, MemberEntry::new(incarnation, "", ""));
        let members = incarnations.iter().map(member).collect();
        Entry::View { base_epoch, decided_by: FIRST, members }
    }

    #[test]
    fn a_view_follows_the_one_it_was_decided_in_and_no_other() {
        let mut registry = Registry::default();
        assert_eq!(registry.apply(&view(0, &[(0, 1), (1, 1)]), FIRST), Applied::Yes);
        assert_eq!(registry.apply(&view(0, &[(0, 1)]), FIRST), Applied::Outdated);
        let second = Leadership { term: 2, node: 1 };
        assert_eq!(registry.apply(&view(1, &[(0, 1)]), second), Applied::Outdated);
        assert_eq!(registry.apply(&view(1, &[(0, 1)]), FIRST), Applied::Yes);
        assert_eq!((registry.epoch, registry.members.len()), (2, 1));
    }

    #[test]
    fn an_incarnation_is_never_admitted_again() {
        let mut registry = Registry::default();
        registry.apply(&view(0, &[(0, 5), (1, 5)]), FIRST);
        registry.apply(&view(1, &[(0, 5)]), FIRST);
        assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 5)]), FIRST), Applied::OldIncarnation);
        assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 4)]), FIRST), Applied::OldIncarnation);
        assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 6)]), FIRST), Applied::Yes);
    }

    #[test]
    fn a_member_has_joined_when_its_incarnation_first_was_in_a_view() {
        let mut registry = Registry::default();
        registry.apply(&view(0, &[(0, 5), (1, 5)]), FIRST);
        registry.apply(&view(1, &[(0, 5)]), FIRST);
        registry.apply(&view(2, &[(0, 5), (1, 6)]), FIRST);
        let joined: Vec<_> = registry.view().members.iter().map(|member| member.joined).collect();
        assert_eq!(joined, [1, 3]);
    }

    #[test]
    fn an_invitation_is_used_once_and_its_id_never_again() {
        let mut registry = Registry::default();
        registry.apply(&view(0, &[(4, 1)]), FIRST);
        assert_eq!(registry.next_id(), 5);
        let invite = |id, secret: Option<u128>| Entry::Invite {
            id,
            invitation: secret.map(|secret| Invitation { secret, until: 0 }),
        };
        assert_eq!(registry.apply(&invite(4, Some(7)), FIRST), Applied::Outdated);
        assert_eq!(registry.apply(&invite(5, Some(7)), FIRST), Applied::Yes);
        assert_eq!(registry.apply(&invite(5, Some(8)), FIRST), Applied::Outdated);
        assert_eq!(registry.apply(&invite(5, None), FIRST), Applied::Yes);
        assert_eq!(registry.apply(&invite(5, None), FIRST), Applied::Outdated);
        assert_eq!(registry.next_id(), 6);
    }

    #[test]
    fn definitions_come_and_go() {
        let mut registry = Registry::default();
        let name: Arc<str> = Arc::from("gpu");
        let define = |definition| Entry::Define { name: name.clone(), definition };
        registry.apply(&define(Some(Definition::Slots(4))), FIRST);
        assert_eq!(registry.definitions.get(&name), Some(&Definition::Slots(4)));
        assert_eq!(registry.apply(&define(Some(Definition::Slots(2))), FIRST), Applied::Yes);
        // A semaphore does not become a room; what is no longer defined may become anything.
        let room = define(Some(Definition::Room));
        assert_eq!(registry.apply(&room, FIRST), Applied::DefinedAs(Definition::Slots(2)));
        assert_eq!(registry.definitions.get(&name), Some(&Definition::Slots(2)));
        registry.apply(&define(None), FIRST);
        assert!(registry.definitions.is_empty());
    }

    /// A cluster whose leases last for ever cannot fail over, and one whose leases last no time grants nothing.
    #[test]
    fn no_entry_is_out_of_bounds() {
        let mut registry = Registry::default();
        for lasts in [Duration::ZERO, Duration::from_millis(499), Duration::from_secs(601), Duration::MAX] {
            let entry = Entry::Lease { base: 0, lasts, decided_by: FIRST };
            assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds, "{lasts:?}");
        }
        let long = "x".repeat(LONGEST_ADDRESS + 1);
        for member in [
            MemberEntry::new(1, &long, ""),
            MemberEntry::new(1, "", &long),
            MemberEntry::new(LAST_INCARNATION + 1, "", ""),
        ] {
            let members = BTreeMap::from([(0, member)]);
            let entry = Entry::View { base_epoch: 0, decided_by: FIRST, members };
            assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds);
        }
        for (name, slots) in [("", 1), ("a\nb", 1), ("x", 0), ("x", u32::MAX)] {
            let entry = Entry::Define { name: name.into(), definition: Some(Definition::Slots(slots)) };
            let applied = registry.apply(&entry, FIRST);
            assert_eq!(applied, Applied::OutOfBounds, "{name:?} {slots}");
            assert!(!matches!(applied.of_definition(&entry), Ok(()) | Err(Refusal::Bound { .. })));
        }
        let invitation = Some(Invitation { secret: 1, until: 0 });
        let entry = Entry::Invite { id: u32::MAX, invitation };
        assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds);
        assert_eq!(registry, Registry::default(), "none of them changed anything");
    }

    #[test]
    fn invitations_and_definitions_do_not_grow_for_ever() {
        let mut registry = Registry::default();
        let invite = |id| Entry::Invite { id, invitation: Some(Invitation { secret: 1, until: 0 }) };
        for id in 0..MOST_INVITATIONS as u32 {
            assert_eq!(registry.apply(&invite(id), FIRST), Applied::Yes);
        }
        assert_eq!(registry.apply(&invite(MOST_INVITATIONS as u32), FIRST), Applied::OutOfBounds);
        let define = |name: String, slots| {
            let definition = Some(Definition::Slots(slots));
            Entry::Define { name: name.into(), definition }
        };
        for number in 0..MOST_DEFINITIONS {
            registry.definitions.insert(format!("{number}").into(), Definition::MUTEX);
        }
        assert_eq!(registry.apply(&define("0".to_owned(), 2), FIRST), Applied::Yes, "it is there already");
        let one_more = define("one more".to_owned(), 2);
        let applied = registry.apply(&one_more, FIRST);
        assert_eq!(applied, Applied::OutOfBounds);
        let most = MOST_DEFINITIONS as u64;
        assert_eq!(applied.of_definition(&one_more), Err(Refusal::Bound { bound: Bound::Definitions, most }));
    }

    #[test]
    fn the_last_view_stays_in_force() {
        let mut registry = Registry { epoch: LAST_EPOCH - 1, ..Registry::default() };
        assert_eq!(registry.apply(&view(LAST_EPOCH - 1, &[(0, 5)]), FIRST), Applied::Yes);
        let last = registry.clone();
        assert_eq!(registry.apply(&view(LAST_EPOCH, &[(0, 5), (1, 5)]), FIRST), Applied::NoMoreViews);
        assert_eq!(registry, last);
    }

    #[test]
    fn leases_last_as_long_as_the_leader_that_waited_says() {
        let mut registry = Registry::default();
        let second = Leadership { term: 2, node: 1 };
        let entry = Entry::Lease { base: 0, lasts: Duration::from_secs(1), decided_by: FIRST };
        assert_eq!(registry.apply(&entry, second), Applied::Outdated);
        assert_eq!(registry.lease, Duration::from_secs(3));
        assert_eq!(registry.apply(&entry, FIRST), Applied::Yes);
        assert_eq!(registry.lease, Duration::from_secs(1));
        let longer = Entry::Lease { base: 1, lasts: Duration::from_secs(9), decided_by: FIRST };
        assert_eq!(registry.apply(&longer, FIRST), Applied::Yes);
        // The same again, which was repeated in between.
        assert_eq!(registry.apply(&entry, FIRST), Applied::Outdated);
        assert_eq!(registry.lease, Duration::from_secs(9));
    }
}
