//! What all parts of the control plane share: consensus, the peers, the registry, the leader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openraft::error::{ClientWriteError, RaftError};
use service::frame::LONGEST_BODY;
use service::registry::{Applied, Entry, Leadership, Registry};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::config::Config;
use crate::disk::Disk;
use crate::error::{NotLeading, ProposeError};
use crate::leading::Ask;
use crate::network::{Local, Peers};
use crate::types::{self, Raft};
use crate::wire::{ForLeader, Request, Response};

/// The longest entry that can be committed: it fits into a message together with what goes around it.
pub(crate) const LONGEST_ENTRY: usize = LONGEST_BODY - 1024;

/// A cheap handle: clones are the same.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) local: Arc<Local>,
    pub(crate) raft: Raft,
    pub(crate) disk: Arc<Disk>,
    pub(crate) peers: Peers,
    pub(crate) registry: watch::Receiver<Arc<Registry>>,
    pub(crate) leadership: watch::Receiver<Option<Leadership>>,
    /// What this node is asked as the leader.
    pub(crate) asks: mpsc::Sender<Ask>,
}

impl Shared {
    /// The leader, as far as this node knows.
    pub(crate) fn leader(&self) -> Option<u32> {
        let leader = self.raft.metrics().borrow().current_leader;
        leader.and_then(|leader| u32::try_from(leader).ok())
    }

    /// The voters, as far as this node knows.
    pub(crate) fn voters(&self) -> BTreeSet<u32> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        metrics.membership_config.membership().voter_ids().filter_map(|id| u32::try_from(id).ok()).collect()
    }

    /// All nodes that receive the log, with their addresses, as far as this node knows.
    pub(crate) fn nodes(&self) -> BTreeMap<u32, String> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let nodes = metrics.membership_config.membership().nodes();
        nodes.filter_map(|(id, node)| Some((u32::try_from(*id).ok()?, node.addr.clone()))).collect()
    }

    pub(crate) async fn is_initialized(&self) -> bool {
        self.raft.is_initialized().await.unwrap_or(false)
    }

    /// See [`crate::Control::propose`].
    pub(crate) async fn propose(&self, entry: Entry) -> Result<Applied, ProposeError> {
        let mut bytes = Vec::new();
        service::frame::append(&entry, &mut bytes);
        if bytes.len() > LONGEST_ENTRY {
            return Err(ProposeError::TooLong(bytes.len()));
        }
        let may_be_passed_on = matches!(entry, Entry::Define { .. } | Entry::Rights(_));
        let response = match self.propose_here(entry.clone()).await {
            Response::NotLeading(Some(leader)) if may_be_passed_on => {
                self.call(leader, &Request::Propose(entry)).await
            }
            response => response,
        };
        match response {
            Response::Proposed(applied) => Ok(applied),
            Response::NotLeading(leader) => Err(ProposeError::NotLeading { leader }),
            Response::Failed(why) => Err(ProposeError::Stopped(why)),
            _ => Err(ProposeError::Unknown),
        }
    }

    /// Proposes at this node, which has to lead.
    pub(crate) async fn propose_here(&self, entry: Entry) -> Response {
        match timeout(self.config.timing.request_timeout(), self.raft.client_write(entry)).await {
            Ok(Ok(written)) => Response::Proposed(written.data),
            Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to)))) => {
                Response::NotLeading(to.leader_id.and_then(|leader| u32::try_from(leader).ok()))
            }
            Ok(Err(error)) => Response::Failed(error.to_string()),
            Err(_) => Response::Unknown,
        }
    }

    /// See [`crate::Control::prove_leadership`].
    pub(crate) async fn prove_leadership(&self, leadership: Leadership) -> Result<(), NotLeading> {
        let request_timeout = self.config.timing.request_timeout();
        self.local.supports();
        let round = async {
            let (read, applied) = self.raft.get_read_log_id().await.map_err(|_| NotLeading)?;
            let read = read.ok_or(NotLeading)?;
            // The entry to be applied is the leader's own: it says under which leadership the majority answered.
            if types::leadership(read.leader_id) != leadership {
                return Err(NotLeading);
            }
            if applied < Some(read) {
                let wait = self.raft.wait(Some(request_timeout));
                wait.applied_index_at_least(Some(read.index), "read").await.map_err(|_| NotLeading)?;
            }
            Ok(())
        };
        timeout(request_timeout, round).await.unwrap_or(Err(NotLeading))?;
        if *self.leadership.borrow() == Some(leadership) { Ok(()) } else { Err(NotLeading) }
    }

    /// Asks the leader.
    pub(crate) async fn ask_leader(&self, question: ForLeader) -> Response {
        match self.leader() {
            Some(leader) if leader == self.config.node => self.ask_here(question).await,
            Some(leader) => self.call(leader, &Request::Leader(question)).await,
            None => Response::NotLeading(None),
        }
    }

    /// Asks this node, which has to lead.
    pub(crate) async fn ask_here(&self, question: ForLeader) -> Response {
        let (answer, answered) = oneshot::channel();
        let not_leading = || Response::NotLeading(self.leader().filter(|leader| *leader != self.config.node));
        if self.asks.send(Ask { question, answer }).await.is_err() {
            return not_leading();
        }
        answered.await.unwrap_or_else(|_| not_leading())
    }

    async fn call(&self, node: u32, request: &Request) -> Response {
        let Some(address) = self.nodes().remove(&node) else { return Response::NotLeading(Some(node)) };
        self.call_peer(node, &address, request).await
    }

    /// Asks a node that is not known yet to ask the leader.
    pub(crate) async fn call_at(&self, node: u32, address: &str, question: ForLeader) -> Response {
        self.call_peer(node, address, &Request::PassOn(question)).await
    }

    async fn call_peer(&self, node: u32, address: &str, request: &Request) -> Response {
        let peer = self.peers.peer(node.into(), address);
        let call = timeout(self.config.timing.request_timeout(), peer.call(request)).await;
        call.map_or(Response::Unknown, |answered| answered.unwrap_or(Response::Unknown))
    }
}
