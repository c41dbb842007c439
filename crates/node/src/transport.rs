//! Connections to all peers, below links that lose nothing when they break: what a node sends with.
//!
//! [`Peers::start`] begins to listen and to call; of two nodes the one with the lower id calls. Payloads go out with
//! [`Peers::send`], which never waits, and come in through an [`Inbox`]. A connection that breaks is made anew, and
//! the link resends what the peer has not acknowledged. Encryption has its place in `transport/stream.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use service::view::{View, ViewMember};
use service::{Identity, NodeId};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::handshake::Local;
use crate::link::{Full, Limits};
use crate::wire::{Hello, HelloRefusal, LONGEST_CLUSTER_NAME, LONGEST_PAYLOAD, VERSIONS, Versions};

mod inlet;
mod listener;
mod outlet;
mod peer;
mod stream;
mod trouble;

pub use listener::Calls;
use outlet::Outlet;
use peer::{Arrivals, Caretaker, Peer};
pub use trouble::Trouble;

/// What the transport of a node is told when it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster: nodes of another are refused.
    pub cluster: String,
    /// Who this node is.
    pub me: Identity,
    /// The protocol versions to offer.
    pub versions: Versions,
    /// How much is kept for a peer that does not acknowledge.
    pub limits: Limits,
    /// How long things may take.
    pub timing: Timing,
}

impl Config {
    /// With the usual limits and times.
    pub fn new(cluster: &str, me: Identity) -> Config {
        let (limits, timing) = (Limits::default(), Timing::default());
        Config { cluster: cluster.to_string(), me, versions: VERSIONS, limits, timing }
    }
}

/// How long things may take.
#[derive(Clone, Debug)]
pub struct Timing {
    /// A connection over which nothing was heard for so long is given up. Signs of life are three times as frequent.
    pub patience: Duration,
    /// A connection must stand after so long.
    pub greeting: Duration,
    /// After losing a connection, so long before the first new try; then twice as long each time,
    pub first_retry: Duration,
    /// up to so long.
    pub longest_retry: Duration,
    /// An acknowledgement waits so long for a payload to travel with.
    pub acknowledge: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            patience: Duration::from_secs(1),
            greeting: Duration::from_secs(1),
            first_retry: Duration::from_millis(5),
            longest_retry: Duration::from_secs(1),
            acknowledge: Duration::from_millis(20),
        }
    }
}

/// Where payloads arrive. Called from the task that reads from the peer, so a node that answers at once does so
/// without waking another thread.
pub trait Inbox: Send + Sync + 'static {
    /// A payload of a peer, in the order in which it was sent, once. Nothing more is read from this peer until the
    /// answer is there: a node that cannot keep up waits here, and the peer's link fills. The view is the one in
    /// which it was sent; a node that has just entered another ignores it.
    fn received(&self, from: NodeId, epoch: u64, payload: &[u8]) -> impl Future<Output = ()> + Send;

    /// Everything that came in together has been passed on: the moment to [`Peers::flush`] what was queued.
    fn delivered(&self) {}

    /// Something happened that is worth a line in a log. Must not wait.
    fn notice(&self, notice: Notice) {
        let _ = notice;
    }
}

/// What happens to connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A connection stands.
    Connected {
        /// To whom.
        peer: Identity,
        /// So many payloads are sent again.
        resent: usize,
    },
    /// A connection is over.
    Disconnected {
        /// To whom.
        peer: Identity,
        /// Why.
        why: Trouble,
    },
    /// No connection came about. It is tried again.
    NoConnection {
        /// To whom.
        peer: Identity,
        /// Why.
        why: Trouble,
    },
    /// Someone called and was turned away.
    TurnedAway {
        /// From where.
        address: SocketAddr,
        /// Why.
        why: Trouble,
    },
    /// No calls can be accepted at the moment.
    CannotAccept {
        /// Why.
        why: Trouble,
    },
    /// A peer is in a later view already. What it sends waits until we are there.
    LaterView {
        /// Who.
        peer: Identity,
        /// The view.
        epoch: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Connected { peer, resent } => {
                write!(f, "connected to {peer}, {resent} payloads sent again")
            }
            Notice::Disconnected { peer, why } => write!(f, "connection to {peer} lost: {why}"),
            Notice::NoConnection { peer, why } => write!(f, "no connection to {peer}: {why}"),
            Notice::TurnedAway { address, why } => write!(f, "caller from {address} turned away: {why}"),
            Notice::CannotAccept { why } => write!(f, "no calls can be accepted: {why}"),
            Notice::LaterView { peer, epoch } => write!(f, "{peer} is in view {epoch} already"),
        }
    }
}

