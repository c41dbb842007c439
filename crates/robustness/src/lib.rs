//! Real nodes and clients as processes, everything that can go wrong, and a judge of what clients recorded.
//!
//! [`storm`] kills clients and cuts connections. [`ordeal`] has a scenario for each kind of fault: killed,
//! stopped and partitioned nodes, full disks, wrong clocks, hostile clients. Both start the program that they
//! are part of: nodes by [`NodeProcesses`], clients as hidden commands. Clients write down when they hold what;
//! [`storm::Ledger`] judges that afterwards, and trusts no node. Begin with [`storm`], then read
//! `ordeal/trial.rs`. [`conformance`] plays the cases that clients in every language have to pass.

#![forbid(unsafe_code)]

mod client_processes;
pub mod conformance;
mod node_processes;
pub mod ordeal;
pub mod storm;

pub use node_processes::{NodeProcesses, NodeSetup};
