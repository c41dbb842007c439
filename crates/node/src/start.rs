//! How a node joins its cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use control::AskError;
use sync::IgnorePoison;
use tokio::time::sleep;

use crate::host::{Bootstrap, Shared, StartError};

/// How often to try to join, and how long to wait in between.
const JOIN_TRIES: u32 = 20;
const JOIN_PAUSE: Duration = Duration::from_millis(500);

/// Joins a cluster, if the node does not belong to one.
pub(crate) async fn join_cluster(
    shared: &Arc<Shared>,
    bootstrap: Bootstrap,
    folder: PathBuf,
) -> Result<(), StartError> {
    let (control, id) = (&shared.control, shared.id);
    let belongs = control.belongs().await;
    match bootstrap {
        Bootstrap::Existing if belongs => Ok(()),
        Bootstrap::Existing => Err(StartError::NoCluster(folder)),
        Bootstrap::Together(members) => {
            let mut voters = members.clone();
            let vote = control::voters::of(members.keys().copied());
            voters.retain(|id, _| vote.contains(id));
            if !members.contains_key(&id) {
                return Err(StartError::NotAmong(id));
            }
            if !belongs && vote.first() == Some(&id) {
                control.found(&voters).await.map_err(StartError::Found)?;
            }
            // It ends when all are admitted.
            let mut control_calls = shared.control_calls.lock().ignore_poison();
            control_calls.spawn(admit_all(shared.clone(), members));
            Ok(())
        }
        Bootstrap::Invited(_) if belongs => Ok(()),
        Bootstrap::Invited(invitation) => {
            if invitation.id != id {
                return Err(StartError::OtherId { invited: invitation.id, started: id });
            }
            for tries in 0.. {
                match control.join(&invitation, &shared.address).await {
                    Err(AskError::NoLeader) if tries < JOIN_TRIES => sleep(JOIN_PAUSE).await,
                    joined => return joined.map_err(StartError::Join),
                }
            }
            Ok(())
        }
    }
}

/// Whenever this node leads: admits all nodes that were named as members from the beginning.
async fn admit_all(shared: Arc<Shared>, members: BTreeMap<u32, String>) {
    let control = &shared.control;
    loop {
        let known = control.nodes();
        let missing: Vec<_> = {
            let registry = control.registry();
            let registry = registry.borrow();
            // A removed node stays removed.
            let removed = |id: &u32| registry.incarnations.contains_key(id);
            members.iter().filter(|(id, _)| !known.contains_key(id) && !removed(id)).collect()
        };
        if missing.is_empty() && !known.is_empty() {
            return;
        }
        if control.leadership().borrow().is_some() {
            for (id, address) in missing {
                // It is tried again.
                _ = control.admit(*id, address).await;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}
