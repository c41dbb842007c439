//! The commands of clients and operators: acquire, run, release, list, watch, define, members.

pub(crate) mod acquire;
pub(crate) mod cluster;
pub(crate) mod define;
pub(crate) mod endpoints;
pub(crate) mod force;
pub(crate) mod foreground;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod lock_arguments;
pub(crate) mod members;
pub(crate) mod run;
pub(crate) mod watch;
