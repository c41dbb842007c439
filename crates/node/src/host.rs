//! A running node: the service's core between its peers and its clients.
//!
//! Whoever has news (a peer's message, a client's, the clock) takes the core, lets it decide, and passes on what it
//! wants done before anybody else can: so messages leave in the order in which they were decided. What is written goes
//! out after the core is free again, together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use algorithms::NodeId;
use client::clock;
use control::Control;
use service::core::{Config, Out};
use service::protocol::ToClient;
use service::view::View;
use service::{Answer, Core, PeerMessage, Time, frame};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::clients::{self, ClientLink};
use crate::embedded::Near;
use crate::life::{self, Life};
use crate::link::Limits;
use crate::memory;
use crate::port;
use crate::transport::{self, Inbox, Notice, Peers};
use crate::watching::Watcher;

/// What a node is told when it starts.
pub struct HostConfig {
    /// The cluster: nodes of another are refused.
    pub cluster: String,
    /// The number of this node, for ever.
    pub id: u32,
    /// Where its peers reach this node, as `host:port`.
    pub peers: String,
    /// Where clients reach this node, as `host:port`: told to whoever asks for the members.
    pub clients: String,
    /// Where what the cluster agrees on is kept. One folder per node, for as long as it belongs to the cluster.
    pub folder: PathBuf,
    /// How this node comes to the cluster, if its folder is empty.
    pub first: First,
    /// How long leases last, if this node founds the cluster; and how soon a leader that is silent is replaced.
    pub lease: Duration,
    /// Changes to the defaults of the core.
    pub tune: Tune,
    /// Where a line goes about what happens: connections, views, leases, locks released by force. It must neither block nor
    /// panic: the node waits for it.
    pub log: fn(&str),
}

/// Changes the defaults of the core, in each life of the node.
pub type Tune = Box<dyn Fn(&mut Config) + Send + Sync>;

/// How a node comes to a cluster that it does not belong to yet.
pub enum First {
    /// It belongs to one: that is in its folder.
    No,
    /// All of these begin together, by their ids and where peers reach them. The one with the lowest id founds the
    /// cluster; the others wait until it calls them.
    Together(BTreeMap<u32, String>),
    /// It was invited.
    Invited(control::Invitation),
}

