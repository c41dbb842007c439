//! What a node learns of the others besides the log: whether a majority of the voters is there, and, before it belongs to a
//! cluster, whether the others do.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use transport::Encryption;

use crate::network::in_words;
use crate::shared::Shared;
use crate::wire::{self, CallRefusal, Hello, NO_CLUSTER_YET, VERSION};

/// Whether a majority of the voters is there, as far as this node knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Majority {
    /// Whether it is: a node leads, and a leader heard from a majority a moment ago.
    pub is_there: bool,
    /// The voters, and why each is missing, if it is. A node that follows a leader does not know which are.
    pub voters: BTreeMap<u32, Option<String>>,
}

/// What another node answers a node that belongs to no cluster yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// It cannot be reached, or is not the node that was meant: why.
    Missing(String),
    /// It belongs to no cluster yet either.
    Waits,
    /// It belongs to a cluster.
    InCluster {
        /// A node with the id of the one that asks has been a member.
        used: bool,
        /// That id belongs to the cluster.
        known: bool,
    },
}

impl Shared {
    /// See [`crate::Control::majority`].
    pub(crate) fn majority(&self) -> Majority {
        let me = self.config.node;
        let (leader, heard) = {
            let metrics = self.raft.metrics();
            let metrics = metrics.borrow();
            (metrics.current_leader, metrics.millis_since_quorum_ack.map(Duration::from_millis))
        };
        let voters = self.voters();
        let leads = leader == Some(u64::from(me));
        // Openraft lets a leader that is cut off believe that it leads.
        let recently = heard.is_some_and(|heard| heard <= self.config.timing.request_timeout());
        let is_there = leader.is_some() && (!leads || voters.len() == 1 || recently);
        let calls = self.peers.calls();
        let missing = |voter: u32| {
            if voter == me || (is_there && !leads) {
                return None;
            }
            calls.get(&voter).cloned().unwrap_or_else(|| Some("not called yet".to_owned()))
        };
        Majority { is_there, voters: voters.into_iter().map(|voter| (voter, missing(voter))).collect() }
    }

    /// See [`crate::Control::look_around`].
    pub(crate) async fn look_around(&self, nodes: &BTreeMap<u32, String>) -> BTreeMap<u32, Neighbour> {
        let mut asked = JoinSet::new();
        for (node, address) in nodes.iter().filter(|(node, _)| **node != self.config.node) {
            let (node, address) = (*node, address.clone());
            let hello = Hello {
                version: VERSION,
                cluster: self.config.cluster.clone(),
                cluster_id: NO_CLUSTER_YET,
                from: self.config.node,
                to: node,
            };
            let (limit, encryption) = (self.local.silence_timeout, self.local.encryption.clone());
            asked.spawn(async move {
                let answer = timeout(limit, ask(&encryption, &address, &hello)).await;
                let answer = answer.unwrap_or_else(|_| Err(io::Error::other("it does not answer")));
                (node, answer.unwrap_or_else(|error| Neighbour::Missing(in_words(&error))))
            });
        }
        asked.join_all().await.into_iter().collect()
    }
}

async fn ask(encryption: &Encryption, address: &str, hello: &Hello) -> io::Result<Neighbour> {
    let mut stream = encryption.call(address, security::CONTROL, Some(hello.to)).await?;
    Ok(match wire::greet(&mut stream, hello).await? {
        Err(CallRefusal::NoCluster) => Neighbour::Waits,
        Err(CallRefusal::InCluster { used, known }) => Neighbour::InCluster { used, known },
        Err(refusal) => Neighbour::Missing(refusal.to_string()),
        Ok(_) => Neighbour::Missing("unexpected answer".to_owned()),
    })
}
