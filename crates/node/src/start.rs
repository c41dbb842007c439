//! How a node joins its cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use control::{AskError, Neighbour};
use service::leases::validate_lease;
use sync::IgnorePoison;
use tokio::time::sleep;

use crate::first_token::{self, OnFirstToken};
use crate::host::{Bootstrap, HostConfig, Shared, StartError};
use crate::{reach, waiting};

/// How often to try to join, and how long to wait in between.
const JOIN_TRIES: u32 = 20;
const JOIN_PAUSE: Duration = Duration::from_millis(500);

/// Refuses a lease that cannot be, and addresses that the nodes which are named at the start cannot use, before anything is
/// written.
pub(crate) fn check(config: &HostConfig) -> Result<(), StartError> {
    validate_lease(config.lease).map_err(StartError::Lease)?;
    let none = BTreeMap::new();
    let nodes = match &config.bootstrap {
        Bootstrap::Existing => &none,
        Bootstrap::Together(members) => members,
        Bootstrap::Invited(invitation) => &invitation.nodes,
    };
    reach::check(config.id, &config.peers, &config.clients, nodes).map_err(StartError::Unreachable)
}

/// Joins a cluster, if the node does not belong to one.
pub(crate) async fn join_cluster(
    shared: &Arc<Shared>,
    bootstrap: Bootstrap,
    folder: PathBuf,
    on_first_token: Option<OnFirstToken>,
) -> Result<(), StartError> {
    bootstrap_into(shared, bootstrap, &folder, on_first_token.is_some()).await?;
    if let (Some(then), Some(file)) = (on_first_token, first_token::pending(&folder)) {
        let turns_on = first_token::turn_on(shared.clone(), file, then);
        shared.control_calls.lock().ignore_poison().spawn(turns_on);
    }
    Ok(())
}

async fn bootstrap_into(
    shared: &Arc<Shared>,
    bootstrap: Bootstrap,
    folder: &Path,
    secure: bool,
) -> Result<(), StartError> {
    let (control, id) = (&shared.control, shared.id);
    let belongs = control.belongs().await;
    reach::check(id, &shared.address, &shared.clients, &control.nodes()).map_err(StartError::Unreachable)?;
    match bootstrap {
        Bootstrap::Existing if belongs => Ok(()),
        Bootstrap::Existing => Err(StartError::NoCluster(folder.to_owned())),
        Bootstrap::Together(members) => {
            let mut voters = members.clone();
            let vote = control::voters::of(members.keys().copied());
            voters.retain(|id, _| vote.contains(id));
            if !members.contains_key(&id) {
                return Err(StartError::NotAmong(id));
            }
            shared.begins_with(voters.clone());
            if !belongs {
                let found = shared.look_around(&members).await?;
                if vote.first() == Some(&id) {
                    refuse_another(&members, &found)?;
                    if secure {
                        first_token::prepare(folder)?;
                    }
                    found_cluster(shared, &voters).await?;
                }
                let looks = waiting::keep_looking(shared.clone(), members.clone());
                shared.control_calls.lock().ignore_poison().spawn(looks);
            }
            // It ends when all are admitted.
            let mut control_calls = shared.control_calls.lock().ignore_poison();
            control_calls.spawn(admit_all(shared.clone(), members));
            Ok(())
        }
        Bootstrap::Invited(invitation) if belongs => {
            // Started again with the same command.
            let same = invitation.id == id && control.cluster_id().await == Some(invitation.cluster_id);
            let (invited, folder) = (invitation.id, folder.to_owned());
            if same { Ok(()) } else { Err(StartError::Belongs { folder, id, invited }) }
        }
        Bootstrap::Invited(invitation) => {
            if invitation.id != id {
                return Err(StartError::OtherId { invited: invitation.id, started: id });
            }
            let credentials = shared.encryption.credentials();
            if !invitation.is_from(&credentials.map(|it| it.fingerprints()).unwrap_or_default()) {
                let theirs = invitation.authorities;
                return Err(StartError::OtherAuthority { theirs, encrypts: credentials.is_some() });
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

/// Refuses to found a cluster if the others belong to one already.
fn refuse_another(
    members: &BTreeMap<u32, String>,
    found: &BTreeMap<u32, Neighbour>,
) -> Result<(), StartError> {
    let mut in_cluster = found.iter().filter(|(_, it)| matches!(it, Neighbour::InCluster { .. }));
    if let Some((node, _)) = in_cluster.next() {
        let at = members.get(node).cloned().unwrap_or_default();
        return Err(StartError::Exists { node: *node, at });
    }
    Ok(())
}

async fn found_cluster(shared: &Arc<Shared>, voters: &BTreeMap<u32, String>) -> Result<(), StartError> {
    shared.control.found(voters).await.map_err(StartError::Found)?;
    tracing::info!(
        target: "node",
        node = shared.id,
        "founds the new cluster '{}': its fences begin at the lowest, and stores that remember those of an earlier \
         cluster refuse its clients",
        shared.cluster
    );
    Ok(())
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
