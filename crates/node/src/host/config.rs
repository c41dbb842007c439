//! The configuration of a node, and why it may not start.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use service::Refusal;
use service::core::Config;

use crate::failure::OnFailure;
use crate::first_token::OnFirstToken;
use crate::reach::Unreachable;
use crate::watchdog::Hearts;
use transport::Encryption;
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
    /// Whether connections of peers and clients are encrypted.
    pub encryption: Encryption,
    /// If this node founds the cluster, rights are on from the beginning, and the first administrator has a token: what to do
    /// with it. `None`: everything is allowed until an operator turns rights on.
    pub on_first_token: Option<OnFirstToken>,
    /// A Unix socket for clients on this machine, as a path.
    pub local_socket: Option<PathBuf>,
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
    /// There can be no Unix socket at this path.
    LocalSocket(PathBuf, io::Error),
    /// The cluster cannot be founded.
    Found(control::FoundError),
    /// There can be no file for the first token.
    FirstToken(security::SecurityError),
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
    /// Leases cannot last that long.
    Lease(Refusal),
    /// The others cannot use an address of this node, or it cannot use one of theirs.
    Unreachable(Unreachable),
    /// Another folder has been a member under this id.
    UsedId {
        /// The id.
        id: u32,
        /// The node that knows of it.
        node: u32,
        /// Where that node is.
        at: String,
        /// The node of this id was removed from the cluster.
        removed: bool,
    },
    /// This node is to found a cluster whose nodes already belong to one.
    Exists {
        /// A node that does.
        node: u32,
        /// Where that node is.
        at: String,
    },
    /// The invitation is from a cluster that encrypts with another CA, or encrypts while this node does not.
    OtherAuthority {
        /// The CAs of the cluster, by their fingerprints.
        theirs: Vec<String>,
        /// Whether this node encrypts.
        encrypts: bool,
    },
    /// The folder belongs to a node of a cluster already, and the invitation is for another.
    Belongs {
        /// The folder.
        folder: PathBuf,
        /// The node that the folder belongs to.
        id: u32,
        /// The node that was invited.
        invited: u32,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Control(error) => error.fmt(f),
            StartError::Transport(error) => error.fmt(f),
            StartError::Sockets(error) => write!(f, "cannot wait for sockets: {error}"),
            StartError::LocalSocket(path, error) => {
                write!(f, "cannot listen at unix:{}: {error}", path.display())
            }
            StartError::Found(error) => error.fmt(f),
            StartError::FirstToken(error) => error.fmt(f),
            StartError::Join(error) => error.fmt(f),
            StartError::NoCluster(folder) => write!(
                f,
                "{} belongs to no cluster yet: name all members (--member), or pass an invitation (--join). If a node \
                 ran here before, its folder is lost, or is another one: name it with --data",
                folder.display()
            ),
            StartError::NotAmong(id) => write!(f, "node {id} is not among the members: name it too"),
            StartError::OtherId { invited, started } => {
                write!(
                    f,
                    "the invitation is for node {invited}, this is node {started}: start it without --id, in an empty \
                     folder"
                )
            }
            StartError::Lease(refusal) => refusal.fmt(f),
            StartError::Unreachable(error) => error.fmt(f),
            StartError::UsedId { id, node, at, removed: true } => write!(
                f,
                "node {id} was removed from the cluster (node {node} at {at} says so), and its number is never used \
                 again: ask for an invitation ('tokenwood members invite')"
            ),
            StartError::UsedId { id, node, at, removed: false } => write!(
                f,
                "node {id} already belongs to the cluster with another folder (node {node} at {at} says so): name that \
                 folder with --data. If it is lost: 'tokenwood members remove {id}', then 'tokenwood members invite' and \
                 join under a new number"
            ),
            StartError::Exists { node, at } => write!(
                f,
                "node {node} at {at} already belongs to a cluster that does not know this node: ask it for an invitation \
                 ('tokenwood members invite --endpoint …'). If that cluster was never complete, empty the folders of all \
                 its nodes and start them again"
            ),
            StartError::OtherAuthority { theirs, encrypts: false } => write!(
                f,
                "the cluster encrypts, with the CA {}: copy its ca.pem, and name it and the certificate of this node with --ca, \
                 --certificate and --key",
                theirs.join(" or ")
            ),
            StartError::OtherAuthority { theirs, encrypts: true } => write!(
                f,
                "the cluster trusts the CA {}, and the file of --ca has another: copy the cluster's ca.pem ('tokenwood certs \
                 show' prints the fingerprints)",
                theirs.join(" or ")
            ),
            StartError::Belongs { folder, id, invited } => write!(
                f,
                "{} belongs to node {id} already, and the invitation is for node {invited} of the cluster that gave it: \
                 restart node {id} without --join, or name an empty folder",
                folder.display()
            ),
        }
    }
}

impl std::error::Error for StartError {}
