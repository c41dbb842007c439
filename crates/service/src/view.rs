//! The members in force.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use algorithms::Bounds;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::name;

/// The members, from one change to the next: for the locks and for the links alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The number of the view.
    pub epoch: u64,
    /// The members, by id. Algorithms know members by their indices in this list.
    pub members: Vec<ViewMember>,
}

/// A member of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewMember {
    /// The member's identity.
    pub identity: Identity,
    /// Where its peers reach it, as `host:port`.
    pub address: Arc<str>,
    /// The number of the first view that this incarnation was in.
    pub joined: u64,
}

impl ViewMember {
    /// A member that is reached here, and has not been in any view.
    pub fn new(identity: Identity, address: &str) -> ViewMember {
        ViewMember { identity, address: address.into(), joined: 0 }
    }
}

/// A member's index in a view, by which algorithms know it. Ids are for ever; indices belong to one view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberIndex(pub(crate) algorithms::NodeId);

impl fmt::Debug for MemberIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A fence is the number of a view, then a counter: both only rise.
const COUNTER_BITS: u32 = 40;

/// How far a counter may get beyond the last fence of its view when its token moves on: nothing is granted by that.
const BEYOND_LAST_FENCE: u64 = 1 << 32;

/// The number of the last view: the next would not fit before the counter, and fences would fall. A view a minute takes 31 years
/// to get there.
pub const LAST_EPOCH: u64 = (1 << (u64::BITS - COUNTER_BITS)) - 1;

impl View {
    /// A view of nodes that have not been in any before, without links: incarnations and addresses are left empty.
    pub fn of(epoch: u64, ids: impl IntoIterator<Item = u32>) -> View {
        let member =
            |id| ViewMember { joined: epoch, ..ViewMember::new(Identity { id, incarnation: 0 }, "") };
        let mut members: Vec<ViewMember> = ids.into_iter().map(member).collect();
        members.sort_by_key(|member| member.identity.id);
        View { epoch, members }
    }

    /// A node that has not been in any view yet: it is alone, and enters the first view it hears of.
    pub fn alone(id: u32) -> View {
        View::of(0, [id])
    }

    /// The index of a member.
    pub fn index_of(&self, id: u32) -> Option<MemberIndex> {
        let index = self.members.binary_search_by_key(&id, |member| member.identity.id).ok()?;
        Some(MemberIndex(index as u32))
    }

    /// The id of the member at this index.
    pub fn id(&self, index: MemberIndex) -> u32 {
        self.members[index.0 as usize].identity.id
    }

    pub(crate) fn ids(&self, indices: &[MemberIndex]) -> Vec<u32> {
        indices.iter().map(|index| self.id(*index)).collect()
    }

    /// The index of a name's home.
    pub fn home(&self, name: &str) -> MemberIndex {
        MemberIndex(name::home(name, self.members.iter().map(|member| u64::from(member.identity.id))))
    }

    /// No fence of an earlier view is higher, and all of this one are.
    pub(crate) fn floor(&self) -> u64 {
        self.epoch.min(LAST_EPOCH) << COUNTER_BITS
    }

    /// The last fence of this view. The next one would be a fence of the next view, which may be given again there.
    pub(crate) fn last_fence(&self) -> u64 {
        self.floor() | ((1 << COUNTER_BITS) - 1)
    }

    /// What a message of this view can name.
    pub(crate) fn bounds(&self) -> Bounds {
        let counter = self.last_fence().saturating_add(BEYOND_LAST_FENCE);
        Bounds { nodes: self.members.len() as u32, tokens: name::MOST_SLOTS, counter }
    }

    /// The indices of the members that have to report to the one at this index: all others that were in an earlier view.
    pub(crate) fn owing(&self, me: MemberIndex) -> BTreeSet<MemberIndex> {
        let old = (0..).zip(&self.members).filter(|(_, member)| member.joined < self.epoch);
        old.map(|(index, _)| MemberIndex(index)).filter(|index| *index != me).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_rise_up_to_the_last_view() {
        let floors = [0, 1, LAST_EPOCH - 1, LAST_EPOCH].map(|epoch| View::of(epoch, [1]).floor());
        assert!(floors.is_sorted_by(|one, next| one < next), "{floors:?}");
        let last = View::of(LAST_EPOCH, [1]);
        assert_eq!(
            (View::of(LAST_EPOCH - 1, [1]).last_fence() + 1, last.last_fence()),
            (last.floor(), u64::MAX)
        );
        assert_eq!(View::of(u64::MAX, [1]).floor(), last.floor(), "what is no view gives no lower fence");
    }
}