/// Why a transport does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The name of the cluster does not fit into a hello.
    ClusterName {
        /// Its length in bytes.
        length: usize,
    },
    /// This node is not in the view.
    NotAMember(Identity),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::ClusterName { length } => {
                write!(f, "a cluster name of {length} bytes, where {LONGEST_CLUSTER_NAME} are allowed")
            }
            StartError::NotAMember(me) => write!(f, "{me} is no member of the view it starts in"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a payload was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The link keeps as much as it may already.
    Full,
    /// It fits into no frame.
    TooLong {
        /// Its length.
        length: usize,
    },
    /// There is no such peer in this view.
    NoSuchPeer(NodeId),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full => Full.fmt(f),
            SendError::TooLong { length } => {
                write!(f, "a payload of {length} bytes, where {LONGEST_PAYLOAD} are allowed")
            }
            SendError::NoSuchPeer(node) => write!(f, "node {node} is no peer in this view"),
        }
    }
}

impl std::error::Error for SendError {}

impl From<Full> for SendError {
    fn from(Full: Full) -> SendError {
        SendError::Full
    }
}

/// All peers of a node. A cheap handle: clones are the same. Its tasks run until [`Peers::stop`], or as long as the
/// runtime.
#[derive(Clone)]
pub struct Peers {
    shared: Arc<Shared>,
}

/// What the handle and the tasks share.
pub(crate) struct Shared {
    local: Arc<Local>,
    limits: Limits,
    timing: Timing,
    roster: RwLock<Roster>,
    epochs: watch::Sender<u64>,
    /// Starts the task of a peer. Only it knows the type of the inbox.
    employ: Employ,
    /// Of the listener, and of peers by their id.
    tasks: Mutex<Tasks>,
}

type Employ = Box<dyn Fn(Arc<Peer>, watch::Receiver<u64>) -> JoinHandle<()> + Send + Sync>;

struct Roster {
    view: Arc<View>,
    peers: BTreeMap<NodeId, Arc<Peer>>,
}

#[derive(Default)]
struct Tasks {
    listener: Option<JoinHandle<()>>,
    peers: BTreeMap<NodeId, JoinHandle<()>>,
}

impl Peers {
    /// Begins to listen and to call the other members of the view. Belongs into a tokio runtime.
    pub fn start<I: Inbox>(
        config: Config,
        view: impl Into<Arc<View>>,
        calls: impl Into<Calls>,
        inbox: Arc<I>,
    ) -> Result<Peers, StartError> {
        let Config { cluster, me, versions, limits, timing } = config;
        let view = view.into();
        if cluster.len() > LONGEST_CLUSTER_NAME {
            return Err(StartError::ClusterName { length: cluster.len() });
        }
        if !view.members.iter().any(|member| member.identity == me) {
            return Err(StartError::NotAMember(me));
        }
        let local = Arc::new(Local { cluster, me, versions });
        let runtime = Handle::current();
        let employ = {
            let (local, timing, inbox, runtime) =
                (local.clone(), timing.clone(), inbox.clone(), runtime.clone());
            Box::new(move |peer, epochs| {
                let (local, timing, inbox) = (local.clone(), timing.clone(), inbox.clone());
                runtime.spawn(Caretaker { peer, local, timing, epochs, inbox }.run())
            })
        };
        let nobody = Arc::new(View { epoch: view.epoch, members: Vec::new() });
        let shared = Arc::new(Shared {
            local,
            limits,
            timing,
            roster: RwLock::new(Roster { view: nobody, peers: BTreeMap::new() }),
            epochs: watch::Sender::new(view.epoch),
            employ,
            tasks: Mutex::default(),
        });
        let peers = Peers { shared: shared.clone() };
        peers.install(view);
        peers.tasks().listener = Some(runtime.spawn(listener::listen(calls.into(), shared, inbox)));
        Ok(peers)
    }

    /// Sends a payload: it is written right away unless the socket takes no more or someone else writes. Never waits.
    pub fn send(&self, to: NodeId, payload: Vec<u8>) -> Result<(), SendError> {
        Ok(self.outlet(to, &payload)?.send(payload)?)
    }

    /// Queues a payload that the next [`Peers::flush`] or [`Peers::send`] to this peer writes, together with all
    /// others that are queued.
    pub fn queue(&self, to: NodeId, payload: Vec<u8>) -> Result<(), SendError> {
        Ok(self.outlet(to, &payload)?.queue(payload)?)
    }

    /// Writes what is queued for a peer. Never waits.
    pub fn flush(&self, to: NodeId) {
        let outlet = self.roster().peers.get(&to).map(|peer| peer.outlet.clone());
        if let Some(outlet) = outlet {
            outlet.flush();
        }
    }

