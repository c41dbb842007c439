//! The scenarios of `tokenwood ordeal`: one file for each kind of fault, and what they share.

mod clocks;
pub mod commands;
mod crashes;
mod disks;
mod doors;
pub mod editor;
pub mod failover;
mod holder;
pub mod network;
mod partitions;
mod pauses;
pub mod report;
mod rotation;
mod store;
pub mod strangers;
pub mod trial;
mod views;

use std::pin::Pin;

use anyhow::Result;
use report::Report;
use trial::Plan;

/// Faults that a cluster has to stand.
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// It cannot be done without networks of its own.
    pub needs_networks: bool,
    /// It cannot be done by a build without faults.
    pub needs_faults: bool,
    /// Runs it.
    pub run: fn(Plan) -> Running,
}

impl Scenario {
    /// Why it cannot be run by this build, if it cannot: clocks and disks of a build for production are as they are.
    pub fn not_in_this_build(&self) -> Option<String> {
        (self.needs_faults && !node::FAULTS).then(|| {
            let name = self.name;
            format!("this build has no faults: cargo run --release --features faults -- ordeal {name}")
        })
    }
}

/// A scenario while it runs.
pub type Running = Pin<Box<dyn Future<Output = Result<Report>>>>;

/// A scenario that can do without networks of its own.
macro_rules! scenario {
    ($name:literal, $about:literal, $run:path) => {
        Scenario {
            name: $name,
            about: $about,
            needs_networks: false,
            needs_faults: false,
            run: |plan| Box::pin($run(plan)),
        }
    };
}

/// All there are, the most telling first.
pub const SCENARIOS: [Scenario; 19] = [
    scenario!(
        "holder",
        "the node of a holder is killed: how soon the next client holds, and whether the old one knew",
        failover::holder
    ),
    scenario!("holder-3s", "the same with leases of three seconds", failover::holder_3s),
    scenario!(
        "commands",
        "'run' is killed, stopped, starved, and its command tries to get away: it ends with its lock",
        commands::commands
    ),
    scenario!("kills", "nodes are killed, also the leader, and come back", crashes::kills),
    scenario!("pauses", "nodes are stopped for longer than their lease, and go on", pauses::pauses),
    scenario!(
        "attack",
        "holders are stopped and write when they go on: the attack on etcd's locks",
        pauses::attack
    ),
    Scenario {
        needs_networks: true,
        ..scenario!(
            "partitions",
            "one node cut off, two halves, a pair, one way only",
            partitions::partitions
        )
    },
    scenario!("rolling", "all nodes are restarted with SIGTERM, one after the other", crashes::rolling),
    scenario!("waves", "all nodes are killed, one after the other, then at once", crashes::waves),
    scenario!("majority", "a majority is killed; two come back", crashes::majority),
    scenario!("leader", "the leader is killed while other nodes contend for a lock", failover::leader),
    Scenario {
        needs_faults: true,
        ..scenario!(
            "clocks",
            "all clocks are up to 8 % off, and nodes are stopped and killed",
            clocks::clocks
        )
    },
    Scenario {
        needs_faults: true,
        ..scenario!(
            "wild-clocks",
            "clocks are off by a factor of two or jump: only fences still hold",
            clocks::wild_clocks
        )
    },
    Scenario {
        needs_networks: true,
        ..scenario!("full-disk", "the disk of a voter is full, and then has room again", disks::full_disk)
    },
    Scenario {
        needs_faults: true,
        ..scenario!(
            "slow-disk",
            "every flush of every voter takes a fortieth of a lease longer",
            disks::slow_disk
        )
    },
    scenario!(
        "rotation",
        "the CA is replaced while clients hold locks, and all connections are cut after each step",
        rotation::rotation
    ),
    scenario!(
        "doors",
        "10,000 clients wait at one HTTP door, 10,000 hang up, and a node dies with its clients: nothing is left",
        doors::doors
    ),
    scenario!(
        "views",
        "a node leaves and comes back until there were 1,000 views: nothing grows",
        views::views
    ),
    scenario!(
        "strangers",
        "strangers misbehave at every port while nodes are killed: other clients hardly notice",
        strangers::strangers
    ),
];
