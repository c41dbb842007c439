//! Locks, semaphores and rooms of a Tokenwood cluster, for Rust programs.
//!
//! Begin with [`Tokenwood`]: connect to a cluster (or embed a node), name a resource, and take it. What you get is a
//! [`Guard`]: it has a slot and a fence, says when it is lost, and releases when it is dropped.
//!
//! ```no_run
//! # async fn example() -> Result<(), client::Error> {
//! use client::Tokenwood;
//!
//! let tokenwood = Tokenwood::connect(["127.0.0.1:7710"]).await?;
//! let guard = tokenwood.mutex("jobs/nightly-backup").acquire().await?;
//! println!("inside with fence {}", guard.fence());
//! guard.release();
//! # Ok(()) }
//! ```
//!
//! **What holds.** Nobody else is let in before this guard is released or [`Guard::lost`] has come true: the client
//! counts the time it was promised on its own clock, and needs no message to know. A program that may be paused for
//! longer than its session lives should pass the fence along to whatever it changes, and have it checked there:
//! [`fence::Gate`] does that.

#![forbid(unsafe_code)]

mod backend;
pub mod clock;
mod connection;
mod error;
pub mod fence;
mod guard;
mod lock;
mod remote;
mod tokenwood;

pub use backend::{Asked, Backend};
pub use error::Error;
pub use guard::Guard;
pub use lock::{Lock, Room, RwLock};
pub use service::Refusal;
pub use service::client::Grant;
pub use tokenwood::{Options, Tokenwood};
