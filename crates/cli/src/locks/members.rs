//! `tokenwood members`: the nodes of the cluster, and how they change.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use service::InWords;
use service::protocol::{Cluster, ClusterNode};

use crate::locks::cluster::{Around, Asking, UNAVAILABLE};
use crate::locks::endpoints::duration;
use crate::locks::invite;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

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
    Invite(invite::Arguments),
    /// Remove a stopped node for good, or an invitation; the number is never used again
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

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    match &arguments.change {
        None => show(&arguments.asking),
        Some(Change::Invite(arguments)) => invite::run(arguments),
        Some(Change::Remove { id, asking }) => {
            let invited = asking.with_first(async |admin| {
                let invited = admin.cluster().await?.invited.contains(id);
                admin.remove(*id).await.map(|()| invited)
            })?;
            let what = if invited { "The invitation of node" } else { "Node" };
            let change = if invited { Changed::Withdrawn } else { Changed::Removed };
            Ok(change.say(Some(*id), None, asking, &format!("{what} {id} is removed.")))
        }
        Some(Change::Lease { lasts, asking }) => {
            service::leases::validate_lease(*lasts)?;
            asking.with_first(async |admin| admin.set_lease(*lasts).await)?;
            let said = format!("Leases will last {}.", InWords(*lasts));
            Ok(Changed::Lease.say(None, Some(*lasts), asking, &said))
        }
    }
}

fn show(asking: &Asking) -> Result<u8> {
    let around = asking.around()?;
    let cluster = &around.cluster;
    let leased = !cluster.lease_left.is_zero();
    // A node with a lease had a majority a moment ago.
    let waiting = around.waiting().filter(|_| !leased || cluster.leader.is_none());
    let code = if waiting.is_some() { UNAVAILABLE } else { 0 };
    if asking.format == Format::Json {
        json::say(Schema::Members, &as_json(&around, waiting.as_deref()));
        return Ok(code);
    }
    say!(
        "Cluster '{}', view {}, leases of {}, as node {} sees it:\n",
        cluster.name,
        cluster.epoch,
        InWords(cluster.lease),
        cluster.asked
    );
    let heading = ["node", "state", "votes", "peers reach it at", "clients at"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    let nodes = around.nodes();
    rows.extend(nodes.iter().map(|node| row(node, cluster)));
    for (row, node) in rows[1..].iter_mut().zip(&nodes) {
        if let Some(why) = missing(&around, node.id) {
            row[1] += &format!(", missing: {why}");
        }
    }
    rows.extend(cluster.invited.iter().map(|id| vec![id.to_string(), "invited".to_string()]));
    table::print(&rows);
    match waiting {
        Some(waiting) => say!("\nThe cluster grants nothing: {waiting}."),
        None if !leased => say!(
            "\nNode {} has no lease and grants nothing: what it shows may be out of date. --endpoint names another.",
            cluster.asked
        ),
        None => {}
    }
    Ok(code)
}

/// Why a voter is missing, if it is.
fn missing(around: &Around, id: u32) -> Option<&str> {
    around.voters.voters.iter().find(|voter| voter.id == id)?.missing.as_deref()
}

fn row(node: &ClusterNode, cluster: &Cluster) -> Vec<String> {
    let state = match (node.incarnation, cluster.leader == Some(node.id)) {
        (Some(_), true) => "member, leads",
        (Some(_), false) => "member",
        (None, true) => "leads, not a member yet",
        (None, false) if node.id == cluster.asked => "not a member yet",
        (None, false) => "away",
    };
    let votes = if node.votes { "yes" } else { "no" };
    let clients = node.clients.clone().unwrap_or_else(|| "–".to_string());
    vec![node.id.to_string(), state.to_string(), votes.to_string(), node.address.clone(), clients]
}

fn as_json(around: &Around, waiting: Option<&str>) -> Value {
    let cluster = &around.cluster;
    let node = |node: &ClusterNode| {
        json!({
            "node": node.id,
            "member": node.incarnation.is_some(),
            "incarnation": node.incarnation,
            "votes": node.votes,
            "leads": cluster.leader == Some(node.id),
            "address": node.address,
            "endpoint": node.clients,
            "missing": missing(around, node.id),
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
        "nodes": around.nodes().iter().map(node).collect::<Vec<_>>(),
        "waiting": waiting,
    })
}

/// What has been changed.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Changed {
    /// A node was removed.
    Removed,
    /// An invitation was withdrawn.
    Withdrawn,
    /// The length of leases.
    Lease,
}

impl Changed {
    /// Says that the cluster has agreed to it. Returns the exit code.
    pub(crate) fn say(self, node: Option<u32>, lease: Option<Duration>, asking: &Asking, text: &str) -> u8 {
        let lease_seconds = lease.map(|lease| lease.as_secs_f64());
        match asking.format {
            Format::Json => json::say(
                Schema::MembersChange,
                &json!({ "done": true, "change": self, "node": node, "lease_seconds": lease_seconds }),
            ),
            Format::Table => say!("{text}"),
        }
        0
    }
}
