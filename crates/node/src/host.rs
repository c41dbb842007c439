//! A running node: a [`Member`] between its peers, its clients and the control plane.
//!
//! The member decides everything. A thread with an input (a peer's message, a client's frame, the clock, a
//! committed entry) locks the member, lets it decide, and carries out its effects before any other input: so
//! messages leave in the order in which they were decided. Effects only queue bytes; they are written after
//! the member is free again, by the reactor at the end of its round, and by any other thread at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use control::Control;
use service::Identity;
use service::core::Config;
use service::limits::Limits;
use service::member::{ConnectionId, Effect, Member, Setup};
use service::protocol::ToClient;
use service::view::View;
use service::{PeerMessage, Time, frame};
use sync::{BoxFuture, IgnorePoison};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use transport::{Encryption, clock};

use crate::clients::{ClientLink, ClientPort, Places};
use crate::control_calls::ToLeader;
use crate::embedded::Near;
use crate::failure::{self, Failure, Failures, Lasting};
use crate::first_token::OnFirstToken;
use crate::lag::{Lag, Probe};
use crate::links::{Around, Links};
use crate::log::{self, Log};
use crate::member_line::LineSink;
use crate::waiting::{self, Begins};
use crate::watchdog::{BEAT, Hearts, Waits};
use crate::{control_calls, faults, memory, port, start};
use transport::reactor::{Dirty, Reactor};

mod config;
mod inputs;
mod measured;

use inputs::Alarm;

pub use config::{Bootstrap, HostConfig, StartError, Tune};
pub(crate) use inputs::Door;
pub use measured::Measured;

/// A part of the node that gives no sign of life for this long hangs.
const LONGEST_HANG: Duration = Duration::from_secs(1);

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
    /// Where its peers reach it.
    pub(crate) address: String,
    /// Where clients reach it.
    pub(crate) clients: String,
    pub(crate) encryption: Encryption,
    pub(crate) log: Log,
    pub(crate) failures: Failures,
    hearts: Hearts,
    pub(crate) runtime: Handle,
    pub(crate) reactor: Reactor,
    pub(crate) limits: Limits,
    /// How many bytes wait to be read by clients, in all.
    pub(crate) unread: AtomicUsize,
    /// How many clients left so much unread that they were disconnected.
    pub(crate) hung_up: AtomicU64,
    /// The places for clients.
    pub(crate) places: Arc<Places>,
    /// How often a peer was connected, and how many payloads it was sent again.
    pub(crate) links_made: AtomicU64,
    pub(crate) resent: AtomicU64,
    pub(crate) lag: Lags,
    /// Whether the member has left.
    left: watch::Sender<bool>,
    pub(crate) to_leader: ToLeader,
    tasks: Mutex<Vec<Lasting>>,
    /// What was begun for the member and comes back with a reply.
    pub(crate) control_calls: Mutex<JoinSet<()>>,
    /// What the node knows of the others before it belongs to a cluster.
    pub(crate) begins: Begins,
}

/// How late the loops of the node are.
#[derive(Default)]
pub(crate) struct Lags {
    pub(crate) sockets: Arc<Lag>,
    pub(crate) runtime: Arc<Lag>,
}

pub(crate) struct State {
    member: Member,
    /// Empty between two turns.
    effects: Vec<Effect>,
    pub(crate) links: Links,
    sinks: BTreeMap<ConnectionId, Sink>,
    /// When the member will be woken.
    planned: Option<Time>,
}

/// Where frames for a client go.
pub(crate) enum Sink {
    /// To a client far away.
    Far(Arc<ClientLink>),
    /// To one in this process.
    Near(Arc<Near>),
    /// To another protocol in this process.
    Line(Arc<LineSink>),
}

/// One input to the member: what it takes to decide, and what comes of it.
pub(crate) struct Turn<'a> {
    pub(crate) member: &'a mut Member,
    pub(crate) environment: &'a Around<'a>,
    pub(crate) now: Time,
    pub(crate) effects: &'a mut Vec<Effect>,
    pub(crate) sinks: &'a mut BTreeMap<ConnectionId, Sink>,
}

