//! Members that reach the leader but not each other: one of the two has to go, or both would wait for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Renewal;
use crate::time::{Time, certainly};

/// Who had to go is kept out for two leases, then four, and so on up to so many.
const KEPT_OUT_AT_MOST: u32 = 32;

#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    /// Who says of whom that it cannot be reached, without a break since when.
    reports: BTreeMap<(u32, u32), Time>,
    /// Who had to go: until when it is kept out, and for how many leases.
    out: BTreeMap<u32, (Time, u32)>,
}

impl Troubles {
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

    /// A member has to go, as soon as its lease has run out. If it came back at once, it would have to go again, and everybody
    /// would wait for it each time.
    pub(super) fn keep_out(&mut self, now: Time, id: u32, lease: Duration) {
        // Who was well for long enough begins anew.
        self.out.retain(|_, (until, leases)| now - *until < lease.saturating_mul(*leases * 2));
        let (until, leases) = self.out.entry(id).or_insert((now, 1));
        *leases = (*leases * 2).min(KEPT_OUT_AT_MOST);
        *until = now + certainly(lease).saturating_add(lease.saturating_mul(*leases));
    }

    /// Whether it had to go, and must not come back yet.
    pub(super) fn keeps_out(&self, now: Time, id: u32) -> bool {
        self.out.get(&id).is_some_and(|(until, _)| now < *until)
    }

    /// Who gets no lease any more, if two that renew theirs have not reached each other for as long as a lease lasts: the
    /// one that has trouble with most others; not the leader, if it can be helped; otherwise the one with the highest id.
    /// Whoever does not renew is lost anyway, and is no reason to choose.
    pub(super) fn victim(
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
