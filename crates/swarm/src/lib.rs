//! Whole clusters with faults in simulated time, from a seed.
//!
//! The cores of nodes and the client's side of sessions are those of production, and so is the code by which
//! a leader decides about leases and views. Links, clocks, consensus and all faults are simulated. The
//! properties are checked from outside, by the grants that clients hold: a grant is checked at the moment
//! when a client learns of it.
//!
//! ```
//! let outcome = swarm::run(&swarm::Plan::drawn(7), 7);
//! assert!(outcome.violations.is_empty() && outcome.stuck.is_empty(), "{outcome:?}");
//! ```

#![forbid(unsafe_code)]

mod clients;
mod clock;
mod control_plane;
mod defect_seeds;
mod events;
pub mod exhaustive;
mod faults;
mod judge;
mod log;
mod nodes;
mod operators;
mod plan;
mod run;
mod shrink;
mod simulated_client;
mod strangers;
mod voters;
mod watchers;

pub use defect_seeds::{DEFECT_SEEDS, DefectSeed};
pub use log::{Happened, Held, Logged, NodeChange, RequestChange};
pub use plan::{AdjustError, Outcome, Plan};
pub use shrink::{run_catching_panics, shrink};

/// Runs a plan from a seed. The same plan and seed give the same run.
pub fn run(plan: &Plan, seed: u64) -> Outcome {
    run::Run::new(plan, seed).finish()
}
