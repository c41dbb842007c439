//! Locks, semaphores and rooms of a Tokenwood cluster, for Rust programs.
//!
//! Begin with [`Tokenwood`]: connect to a cluster (or embed a node), name a resource, and take it. What you get is a
//! [`Guard`]: it has a slot and a fence, says when it is lost, and releases when it is dropped.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let cluster = node::LocalCluster::start(3).await.unwrap();
//! # let endpoints = cluster.endpoints.clone();
//! use std::time::Duration;
//! use tokenwood::Tokenwood;
//!
//! // Where some of the nodes are, say ["10.0.0.1:7710", "10.0.0.2:7710"]: the first that answers is used.
//! let tokenwood = Tokenwood::connect(endpoints).await?;
//!
//! // One at a time.
//! let guard = tokenwood.mutex("jobs/nightly-backup").acquire().await?;
//! println!("granted with fence {}", guard.fence());
//! guard.release(); // or let it go out of scope
//!
//! // At most two at a time; each knows which of the two it is.
//! let gpu = tokenwood.semaphore("gpu", 2).acquire_within(Duration::from_secs(5)).await?;
//! println!("on GPU {}", gpu.slot());
//! # drop(gpu);
//!
//! // A try does not wait.
//! let leader = tokenwood.mutex("leader").try_acquire().await?;
//! let second = tokenwood.mutex("leader").try_acquire().await;
//! assert!(second.is_err_and(|error| error.is_taken()));
//!
//! // Work until it is done, or the lock is lost, whichever comes first.
//! tokio::select! {
//!     () = async { /* work */ } => println!("done"),
//!     () = leader.lost() => println!("another may lead soon"),
//! }
//!
//! // Many readers or one writer.
//! let book = tokenwood.rwlock("book");
//! let (one, other) = (book.read().acquire().await?, book.read().acquire().await?);
//! assert!(book.write().try_acquire().await.is_err());
//! # drop((one, other));
//!
//! // All holders are in the same group; a request can accept several.
//! let stage = tokenwood.room("stage");
//! let red = stage.group("red").acquire().await?;
//! let any = stage.any_of(["blue", "red"]).acquire().await?;
//! assert_eq!(any.group(), 1, "the second of those that were named");
//! # drop((red, any, leader)); cluster.stop().await;
//! # Ok::<(), tokenwood::Error>(()) }).unwrap();
//! ```
//!
//! **The guarantee.** No other client is granted the slot before this guard is released or [`Guard::lost`]
//! has completed: the client counts the promised time on its own clock, and needs no message to know. A
//! program that may be paused for longer than its ttl should pass the fence along with every write, and have
//! it checked there: [`fence::Gate`] does that.

#![forbid(unsafe_code)]

mod access;
mod admin;
mod backend;
mod connection;
mod detached;
mod endpoints;
mod error;
pub mod fence;
mod guard;
pub mod label;
mod lock;
mod remote;
mod tokenwood;
mod waiters;

pub use access::Access;
pub use admin::{Admin, GrantAgain, NodeStatus, Seen};
pub use backend::{Asked, Backend, Losses};
pub use detached::{Detached, NotAGrant};
pub use endpoints::first_that_answers;
pub use error::{Error, NoAnswer};
pub use guard::Guard;
pub use lock::{Lock, Room, RwLock};
pub use service::Refusal;
pub use service::auth;
pub use service::client::Grant;
pub use service::core::{Held, Listing};
pub use service::event::{Change, Event, Filter, ForceReleased};
pub use service::name::Definition;
pub use service::protocol::{Cluster, ClusterNode, PeerStatus};
pub use tokenwood::{Open, Options, Tokenwood};
pub use transport::Encryption;
pub use waiters::{Answer, Waiters, Waits};

/// Whether this build has faults that can be provoked, for tests.
pub const FAULTS: bool = transport::FAULTS;
