//! The registry, which the cluster commits: members of the view, definitions, how long leases last. Nothing
//! per lock.
//!
//! Consensus commits entries in order, and every node applies them alike. A leader decides on a view only
//! after it has waited until the lost node's lease has certainly run out; that decision is void under another
//! leader, or after another view. So an entry says what it was based on, and applying it checks that.

use std::collections::BTreeMap;
use std::fmt;
use std::ops;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auth::{Change, InvalidChange, Limit, QuotaOf, Rights};
use crate::frame::{self, FrameError};
use crate::identity::Identity;
use crate::leases::validate_lease;
use crate::limits::Bound;
use crate::name::{self, Definition};
use crate::refusal::{QuotaUsed, Refusal};
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
    /// A change of rights.
    Rights(Change),
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
    /// Who may do what. In a snapshot it follows the rest: see [`Registry::write`].
    #[serde(skip)]
    pub rights: Rights,
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
    /// The change of rights is refused.
    RightsRefused(InvalidChange),
    /// As many names are defined in the namespace as its quota allows.
    OverQuota(u64),
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
            (Applied::RightsRefused(why), _) => Err(Refusal::Rights(why)),
            (Applied::OverQuota(most), Entry::Define { name, .. }) => {
                let of = QuotaOf::Namespace(name.split('/').next().unwrap_or_default().into());
                Err(Refusal::Quota(Box::new(QuotaUsed { of, limit: Limit::Names, most })))
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
            rights: Rights::default(),
        }
    }
}

impl Registry {
    /// Reads a snapshot. One of before there were rights ends where they would begin.
    pub fn read(bytes: &[u8]) -> Result<Registry, FrameError> {
        let (registry, rest) = frame::first(bytes)?;
        let rights = if rest.is_empty() { Rights::default() } else { frame::whole(rest)? };
        Ok(Registry { rights, ..registry })
    }

    /// Writes a snapshot: the rights at the end, and only if there are any, so that programs of before can read it until then.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        frame::append(self, bytes);
        if self.rights != Rights::default() {
            frame::append(&self.rights, bytes);
        }
    }

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
                if let Some(most) = self.names_quota_used(name).filter(|_| defined.is_none()) {
                    return Applied::OverQuota(most);
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
            Entry::Rights(change) => {
                if let Err(why) = self.rights.apply(change) {
                    return Applied::RightsRefused(why);
                }
            }
        }
        Applied::Yes
    }

    /// The quota of the namespace of a name, if as many names are defined there as it allows.
    fn names_quota_used(&self, name: &str) -> Option<u64> {
        let (namespace, _) = name.split_once('/')?;
        let quota = self.rights.quotas_in_force().get(&QuotaOf::Namespace(namespace.into()))?;
        let (most, prefix) = (quota.names?, format!("{namespace}/"));
        let from = (ops::Bound::Included(&*prefix), ops::Bound::Unbounded);
        let defined =
            self.definitions.range::<str, _>(from).take_while(|(name, _)| name.starts_with(&prefix));
        let at_least = usize::try_from(most).unwrap_or(usize::MAX);
        (defined.take(at_least).count() == at_least).then_some(most)
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
            // The rights check their bounds themselves.
            Entry::Rights(_) => true,
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
mod tests;
