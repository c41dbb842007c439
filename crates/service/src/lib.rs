//! Tokenwood's lock service, as a pure state machine: what one node decides about sessions, grants and
//! resources.
//!
//! This crate has no network, reads no clock and starts no thread. A driver passes the time with every call
//! and carries out the effects: tokio in the node, a simulated cluster in tests. Inside, each resource is one
//! of the algorithms that serve production, run unchanged.
//!
//! Begin with [`member`]: everything that a node decides. Inside it, [`core`](mod@core) serves the locks.
//! Then [`session`] for how long a client holds a grant, and [`resource`] for what is kept about a name.

#![forbid(unsafe_code)]

pub mod auth;
pub mod client;
pub mod core;
mod defect;
pub mod event;
pub mod frame;
pub mod grant;
mod hello;
pub mod identity;
mod in_words;
pub mod label;
pub mod leases;
pub mod limits;
pub mod member;
pub mod metrics;
pub mod name;
mod opening;
pub mod protocol;
pub mod refusal;
pub mod registry;
pub mod resource;
pub mod session;
pub mod session_key;
mod slab;
pub mod time;
pub mod view;
pub mod want;

pub use crate::core::{Acquire, Config, Core, Effects, PeerMessage, Reply, RequestOutcome};
pub use defect::Defect;
pub use grant::Grant;
pub use identity::{Identity, NodeId};
pub use in_words::{InWords, duration};
pub use limits::Limits;
pub use member::Member;
pub use name::Definition;
pub use refusal::{NotAllowed, QuotaUsed, Refusal};
pub use session::SessionId;
pub use session_key::{SessionHandle, SessionKey};
pub use time::Time;
pub use want::Want;
