//! The control plane of one node, as the node sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use openraft::error::{ClientWriteError, Fatal, InitializeError, RaftError};
use openraft::impls::BasicNode;
use openraft::{ChangeMembers, RaftMetrics, ServerState};
use service::frame::LONGEST_BODY;
use service::registry::{Applied, Entry, Leadership, Registry};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::{Config, ConfigError};
use crate::disk::Disk;
use crate::folder::{self, Folder, FolderError};
use crate::machine::Machine;
use crate::network::{Local, Peers};
use crate::server::Server;
use crate::store::LogStore;
use crate::types::{self, Raft};
use crate::wire::{Hello, Request, Response};

#[cfg(test)]
mod tests;

/// How many voters there can be: as many may fail as are left over by a majority.
const VOTERS: [usize; 4] = [1, 3, 5, 7];

/// The longest entry that can be agreed on: it fits into a message together with what goes around it.
const LONGEST_ENTRY: usize = LONGEST_BODY - 1024;

/// Why the control plane of a node does not start. Nothing was changed.
#[derive(Debug)]
pub enum StartError {
    /// The configuration makes no sense.
    Config(ConfigError),
    /// The data folder cannot be used.
    Folder(FolderError),
    /// Consensus does not start.
    Raft(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Folder(error) => error.fmt(f),
            StartError::Raft(error) => write!(f, "consensus does not start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a cluster was not founded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundError {
    /// Not 1, 3, 5 or 7 voters.
    Voters(usize),
    /// The founding node is not among the voters.
    NotAmong,
    /// This node belongs to a cluster already.
    Already,
    /// The node has stopped, or cannot write.
    Stopped(String),
}

impl fmt::Display for FoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundError::Voters(count) => write!(f, "{count} voters: name 1, 3, 5 or 7"),
            FoundError::NotAmong => {
                f.write_str("the node that founds a cluster is one of its voters: name it too")
            }
            FoundError::Already => {
                f.write_str("this node belongs to a cluster already: start it without founding one")
            }
            FoundError::Stopped(why) => write!(f, "the control plane has stopped: {why}"),
        }
    }
}

impl std::error::Error for FoundError {}

/// Why a proposal was not agreed on. It may be later all the same, unless it was too long: whoever proposes it again looks
/// at the registry first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposeError {
    /// Another node leads.
    NotLeading {
        /// Which, if that is known here.
        leader: Option<u32>,
    },
    /// No majority answered in time.
    Unknown,
    /// Longer than what can be agreed on.
    TooLong(usize),
    /// The control plane of this node, or of the one that leads, has stopped.
    Stopped(String),
}

impl fmt::Display for ProposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProposeError::NotLeading { leader: Some(leader) } => write!(f, "node {leader} leads: ask it"),
            ProposeError::NotLeading { leader: None } => {
                f.write_str("no node leads at the moment: try again in some seconds")
            }
            ProposeError::Unknown => f.write_str(
                "no majority of the voters answered: it may be agreed on later, look before trying again",
            ),
            ProposeError::TooLong(bytes) => {
                write!(f, "{bytes} bytes, where {LONGEST_ENTRY} can be agreed on at once")
            }
            ProposeError::Stopped(why) => write!(f, "the control plane has stopped: {why}"),
        }
    }
}

impl std::error::Error for ProposeError {}

/// Why the voters are as they were, or on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// Not 1, 3, 5 or 7 voters.
    Voters(usize),
    /// The node has not been admitted.
    Unknown(u32),
    /// The node was admitted, but has not answered.
    Unheard(u32),
    /// Another change is under way.
    InProgress,
    /// It was not agreed on.
    Propose(ProposeError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Voters(count) => write!(f, "{count} voters: name 1, 3, 5 or 7"),
            ChangeError::Unknown(node) => write!(f, "node {node} is not known: admit it first"),
            ChangeError::Unheard(node) => {
                write!(
                    f,
                    "node {node} was admitted, but does not answer: see whether it runs, and at that address"
                )
            }
            ChangeError::InProgress => f.write_str("another change is under way: try again when it is done"),
            ChangeError::Propose(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}

/// It could not be shown that this node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLeading;

impl fmt::Display for NotLeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this node does not lead, or cannot reach a majority of the voters")
    }
}

impl std::error::Error for NotLeading {}

