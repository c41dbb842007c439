//! Runs algorithms in simulated time. A seed decides everything: the same seed gives the same run on every
//! machine.
//!
//! [`run()`] is the discrete-event driver behind every figure: it feeds the state machines of the `algorithms`
//! crate, checks the shared properties at every event, and measures. It knows no rule of any algorithm, has
//! no clock and no threads. Begin with [`Plan`], then [`engine`]. [Random runs](random) are a second driver
//! that only looks for violations, under delays spread over three orders of magnitude.

#![forbid(unsafe_code)]

mod agenda;
pub mod batch;
mod client_counts;
mod clients;
pub mod column;
mod effects;
pub mod engine;
pub mod fault;
mod fault_effects;
pub mod latencies;
pub mod limit;
pub mod measures;
pub mod memory;
mod network;
pub mod plan;
mod processor;
pub mod random;
mod requests;
mod routes;
mod run;
pub mod slow;
pub mod summary;
pub mod time;
pub mod topology;
pub mod workload;

pub use batch::Point;
pub use client_counts::ClientCounts;
pub use column::{Cell, Column};
pub use engine::{Outcome, Recording, Watch, run, run_watched};
pub use measures::Measures;
pub use plan::Plan;
pub use summary::{Estimate, Summary};