impl Host {
    /// Starts a node that listens here for its peers and there for its clients. Belongs into a tokio runtime. It serves
    /// clients as soon as it is a member: see [`Host::until_member`].
    pub fn start(
        mut config: HostConfig,
        for_peers: TcpListener,
        for_clients: TcpListener,
    ) -> BoxFuture<'static, Result<Host, StartError>> {
        Box::pin(async move {
            let lease = config.lease;
            start::check(&config)?;
            let local_socket = config.local_socket.clone();
            let on_first_token = config.on_first_token.take();
            let (host, bootstrap, folder) = Host::prepare(config).await?;
            let shared = &host.shared;
            let for_clients = (for_clients, local_socket);
            let begins = (bootstrap, folder, on_first_token);
            if let Err(error) = host.serve(begins, for_peers, for_clients).await {
                host.stop().await;
                return Err(error);
            }
            shared.keep_beating(lease);
            faults::plan(shared);
            Ok(host)
        })
    }

    /// Starts consensus, the reactor and the member. The node cannot be reached yet.
    async fn prepare(config: HostConfig) -> Result<(Host, Bootstrap, PathBuf), StartError> {
        let HostConfig { cluster, id, folder, bootstrap, lease, hearts, .. } = config;
        let control = control::Config {
            cluster: cluster.clone(),
            node: id,
            folder: folder.clone(),
            timing: control::Timing::for_lease(lease),
            lease: Some(lease),
            clock: clock::now,
            encryption: config.encryption.clone(),
        };
        let control = Arc::new(Control::start(control).await.map_err(StartError::Control)?);
        let heart = hearts.heart("sockets", LONGEST_HANG, Waits::ForTurns);
        let reactor = match Reactor::start(config.sockets, Some(heart.into())) {
            Ok(reactor) => reactor,
            Err(error) => {
                control.stop().await;
                return Err(StartError::Sockets(error));
            }
        };
        let mut core = Config::new(id, View::alone(id));
        (config.tune)(&mut core);
        let limits = core.limits.clone();
        let (address, clients) = (config.peers, config.clients);
        let setup =
            Setup { cluster: cluster.clone(), address: address.clone(), clients: clients.clone(), core };
        let shared = Arc::new(Shared {
            state: OnceLock::new(),
            control: control.clone(),
            cluster,
            id,
            address,
            clients,
            encryption: config.encryption,
            log: Log::new(id),
            failures: Failures::new(id, config.on_failure),
            hearts,
            runtime: Handle::current(),
            reactor,
            places: Places::new(&limits),
            limits,
            unread: AtomicUsize::new(0),
            hung_up: AtomicU64::new(0),
            links_made: AtomicU64::new(0),
            resent: AtomicU64::new(0),
            lag: Lags::default(),
            left: watch::Sender::new(false),
            to_leader: ToLeader::default(),
            tasks: Mutex::default(),
            control_calls: Mutex::default(),
            begins: Begins::default(),
        });
        let registry = control.registry().borrow().clone();
        let member = Member::new(setup, registry, control_calls::fresh(), clock::now());
        let links = match Links::start(&shared, member.identity()) {
            Ok(links) => links,
            Err(error) => {
                shared.reactor.stop().await;
                control.stop().await;
                return Err(StartError::Transport(error));
            }
        };
        let (effects, sinks) = (Vec::new(), BTreeMap::new());
        _ = shared.state.set(Mutex::new(State { member, effects, links, sinks, planned: None }));
        Ok((Host { shared }, bootstrap, folder))
    }

    /// Comes to its cluster, and lets peers and clients in.
    async fn serve(
        &self,
        (bootstrap, folder, on_first_token): (Bootstrap, PathBuf, Option<OnFirstToken>),
        for_peers: TcpListener,
        (for_clients, local_socket): (TcpListener, Option<PathBuf>),
    ) -> Result<(), StartError> {
        let shared = &self.shared;
        shared.watch_task("port for peers", tokio::spawn(port::listen(for_peers, shared.clone())));
        start::join_cluster(shared, bootstrap, folder, on_first_token).await?;
        let for_clients = ClientPort::new(for_clients, shared).map_err(StartError::Sockets)?;
        shared.reactor.adopt(Box::new(for_clients));
        if let Some(path) = local_socket {
            let port = ClientPort::local(&path, shared);
            shared.reactor.adopt(Box::new(port.map_err(|error| StartError::LocalSocket(path, error))?));
        }
        shared.reactor.adopt(Box::new(Alarm(shared.clone())));
        shared.reactor.adopt(Box::new(Probe::new(shared.lag.sockets.clone())));
        let tasks = [
            ("sockets", tokio::spawn(sockets_end(shared.reactor.clone()))),
            ("registry", tokio::spawn(control_calls::follow_registry(shared.clone()))),
            ("memory", tokio::spawn(memory::keep_giving_back(shared.clone()))),
            ("log", tokio::spawn(log::keep_counting(shared.clone()))),
            ("waiting", tokio::spawn(waiting::keep_saying(shared.clone()))),
            ("folder", tokio::spawn(waiting::keep_the_folder(shared.clone()))),
        ];
        tasks.into_iter().for_each(|(name, task)| shared.watch_task(name, task));
        Ok(())
    }

    /// Waits until this node is a member with a lease, and connected to at least this many others.
    pub async fn until_member(&self, others: usize) {
        loop {
            let (ready, peers) = {
                let state = self.shared.lock();
                (state.member.is_leased(clock::now()), state.links.peers.clone())
            };
            let connected = peers.count().saturating_sub(peers.unreachable().len());
            if ready && connected >= others {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The control plane, as this node sees it.
    pub fn control(&self) -> &Control {
        &self.shared.control
    }

    /// A way in for this process: locks of this node without a connection.
    pub fn embedded(&self) -> tokenwood::Tokenwood {
        let shared = self.shared.clone();
        tokenwood::Tokenwood::embedded(Box::new(move || Near::open(&shared)))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Leaves the others in good order, and stops.
    pub fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut left = self.shared.left.subscribe();
            self.shared.with_member(|turn| turn.member.leave(turn.now, turn.effects));
            _ = left.wait_for(|left| *left).await;
            if self.shared.control.leadership().borrow().is_some() {
                // The other nodes learn from the leader's next heartbeat that the next view is committed.
                let lease = self.shared.control.registry().borrow().lease;
                tokio::time::sleep(lease / 10).await;
            }
            self.stop().await;
        })
    }

    /// Ends all tasks and connections, as if the process had died.
    pub fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let tasks = std::mem::take(&mut *self.shared.tasks.lock().ignore_poison());
            for task in tasks {
                task.end().await;
            }
            let mut control_calls = std::mem::take(&mut *self.shared.control_calls.lock().ignore_poison());
            control_calls.shutdown().await;
            let sinks = std::mem::take(&mut self.shared.lock().sinks);
            for sink in sinks.into_values() {
                match sink {
                    Sink::Far(link) => link.hang_up(),
                    Sink::Near(near) => near.end(),
                    // It ends with the sink, which has its sender.
                    Sink::Line(_) => {}
                }
            }
            let peers = self.shared.lock().links.peers.clone();
            peers.stop().await;
            self.shared.reactor.stop().await;
            self.shared.control.stop().await;
        })
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic left the member in the middle of something: this node must not grant anything any more.
        let state = self.state.get().expect("nothing happens before there is a member");
        state.lock().unwrap_or_else(|_| {
            self.failures.raise(&Failure::Poisoned);
            panic!("the member has failed, and this node with it")
        })
    }

    /// The node in the incarnation that is in force.
    pub(crate) fn identity(&self) -> Identity {
        self.lock().member.identity()
    }

    pub(crate) fn status(&self) -> service::core::Status {
        self.lock().member.core().status()
    }

    /// A task that ends with the node, and not before.
    pub(crate) fn watch_task(&self, name: &'static str, task: JoinHandle<()>) {
        let task = Lasting::watch(name, task, self.failures.clone(), &self.runtime);
        self.tasks.lock().ignore_poison().push(task);
    }

    /// The runtime and the member show that they are alive.
    fn keep_beating(self: &Arc<Shared>, lease: Duration) {
        let runtime = self.hearts.heart("runtime", LONGEST_HANG, Waits::ForTurns);
        // A turn that takes longer than a lease has cost the node its lease.
        let member = self.hearts.heart("member", LONGEST_HANG.max(lease), Waits::ForNothing);
        let (shared, lag, mut due) = (self.clone(), self.lag.runtime.clone(), None);
        let measure = move || {
            let now = Instant::now();
            if let Some(due) = due.replace(now + BEAT) {
                lag.add(now.saturating_duration_since(due));
            }
        };
        self.watch_task("heart of the runtime", tokio::spawn(failure::keep_beating(runtime, measure)));
        let look = move || drop(shared.lock());
        self.watch_task("heart of the member", tokio::spawn(failure::keep_beating(member, look)));
    }

    /// Gives the member an input, carries out what it wants, and writes what comes of it.
    pub(crate) fn with_member<R>(self: &Arc<Shared>, input: impl FnOnce(&mut Turn<'_>) -> R) -> R {
        let mut dirty = Dirty::new();
        let result = self.step_in(&mut dirty, input);
        dirty.iter().for_each(|outbound| outbound.flush());
        result
    }

    /// Gives the member an input, and carries out what it wants; what comes of it is written when `dirty` is flushed.
    pub(crate) fn step_in<R>(
        self: &Arc<Shared>,
        dirty: &mut Dirty,
        input: impl FnOnce(&mut Turn<'_>) -> R,
    ) -> R {
        let mut state = self.lock();
        self.hearts.turn_begins();
        let State { member, effects, links, sinks, .. } = &mut *state;
        let environment = Around { peers: &links.peers, shared: self };
        let result =
            input(&mut Turn { member, environment: &environment, now: clock::now(), effects, sinks });
        if !state.effects.is_empty() {
            self.carry_out(&mut state, dirty);
        }
        self.plan_wake(&mut state);
        self.hearts.turn_ends();
        drop(state);
        log::say_notes(self);
        result
    }

    /// Carries out what the member wants.
    fn carry_out(self: &Arc<Shared>, state: &mut State, dirty: &mut Dirty) {
        let mut effects = std::mem::take(&mut state.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { to, message } => {
                    let waiting = queue(&state.links, to, &message, dirty);
                    state.member.falls_behind(to, waiting);
                }
                Effect::Tell { connection, frame } => state.tell(connection, frame, self, dirty),
                Effect::EnterView(view) => _ = state.links.peers.enter(view),
                Effect::BeginIncarnation(identity) => state.links.restart(self, identity),
                Effect::Disconnect { peer, why } => state.links.peers.bar(peer, why.to_string()),
                Effect::Left => _ = self.left.send_replace(true),
                Effect::Note(note) => self.log.keep(note),
                call => control_calls::begin(self, call),
            }
        }
        // Nothing above makes the member want more; the list is kept for the next turn.
        debug_assert!(state.effects.is_empty(), "{:?}", state.effects);
        state.effects = effects;
    }

    /// Sees to it that the member is woken when it wants to be.
    fn plan_wake(&self, state: &mut State) {
        let wakes = state.member.wakes_at();
        if wakes.is_some_and(|wakes| state.planned.is_none_or(|planned| wakes < planned)) {
            state.planned = wakes;
            self.reactor.wake();
        }
    }
}

