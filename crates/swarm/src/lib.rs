//! Whole clusters with faults in simulated time, from a seed.
//!
//! The cores of nodes and the client's side of sessions are those of production, and so is the code by which
//! a leader decides about leases and views. Links, clocks, consensus and all faults are simulated. The
//! properties are checked from outside, by the grants that clients hold: a grant is checked at the moment
//! when a client learns of it.
//!
//! ```
//! let happened = swarm::run(&swarm::Plan::drawn(7), 7);
//! assert!(happened.violations.is_empty() && happened.stuck.is_empty(), "{happened:?}");
//! ```

#![forbid(unsafe_code)]

mod clients;
mod clock;
mod control_plane;
mod dice;
mod events;
pub mod exhaustive;
mod faults;
mod judge;
mod nodes;
mod operators;
mod outcome;
mod plan;
mod program;
mod run;
mod showcase;
mod voters;
mod watchers;

pub use outcome::{outcome, shrunk};
pub use plan::{Happened, Plan};
pub use showcase::{SHOWCASES, Showcase};

/// Runs a plan from a seed. The same plan and seed give the same run.
pub fn run(plan: &Plan, seed: u64) -> Happened {
    run::Run::new(plan, seed).finish()
}
