//! The members in force.

use std::collections::BTreeSet;

use algorithms::{Bounds, NodeId};

use crate::name;

/// Who is a member, from one change to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its number.
    pub epoch: u64,
    /// Who is in it, by id. Algorithms know members by their places in this list.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: u32,
    /// The number of the first view that it was in, in this life.
    pub joined: u64,
}

/// A fence is the number of a view, then a counter: both only rise.
const COUNTER_BITS: u32 = 40;

impl View {
    /// A view of nodes that have not been in any before.
    pub fn of(epoch: u64, ids: impl IntoIterator<Item = u32>) -> View {
        let mut members: Vec<Member> = ids.into_iter().map(|id| Member { id, joined: epoch }).collect();
        members.sort_by_key(|member| member.id);
        View { epoch, members }
    }

    /// A node that has not been in any view yet: it is alone, and enters the first view it hears of.
    pub fn alone(id: u32) -> View {
        View::of(0, [id])
    }

    /// The place of a member.
    pub fn place(&self, id: u32) -> Option<NodeId> {
        let place = self.members.binary_search_by_key(&id, |member| member.id).ok()?;
        Some(place as NodeId)
    }

    /// The id of whoever is at this place.
    pub fn id(&self, place: NodeId) -> u32 {
        self.members[place as usize].id
    }

    pub(crate) fn ids(&self, places: &[NodeId]) -> Vec<u32> {
        places.iter().map(|place| self.id(*place)).collect()
    }

    /// The place of a name's home.
    pub fn home(&self, name: &str) -> NodeId {
        name::home(name, self.members.iter().map(|member| u64::from(member.id)))
    }

    /// No fence of an earlier view is higher, and all of this one are.
    pub(crate) fn floor(&self) -> u64 {
        self.epoch << COUNTER_BITS
    }

    /// What a message of this view can name.
    pub(crate) fn bounds(&self) -> Bounds {
        let counter = self.epoch.saturating_add(1).saturating_mul(1 << COUNTER_BITS);
        Bounds { nodes: self.members.len() as u32, tokens: name::MOST_SLOTS, counter }
    }

    /// Who has to report to whoever is at this place: all others that were in an earlier view.
    pub(crate) fn owing(&self, me: NodeId) -> BTreeSet<NodeId> {
        let old = (0..).zip(&self.members).filter(|(_, member)| member.joined < self.epoch);
        old.map(|(place, _)| place).filter(|place| *place != me).collect()
    }
}
