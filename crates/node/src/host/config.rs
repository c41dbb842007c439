//! The configuration of a node, and why it may not start.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use service::core::Config;

use crate::failure::OnFailure;
use crate::watchdog::Hearts;
use transport::reactor::Sockets;

/// The configuration of a node.
pub struct HostConfig {
    /// The cluster: nodes of another are refused.
    pub cluster: String,
    /// The number of this node, for ever.
    pub id: u32,
    /// Where its peers reach this node, as `host:port`.
    pub peers: String,
    /// Where clients reach this node, as `host:port`. The list of members has it.
    pub clients: String,
    /// The data folder of the control plane. One folder per node, for as long as it belongs to the cluster.
    pub folder: PathBuf,
    /// How this node joins the cluster, if its folder is empty.
    pub bootstrap: Bootstrap,
    /// How long leases last, if this node founds the cluster; and how soon a leader that is silent is replaced.
    pub lease: Duration,
    /// Changes to the defaults of the core.
    pub tune: Tune,
    /// Where the sockets of its peers and clients are read from.
    pub sockets: Sockets,
    /// What to do when the node has failed.
    pub on_failure: OnFailure,
    /// Where the hearts of its parts are, for a program that misses them: see [`Watchdog`](crate::Watchdog).
    pub hearts: Hearts,
}

/// Changes the defaults of the core.
pub type Tune = Box<dyn FnOnce(&mut Config) + Send>;

/// How a node first comes to its cluster.
pub enum Bootstrap {
    /// The node belongs to a cluster already: its folder says to which.
    Existing,
    /// All of these start together, by their ids and where peers reach them. The one with the lowest id
    /// founds the cluster; the others wait until it calls them.
    Together(BTreeMap<u32, String>),
    /// The node has an invitation.
    Invited(control::Invitation),
}

/// Why a node does not start.
#[derive(Debug)]
pub enum StartError {
    /// Its control plane does not start.
    Control(control::StartError),
    /// Its name or an address is too long.
    Transport(transport::StartError),
    /// The operating system does not let the node wait for its sockets.
    Sockets(io::Error),
    /// The cluster cannot be founded.
    Found(control::FoundError),
    /// The cluster refuses it.
    Join(control::AskError),
    /// Its folder is empty, and the configuration names no cluster to join.
    NoCluster(PathBuf),
    /// It is not among the members that start together.
    NotAmong(u32),
    /// The invitation is for another id.
    OtherId {
        /// The id of the invitation.
        invited: u32,
        /// The id that the node was started with.
        started: u32,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Control(error) => error.fmt(f),
            StartError::Transport(error) => error.fmt(f),
            StartError::Sockets(error) => write!(f, "cannot wait for sockets: {error}"),
            StartError::Found(error) => error.fmt(f),
            StartError::Join(error) => error.fmt(f),
            StartError::NoCluster(folder) => write!(
                f,
                "{} belongs to no cluster yet: name all members, or pass an invitation",
                folder.display()
            ),
            StartError::NotAmong(id) => write!(f, "node {id} is not among the members: name it too"),
            StartError::OtherId { invited, started } => {
                write!(
                    f,
                    "the invitation is for node {invited}, this is node {started}: start it with id {invited}"
                )
            }
        }
    }
}

impl std::error::Error for StartError {}
