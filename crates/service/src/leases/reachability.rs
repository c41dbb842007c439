//! Members that reach the leader but not each other: one of the two has to go, or both would wait for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Renewal;
use crate::time::{Time, certainly};

/// A node that was excluded for not reaching others is kept out for two leases, then four, and so on up to
/// this many.
const KEPT_OUT_AT_MOST: u32 = 32;

#[derive(Clone, Debug, Default)]
pub(super) struct Reachability {
    /// Which member reports which as unreachable, without a break since when.
    reports: BTreeMap<(u32, u32), Time>,
    /// The excluded nodes: until when each is kept out, and for how many leases.
    out: BTreeMap<u32, (Time, u32)>,
}

impl Reachability {
    /// A member says whom it does not reach, and so whom it does.
    pub(super) fn report(&mut self, now: Time, renewal: &Renewal) {
        let node = renewal.identity.id;
        let named = |id: &u32| renewal.unreachable.contains(id) || renewal.missing_ends.contains(id);
        self.reports.retain(|(by, of), _| *by != node || named(of));
        for of in renewal.unreachable.iter().chain(&renewal.missing_ends) {
            if *of != node {
                self.reports.entry((node, *of)).or_insert(now);
            }
        }
    }

    pub(super) fn keep_only(&mut self, is_member: impl Fn(u32) -> bool) {
        self.reports.retain(|(by, of), _| is_member(*by) && is_member(*of));
    }

    /// Excludes a member, as soon as its lease has run out. If it came back at once, it would be excluded
    /// again, and all nodes would wait for it each time.
    pub(super) fn keep_out(&mut self, now: Time, id: u32, lease: Duration) {
        // A node that had no trouble for long enough starts again with the shortest time.
        self.out.retain(|_, (until, leases)| now - *until < lease.saturating_mul(*leases * 2));
        let (until, leases) = self.out.entry(id).or_insert((now, 1));
        *leases = (*leases * 2).min(KEPT_OUT_AT_MOST);
        *until = now + certainly(lease).saturating_add(lease.saturating_mul(*leases));
    }

    /// Whether it was excluded, and must not come back yet.
    pub(super) fn keeps_out(&self, now: Time, id: u32) -> bool {
        self.out.get(&id).is_some_and(|(until, _)| now < *until)
    }

    /// The member that gets no more leases, if two that renew theirs have not reached each other for as long
    /// as a lease lasts: the one that has trouble with most others; not the leader, if possible; otherwise
    /// the one with the highest id. A member that does not renew is lost anyway, and is no reason to choose.
    pub(super) fn member_to_exclude(
        &self,
        now: Time,
        lease: Duration,
        renewed: &BTreeMap<u32, Time>,
        leader: u32,
    ) -> Option<u32> {
        let is_alive = |id: &u32| renewed.get(id).is_some_and(|since| now - *since < lease / 2);
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for ((by, of), since) in &self.reports {
            let counted_twice =
                by > of && self.reports.get(&(*of, *by)).is_some_and(|other| now - *other >= lease);
            if now - *since >= lease && is_alive(by) && is_alive(of) && !counted_twice {
                *counts.entry(*by).or_default() += 1;
                *counts.entry(*of).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(id, count)| (*count, *id != leader, *id)).map(|(id, _)| id)
    }
}
