//! The control plane of one node, as the node sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openraft::error::{Fatal, InitializeError, RaftError};
use openraft::impls::BasicNode;
use openraft::{RaftMetrics, ServerState};
use service::Identity;
use service::Time;
use service::leases::{Renewal, Support, Votes};
use service::registry::{Applied, Entry, Leadership, MemberEntry, Registry};
use sync::{BoxFuture, IgnorePoison};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use transport::Secured;

use crate::config::Config;
use crate::disk::Disk;
use crate::error::{AskError, ChangeError, FoundError, NotLeading, ProposeError, StartError};
use crate::folder::{self, Folder, FolderError, FolderGuard};
use crate::invitation::Invitation;
use crate::leading;
use crate::look::{Majority, Neighbour};
use crate::network::{Local, Peers};
use crate::refused_call::OnRefusedCall;
use crate::shared::Shared;
use crate::state_machine::StateMachine;
use crate::store::LogStore;
use crate::types::{self, Raft};
use crate::voters;
use crate::wire::{ForLeader, Response};

#[cfg(test)]
mod tests;

/// The most questions to the leader that wait at once.
const ASKS: usize = 1024;

/// The control plane of a node: it takes part in consensus, knows what is committed, and whether this node
/// leads.
///
/// The first node of a cluster calls [`Control::found`], once. All others only start: the leader finds them
/// when it has been told to ([`Control::admit`]), and they hear from it. After a restart all nodes only
/// start.
pub struct Control {
    shared: Shared,
    guard: FolderGuard,
    tasks: Mutex<JoinSet<()>>,
}

