//! Who may do what: principals, groups, tokens and rules, which the cluster agrees on, and the decision about each call.
//!
//! **Before security is turned on, everything is allowed.** After that, everything is denied that no rule allows:
//!
//! - a [`Caller`] shows something (a token, a certificate, a user of this machine) and is a principal thereby;
//! - a rule allows a principal, a group or everyone some [`Action`]s on all names that begin with a prefix. A prefix is one of
//!   characters: `team` also covers `teams`; write `team/` for the namespace;
//! - no action implies another. `admin` is about the cluster (members, leases, rights, the audit) and says nothing about locks;
//! - a node's own certificate may do `admin` and `read`: an operator who has a node's files can recover a lost token;
//! - a node can speak for a caller that called it ([`Vouched`]). What the caller may do is decided in the same way.
//!
//! The decision ([`decide()`]) looks at the rights, the principal, the action and the name, and at nothing else: it cannot tell
//! whether there is such a name.

mod action;
mod audit;
mod caller;
mod change;
mod decide;
mod rights;
mod token;

pub use action::{Action, Actions, NotAnAction};
pub use audit::{AuditEntry, AuditPage, History, MOST_AUDITED, TurnedAway};
pub use caller::{Caller, Evidence, Shown, Vouched, VouchedShown};
pub use change::{Change, FIRST_ADMIN, InvalidChange};
pub use decide::{Decision, Subject, Why, decide};
pub use rights::{Limit, MOST_OF_EACH, Quota, QuotaOf, Rights, Who};
pub use token::{Secret, Token, TokenHash};
