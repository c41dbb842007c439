//! Connections to all peers, below links that lose nothing when they break: what a node sends with.
//!
//! [`Peers::start`] begins to listen and to call; of two nodes the one with the lower id calls. Payloads go
//! out with [`Peers::send`], which never waits, and come in through an [`Inbox`]. A broken connection is
//! opened again, and the link resends what the peer has not acknowledged. Tasks call and greet; connections
//! that stand belong to the reactor, the thread that reads from all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::time::Duration;

use service::view::{View, ViewMember};
use service::{Identity, NodeId};
use sync::IgnorePoison;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::handshake::{self, Local};
use crate::link::{Full, Limits};
use crate::reactor::{Dirty, Outbound, Reactor, Sockets};
use crate::secure::Encryption;
use crate::wire::{Hello, HelloRefusal, LONGEST_CLUSTER_NAME, LONGEST_PAYLOAD, VERSIONS, Versions};

pub mod callers;
mod inlet;
mod listener;
mod outlet;
mod peer;
mod trouble;

pub use listener::Calls;
use outlet::Outlet;
use peer::{Context, Peer};
pub use trouble::Trouble;

/// The configuration of a node's transport.
#[derive(Clone)]
pub struct Config {
    /// The cluster: nodes of another are refused.
    pub cluster: String,
    /// The identity of this node.
    pub me: Identity,
    /// The protocol versions to offer.
    pub versions: Versions,
    /// How much is kept for a peer that does not acknowledge.
    pub limits: Limits,
    /// How long things may take.
    pub timing: Timing,
    /// Where sockets are read from, if these peers have a reactor of their own.
    pub sockets: Sockets,
    /// Whether connections are encrypted.
    pub encryption: Encryption,
}

impl Config {
    /// With the usual limits and times.
    pub fn new(cluster: &str, me: Identity) -> Config {
        let (limits, timing) = (Limits::default(), Timing::default());
        let (sockets, encryption) = (Sockets::Runtime, Encryption::Off);
        Config { cluster: cluster.to_string(), me, versions: VERSIONS, limits, timing, sockets, encryption }
    }

    fn check(&self, view: &View) -> Result<(), StartError> {
        if self.cluster.len() > LONGEST_CLUSTER_NAME {
            return Err(StartError::ClusterName { length: self.cluster.len() });
        }
        if !view.members.iter().any(|member| member.identity == self.me) {
            return Err(StartError::NotAMember(self.me));
        }
        Ok(())
    }
}

/// How long things may take.
#[derive(Clone, Debug)]
pub struct Timing {
    /// A connection that receives nothing for this long is closed. Signs of life are three times as frequent.
    pub silence_limit: Duration,
    /// A connection must stand after this long.
    pub greeting: Duration,
    /// The pause before the first new try after a connection is lost. It doubles with each further try.
    pub first_retry: Duration,
    /// The longest pause between two tries.
    pub longest_retry: Duration,
    /// An acknowledgement waits this long for a payload to travel with.
    pub acknowledge: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            silence_limit: Duration::from_secs(1),
            greeting: Duration::from_secs(1),
            first_retry: Duration::from_millis(5),
            longest_retry: Duration::from_secs(1),
            acknowledge: Duration::from_millis(20),
        }
    }
}

/// Where payloads arrive. Called on the thread of the reactor, so a node that answers at once does so without waking
/// another thread.
pub trait Inbox: Send + Sync + 'static {
    /// Payloads of a peer, in the order in which they were sent, each once. Nothing is read from any peer until this comes
    /// back: a node that cannot keep up waits here, and the peers' links fill. The view is the one in which they were sent;
    /// a node that has just entered another ignores them.
    fn received(&self, from: NodeId, epoch: u64, payloads: &[&[u8]], outbox: &mut Outbox<'_>);

    /// An event that is worth a line in a log. Must not block.
    fn notice(&self, notice: Notice) {
        let _ = notice;
    }
}

