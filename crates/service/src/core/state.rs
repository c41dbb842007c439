//! The parts of a node's state. Each has private fields and keeps its own invariants; `Core` connects them.

mod accounts;
mod admission;
mod backlog;
mod deadlines;
mod membership;
mod names;
mod requests;
mod sessions;
mod usage;
mod view_change;

pub(crate) use accounts::AccountId;
pub(super) use accounts::{Accounts, Counted};
pub(super) use admission::Admission;
pub(super) use backlog::{Backlog, BulkOperation, SessionEnd};
pub(super) use deadlines::{Deadlines, Due};
pub(super) use membership::Membership;
pub(super) use names::Names;
pub(super) use requests::{Granted, Request, Requests};
pub(super) use sessions::Sessions;
pub(super) use usage::{Of, Usage};
pub(super) use view_change::ViewChange;
