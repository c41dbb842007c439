//! Nodes that want to become members. They wait until all members have installed the view in force, and until
//! an earlier incarnation of theirs has been excluded: a restart never shortens the wait for the lease of the
//! old incarnation.

use std::collections::{BTreeMap, BTreeSet};

use super::{NEWCOMERS_WITHIN, Renewal};
use crate::defect::Defect;
use crate::registry::{Entry, Leadership, MemberEntry, Registry};
use crate::time::Time;

/// The nodes that ask to be admitted.
#[derive(Clone, Debug, Default)]
pub(super) struct Newcomers {
    /// The latest incarnation of each node that asks, and when it asked last.
    waiting: BTreeMap<u32, (MemberEntry, Time)>,
    /// When the nodes that can enter do.
    enter_at: Option<Time>,
    /// The view in force.
    epoch: u64,
    /// Its members that have not yet reported that they are in it.
    late: BTreeSet<u32>,
    /// Whether a rule is left out, and earlier incarnations are replaced.
    replace: bool,
}

impl Newcomers {
    pub(super) fn request_admission(&mut self, now: Time, id: u32, member: MemberEntry) {
        let newer = self.waiting.get(&id).is_none_or(|(known, _)| known.incarnation <= member.incarnation);
        if newer {
            self.waiting.insert(id, (member, now));
        }
    }

    /// A member says which view it is in.
    pub(super) fn is_in(&mut self, renewal: &Renewal) {
        if renewal.epoch >= self.epoch && renewal.missing_ends.is_empty() {
            self.late.remove(&renewal.identity.id);
        }
    }

    pub(super) fn follow(&mut self, now: Time, registry: &Registry, defect: Option<Defect>) {
        if self.epoch != registry.epoch {
            self.epoch = registry.epoch;
            self.late = registry.members.keys().copied().collect();
        }
        // A node that is a member, or does not ask any more, is not waited for.
        self.waiting.retain(|id, (member, asked)| {
            let highest = registry.incarnations.get(id).copied().unwrap_or(0);
            member.incarnation > highest && now - *asked < registry.lease
        });
        self.replace = defect == Some(Defect::RestartReplaces);
        let can = |id: &u32| self.replace || !registry.members.contains_key(id);
        let can_enter = self.late.is_empty() && self.waiting.keys().any(can);
        self.enter_at = self.enter_at.filter(|_| can_enter);
        if can_enter {
            self.enter_at.get_or_insert(now + NEWCOMERS_WITHIN);
        }
    }

    /// When the next view with newcomers can be proposed.
    pub(super) fn enter_at(&self) -> Option<Time> {
        self.enter_at
    }

    /// The next view, if it is time for newcomers.
    pub(super) fn view(&self, now: Time, registry: &Registry, decided_by: Leadership) -> Option<Entry> {
        self.enter_at.filter(|at| *at <= now)?;
        let mut members = registry.members.clone();
        self.add_to(&mut members);
        Some(Entry::View { base_epoch: registry.epoch, decided_by, members })
    }

    /// Adds the newcomers that are not among the next members in an earlier incarnation.
    pub(super) fn add_to(&self, members: &mut BTreeMap<u32, MemberEntry>) {
        for (id, (member, _)) in &self.waiting {
            if self.replace || !members.contains_key(id) {
                members.insert(*id, member.clone());
            }
        }
    }
}
