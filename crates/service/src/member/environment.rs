//! What a driver knows of the world around a member.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::protocol::Voters;
use crate::session_key::SessionKey;

/// What a driver knows at this moment. The member asks only when it has to.
pub trait Environment {
    /// The peers of the view without a connection, by id, and for how long.
    fn unreachable(&self) -> BTreeMap<u32, Duration>;

    /// How many messages wait to be sent to a peer, or to be acknowledged by it.
    fn waiting_for(&self, peer: u32) -> usize;

    /// The control plane, as this node sees it.
    fn control_plane(&self) -> ControlPlane;

    /// A key for a new session. No client may be able to guess it: a node draws it, a simulation works it out.
    fn session_key(&self) -> SessionKey;

    /// The wall clock, in seconds since 1970: tokens expire by it.
    fn unix_seconds(&self) -> u64;

    /// How long the certificate of this node is still valid, if it has one: nothing if it has ended.
    fn certificate_left(&self) -> Option<Duration> {
        None
    }
}

/// All peers are reachable, nothing waits, there is no leader, and all keys are the same: for drivers without connections and
/// a control plane.
#[derive(Clone, Copy, Debug)]
pub struct NoEnvironment;

impl Environment for NoEnvironment {
    fn unreachable(&self) -> BTreeMap<u32, Duration> {
        BTreeMap::new()
    }

    fn waiting_for(&self, _peer: u32) -> usize {
        0
    }

    fn control_plane(&self) -> ControlPlane {
        ControlPlane::default()
    }

    fn session_key(&self) -> SessionKey {
        SessionKey::new([0; 16])
    }

    fn unix_seconds(&self) -> u64 {
        0
    }
}

/// Why the control plane did not carry out a request, in the words of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaneError(pub String);

impl fmt::Display for ControlPlaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ControlPlaneError {}

/// The control plane, as one node sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlane {
    /// The id of the leader, if there is one.
    pub leader: Option<u32>,
    /// The ids of the voters.
    pub voters: BTreeSet<u32>,
    /// All nodes that receive the log, and where peers reach them.
    pub nodes: BTreeMap<u32, String>,
    /// Which voters are there.
    pub voters_there: Voters,
}
