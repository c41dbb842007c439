//! What a node says while its cluster is not complete, and what it notices meanwhile: that its id is used, that its folder is
//! gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control::{Majority, Neighbour};
use service::protocol::{Voter, Voters};
use sync::IgnorePoison;
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::host::{Shared, StartError};

/// How often a node that waits looks around.
const LOOK: Duration = Duration::from_secs(1);
/// What a node waits for is logged when it changes, and at most this often. After some leases without one the member logs
/// it, too.
const SAY: Duration = Duration::from_secs(10);
/// How often a node looks at its folder.
const LOOK_AT_FOLDER: Duration = Duration::from_secs(1);

/// The nodes that a cluster is to begin with, for a node that does not belong to it yet.
#[derive(Default)]
pub(crate) struct Beginning {
    voters: BTreeMap<u32, String>,
    found: BTreeMap<u32, Neighbour>,
}

pub(crate) type Begins = Mutex<Beginning>;

impl Shared {
    /// From now on this node waits for these voters.
    pub(crate) fn begins_with(&self, voters: BTreeMap<u32, String>) {
        self.begins.lock().ignore_poison().voters = voters;
    }

    /// Asks these nodes who they are. Refuses to go on if one of them knows another node with this id.
    pub(crate) async fn look_around(
        &self,
        members: &BTreeMap<u32, String>,
    ) -> Result<BTreeMap<u32, Neighbour>, StartError> {
        let found = self.control.look_around(members).await;
        self.begins.lock().ignore_poison().found.clone_from(&found);
        for (node, neighbour) in &found {
            if let Neighbour::InCluster { used: true, known } = neighbour {
                let at = members.get(node).cloned().unwrap_or_default();
                return Err(StartError::UsedId { id: self.id, node: *node, at, removed: !known });
            }
        }
        Ok(found)
    }

    /// The voters, and whether a majority of them is there, as far as this node knows.
    pub(crate) fn voters(&self) -> Voters {
        let Majority { is_there, voters } = self.control.majority();
        if voters.is_empty() {
            return self.begins.lock().ignore_poison().voters(self.id);
        }
        let nodes = self.control.nodes();
        let voter =
            |(id, missing)| Voter { id, address: nodes.get(&id).cloned().unwrap_or_default(), missing };
        Voters { majority: is_there, voters: voters.into_iter().map(voter).collect() }
    }
}

impl Beginning {
    fn voters(&self, me: u32) -> Voters {
        let founder = self.voters.keys().next().copied();
        let missing = |id: u32| {
            let why = match self.found.get(&id) {
                _ if id == me => return None,
                None => "not called yet",
                Some(Neighbour::Missing(why)) => why,
                Some(Neighbour::Waits | Neighbour::InCluster { .. }) => return None,
            };
            // Without it there is no cluster, however many others are there.
            let founds = if founder == Some(id) { ", and it founds the cluster" } else { "" };
            Some(format!("{why}{founds}"))
        };
        let voter = |(id, at): (&u32, &String)| Voter { id: *id, address: at.clone(), missing: missing(*id) };
        Voters { majority: false, voters: self.voters.iter().map(voter).collect() }
    }
}

/// Looks around until this node belongs to a cluster: the others may start later, and know then that its id is used.
pub(crate) async fn keep_looking(shared: Arc<Shared>, members: BTreeMap<u32, String>) {
    while !shared.control.belongs().await {
        sleep(LOOK).await;
        if let Err(error) = shared.look_around(&members).await {
            // It may have been called meanwhile, and then it belongs to the cluster.
            if !shared.control.belongs().await {
                return shared.failures.raise(&Failure::NoMember(error.to_string()));
            }
        }
    }
}

/// Logs what the cluster waits for, as long as it does.
pub(crate) async fn keep_saying(shared: Arc<Shared>) {
    let mut said: Option<(String, Instant)> = None;
    loop {
        sleep(LOOK).await;
        let waiting = shared.voters().waiting();
        let Some(waiting) = waiting else {
            if said.take().is_some() {
                tracing::info!(target: "node", node = shared.id, "a majority of the voters is there");
            }
            continue;
        };
        let again = |(text, at): &(String, Instant)| *text != waiting && at.elapsed() >= SAY;
        if said.as_ref().is_none_or(again) {
            tracing::warn!(target: "node", node = shared.id, "{waiting}");
            said = Some((waiting, Instant::now()));
        }
    }
}

/// Looks at the data folder for as long as it is there.
pub(crate) async fn keep_the_folder(shared: Arc<Shared>) {
    loop {
        sleep(LOOK_AT_FOLDER).await;
        if let Some(lost) = shared.control.folder_lost().await {
            shared.failures.raise(&Failure::Folder(lost.to_string()));
            return std::future::pending().await;
        }
    }
}
