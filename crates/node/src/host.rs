//! A running node: the service's core between its peers and its clients.
//!
//! Whoever has news (a peer's message, a client's, the clock) takes the core, lets it decide, and passes on what it
//! wants done before anybody else can: so messages leave in the order in which they were decided. What is written goes
//! out after the core is free again, together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use algorithms::NodeId;
use client::clock;
use service::core::{Config, Out};
use service::protocol::ToClient;
use service::{Answer, Core, PeerMessage, Time, frame};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::clients::{self, ClientLink};
use crate::embedded::Near;
use crate::identity::{Identity, View};
use crate::link::Limits;
use crate::memory;
use crate::transport::{self, Inbox, Notice, Peers, StartError};
use crate::watching::Watcher;

/// What a node is told when it starts.
pub struct HostConfig {
    /// The cluster: nodes of another are refused.
    pub cluster: String,
    /// Who this node is.
    pub me: Identity,
    /// Who belongs to the cluster, this node included.
    pub view: View,
    /// Where clients reach this node, as `host:port`: told to whoever asks for the members.
    pub clients: String,
    /// Changes to the defaults of the core.
    pub tune: Box<dyn FnOnce(&mut Config) + Send>,
    /// Where a line goes about each connection that comes, breaks or is turned away.
    pub log: fn(&str),
}

/// A running node. Clones are the same; it runs until [`Host::stop`].
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    peers: OnceLock<Peers>,
    /// This node.
    pub(crate) me: Identity,
    /// Where clients reach this node.
    pub(crate) clients: String,
    /// The core wants to be woken earlier than planned.
    earlier: Notify,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct State {
    pub(crate) core: Core,
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
const LIMITS: Limits = Limits { payloads: 1 << 24, bytes: 1 << 32 };

impl Host {
    /// Starts a node that listens here for its peers and there for its clients. Belongs into a tokio runtime.
    pub fn start(
        config: HostConfig,
        for_peers: TcpListener,
        for_clients: TcpListener,
    ) -> Result<Host, StartError> {
        let HostConfig { cluster, me, view, clients, tune, log } = config;
        let ids = view.members.iter().map(|member| member.identity.id);
        let mut core = Config::new(me.id, service::view::View::of(view.epoch, ids));
        core.view.place(me.id).ok_or(StartError::NotAMember(me))?;
        (core.incarnation, core.seed) = (me.incarnation, me.incarnation ^ u64::from(me.id));
        tune(&mut core);
        let state = State {
            core: Core::new(core),
            out: Out::default(),
            sinks: BTreeMap::new(),
            watchers: Vec::new(),
            planned: None,
            behind: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            peers: OnceLock::new(),
            me,
            clients: clients.clone(),
            earlier: Notify::new(),
            tasks: Mutex::default(),
        });
        // A peer may have something to say before this is over: it waits until the answer has a way out.
        let nothing_happens = shared.lock();
        let peers = Peers::start(
            transport::Config {
                limits: LIMITS,
                clients: clients.clone(),
                ..transport::Config::new(&cluster, me)
            },
            view,
            for_peers,
            Arc::new(Door { shared: shared.clone(), log }),
        )?;
        _ = shared.peers.set(peers);
        drop(nothing_happens);
        let tasks = [
            tokio::spawn(clients::listen(for_clients, shared.clone(), me)),
            tokio::spawn(keep_time(shared.clone())),
            tokio::spawn(memory::keep_giving_back(shared.clone())),
        ];
        shared.tasks.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
        Ok(Host { shared })
    }

    /// A way in for this process: locks of this node without a connection.
    pub fn embedded(&self) -> client::Tokenwood {
        client::Tokenwood::embedded(Near::open(&self.shared))
    }

    /// How the node is doing.
    pub fn status(&self) -> service::core::Status {
        self.shared.lock().core.status()
    }

    /// The peers without a connection, and for how long that has been so.
    pub fn unreachable(&self) -> BTreeMap<NodeId, Duration> {
        self.shared.peers().unreachable()
    }

    /// Ends all tasks and connections.
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
        self.shared.peers().stop().await;
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panicked over the core left it in the middle of something: this node must not grant anything any more.
        self.state.lock().expect("the core has failed, and this node with it")
    }

    /// Lets something happen at the core, and carries out what it wants.
    pub(crate) fn happen<R>(&self, act: impl FnOnce(&mut State, Time) -> R) -> R {
        let mut state = self.lock();
        let result = act(&mut state, clock::now());
        let written = self.carry_out(&mut state);
        drop(state);
        written.into_iter().for_each(|peer| self.peers().flush(peer));
        result
    }

    /// Passes on what the core wants done. Returns the peers that something was queued for.
    fn carry_out(&self, state: &mut State) -> BTreeSet<NodeId> {
        let mut written = BTreeSet::new();
        let State { core, out, sinks, watchers, planned, behind } = state;
        for (to, message) in out.messages.drain(..) {
            let peer = core.view().id(to);
            if self.queue(peer, &message) {
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
            if let Some(Sink::Far(link)) = sinks.remove(&session.number) {
                link.tell(&ToClient::SessionGone { session });
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

    /// Queues a message. Says whether so much waits for this peer that nobody should be let in anew.
    fn queue(&self, peer: NodeId, message: &PeerMessage) -> bool {
        let peers = self.peers();
        let mut payload = Vec::new();
        frame::append(message, &mut payload);
        // What those who are there already may have to say is bounded, and the link takes it all.
        if let Err(error) = peers.queue(peer, payload) {
            panic!("a message to node {peer} cannot be kept: {error}");
        }
        peers.kept(peer) > MOST_WAITING
    }

    pub(crate) fn peers(&self) -> &Peers {
        self.peers.get().expect("nothing happens before the peers are there")
    }

    /// As long as too much waits for some peer, nobody is let in anew.
    pub(crate) fn mind_the_load(&self, state: &mut State) {
        state.behind = state.behind.filter(|peer| self.peers().kept(*peer) > MOST_WAITING);
        state.core.let_newcomers_in(state.behind.is_none());
    }
}

impl State {
    /// The core with what it writes into.
    pub(crate) fn core_and_out(&mut self) -> (&mut Core, &mut Out) {
        (&mut self.core, &mut self.out)
    }

    /// Takes the answer to this request out of what waits to be passed on.
    pub(crate) fn take_answer(&mut self, session: u64, request: u64) -> Option<Answer> {
        let is_it = |answer: &Answer| answer.session.number == session && answer.request == request;
        let place = self.out.answers.iter().position(is_it)?;
        Some(self.out.answers.swap_remove(place))
    }
}

/// Where peers' messages arrive.
struct Door {
    shared: Arc<Shared>,
    log: fn(&str),
}

impl Inbox for Door {
    async fn received(&self, from: NodeId, _epoch: u64, payload: &[u8]) {
        match frame::whole::<PeerMessage>(payload) {
            Ok(message) => self.shared.happen(|state, now| {
                let (core, out) = state.core_and_out();
                if let Some(from) = core.view().place(from) {
                    core.receive(from, message, now, out);
                }
            }),
            Err(error) => (self.log)(&format!("node {from} sends what nobody understands: {error}")),
        }
    }

    fn notice(&self, notice: Notice) {
        (self.log)(&notice.to_string());
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
