//! `tokenwood members invite`: invitations, and the command that the invited node is started with.

use std::net::TcpListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;
use node::{Invitation, reach};
use serde_json::json;
use service::protocol::Cluster;

use crate::daemon::node_file::Length;
use crate::locks::cluster::Asking;
use crate::locks::endpoints::duration;
use crate::locks::members::Changed;
use crate::terminal::format::Format;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// Leases of this length need not be named.
const USUAL_LEASE: Duration = Duration::from_secs(3);

/// Invite one more node: prints the command to start it with, on the new machine
///
/// The invitation is valid once, and gives the node its number. It contains a secret: pass it on as you would a password.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How long the invitation is valid
    #[arg(long, default_value = "24h", value_parser = duration)]
    lasts: Duration,
    /// Print the invitation alone, for scripts
    #[arg(long)]
    quiet: bool,
    /// List the invitations that are open
    #[arg(long, conflicts_with_all = ["lasts", "quiet", "withdraw"])]
    list: bool,
    /// Withdraw the invitation of the node with this number, which is never used again
    #[arg(long, value_name = "ID", conflicts_with_all = ["lasts", "quiet"])]
    withdraw: Option<u32>,
    #[command(flatten)]
    asking: Asking,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.list {
        return list(&arguments.asking);
    }
    match arguments.withdraw {
        Some(id) => withdraw(id, &arguments.asking),
        None => invite(arguments),
    }
}

fn invite(Arguments { lasts, quiet, asking, .. }: &Arguments) -> Result<u8> {
    let (word, cluster) =
        asking.with_first(async |admin| Ok((admin.invite(*lasts).await?, admin.cluster().await?)))?;
    let invitation: Invitation = word.parse()?;
    let encrypted = asking.access()?.encryption.credentials().is_some();
    let (id, command) = (invitation.id, command(&word, &invitation, &cluster, encrypted));
    let only_here = invitation.nodes.values().all(|address| reach::is_loopback(address));
    match asking.format {
        Format::Json => json::say(
            Schema::Invitation,
            &json!({
                "invitation": word, "seconds": lasts.as_secs(), "node": id, "command": command,
                "only_this_machine": only_here,
            }),
        ),
        // Alone, so that a script can take it as it is.
        Format::Table if *quiet => say!("{word}"),
        Format::Table => {
            let machine = if only_here { "this machine" } else { "the new machine" };
            let lasts = in_words(lasts.as_secs());
            let files = if encrypted {
                format!(", with the files of 'tokenwood certs node {id}'")
            } else {
                String::new()
            };
            say!("Node {id} is invited: once, for {lasts}. On {machine}{files}:\n\n  {command}\n");
            if only_here {
                note!(
                    "tokenwood: all nodes of this cluster are at loopback addresses: only nodes on this machine can join it"
                );
            }
        }
    }
    Ok(0)
}

/// What to type on the new machine. It finds out its own address there, unless the whole cluster is on one machine.
fn command(word: &str, invitation: &Invitation, cluster: &Cluster, encrypted: bool) -> String {
    let id = invitation.id;
    let files = if encrypted {
        format!(" --ca ca.pem --certificate node-{id}.pem --key node-{id}.key")
    } else {
        String::new()
    };
    // The invitation is a secret, and all users of a machine see the arguments of its commands.
    let mut command = format!("TOKENWOOD_JOIN={word} tokenwood node --data tokenwood-{id}{files}");
    if invitation.nodes.values().all(|address| reach::is_loopback(address)) {
        let mut taken = Vec::new();
        let used = |addresses: &mut dyn Iterator<Item = &String>, usual: u16| {
            addresses.filter_map(|at| at.rsplit_once(':')?.1.parse().ok()).max().unwrap_or(usual - 1)
        };
        let peers = free_port(used(&mut invitation.nodes.values(), 7700), &mut taken);
        let clients = cluster.nodes.iter().filter_map(|node| node.clients.as_ref());
        let clients = free_port(used(&mut clients.into_iter(), 7710), &mut taken);
        command += &format!(" --listen 127.0.0.1:{peers} --clients 127.0.0.1:{clients}");
    }
    if cluster.lease != USUAL_LEASE {
        command += &format!(" --lease {}", Length(cluster.lease));
    }
    command
}

/// The first port above this one that nothing listens at.
fn free_port(above: u16, taken: &mut Vec<u16>) -> u16 {
    let free = |port: &u16| !taken.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (above.saturating_add(1)..u16::MAX).find(free).unwrap_or(u16::MAX);
    taken.push(port);
    port
}

fn list(asking: &Asking) -> Result<u8> {
    let open = asking.with_first(async |admin| admin.invitations().await)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if asking.format == Format::Json {
        let open = open.iter().map(|(id, until)| {
            json!({ "node": id, "left_seconds": until.saturating_sub(now), "expired": *until < now })
        });
        json::say(Schema::Invitations, &json!({ "invitations": open.collect::<Vec<_>>() }));
        return Ok(0);
    }
    if open.is_empty() {
        say!("No invitation is open.");
        return Ok(0);
    }
    let row = |(id, until): &(u32, u64)| {
        vec![id.to_string(), until.checked_sub(now).map_or("expired".to_string(), in_words)]
    };
    let heading = ["node", "valid for"].map(str::to_string).to_vec();
    table::print(&[heading].into_iter().chain(open.iter().map(row)).collect::<Vec<_>>());
    Ok(0)
}

/// So many seconds, as people say it.
fn in_words(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

fn withdraw(id: u32, asking: &Asking) -> Result<u8> {
    asking.with_first(async |admin| admin.withdraw(id).await)?;
    Ok(Changed::Withdrawn.say(Some(id), None, asking, &format!("The invitation of node {id} is withdrawn.")))
}
