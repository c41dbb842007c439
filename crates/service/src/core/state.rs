//! The parts of a node's state. Each has private fields and keeps its own invariants; `Core` connects them.

mod accounts;
mod admission;
mod agenda;
mod chores;
mod membership;
mod names;
mod requests;
mod sessions;
mod view_change;

pub(crate) use accounts::AccountId;
pub(super) use accounts::{Accounts, Counted};
pub(super) use admission::Admission;
pub(super) use agenda::{Agenda, Due};
pub(super) use chores::{Chore, Chores, SessionEnd};
pub(super) use membership::Membership;
pub(super) use names::Names;
pub(super) use requests::{Granted, Request, Requests};
pub(super) use sessions::Sessions;
pub(super) use view_change::ViewChange;
