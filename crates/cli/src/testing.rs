//! The commands that test and measure the service itself: bench, storm, swarm, ordeal, conformance.

pub(crate) mod bench;
pub(crate) mod conformance;
pub(crate) mod ordeal;
pub(crate) mod peer_processes;
pub(crate) mod peers;
pub(crate) mod storm;
pub(crate) mod swarm;
pub(crate) mod swarm_exhaustive;
mod swarm_recording;
