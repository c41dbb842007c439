//! The commands of clients and operators: acquire, run, release, list, watch, define, members, health.

pub(crate) mod access_arguments;
pub(crate) mod acquire;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod cluster;
pub(crate) mod define;
pub(crate) mod endpoints;
pub(crate) mod force;
pub(crate) mod health;
mod holders;
pub(crate) mod inspect;
pub(crate) mod invite;
pub(crate) mod list;
pub(crate) mod lock_arguments;
pub(crate) mod members;
mod mismatch;
pub(crate) mod run;
pub(crate) mod top;
pub(crate) mod ui;
pub(crate) mod watch;
mod watch_recording;