impl Control {
    /// Starts with what is in the data folder.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Control, StartError>> {
        Box::pin(async move {
            let for_raft = Arc::new(config.for_raft().map_err(StartError::Config)?);
            let (path, cluster, node) = (config.folder.clone(), config.cluster.clone(), config.node);
            let open = move || {
                let folder = Folder::open(&path, &cluster, node)?;
                let (cluster_id, mark) = (folder.identity.cluster_id, folder.mark);
                let (disk, found) = Disk::open(folder)?;
                Ok((disk, found, cluster_id, FolderGuard::new(&path, mark)?))
            };
            let opened = tokio::task::spawn_blocking(open).await.expect("opening does not panic");
            let (disk, mut found, cluster_id, guard) = opened.map_err(StartError::Folder)?;
            let disk = Arc::new(disk);
            let stopped = |error: String| {
                disk.stop();
                StartError::Raft(error)
            };
            let machine = StateMachine::new(disk.clone(), found.snapshot.take());
            let machine = machine.map_err(|error| stopped(format!("the snapshot is damaged: {error}")))?;
            let registry = machine.registry();
            let local = Arc::new(Local {
                cluster: config.cluster.clone(),
                node: config.node,
                mark: guard.mark(),
                cluster_id: tokio::sync::Mutex::new(cluster_id),
                silence_timeout: config.timing.silence_timeout(),
                pause: config.timing.heartbeat,
                clock: config.clock,
                voting: Mutex::new((Support::new((config.clock)()), Votes::default())),
                encryption: config.encryption.clone(),
            });
            let peers = Peers::new(local.clone());
            let store = LogStore::new(config.node, disk.clone(), found);
            let raft = Raft::new(config.node.into(), for_raft, peers.clone(), store, machine).await;
            let raft = raft.map_err(|error| stopped(error.to_string()))?;
            let mut tasks = JoinSet::new();
            let (sender, leadership) = watch::channel(None);
            tasks.spawn(tell_leadership(raft.metrics(), sender));
            let (asks, asked) = mpsc::channel(ASKS);
            let config = Arc::new(config);
            let shared =
                Shared { config, local, raft, disk: disk.clone(), peers, registry, leadership, asks };
            tasks.spawn(leading::lead(shared.clone(), asked));
            let control = Control { shared, guard, tasks: Mutex::new(tasks) };
            if cluster_id.is_none() && control.shared.is_initialized().await {
                // Founding was interrupted before another node heard of it.
                let drawn = control.draw_cluster_id().await.map_err(|error| stopped(error.to_string()))?;
                *control.shared.local.cluster_id.lock().await = Some(drawn);
            }
            control.lead_alone().await.map_err(|error| stopped(error.to_string()))?;
            Ok(control)
        })
    }

    /// Founds a cluster with these voters, by their ids and addresses; this node is one of them.
    pub fn found<'a>(&'a self, voters: &'a BTreeMap<u32, String>) -> BoxFuture<'a, Result<(), FoundError>> {
        Box::pin(async move {
            if !voters::NUMBERS.contains(&voters.len()) {
                return Err(FoundError::Voters(voters.len()));
            }
            if !voters.contains_key(&self.shared.config.node) {
                return Err(FoundError::NotAmong);
            }
            // No node is called before the number of the cluster is on disk, and no caller gives us another one
            // meanwhile.
            let mut cluster_id = self.shared.local.cluster_id.lock().await;
            if cluster_id.is_some() || self.shared.is_initialized().await {
                return Err(FoundError::Already);
            }
            let nodes: BTreeMap<u64, BasicNode> =
                voters.iter().map(|(id, address)| (u64::from(*id), BasicNode::new(address))).collect();
            match self.shared.raft.initialize(nodes).await {
                Ok(()) => {}
                Err(RaftError::APIError(InitializeError::NotAllowed(_))) => return Err(FoundError::Already),
                Err(error) => return Err(FoundError::Stopped(error.to_string())),
            }
            *cluster_id =
                Some(self.draw_cluster_id().await.map_err(|error| FoundError::Stopped(error.to_string()))?);
            Ok(())
        })
    }

    /// Serves all connections to this listener, until the control plane is stopped.
    pub fn listen(&self, listener: TcpListener) {
        let mut tasks = self.tasks.lock().ignore_poison();
        tasks.spawn(self.shared.clone().listen(listener));
    }

    /// Serves a connection of a port that is shared, until it ends. `read` was read from it already, to find
    /// out whether it [is for us](crate::is_for_us); `permit` is dropped when the caller has identified
    /// itself. `refused` is called with what was refused to it.
    pub fn serve<'a>(
        &'a self,
        stream: Secured,
        read: &'a [u8],
        permit: Box<dyn Send>,
        refused: &'a OnRefusedCall,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.shared.serve(stream, read, permit, refused))
    }

    /// What is committed, as far as it was applied here.
    pub fn registry(&self) -> watch::Receiver<Arc<Registry>> {
        self.shared.registry.clone()
    }

    /// The leadership under which this node leads, if it does. It is set only when everything that was
    /// committed before is applied here, and may stay set for a while after another node was elected: see
    /// [`Control::prove_leadership`].
    pub fn leadership(&self) -> watch::Receiver<Option<Leadership>> {
        self.shared.leadership.clone()
    }

    /// Until when another leader may have confirmed leases, for a node that leads under this leadership: see
    /// [`service::leases::Votes`].
    pub fn others_led_until(&self, leadership: Leadership) -> Time {
        self.shared.local.others_led_until(leadership.term, (self.shared.config.clock)())
    }

    /// The newest term that this node has heard of: it rises with every election.
    pub fn term(&self) -> u64 {
        self.shared.raft.metrics().borrow().current_term
    }

    /// The leader, as far as this node knows.
    pub fn leader(&self) -> Option<u32> {
        self.shared.leader()
    }

    /// The voters, as far as this node knows.
    pub fn voters(&self) -> BTreeSet<u32> {
        self.shared.voters()
    }

    /// All nodes that receive the log, with their addresses, as far as this node knows.
    pub fn nodes(&self) -> BTreeMap<u32, String> {
        self.shared.nodes()
    }

    /// Those that could not be reached when they were last called, and why.
    pub fn unreachable(&self) -> BTreeMap<u32, String> {
        self.shared.peers.calls().into_iter().filter_map(|(node, why)| Some((node, why?))).collect()
    }

    /// Whether a majority of the voters is there, and who is missing.
    pub fn majority(&self) -> Majority {
        self.shared.majority()
    }

    /// For a node that belongs to no cluster yet: asks these nodes whether they do, and whether they know this one.
    pub async fn look_around(&self, nodes: &BTreeMap<u32, String>) -> BTreeMap<u32, Neighbour> {
        self.shared.look_around(nodes).await
    }

    /// What happened to the data folder while it was in use, if it was removed or replaced.
    pub fn folder_lost(&self) -> BoxFuture<'static, Option<FolderError>> {
        let guard = self.guard.clone();
        let look = tokio::task::spawn_blocking(move || guard.lost());
        Box::pin(async move { look.await.ok().flatten() })
    }

    /// Whether this node belongs to a cluster that it knows something of.
    pub async fn belongs(&self) -> bool {
        self.shared.is_initialized().await
    }

    /// The number that the cluster was given when it was founded, if this node has heard of it.
    pub async fn cluster_id(&self) -> Option<u64> {
        *self.shared.local.cluster_id.lock().await
    }

    /// Why consensus has stopped at this node, if it has: most likely it cannot write to its folder. It has
    /// to be restarted.
    pub fn failure(&self) -> Option<String> {
        let metrics = self.shared.raft.metrics();
        let running = &metrics.borrow().running_state;
        running.as_ref().err().map(ToString::to_string)
    }

    /// Waits until consensus has stopped at this node, and says why.
    pub async fn failed(&self) -> String {
        let mut metrics = self.shared.raft.metrics();
        let stopped = metrics.wait_for(|metrics| metrics.running_state.is_err()).await;
        let why = stopped.map(|metrics| metrics.running_state.as_ref().err().map(ToString::to_string));
        why.ok().flatten().unwrap_or_else(|| "it has ended".to_owned())
    }

    /// Proposes an entry and waits until it is committed and applied here. Definitions are forwarded to the
    /// leader; what was decided under a leadership is proposed only by its leader.
    pub fn propose(&self, entry: Entry) -> BoxFuture<'_, Result<Applied, ProposeError>> {
        Box::pin(self.shared.propose(entry))
    }

    /// Proves that this node led, under this leadership, at some time after this was called, and that
    /// everything committed up to then is applied here. Asks a majority of the voters; writes nothing.
    pub fn prove_leadership(&self, leadership: Leadership) -> BoxFuture<'_, Result<(), NotLeading>> {
        Box::pin(self.shared.prove_leadership(leadership))
    }

    /// Renews this node's lease at the leader: how long it lasts from when the renewal was made, if it does.
    pub async fn renew(&self, renewal: Renewal) -> Result<Option<Duration>, AskError> {
        match self.shared.ask_leader(ForLeader::Renew(renewal)).await {
            Response::Renewed { lasts } => Ok(lasts),
            other => Err(AskError::of(other)),
        }
    }

    /// Asks the leader to make this node a member. To be repeated until it is one. A node that comes back at another address
    /// hears from no leader before it is known there, so it has others pass that on.
    pub async fn enter(&self, member: MemberEntry) -> Result<(), AskError> {
        let id = self.shared.config.node;
        let enter = || ForLeader::Enter { id, member: member.clone() };
        let mut last = self.shared.ask_leader(enter()).await;
        for (node, address) in self.shared.nodes().iter().filter(|(node, _)| **node != id) {
            if matches!(last, Response::Noted | Response::Refused(_)) {
                break;
            }
            last = self.shared.call_at(*node, address, enter()).await;
        }
        match last {
            Response::Noted => Ok(()),
            other => Err(AskError::of(other)),
        }
    }

    /// Tells the leader that this incarnation grants nothing any more and holds nothing.
    pub async fn goodbye(&self, identity: Identity) -> Result<(), AskError> {
        self.tell_leader(ForLeader::Goodbye(identity)).await
    }

    /// Changes how long leases last.
    pub async fn change_lease(&self, lasts: Duration) -> Result<(), AskError> {
        self.tell_leader(ForLeader::Lasts(lasts)).await
    }

    /// Invites a node that does not belong to the cluster yet. The invitation counts once, and expires after
    /// `lasts`.
    pub async fn invite(&self, lasts: Duration) -> Result<Invitation, AskError> {
        match self.shared.ask_leader(ForLeader::Invite { lasts }).await {
            Response::Invited { id, secret, cluster_id, nodes } => {
                let Config { cluster, encryption, .. } = &*self.shared.config;
                let authorities = encryption.credentials().map(|it| it.fingerprints()).unwrap_or_default();
                Ok(Invitation { cluster: cluster.clone(), cluster_id, id, secret, nodes, authorities })
            }
            other => Err(AskError::of(other)),
        }
    }

    /// Joins the cluster that it was invited to, reached by the others at this address. Saying it again does no harm.
    pub async fn join(&self, invitation: &Invitation, address: &str) -> Result<(), AskError> {
        let mut cluster_id = self.shared.local.cluster_id.lock().await;
        if cluster_id.is_none() {
            let belongs = self.shared.disk.belongs_to(invitation.cluster_id).await;
            belongs.map_err(|error| AskError::Refused(format!("the data folder: {error}")))?;
            *cluster_id = Some(invitation.cluster_id);
        }
        drop(cluster_id);
        let mut last = AskError::NoLeader;
        for (node, at) in &invitation.nodes {
            let (id, secret, address) = (invitation.id, invitation.secret, address.to_owned());
            match self.shared.call_at(*node, at, ForLeader::Join { id, secret, address }).await {
                Response::Noted => return Ok(()),
                Response::Refused(why) => return Err(AskError::Refused(why)),
                other => last = AskError::of(other),
            }
        }
        Err(last)
    }

    /// Forgets a node that has been stopped, for good.
    pub async fn remove(&self, node: u32) -> Result<(), AskError> {
        self.tell_leader(ForLeader::Remove { id: node }).await
    }

    /// Withdraws the invitation for a node that has not come yet.
    pub async fn withdraw(&self, node: u32) -> Result<(), AskError> {
        self.tell_leader(ForLeader::Withdraw { id: node }).await
    }

    async fn tell_leader(&self, question: ForLeader) -> Result<(), AskError> {
        match self.shared.ask_leader(question).await {
            Response::Noted => Ok(()),
            other => Err(AskError::of(other)),
        }
    }

    /// Admits a node at this address, so that it receives the log; or changes the address of a node that
    /// does. At the leader only. Waits until the node has received everything.
    pub fn admit<'a>(&'a self, node: u32, address: &'a str) -> BoxFuture<'a, Result<(), ChangeError>> {
        Box::pin(self.shared.admit(node, address))
    }

    /// Makes these nodes the voters; all other nodes still receive the log. At the leader only. All have been
    /// admitted before.
    pub fn change_voters<'a>(&'a self, voters: &'a BTreeSet<u32>) -> BoxFuture<'a, Result<(), ChangeError>> {
        Box::pin(self.shared.change_voters(voters))
    }

    /// Stops sending the log to a node that does not vote. At the leader only.
    pub fn dismiss(&self, node: u32) -> BoxFuture<'_, Result<(), ChangeError>> {
        Box::pin(self.shared.dismiss(node))
    }

    /// Stops taking part, closes the files and releases the folder.
    pub fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // What it waits for has then ended, whether well or not.
            _ = self.shared.raft.shutdown().await;
            let mut tasks = std::mem::take(&mut *self.tasks.lock().ignore_poison());
            tasks.shutdown().await;
            self.shared.peers.clear();
            let disk = self.shared.disk.clone();
            tokio::task::spawn_blocking(move || disk.stop()).await.expect("closing does not panic");
        })
    }

    /// If no other node votes, no other node can lead: there is nothing to wait for.
    async fn lead_alone(&self) -> Result<(), Fatal<u64>> {
        let raft = &self.shared.raft;
        let voters = raft
            .with_raft_state(|state| state.membership_state.effective().voter_ids().collect::<Vec<u64>>());
        if voters.await? == [u64::from(self.shared.config.node)] {
            raft.trigger().elect().await?;
        }
        Ok(())
    }

    /// Draws a number for the cluster. It is on disk before another node hears of it.
    async fn draw_cluster_id(&self) -> io::Result<u64> {
        let drawn = folder::drawn()?;
        self.shared.disk.belongs_to(drawn).await?;
        Ok(drawn)
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
