//! What can be chosen about the control plane of a node.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use openraft::SnapshotPolicy;
use service::{InWords, Time};
use transport::Encryption;

/// The log is cut off whenever it has grown by this many entries.
const ENTRIES_PER_SNAPSHOT: u64 = 500;
/// The number of entries that stay behind a snapshot, for peers that are a little late.
const ENTRIES_KEPT: u64 = 100;
/// How many entries travel in one message.
const ENTRIES_PER_MESSAGE: u64 = 64;
/// Snapshots travel in pieces of this many bytes: each fits into a frame.
const SNAPSHOT_PIECE: u64 = 512 * 1024;

/// A node of the control plane.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the cluster.
    pub cluster: String,
    /// The number of this node, for ever: a node that lost its folder joins again under a new one.
    pub node: u32,
    /// Where everything is kept.
    pub folder: PathBuf,
    /// How long things may take.
    pub timing: Timing,
    /// How long leases last in a cluster that has not committed it yet.
    pub lease: Option<Duration>,
    /// What leases are counted on: a clock that also counts time asleep.
    pub clock: fn() -> Time,
    /// Whether connections between nodes are encrypted.
    pub encryption: Encryption,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The interval of the leader's heartbeats, and how long it waits for an answer.
    pub heartbeat: Duration,
    /// A node that hears nothing from a leader for this long, and a random time of a quarter to half as long
    /// again, stands for election.
    pub election: Duration,
}

impl Default for Timing {
    /// Slow disks flush for hundreds of milliseconds: with shorter times such a flush would replace the
    /// leader.
    fn default() -> Timing {
        Timing { heartbeat: Duration::from_millis(250), election: Duration::from_secs(2) }
    }
}

impl Timing {
    /// For leases of this length: a leader is replaced soon enough that no lease runs out over it.
    pub fn for_lease(lease: Duration) -> Timing {
        Timing { heartbeat: lease / 30, election: lease / 5 }
    }

    /// How long a node waits for a commit or for the answer of another node: what takes longer may never come.
    pub(crate) fn request_timeout(&self) -> Duration {
        2 * self.election
    }

    /// A connection that receives nothing for this long is opened again, before a node stands for election
    /// because of it.
    pub(crate) fn silence_timeout(&self) -> Duration {
        self.election / 2
    }
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A cluster's name is empty, too long or cannot be printed.
    Cluster(service::Refusal),
    /// Times that do not fit together.
    Timing(Timing),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Cluster(refusal) => write!(f, "the cluster's name: {refusal}"),
            ConfigError::Timing(Timing { heartbeat, election }) => write!(
                f,
                "the election timeout is {} and the heartbeat {}: choose a heartbeat of at least 1 ms, and \
                 an election timeout of at least five heartbeats",
                InWords(*election),
                InWords(*heartbeat)
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// The same for openraft.
    pub(crate) fn for_raft(&self) -> Result<openraft::Config, ConfigError> {
        service::name::validate(&self.cluster).map_err(ConfigError::Cluster)?;
        let Timing { heartbeat, election } = self.timing;
        if heartbeat < Duration::from_millis(1) || election < 5 * heartbeat {
            return Err(ConfigError::Timing(self.timing));
        }
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(openraft::Config {
            cluster_name: self.cluster.clone(),
            heartbeat_interval: millis(heartbeat),
            // Openraft waits for the longest of these times, because no voter gives its vote away before, and
            // then for one between the two. Votes have to be counted within the shorter one, and are flushed
            // to disk before.
            election_timeout_min: millis(election / 2),
            election_timeout_max: millis(election * 3 / 4),
            install_snapshot_timeout: millis(self.timing.request_timeout()),
            max_payload_entries: ENTRIES_PER_MESSAGE,
            // A node further behind gets the snapshot; this has to be more than what lies between two of
            // them.
            replication_lag_threshold: 2 * ENTRIES_PER_SNAPSHOT,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(ENTRIES_PER_SNAPSHOT),
            snapshot_max_chunk_size: SNAPSHOT_PIECE,
            max_in_snapshot_log_to_keep: ENTRIES_KEPT,
            ..openraft::Config::default()
        })
    }
}
