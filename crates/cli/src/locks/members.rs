//! `tokenwood members`: the nodes of the cluster, and how they change.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use service::protocol::{Cluster, ClusterNode};

use crate::Ended;
use crate::locks::cluster::Asking;
use crate::locks::endpoints::duration;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::table;

/// Show the nodes of the cluster; invite or remove nodes, change the length of leases
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Subcommand)]
enum Change {
    /// Invite one more node: start it with 'tokenwood node --join INVITATION'
    Invite {
        /// How long the invitation is valid
        #[arg(long, default_value = "24h", value_parser = duration)]
        lasts: Duration,
        #[command(flatten)]
        asking: Asking,
    },
    /// Remove a stopped node for good; its number is never used again
    Remove {
        /// The number of the node
        id: u32,
        #[command(flatten)]
        asking: Asking,
    },
    /// Change the length of node leases
    Lease {
        /// The new length: what the clients of a dead node held is free again about that much later
        #[arg(value_parser = duration)]
        lasts: Duration,
        #[command(flatten)]
        asking: Asking,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    match &arguments.change {
        None => show(&arguments.asking),
        Some(Change::Invite { lasts, asking }) => invite(*lasts, asking),
        Some(Change::Remove { id, asking }) => {
            asking.with_first(async |admin| admin.remove(*id).await)?;
            changed(asking, &format!("Node {id} is removed."))
        }
        Some(Change::Lease { lasts, asking }) => {
            service::leases::validate_lease(*lasts)?;
            asking.with_first(async |admin| admin.set_lease(*lasts).await)?;
            changed(asking, &format!("Leases will last {lasts:?}."))
        }
    }
}

fn show(asking: &Asking) -> Result<Ended> {
    let cluster = asking.with_first(async |admin| admin.cluster().await)?;
    if asking.format == Format::Json {
        say!("{}", as_json(&cluster));
        return Ok(Ended::Well);
    }
    say!(
        "Cluster '{}', view {}, leases of {:?}, as node {} sees it:\n",
        cluster.name,
        cluster.epoch,
        cluster.lease,
        cluster.asked
    );
    let heading = ["node", "state", "votes", "peers reach it at", "clients at"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    rows.extend(cluster.nodes.iter().map(|node| row(node, cluster.leader)));
    rows.extend(cluster.invited.iter().map(|id| vec![id.to_string(), "invited".to_string()]));
    table::print(&rows);
    if cluster.leader.is_none() {
        say!("\nNo node leads: members cannot change until a majority of the voters is back.");
    }
    Ok(Ended::Well)
}

fn row(node: &ClusterNode, leader: Option<u32>) -> Vec<String> {
    let state = match (node.incarnation, leader == Some(node.id)) {
        (Some(_), true) => "member, leads",
        (Some(_), false) => "member",
        (None, true) => "leads, not a member yet",
        (None, false) => "away",
    };
    let votes = if node.votes { "yes" } else { "no" };
    let clients = node.clients.clone().unwrap_or_else(|| "–".to_string());
    vec![node.id.to_string(), state.to_string(), votes.to_string(), node.address.clone(), clients]
}

fn as_json(cluster: &Cluster) -> Value {
    let node = |node: &ClusterNode| {
        json!({
            "node": node.id,
            "member": node.incarnation.is_some(),
            "incarnation": node.incarnation,
            "votes": node.votes,
            "leads": cluster.leader == Some(node.id),
            "address": node.address,
            "endpoint": node.clients,
        })
    };
    json!({
        "cluster": cluster.name,
        "asked": cluster.asked,
        "view": cluster.epoch,
        "in_view": cluster.in_view,
        "lease_seconds": cluster.lease.as_secs_f64(),
        "lease_left_seconds": cluster.lease_left.as_secs_f64(),
        "leader": cluster.leader,
        "invited": cluster.invited,
        "nodes": cluster.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}

fn invite(expires: Duration, asking: &Asking) -> Result<Ended> {
    let invitation = asking.with_first(async |admin| admin.invite(expires).await)?;
    match asking.format {
        Format::Json => say!("{}", json!({ "invitation": invitation, "seconds": expires.as_secs() })),
        // Alone, so that a script can take it as it is.
        _ => say!("{invitation}"),
    }
    Ok(Ended::Well)
}

fn changed(asking: &Asking, text: &str) -> Result<Ended> {
    match asking.format {
        Format::Json => say!("{}", json!({ "done": true })),
        _ => say!("{text}"),
    }
    Ok(Ended::Well)
}