    /// The peers without a connection, and for how long that has been so.
    pub fn unreachable(&self) -> BTreeMap<NodeId, Duration> {
        let roster = self.roster();
        roster.peers.iter().filter_map(|(&id, peer)| Some((id, peer.outlet.unreachable()?))).collect()
    }

    /// How many peers there are in this view.
    pub fn count(&self) -> usize {
        self.roster().peers.len()
    }

    /// How many payloads to a peer are queued or not acknowledged.
    pub fn kept(&self, to: NodeId) -> usize {
        self.roster().peers.get(&to).map_or(0, |peer| peer.outlet.kept())
    }

    /// Enters a later view: what is queued or kept for the old one is dropped, links begin anew. Connections to
    /// incarnations that belong to both views stay. `false`, and nothing changes, if the view is not a later one.
    pub fn enter(&self, view: impl Into<Arc<View>>) -> bool {
        let view = view.into();
        if view.epoch <= self.roster().view.epoch {
            return false;
        }
        self.install(view);
        true
    }

    /// Ends the connection to a peer that broke the rules. There is none until the next view.
    pub fn bar(&self, peer: NodeId, why: String) {
        let task = self.tasks().peers.remove(&peer);
        task.into_iter().for_each(|task| task.abort());
        if let Some(peer) = self.roster().peers.get(&peer) {
            peer.outlet.disconnect_any(Trouble::Breach(why));
        }
    }

    /// Ends all tasks and connections, and waits until they have ended.
    pub async fn stop(&self) {
        let Tasks { listener, peers } = std::mem::take(&mut *self.tasks());
        let outlets: Vec<_> = self.roster().peers.values().map(|peer| peer.outlet.clone()).collect();
        let tasks: Vec<_> = listener.into_iter().chain(peers.into_values()).collect();
        for task in &tasks {
            task.abort();
        }
        for task in tasks {
            // An aborted task has nothing to say.
            let _ = task.await;
        }
        for outlet in outlets {
            outlet.disconnect_any(Trouble::Left);
        }
    }

    fn outlet(&self, to: NodeId, payload: &[u8]) -> Result<Arc<Outlet>, SendError> {
        if payload.len() > LONGEST_PAYLOAD {
            return Err(SendError::TooLong { length: payload.len() });
        }
        let roster = self.roster();
        roster.peers.get(&to).map(|peer| peer.outlet.clone()).ok_or(SendError::NoSuchPeer(to))
    }

    fn roster(&self) -> RwLockReadGuard<'_, Roster> {
        self.shared.roster.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn install(&self, view: Arc<View>) {
        let shared = &self.shared;
        let mut tasks = self.tasks();
        let mut roster = shared.roster.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut roster.peers);
        let others = view.members.iter().filter(|member| member.identity.id != shared.local.me.id);
        for member in others {
            let id = member.identity.id;
            let peer = match before.remove(&id) {
                Some(peer) if peer.member == *member && tasks.peers.contains_key(&id) => {
                    peer.outlet.enter(view.epoch);
                    peer
                }
                gone => {
                    dismiss(gone, tasks.peers.remove(&id));
                    let peer = Arc::new(shared.new_peer(member, view.epoch));
                    tasks.peers.insert(id, (shared.employ)(peer.clone(), shared.epochs.subscribe()));
                    peer
                }
            };
            roster.peers.insert(id, peer);
        }
        for (id, peer) in before {
            dismiss(Some(peer), tasks.peers.remove(&id));
        }
        let epoch = view.epoch;
        roster.view = view;
        drop(roster);
        // Only now: a reader that waits for the view looks at its link next.
        shared.epochs.send_replace(epoch);
    }
}

fn dismiss(peer: Option<Arc<Peer>>, task: Option<JoinHandle<()>>) {
    if let Some(task) = task {
        task.abort();
    }
    if let Some(peer) = peer {
        peer.outlet.disconnect_any(Trouble::Left);
    }
}

impl Shared {
    fn new_peer(&self, member: &ViewMember, epoch: u64) -> Peer {
        let outlet = Arc::new(Outlet::new(epoch, self.limits));
        Peer { member: member.clone(), outlet, arrivals: Arrivals::default() }
    }

    /// Judges the hello of a caller: the version to speak and whose task gets the connection, or why not.
    fn judge(&self, hello: &Hello) -> Result<(u8, Arc<Peer>), HelloRefusal> {
        let roster = self.roster.read().unwrap_or_else(PoisonError::into_inner);
        let version = self.local.judge_caller(hello, &roster.view)?;
        let not_a_member = || HelloRefusal::NotAMember { caller: hello.from, epoch: roster.view.epoch };
        let peer = roster.peers.get(&hello.from.id).cloned().ok_or_else(not_a_member)?;
        Ok((version, peer))
    }
}
