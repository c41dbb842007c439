//! A model of the control plane: it never fails, but keeps the rules about time. A lost node is left out only when its lease
//! has certainly run out; whoever was left out comes back as somebody new.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use service::Time;
use service::time::certainly;
use service::view::{Member, View};

/// How long a node's lease lasts.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// A node in one of its lives.
pub(crate) type Life = (u32, u64);

pub(crate) struct Council {
    pub(crate) view: View,
    /// The life that each member is in.
    lives: BTreeMap<u32, u64>,
    /// When each member was last heard, on the council's clock.
    heard: BTreeMap<Life, Time>,
    joining: BTreeSet<Life>,
}

impl Council {
    pub(crate) fn new(ids: impl Iterator<Item = u32> + Clone) -> Council {
        let lives: BTreeMap<u32, u64> = ids.clone().map(|id| (id, 1)).collect();
        let heard = lives.iter().map(|(id, life)| ((*id, *life), Time(0))).collect();
        Council { view: View::of(1, ids), lives, heard, joining: BTreeSet::new() }
    }

    /// A member says that it is there. Whether it still is one.
    pub(crate) fn renew(&mut self, life: Life, now: Time) -> bool {
        let member = self.lives.get(&life.0) == Some(&life.1);
        if member {
            self.heard.insert(life, now);
        }
        member
    }

    /// Somebody wants to become a member.
    pub(crate) fn join(&mut self, life: Life) {
        self.joining.insert(life);
    }

    /// The life that a member is in.
    pub(crate) fn life(&self, id: u32) -> Option<u64> {
        self.lives.get(&id).copied()
    }

    /// Leaves out whoever is certainly lost, and lets others in. Whether there is a new view.
    pub(crate) fn decide(&mut self, now: Time) -> bool {
        let lost = |(id, life): (&u32, &u64)| now - self.heard[&(*id, *life)] >= certainly(LEASE);
        let lost: Vec<u32> = self.lives.iter().filter(|life| lost(*life)).map(|(id, _)| *id).collect();
        let epoch = self.view.epoch + 1;
        for id in &lost {
            self.lives.remove(id);
            self.view.members.retain(|member| member.id != *id);
        }
        // An old life must have been left out before a new one is let in.
        let free = |life: &Life| !self.lives.contains_key(&life.0);
        let joining: Vec<Life> = self.joining.iter().copied().filter(free).collect();
        for life in &joining {
            self.joining.remove(life);
            self.lives.insert(life.0, life.1);
            self.heard.insert(*life, now);
            self.view.members.push(Member { id: life.0, joined: epoch });
        }
        self.view.members.sort_by_key(|member| member.id);
        let changed = !lost.is_empty() || !joining.is_empty();
        if changed {
            self.view.epoch = epoch;
        }
        changed && !self.view.members.is_empty()
    }
}