/// The control plane of a node: it takes part in agreeing, knows what was agreed on, and whether this node leads.
///
/// The first node of a cluster calls [`Control::found`], once. All others only start: the leader finds them when it
/// has been told to ([`Control::admit`]), and they hear from it. After a restart everybody only starts.
pub struct Control {
    config: Config,
    server: Server,
    peers: Peers,
    registry: watch::Receiver<Arc<Registry>>,
    leadership: watch::Receiver<Option<Leadership>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Control {
    /// Starts with what is in the data folder.
    pub async fn start(config: Config) -> Result<Control, StartError> {
        let for_raft = Arc::new(config.for_raft().map_err(StartError::Config)?);
        let (path, cluster, node) = (config.folder.clone(), config.cluster.clone(), config.node);
        let open = move || {
            let folder = Folder::open(&path, &cluster, node)?;
            let (cluster_id, mark) = (folder.identity.cluster_id, folder.mark);
            Disk::open(folder).map(|(disk, found)| (disk, found, cluster_id, mark))
        };
        let opened = tokio::task::spawn_blocking(open).await.expect("opening does not panic");
        let (disk, mut found, cluster_id, mark) = opened.map_err(StartError::Folder)?;
        let disk = Arc::new(disk);
        let stopped = |error: String| {
            disk.stop();
            StartError::Raft(error)
        };
        let machine = Machine::new(disk.clone(), found.snapshot.take());
        let machine = machine.map_err(|error| stopped(format!("the snapshot is damaged: {error}")))?;
        let registry = machine.registry();
        let local = Arc::new(Local {
            cluster: config.cluster.clone(),
            node: config.node,
            mark,
            cluster_id: tokio::sync::Mutex::new(cluster_id),
            patience: config.timing.silence(),
            pause: config.timing.heartbeat,
        });
        let peers = Peers::new(local.clone());
        let store = LogStore::new(config.node, disk.clone(), found);
        let raft = Raft::new(config.node.into(), for_raft, peers.clone(), store, machine).await;
        let raft = raft.map_err(|error| stopped(error.to_string()))?;
        let mut tasks = JoinSet::new();
        let (sender, leadership) = watch::channel(None);
        tasks.spawn(tell_leadership(raft.metrics(), sender));
        let server = Server { local, raft, disk: disk.clone(), patience: config.timing.patience() };
        let control = Control { config, server, peers, registry, leadership, tasks: Mutex::new(tasks) };
        if cluster_id.is_none() && control.is_initialized().await {
            // Founding was interrupted before anybody heard of it.
            let drawn = control.draw_cluster_id().await.map_err(|error| stopped(error.to_string()))?;
            *control.server.local.cluster_id.lock().await = Some(drawn);
        }
        control.lead_alone().await.map_err(|error| stopped(error.to_string()))?;
        Ok(control)
    }

    /// Founds a cluster with these voters, by their ids and addresses; this node is one of them.
    pub async fn found(&self, voters: &BTreeMap<u32, String>) -> Result<(), FoundError> {
        if !VOTERS.contains(&voters.len()) {
            return Err(FoundError::Voters(voters.len()));
        }
        if !voters.contains_key(&self.config.node) {
            return Err(FoundError::NotAmong);
        }
        // Nobody is called before the number of the cluster is on disk, and nobody gives us theirs meanwhile.
        let mut cluster_id = self.server.local.cluster_id.lock().await;
        if cluster_id.is_some() || self.is_initialized().await {
            return Err(FoundError::Already);
        }
        let nodes: BTreeMap<u64, BasicNode> =
            voters.iter().map(|(id, address)| (u64::from(*id), BasicNode::new(address))).collect();
        match self.server.raft.initialize(nodes).await {
            Ok(()) => {}
            Err(RaftError::APIError(InitializeError::NotAllowed(_))) => return Err(FoundError::Already),
            Err(error) => return Err(FoundError::Stopped(error.to_string())),
        }
        *cluster_id =
            Some(self.draw_cluster_id().await.map_err(|error| FoundError::Stopped(error.to_string()))?);
        Ok(())
    }

    /// Serves whoever connects to this listener, until the control plane is stopped.
    pub fn listen(&self, listener: TcpListener) {
        let mut tasks = self.tasks.lock().expect("nobody panics while holding it");
        tasks.spawn(self.server.clone().listen(listener));
    }

    /// Serves a connection whose greeting somebody else has read, until it ends: for a port that is shared.
    pub async fn serve(&self, stream: TcpStream, hello: &Hello) -> io::Result<()> {
        self.server.serve(stream, hello).await
    }

    /// What was agreed on, as far as it was applied here.
    pub fn registry(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.clone()
    }

    /// Under which leadership this node leads, if it does. It says so only when everything that was agreed on before is
    /// applied here, and may go on saying so for a while after another node was elected: see
    /// [`Control::prove_leadership`].
    pub fn leadership(&self) -> watch::Receiver<Option<Leadership>> {
        self.leadership.clone()
    }

    /// Who leads, as far as this node knows.
    pub fn leader(&self) -> Option<u32> {
        let leader = self.server.raft.metrics().borrow().current_leader;
        leader.and_then(|leader| u32::try_from(leader).ok())
    }

    /// Who votes, as far as this node knows.
    pub fn voters(&self) -> BTreeSet<u32> {
        let metrics = self.server.raft.metrics();
        let metrics = metrics.borrow();
        metrics.membership_config.membership().voter_ids().filter_map(|id| u32::try_from(id).ok()).collect()
    }

    /// Everybody who hears what is agreed on, with their addresses, as far as this node knows.
    pub fn nodes(&self) -> BTreeMap<u32, String> {
        let metrics = self.server.raft.metrics();
        let metrics = metrics.borrow();
        let nodes = metrics.membership_config.membership().nodes();
        nodes.filter_map(|(id, node)| Some((u32::try_from(*id).ok()?, node.addr.clone()))).collect()
    }

    /// Proposes an entry and waits until it is agreed on and applied here. Definitions are passed on to whoever leads; what
    /// was decided under a leadership is proposed only where that is.
    pub async fn propose(&self, entry: Entry) -> Result<Applied, ProposeError> {
        let mut bytes = Vec::new();
        service::frame::append(&entry, &mut bytes);
        if bytes.len() > LONGEST_ENTRY {
            return Err(ProposeError::TooLong(bytes.len()));
        }
        let may_be_passed_on = matches!(entry, Entry::Define { .. });
        let response = match self.server.propose(entry.clone()).await {
            Response::NotLeading(Some(leader)) if may_be_passed_on => self.pass_on(leader, entry).await,
            response => response,
        };
        match response {
            Response::Proposed(applied) => Ok(applied),
            Response::NotLeading(leader) => Err(ProposeError::NotLeading { leader }),
            Response::Failed(why) => Err(ProposeError::Stopped(why)),
            _ => Err(ProposeError::Unknown),
        }
    }

    /// Shows that this node led, under this leadership, at some time after this was called, and that everything agreed
    /// on up to then is applied here. Asks a majority of the voters; writes nothing.
    pub async fn prove_leadership(&self, leadership: Leadership) -> Result<(), NotLeading> {
        let raft = &self.server.raft;
        let round = async {
            let (read, applied) = raft.get_read_log_id().await.map_err(|_| NotLeading)?;
            let read = read.ok_or(NotLeading)?;
            // The entry to be applied is the leader's own: it says under which leadership the majority answered.
            if types::leadership(read.leader_id) != leadership {
                return Err(NotLeading);
            }
            if applied < Some(read) {
                let wait = raft.wait(Some(self.config.timing.patience()));
                wait.applied_index_at_least(Some(read.index), "read").await.map_err(|_| NotLeading)?;
            }
            Ok(())
        };
        timeout(self.config.timing.patience(), round).await.unwrap_or(Err(NotLeading))?;
        if *self.leadership.borrow() == Some(leadership) { Ok(()) } else { Err(NotLeading) }
    }

    /// Lets a node hear what is agreed on, at this address; or gives one that does another address. At the leader only.
    /// Waits until it has heard everything.
    pub async fn admit(&self, node: u32, address: &str) -> Result<(), ChangeError> {
        let id = u64::from(node);
        let nodes = BTreeMap::from([(id, BasicNode::new(address))]);
        let known = self.nodes().contains_key(&node);
        self.change(if known { ChangeMembers::SetNodes(nodes) } else { ChangeMembers::AddNodes(nodes) })
            .await?;
        let mut metrics = self.server.raft.metrics();
        let admitted = metrics.borrow().last_log_index;
        let heard = metrics.wait_for(|now| match &now.replication {
            Some(to) => to.get(&id).is_some_and(|upto| upto.map(|upto| upto.index) >= admitted),
            None => true,
        });
        match timeout(self.config.timing.patience(), heard).await {
            Ok(Ok(now)) if now.replication.is_some() || id == now.id => Ok(()),
            Ok(_) => Err(ChangeError::Propose(ProposeError::NotLeading { leader: self.leader() })),
            Err(_) => Err(ChangeError::Unheard(node)),
        }
    }

    /// From now on these nodes vote, and no others; the others still hear what is agreed on. At the leader only. All have been
    /// admitted before.
    pub async fn change_voters(&self, voters: &BTreeSet<u32>) -> Result<(), ChangeError> {
        if !VOTERS.contains(&voters.len()) {
            return Err(ChangeError::Voters(voters.len()));
        }
        let voters = voters.iter().map(|id| u64::from(*id)).collect();
        self.change(ChangeMembers::ReplaceAllVoters(voters)).await
    }

    /// A node that does not vote hears no longer what is agreed on. At the leader only.
    pub async fn dismiss(&self, node: u32) -> Result<(), ChangeError> {
        self.change(ChangeMembers::RemoveNodes(BTreeSet::from([node.into()]))).await
    }

    /// Stops taking part, closes the files and lets go of the folder.
    pub async fn stop(&self) {
        // What it waits for has then ended, whether well or not.
        _ = self.server.raft.shutdown().await;
        let mut tasks = std::mem::take(&mut *self.tasks.lock().expect("nobody panics while holding it"));
        tasks.shutdown().await;
        self.peers.clear();
        let disk = self.server.disk.clone();
        tokio::task::spawn_blocking(move || disk.stop()).await.expect("closing does not panic");
    }

    async fn is_initialized(&self) -> bool {
        self.server.raft.is_initialized().await.unwrap_or(false)
    }

    /// If nobody else votes, nobody else can lead: there is nothing to wait for.
    async fn lead_alone(&self) -> Result<(), Fatal<u64>> {
        let raft = &self.server.raft;
        let voters = raft
            .with_raft_state(|state| state.membership_state.effective().voter_ids().collect::<Vec<u64>>());
        if voters.await? == [u64::from(self.config.node)] {
            raft.trigger().elect().await?;
        }
        Ok(())
    }

    /// Gives the cluster a number, which is on disk before anybody hears of it.
    async fn draw_cluster_id(&self) -> io::Result<u64> {
        let drawn = folder::drawn();
        self.server.disk.belongs_to(drawn).await?;
        Ok(drawn)
    }

    async fn pass_on(&self, leader: u32, entry: Entry) -> Response {
        let Some(address) = self.nodes().remove(&leader) else { return Response::NotLeading(Some(leader)) };
        let peer = self.peers.peer(leader.into(), &address);
        let call = timeout(self.config.timing.patience(), peer.call(&Request::Propose(entry))).await;
        call.map_or(Response::Unknown, |answered| answered.unwrap_or(Response::Unknown))
    }

    async fn change(&self, change: ChangeMembers<u64, BasicNode>) -> Result<(), ChangeError> {
        use openraft::error::ChangeMembershipError as Membership;
        let change = self.server.raft.change_membership(change, true);
        match timeout(self.config.timing.patience(), change).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to)))) => {
                let leader = to.leader_id.and_then(|leader| u32::try_from(leader).ok());
                Err(ChangeError::Propose(ProposeError::NotLeading { leader }))
            }
            Ok(Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(error)))) => {
                Err(match error {
                    Membership::InProgress(_) => ChangeError::InProgress,
                    Membership::EmptyMembership(_) => ChangeError::Voters(0),
                    Membership::LearnerNotFound(error) => {
                        ChangeError::Unknown(u32::try_from(error.node_id).unwrap_or(u32::MAX))
                    }
                })
            }
            Ok(Err(RaftError::Fatal(error))) => {
                Err(ChangeError::Propose(ProposeError::Stopped(error.to_string())))
            }
            Err(_) => Err(ChangeError::Propose(ProposeError::Unknown)),
        }
    }
}

/// Tells under which leadership this node leads, once an entry of its own is applied.
async fn tell_leadership(
    mut metrics: watch::Receiver<RaftMetrics<u64, BasicNode>>,
    leadership: watch::Sender<Option<Leadership>>,
) {
    loop {
        let now = leads(&metrics.borrow_and_update());
        leadership.send_if_modified(|before| std::mem::replace(before, now) != now);
        if metrics.changed().await.is_err() {
            leadership.send_replace(None);
            return;
        }
    }
}

fn leads(metrics: &RaftMetrics<u64, BasicNode>) -> Option<Leadership> {
    let leads = metrics.state == ServerState::Leader && metrics.vote.committed;
    let running: &Result<(), Fatal<u64>> = &metrics.running_state;
    let applied = metrics.last_applied.map(|id| id.leader_id);
    let own = applied.filter(|applied| *applied == metrics.vote.leader_id);
    own.filter(|_| leads && running.is_ok()).map(types::leadership)
}