/// Why a node does not start.
#[derive(Debug)]
pub enum StartError {
    /// Its part of what the cluster agrees on does not.
    Control(control::StartError),
    /// Its name or an address is too long.
    Transport(transport::StartError),
    /// The cluster cannot be founded.
    Found(control::FoundError),
    /// The cluster does not let it in.
    Join(control::AskError),
    /// Its folder is empty, and nothing was said about where it belongs.
    Nowhere(PathBuf),
    /// It is not among those who begin together.
    NotAmong(u32),
    /// It was invited under another number.
    OtherId {
        /// The one it was invited under.
        invited: u32,
        /// The one it was started with.
        started: u32,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Control(error) => error.fmt(f),
            StartError::Transport(error) => error.fmt(f),
            StartError::Found(error) => error.fmt(f),
            StartError::Join(error) => error.fmt(f),
            StartError::Nowhere(folder) => write!(
                f,
                "{} belongs to no cluster yet: name all members, or come with an invitation",
                folder.display()
            ),
            StartError::NotAmong(id) => write!(f, "node {id} is not among the members: name it too"),
            StartError::OtherId { invited, started } => {
                write!(f, "the invitation is for node {invited}, this is node {started}")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// A running node. Clones are the same; it runs until [`Host::stop`].
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    state: OnceLock<Mutex<State>>,
    pub(crate) control: Arc<Control>,
    pub(crate) cluster: String,
    /// This node.
    pub(crate) id: u32,
    /// Where its peers reach it, and where clients do.
    pub(crate) addresses: (String, String),
    tune: Tune,
    pub(crate) log: fn(&str),
    /// The core wants to be woken earlier than planned.
    earlier: Notify,
    /// The lease should be renewed now.
    pub(crate) renew_now: Notify,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct State {
    pub(crate) core: Core,
    /// What belongs to this life of the node, as the core does.
    pub(crate) life: Life,
    out: Out,
    /// Who gets the answers of each session.
    pub(crate) sinks: BTreeMap<u64, Sink>,
    /// Who is told of what happens.
    pub(crate) watchers: Vec<Watcher>,
    /// When the core will be woken.
    planned: Option<Time>,
    /// The peer that too much waits for, if there is one: as long as it does, nobody is let in anew.
    behind: Option<NodeId>,
}

/// Who gets the answers of a session.
pub(crate) enum Sink {
    /// A client far away.
    Far(Arc<ClientLink>),
    /// One in this process.
    Near(Arc<Near>),
}

/// If more messages than this wait for a peer, nobody is let in anew.
const MOST_WAITING: usize = 1 << 16;
/// What a link keeps for a peer that does not acknowledge: more than all clients that are there already can cause.
pub(crate) const LIMITS: Limits = Limits { payloads: 1 << 24, bytes: 1 << 32 };

impl Host {
    /// Starts a node that listens here for its peers and there for its clients. Belongs into a tokio runtime. It serves
    /// clients as soon as it is a member: see [`Host::until_member`].
    pub async fn start(
        config: HostConfig,
        for_peers: TcpListener,
        for_clients: TcpListener,
    ) -> Result<Host, StartError> {
        let HostConfig { cluster, id, peers, clients, folder, first, lease, tune, log } = config;
        let timing = control::Timing::for_lease(lease);
        let control = control::Config {
            cluster: cluster.clone(),
            node: id,
            folder: folder.clone(),
            timing,
            lease: Some(lease),
            clock: clock::now,
        };
        let control = Arc::new(Control::start(control).await.map_err(StartError::Control)?);
        let shared = Arc::new(Shared {
            state: OnceLock::new(),
            control: control.clone(),
            cluster,
            id,
            addresses: (peers, clients),
            tune,
            log,
            earlier: Notify::new(),
            renew_now: Notify::new(),
            tasks: Mutex::default(),
        });
        let life = match Life::begin(&shared) {
            Ok(life) => life,
            Err(error) => {
                control.stop().await;
                return Err(StartError::Transport(error));
            }
        };
        let state = State {
            core: shared.new_core(life.me.incarnation),
            life,
            out: Out::default(),
            sinks: BTreeMap::new(),
            watchers: Vec::new(),
            planned: None,
            behind: None,
        };
        _ = shared.state.set(Mutex::new(state));
        let port = tokio::spawn(port::listen(for_peers, shared.clone()));
        let host = Host { shared: shared.clone() };
        if let Err(error) = life::first(&shared, first, folder).await {
            port.abort();
            host.stop().await;
            return Err(error);
        }
        let tasks = [
            port,
            tokio::spawn(clients::listen(for_clients, shared.clone())),
            tokio::spawn(keep_time(shared.clone())),
            tokio::spawn(life::follow_views(shared.clone())),
            tokio::spawn(life::keep_lease(shared.clone())),
            tokio::spawn(memory::keep_giving_back(shared.clone())),
        ];
        tasks.into_iter().for_each(|task| shared.employ(task));
        Ok(host)
    }

    /// Waits until this node is a member with a lease, and connected to at least so many others.
    pub async fn until_member(&self, others: usize) {
        loop {
            let (ready, peers) = {
                let state = self.shared.lock();
                let ready = state.core.is_leased(clock::now());
                (ready, state.life.peers.clone())
            };
            let connected = peers.count().saturating_sub(peers.unreachable().len());
            if ready && connected >= others {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// What the cluster agrees on, as this node sees it.
    pub fn control(&self) -> &Control {
        &self.shared.control
    }

    /// A way in for this process: locks of this node without a connection.
    pub fn embedded(&self) -> client::Tokenwood {
        let shared = self.shared.clone();
        client::Tokenwood::embedded(Box::new(move || Near::open(&shared)))
    }

    /// How the node is doing.
    pub fn status(&self) -> service::core::Status {
        self.shared.lock().core.status()
    }

    /// The peers without a connection, and for how long that has been so.
    pub fn unreachable(&self) -> BTreeMap<NodeId, Duration> {
        self.shared.lock().life.peers.unreachable()
    }

    /// Leaves the others in good order, and stops.
    pub async fn leave(&self) {
        life::leave(&self.shared).await;
        self.stop().await;
    }

    /// Ends all tasks and connections, as if the process had died.
    pub async fn stop(&self) {
        let tasks = std::mem::take(&mut *self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.abort();
            _ = task.await;
        }
        let sinks = std::mem::take(&mut self.shared.lock().sinks);
        for sink in sinks.into_values() {
            match sink {
                Sink::Far(link) => link.hang_up(),
                Sink::Near(near) => near.end(),
            }
        }
        let peers = self.shared.lock().life.peers.clone();
        peers.stop().await;
        self.shared.control.stop().await;
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panicked over the core left it in the middle of something: this node must not grant anything any more.
        let state = self.state.get().expect("nothing happens before there is a core");
        state.lock().expect("the core has failed, and this node with it")
    }

    /// A task that ends with the node.
    pub(crate) fn employ(&self, task: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// A core that is in no view yet, and grants nothing before it is.
    pub(crate) fn new_core(&self, incarnation: u64) -> Core {
        let mut config = Config::new(self.id, View::alone(self.id));
        (config.incarnation, config.seed) = (incarnation, incarnation ^ u64::from(self.id));
        config.leased = true;
        (self.tune)(&mut config);
        Core::new(config)
    }

    /// Lets something happen at the core, and carries out what it wants.
    pub(crate) fn happen<R>(&self, act: impl FnOnce(&mut State, Time) -> R) -> R {
        let mut state = self.lock();
        let result = act(&mut state, clock::now());
        let written = self.carry_out(&mut state);
        if !written.is_empty() {
            let peers = state.life.peers.clone();
            drop(state);
            written.into_iter().for_each(|peer| peers.flush(peer));
        }
        result
    }

    /// Passes on what the core wants done. Returns the peers that something was queued for.
    fn carry_out(&self, state: &mut State) -> BTreeSet<NodeId> {
        let mut written = BTreeSet::new();
        let State { core, life, out, sinks, watchers, planned, behind } = state;
        for (to, message) in out.messages.drain(..) {
            let peer = core.view().id(to);
            if queue(&life.peers, peer, &message) {
                *behind = Some(peer);
            }
            written.insert(peer);
        }
        for answer in out.answers.drain(..) {
            match sinks.get(&answer.session.number) {
                Some(Sink::Far(link)) => link.tell(&ToClient::Answer(answer)),
                Some(Sink::Near(near)) => near.answered(answer),
                None => {}
            }
        }
        for session in out.ended.drain(..) {
            match sinks.remove(&session.number) {
                Some(Sink::Far(link)) => link.tell(&ToClient::SessionGone { session }),
                Some(Sink::Near(near)) => near.end(),
                None => {}
            }
        }
        if let Some(events) = &mut out.events {
            events.drain(..).for_each(|event| watchers.iter().for_each(|watcher| watcher.tell(&event)));
        }
        let wakes = core.wakes_at();
        if wakes.is_some_and(|wakes| planned.is_none_or(|planned| wakes < planned)) {
            *planned = wakes;
            self.earlier.notify_one();
        }
        written
    }

    /// As long as too much waits for some peer, nobody is let in anew.
    pub(crate) fn mind_the_load(&self, state: &mut State) {
        let peers = &state.life.peers;
        state.behind = state.behind.filter(|peer| peers.kept(*peer) > MOST_WAITING);
        state.core.let_newcomers_in(state.behind.is_none());
    }
}

impl State {
    /// The core with what it writes into.
    pub(crate) fn core_and_out(&mut self) -> (&mut Core, &mut Out) {
        (&mut self.core, &mut self.out)
    }

    /// What is known of sessions belongs to an earlier life. Returns who has to be told.
    pub(crate) fn forget_everything(&mut self) -> BTreeMap<u64, Sink> {
        let events = (!self.watchers.is_empty()).then(Vec::new);
        self.out = Out { events, ..Out::default() };
        (self.planned, self.behind) = (None, None);
        std::mem::take(&mut self.sinks)
    }

    /// Takes the answer to this request out of what waits to be passed on.
    pub(crate) fn take_answer(&mut self, session: u64, request: u64) -> Option<Answer> {
        let is_it = |answer: &Answer| answer.session.number == session && answer.request == request;
        let place = self.out.answers.iter().position(is_it)?;
        Some(self.out.answers.swap_remove(place))
    }
}

/// Queues a message. Says whether so much waits for this peer that nobody should be let in anew.
fn queue(peers: &Peers, peer: NodeId, message: &PeerMessage) -> bool {
    let mut payload = Vec::new();
    frame::append(message, &mut payload);
    // What those who are there already may have to say is bounded, and the link takes it all.
    if let Err(error) = peers.queue(peer, payload) {
        panic!("a message to node {peer} cannot be kept: {error}");
    }
    peers.kept(peer) > MOST_WAITING
}

/// Where peers' messages to one life of the node arrive.
pub(crate) struct Door {
    pub(crate) shared: Arc<Shared>,
    pub(crate) incarnation: u64,
}

impl Inbox for Door {
    async fn received(&self, from: NodeId, _epoch: u64, payload: &[u8]) {
        match frame::whole::<PeerMessage>(payload) {
            Ok(message) => self.shared.happen(|state, now| {
                if state.life.me.incarnation != self.incarnation {
                    return;
                }
                let (core, out) = state.core_and_out();
                if let Some(from) = core.view().place(from) {
                    core.receive(from, message, now, out);
                }
            }),
            Err(error) => (self.shared.log)(&format!("node {from} sends what nobody understands: {error}")),
        }
    }

    fn notice(&self, notice: Notice) {
        (self.shared.log)(&notice.to_string());
    }
}

/// Wakes the core when it wants to be.
async fn keep_time(shared: Arc<Shared>) {
    loop {
        let wakes = {
            let mut state = shared.lock();
            state.planned = state.core.wakes_at();
            state.planned
        };
        let pause = wakes.map_or(Duration::from_secs(3600), |wakes| wakes - clock::now());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.earlier.notified() => continue,
        }
        shared.happen(|state, now| {
            let (core, out) = state.core_and_out();
            core.wake(now, out);
        });
    }
}
