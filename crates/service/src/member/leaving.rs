//! How a member leaves: it grants nothing any more, clients that hold something have a lease's time to
//! finish, and then the member says goodbye, so that the others need not wait for its lease to run out.
//!
//! A keep-alive at a leaving node that makes no more promises gets no answer. Earlier promises stay valid,
//! and the client may finish under them: to say that the session is gone would end its work for nothing.

use std::time::Duration;

use super::{Effect, Member, Standing};
use crate::time::Time;

/// How often to look whether all clients have finished.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A member that cannot leave in good order within this many leases ends: a promise made at the last moment
/// lasts another lease, on any clock.
const LEASES_TO_FINISH: u32 = 3;
/// A goodbye is said again after this part of a lease, until the next view is without the member.
const GOODBYE_EVERY: u32 = 30;

#[derive(Clone, Debug)]
pub(super) struct LeaveProgress {
    looks_at: Time,
    /// The others wait for the lease instead if it takes longer.
    gives_up_at: Time,
    /// All promises to clients have certainly run out: no client holds anything here.
    finished: bool,
}

impl LeaveProgress {
    pub(super) fn looks_at(&self) -> Time {
        self.looks_at
    }
}

impl Member {
    /// This member is to leave. [`Effect::Left`] follows.
    pub fn leave(&mut self, now: Time, effects: &mut Vec<Effect>) {
        if !matches!(self.standing, Standing::Serving) {
            return;
        }
        let lease = self.registry.lease;
        self.core.leave(now + lease, now, &mut self.out);
        self.pass_on(effects);
        let gives_up_at = now + lease.saturating_mul(LEASES_TO_FINISH);
        self.standing = Standing::Leaving(LeaveProgress { looks_at: now, gives_up_at, finished: false });
        self.continue_leaving(now, effects);
    }

    /// Whether this member is to leave.
    pub fn is_leaving(&self) -> bool {
        matches!(self.standing, Standing::Leaving(_))
    }

    pub(super) fn continue_leaving(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let (in_a_view, lease) = (self.view().epoch > 0, self.registry.lease);
        let Standing::Leaving(progress) = &mut self.standing else { return };
        if now < progress.looks_at {
            return;
        }
        if !in_a_view || now >= progress.gives_up_at {
            self.standing = Standing::Left;
            return effects.push(Effect::Left);
        }
        if !progress.finished && self.core.may_say_goodbye(now) {
            (progress.finished, progress.gives_up_at) = (true, now + lease);
        }
        progress.looks_at = now + if progress.finished { lease / GOODBYE_EVERY } else { LOOK_EVERY };
        if progress.finished {
            effects.push(Effect::Goodbye(self.identity()));
        }
    }
}
