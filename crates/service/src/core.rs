//! The core of a node: its inputs, and the effects of each.
//!
//! **The contract.** A driver calls one method for each input, with the time of its clock, and then empties
//! [`Effects`]: messages go to peers in order, each exactly once, and answers to the sessions they are for. When
//! [`Core::wakes_at`] comes, it calls [`Core::wake`]. The same calls give the same answers, in every driver.
//!
//! Sessions and grants follow one rule: the next client is granted a slot only when the holder has released
//! it, or when the holder's promise has certainly run out.
//!
//! The state is in parts, each a type with its own invariants, in `core/state/`. What the node does is in
//! `core/`, one file for each topic.

use self::state::{
    Accounts, Admission, Backlog, Deadlines, Due, Membership, Names, Requests, Sessions, Usage, ViewChange,
};
use crate::defect::Defect;
use crate::leases::Lease;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::resource::{Policy, Workspace};
use crate::time::Time;
use crate::view::View;

mod backlog;
mod config;
mod definitions;
mod effects;
mod events;
mod exploration;
mod forgetting;
mod lease;
mod leaving;
mod messages;
mod paging;
mod peers;
mod report;
mod requests;
mod revoking;
mod sessions;
mod state;
mod turns;
mod uses;
mod views;

pub(crate) use state::AccountId;

pub use config::Config;
pub use messages::{Acquire, Counts, Effects, PeerContent, PeerMessage, Reply, RequestOutcome, Timeout};
pub use paging::{Cursor, Page};
pub use report::{Held, Listing, POINTERS, Status};
pub use revoking::{Revocation, Revoked};
pub use sessions::Opening;
pub use turns::{Turn, Turns};
pub use uses::{NameUse, Uses};

/// This much that is due is done in one call, so that no client waits for all of it.
const AT_ONCE: usize = 1024;

/// A node.
///
/// What connects the parts: each session lists the requests that are in `requests` for it, each request is about a
/// resource in `names`, and what has a time (sessions, waiters, revoked grants, timers, idle names, the lease) is in
/// `deadlines`.
#[derive(Clone)]
pub struct Core {
    config: Config,
    membership: Membership,
    lease: Lease,
    admission: Admission,
    sessions: Sessions,
    requests: Requests,
    names: Names,
    deadlines: Deadlines,
    workspace: Workspace,
    accounts: Accounts,
    usage: Usage,
    backlog: Backlog,
    change: ViewChange,
    /// This many clients receive every event.
    watchers: usize,
    counts: Counts,
    metrics: Metrics,
}

impl Core {
    /// A node that knows of nothing yet.
    pub fn new(config: Config) -> Core {
        let membership = Membership::new(config.id, config.view.clone(), config.defect);
        let epoch = membership.epoch();
        let hops = config.linger.as_nanos() / config.hop.as_nanos().max(1);
        let policy = Policy {
            passes: config.passes,
            linger: u32::try_from(hops).unwrap_or(u32::MAX),
            floor: membership.floor(),
            defect: config.defect,
        };
        Core {
            membership,
            lease: match config.leased {
                true => Lease::new(config.incarnation).with_defect(config.defect),
                false => Lease::for_ever(),
            },
            admission: Admission::default(),
            sessions: Sessions::new(&config),
            requests: Requests::new(),
            names: Names::new(policy, epoch),
            deadlines: Deadlines::default(),
            workspace: Workspace::new(config.seed),
            accounts: Accounts::new(&config.limits),
            usage: Usage::default(),
            backlog: Backlog::default(),
            change: ViewChange::default(),
            watchers: 0,
            counts: Counts::default(),
            metrics: Metrics::default(),
            config,
        }
    }

    /// Whether this node has this defect.
    fn has_defect(&self, rule: Defect) -> bool {
        self.config.defect == Some(rule)
    }

    /// What was measured since the node started.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A client was refused something else than a request.
    pub(crate) fn note_refusal(&mut self, refusal: &Refusal) {
        self.metrics.reached_by(refusal);
    }

    /// The view this node is in.
    pub fn view(&self) -> &View {
        self.membership.view()
    }

    /// When [`Core::wake`] has to be called next.
    pub fn wakes_at(&self) -> Option<Time> {
        match self.backlog.is_empty() && self.change.is_done() {
            true => self.deadlines.next(),
            // The rest of what was begun comes before anything else.
            false => Some(Time(0)),
        }
    }

    /// Does what is due by now, or a part of it: then it has to be called again at once.
    pub fn wake(&mut self, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        self.go_on_changing_views(now, out);
        self.work_off_backlog(now, out);
        let begun = self.requests.len();
        for _ in 0..AT_ONCE {
            if begun.saturating_sub(self.requests.len()) >= self.slice() {
                // Sessions that expire together may have many requests together.
                return;
            }
            let Some(due) = self.deadlines.take_due(now) else { return };
            match due {
                Due::Session(number) => self.session_due(number, now, out),
                Due::Request(number) => self.stop_waiting(number, now, out),
                Due::Timer(resource, timer) => self.timer_due(resource, timer, now, out),
                Due::Forget => self.forget_idle(now),
                Due::Lease => {}
                Due::Revoked(number) => self.revoked_due(number, now, out),
            }
        }
    }
}
