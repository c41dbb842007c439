//! A node that gets no lease says why, instead of waiting in silence.

use std::time::Duration;

use client::clock;
use service::Time;

use crate::host::Shared;

/// It says so after so many times as long as a lease lasts,
const AFTER: u32 = 3;
/// and again after a while.
const EVERY: Duration = Duration::from_secs(30);

/// Why this node has no lease, for those who look after it.
pub(crate) struct Complaint {
    since: Time,
    told: Option<Time>,
    /// What whoever leads said to it.
    pub(crate) refused: Option<String>,
}

impl Complaint {
    pub(crate) fn new() -> Complaint {
        Complaint { since: clock::now(), told: None, refused: None }
    }

    /// Says it, if it is time.
    pub(crate) fn look(&mut self, shared: &Shared) {
        let (now, lease) = (clock::now(), shared.control.registry().borrow().lease);
        let fine = {
            let state = shared.lock();
            state.core.is_leased(now) || state.life.leaves
        };
        if fine {
            *self = Complaint::new();
        } else if now - self.since >= AFTER * lease && self.told.is_none_or(|told| now - told >= EVERY) {
            self.told = Some(now);
            (shared.log)(&self.text(shared, now));
        }
    }

    fn text(&self, shared: &Shared, now: Time) -> String {
        let mut reasons = vec![match (&self.refused, shared.control.leader()) {
            (Some(refused), _) => refused.clone(),
            (None, Some(leader)) => format!("node {leader} leads, and has not let it in yet"),
            (None, None) => "nobody leads: more than half of those who vote have to be there".to_owned(),
        }];
        let unreachable = shared.control.unreachable();
        reasons.extend(unreachable.iter().map(|(node, why)| format!("node {node}: {why}")));
        let seconds = (now - self.since).as_secs();
        format!("no lease for {seconds} s, so nothing is granted here. {}", reasons.join("; "))
    }
}