/// What is to be written when everything that came in together has been passed on.
pub struct Outbox<'a>(pub &'a mut Dirty);

/// Events of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A connection stands.
    Connected {
        /// The peer at its other end.
        peer: Identity,
        /// The number of payloads that are sent again.
        resent: usize,
    },
    /// A connection is over.
    Disconnected {
        /// The peer at its other end.
        peer: Identity,
        /// The reason.
        why: Trouble,
    },
    /// No connection came about. It is tried again.
    NoConnection {
        /// The peer at its other end.
        peer: Identity,
        /// The reason.
        why: Trouble,
    },
    /// A caller is a peer, and gets a link.
    LetIn {
        /// The address of the caller.
        address: SocketAddr,
        /// The peer.
        peer: Identity,
    },
    /// A caller was rejected.
    TurnedAway {
        /// The address of the caller.
        address: SocketAddr,
        /// The node that the caller is by its certificate, if it had a handshake.
        caller: Option<NodeId>,
        /// The reason.
        why: Trouble,
    },
    /// No calls can be accepted at the moment.
    CannotAccept {
        /// The reason.
        why: Trouble,
    },
    /// A peer is in a later view already. What it sends waits until we are there.
    LaterView {
        /// The peer.
        peer: Identity,
        /// The view.
        epoch: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Connected { peer, resent } => {
                write!(f, "connected to {peer}, {resent} payloads resent")
            }
            Notice::Disconnected { peer, why } => write!(f, "connection to {peer} lost: {why}"),
            Notice::NoConnection { peer, why } => write!(f, "no connection to {peer}: {why}"),
            Notice::LetIn { address, peer } => write!(f, "let in for a link: {peer} at {address}"),
            Notice::TurnedAway { address, why, .. } => write!(f, "connection from {address} rejected: {why}"),
            Notice::CannotAccept { why } => write!(f, "cannot accept connections: {why}"),
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
    /// The operating system gives no thread or nothing to wait with.
    System(io::ErrorKind),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::ClusterName { length } => {
                write!(f, "the cluster name has {length} bytes, and the limit is {LONGEST_CLUSTER_NAME}")
            }
            StartError::NotAMember(me) => write!(f, "{me} is not a member of the view it starts in"),
            StartError::System(kind) => {
                write!(f, "cannot start the thread that waits for sockets: {kind}")
            }
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
                write!(f, "the payload has {length} bytes, and the limit is {LONGEST_PAYLOAD}")
            }
            SendError::NoSuchPeer(node) => write!(f, "node {node} is not a peer in this view"),
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
pub struct Shared {
    context: Arc<Context>,
    limits: Limits,
    roster: RwLock<Roster>,
    runtime: Handle,
    /// Of the listener, and of peers that this node calls, by their id.
    tasks: Mutex<Tasks>,
    reactor_of: ReactorOf,
}