impl State {
    /// Tells a client something; the member learns of it if the client does not keep up.
    fn tell(&mut self, connection: ConnectionId, frame: ToClient, shared: &Shared, dirty: &mut Dirty) {
        let link = match self.sinks.get(&connection) {
            Some(Sink::Far(link)) => link,
            Some(Sink::Near(near)) => return near.hear(frame),
            Some(Sink::Line(line)) => {
                if line.tell(frame) {
                    self.member.client_fell_behind(connection);
                }
                return;
            }
            None => return,
        };
        let told = link.tell(&frame, shared);
        if told.to_flush {
            dirty.push(link.clone());
        }
        if told.behind {
            self.member.client_fell_behind(connection);
        }
    }
}

/// Most messages are no longer than this.
const USUAL_MESSAGE: usize = 64;

/// Queues a message. Returns how many wait for this peer.
fn queue(links: &Links, peer: u32, message: &PeerMessage, dirty: &mut Dirty) -> usize {
    let mut payload = Vec::with_capacity(USUAL_MESSAGE);
    frame::append(message, &mut payload);
    // What clients that are there already may have to say is bounded, and the link takes it all.
    let queued = links.peers.queue_in(peer, payload, dirty);
    queued.unwrap_or_else(|error| panic!("a message to node {peer} cannot be kept: {error}"))
}

/// Ends when the thread of the reactor does.
async fn sockets_end(reactor: Reactor) {
    reactor.ended().await;
}