/// Whose the reactor is that reads from the sockets of peers.
pub enum ReactorOf {
    /// Of these peers only: it starts and ends with them.
    Peers,
    /// Of their node, which ends it.
    Node(Reactor),
}

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
    /// Begins to listen and to call the other members of the view, with a reactor of its own. Belongs into a tokio runtime.
    pub fn start(
        config: Config,
        view: impl Into<Arc<View>>,
        calls: impl Into<Calls>,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Peers, StartError> {
        Peers::start_on(ReactorOf::Peers, config, view.into(), calls.into(), inbox)
    }

    /// The same, with a reactor of its own or the node's.
    pub fn start_on(
        reactor_of: ReactorOf,
        config: Config,
        view: Arc<View>,
        calls: Calls,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Peers, StartError> {
        config.check(&view)?;
        let Config { cluster, me, versions, limits, timing, sockets, encryption } = config;
        let reactor = match &reactor_of {
            ReactorOf::Node(reactor) => reactor.clone(),
            ReactorOf::Peers => {
                Reactor::start(sockets, None).map_err(|error| StartError::System(error.kind()))?
            }
        };
        let local = Local { cluster, me, versions };
        let nobody = Arc::new(View { epoch: view.epoch, members: Vec::new() });
        let shared = Arc::new(Shared {
            context: Arc::new(Context { local, timing, inbox, reactor, encryption }),
            limits,
            roster: RwLock::new(Roster { view: nobody, peers: BTreeMap::new() }),
            runtime: Handle::current(),
            tasks: Mutex::default(),
            reactor_of,
        });
        let peers = Peers { shared: shared.clone() };
        peers.install(view);
        peers.tasks().listener = Some(peers.shared.runtime.spawn(listener::listen(calls, shared)));
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

    /// Queues a payload that goes out when `dirty` is flushed. Returns how many to this peer are queued or not acknowledged.
    pub fn queue_in(&self, to: NodeId, payload: Vec<u8>, dirty: &mut Dirty) -> Result<usize, SendError> {
        Ok(self.outlet(to, &payload)?.queue_in(payload, dirty)?)
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

    /// Enters a later view: what is queued or kept for the old one is dropped, and links start again.
    /// Connections to incarnations that belong to both views stay. `false`, and nothing changes, if the view
    /// is not a later one.
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
            peer.outlet.shut(Trouble::Breach(why));
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
            outlet.shut(Trouble::Left);
        }
        if matches!(self.shared.reactor_of, ReactorOf::Peers) {
            self.shared.context.reactor.stop().await;
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
        self.shared.roster.read().ignore_poison()
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.shared.tasks.lock().ignore_poison()
    }

    fn install(&self, view: Arc<View>) {
        let shared = &self.shared;
        let (me, reactor) = (shared.context.local.me, &shared.context.reactor);
        let mut tasks = self.tasks();
        let mut roster = shared.roster.write().ignore_poison();
        let mut before = std::mem::take(&mut roster.peers);
        for member in view.members.iter().filter(|member| member.identity.id != me.id) {
            let id = member.identity.id;
            let peer = match before.remove(&id) {
                Some(peer) if peer.member == *member && !peer.outlet.is_shut() => {
                    // Frames of this view may have come already.
                    peer.outlet.enter(view.epoch).into_iter().for_each(|source| reactor.visit(source));
                    peer
                }
                gone => {
                    dismiss(gone, tasks.peers.remove(&id));
                    let peer = Arc::new(shared.new_peer(member, view.epoch));
                    if handshake::calls(me, member.identity) {
                        let calling = peer::keep_calling(peer.clone(), shared.context.clone());
                        tasks.peers.insert(id, shared.runtime.spawn(calling));
                    }
                    peer
                }
            };
            roster.peers.insert(id, peer);
        }
        for (id, peer) in before {
            dismiss(Some(peer), tasks.peers.remove(&id));
        }
        roster.view = view;
    }
}

fn dismiss(peer: Option<Arc<Peer>>, task: Option<JoinHandle<()>>) {
    if let Some(task) = task {
        task.abort();
    }
    if let Some(peer) = peer {
        peer.outlet.shut(Trouble::Left);
    }
}

impl Shared {
    fn new_peer(&self, member: &ViewMember, epoch: u64) -> Peer {
        let outlet = Arc::new(Outlet::new(epoch, self.limits));
        Peer { member: member.clone(), outlet, gone: tokio::sync::Notify::new() }
    }

    /// Judges the hello of a caller: the version to speak and whose task gets the connection, or why not.
    fn judge(&self, hello: &Hello) -> Result<(u8, Arc<Peer>), HelloRefusal> {
        let roster = self.roster.read().ignore_poison();
        let version = self.context.local.judge_caller(hello, &roster.view)?;
        let not_a_member = || HelloRefusal::NotAMember { caller: hello.from, epoch: roster.view.epoch };
        let peer = roster.peers.get(&hello.from.id).cloned().ok_or_else(not_a_member)?;
        Ok((version, peer))
    }
}
