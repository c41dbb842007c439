//! `tokenwood node`: one node of a cluster.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use control::{SHORTEST_LEASE, folder};
use node::{First, Host, HostConfig, Invitation};
use tokio::net::TcpListener;

use crate::dev_command::until_stopped;
use crate::endpoints::runtime;
use crate::node_file::{Address, Length, MemberId, NodeFile, Settings};
use crate::{Ended, log, output};

/// Run one node of a cluster
///
/// A new cluster: start all its nodes with the same list of members (--member), each with its --id and an empty folder
/// (--data). One more node: 'tokenwood members invite' gives an invitation to start it with (--join). Again: the folder knows
/// to whom it belongs.
///
/// Flags override the environment, and that overrides the file.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A file that says what the flags below say; --print-config shows how it is written
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CONFIG")]
    config: Option<PathBuf>,
    /// Show what is in effect as a file that can be used, and end
    #[arg(long)]
    print_config: bool,
    /// The name of the cluster, the same on all its nodes [default: tokenwood]
    #[arg(long, env = "TOKENWOOD_CLUSTER")]
    cluster: Option<String>,
    /// The number of this node [default: the one in its folder or its invitation]
    #[arg(long, env = "TOKENWOOD_ID")]
    id: Option<u32>,
    /// The folder where this node keeps what the cluster has agreed on [default: tokenwood-data]
    #[arg(long, value_name = "FOLDER", env = "TOKENWOOD_DATA")]
    data: Option<PathBuf>,
    /// Join a cluster with this invitation, which 'tokenwood members invite' gave; it counts once
    #[arg(long, value_name = "INVITATION", env = "TOKENWOOD_JOIN", conflicts_with = "members")]
    join: Option<Invitation>,
    /// A member of a new cluster and where its peers reach it, as ID=HOST:PORT; name all, this node included
    #[arg(
        long = "member",
        value_name = "ID=HOST:PORT",
        env = "TOKENWOOD_MEMBERS",
        value_delimiter = ',',
        value_parser = member
    )]
    members: Vec<(u32, Address)>,
    /// Where to listen for peers [default: the address of this member, or 127.0.0.1:7700]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_LISTEN")]
    listen: Option<Address>,
    /// Where peers on other machines reach this node [default: the address of this member, or where it listens for them]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_REACHED_AT")]
    reached_at: Option<Address>,
    /// Where to listen for clients [default: 127.0.0.1:7710]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_CLIENTS")]
    clients: Option<Address>,
    /// Where clients on other machines reach this node [default: where it listens for them, or if that is every address of
    /// this machine, the host of this member with that port]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_ADVERTISE")]
    advertise: Option<Address>,
    /// How long leases of nodes last in a new cluster: what a node that dies holds is free again about that much later, and a
    /// node that cannot reach the others for that long loses what its clients hold [default: 3s]
    #[arg(long, env = "TOKENWOOD_LEASE")]
    lease: Option<Length>,
    /// How long a token that nobody uses stays where it was used last before it goes home [default: 10s]
    #[arg(long, env = "TOKENWOOD_LINGER")]
    linger: Option<Length>,
    /// How long a name that nobody uses is remembered [default: 10s]
    #[arg(long, env = "TOKENWOOD_KEEP_IDLE")]
    keep_idle: Option<Length>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let settings = settings(arguments)?;
    if arguments.print_config {
        output::print(format_args!("{settings}"));
        return Ok(Ended::Well);
    }
    let served = runtime()?.block_on(serve(settings, arguments.join.clone()));
    log::finish();
    served?;
    Ok(Ended::Well)
}

/// What is in effect: flags and environment over the file over defaults.
fn settings(arguments: &Arguments) -> Result<Settings> {
    let file = match &arguments.config {
        Some(file) => NodeFile::read(file)?,
        None => NodeFile::default(),
    };
    let data = arguments.data.clone().or(file.data).unwrap_or_else(|| "tokenwood-data".into());
    let known = folder::whose(&data)?;
    let invited = arguments.join.as_ref().map(|invitation| (invitation.id, invitation.cluster.clone()));
    let known = known.map(|identity| (identity.node, identity.cluster)).or(invited);
    let Some(id) = arguments.id.or(file.id).or(known.as_ref().map(|(id, _)| *id)) else {
        bail!(
            "which node is this? Say it with --id, TOKENWOOD_ID or 'id = …' in the file of --config; or name its folder \
             with --data"
        );
    };
    let mut members: BTreeMap<u32, Address> =
        file.members.into_iter().map(|(MemberId(id), address)| (id, address)).collect();
    if !arguments.members.is_empty() {
        members.clear();
    }
    for (id, address) in &arguments.members {
        if members.insert(*id, address.clone()).is_some() {
            bail!("member {id} is named twice");
        }
    }
    let mine = match members.get(&id) {
        Some(mine) => mine.clone(),
        None if members.is_empty() => address("127.0.0.1:7700")?,
        None => bail!("node {id} is not among the members: name it too, with --member {id}=HOST:PORT"),
    };
    let named = arguments.cluster.clone().or(file.cluster);
    let length = |flag: Option<Length>, file: Option<Length>, seconds| {
        flag.or(file).unwrap_or(Length(Duration::from_secs(seconds)))
    };
    let lease = length(arguments.lease, file.lease, 3);
    if lease.0 < SHORTEST_LEASE {
        bail!("leases of {lease} are too short: {} at least", Length(SHORTEST_LEASE));
    }
    let listen = arguments.listen.clone().or(file.listen).unwrap_or_else(|| mine.clone());
    Ok(Settings {
        cluster: named.or(known.map(|(_, name)| name)).unwrap_or_else(|| "tokenwood".to_string()),
        id,
        data,
        reached_at: match arguments.reached_at.clone().or(file.reached_at) {
            Some(address) => address,
            None if members.is_empty() => listen.clone(),
            None => mine,
        },
        listen,
        clients: match arguments.clients.clone().or(file.clients) {
            Some(clients) => clients,
            None => address("127.0.0.1:7710")?,
        },
        advertise: arguments.advertise.clone().or(file.advertise),
        lease,
        linger: length(arguments.linger, file.linger, 10),
        keep_idle: length(arguments.keep_idle, file.keep_idle, 10),
        members,
    })
}

fn address(text: &str) -> Result<Address> {
    text.parse().map_err(anyhow::Error::msg)
}

async fn serve(settings: Settings, invitation: Option<Invitation>) -> Result<()> {
    let Settings { cluster, id, members, listen: address, clients, .. } = settings;
    let (linger, keep_idle) = (settings.linger.0, settings.keep_idle.0);
    let for_peers = listen(&address, "peers").await?;
    let for_clients = listen(&clients, "clients").await?;
    let listens = for_clients.local_addr().context("where clients are listened for is not known")?;
    let advertised = match settings.advertise {
        Some(advertise) => advertise.to_string(),
        None => advertised(listens, &settings.reached_at),
    };
    let first = match invitation {
        Some(invitation) => First::Invited(invitation),
        None if members.is_empty() => First::No,
        None => First::Together(members.into_iter().map(|(id, at)| (id, at.to_string())).collect()),
    };
    let config = HostConfig {
        cluster,
        id,
        peers: settings.reached_at.to_string(),
        clients: advertised,
        folder: settings.data,
        first,
        lease: settings.lease.0,
        tune: Box::new(move |config| (config.linger, config.keep_idle) = (linger, keep_idle)),
        limits: node::ConnectionLimits::default(),
        log: log::line,
    };
    let host = Host::start(config, for_peers, for_clients).await?;
    output::announce(format_args!("node {id} listens at {address} for peers, at {listens} for clients\n"));
    tokio::select! {
        stopped = until_stopped() => stopped?,
        why = host.control().failed() => {
            host.stop().await;
            bail!("this node no longer takes part in what the cluster agrees on: {why}. Mend that, and start it again");
        }
    }
    // A second request to end is one to end at once.
    tokio::select! {
        () = host.leave() => {}
        stopped = until_stopped() => stopped?,
    }
    Ok(())
}

/// What to tell clients who ask where this node is: every address of a machine is none that they could use.
fn advertised(listens: SocketAddr, mine: &Address) -> String {
    if listens.ip().is_unspecified() {
        format!("{}:{}", mine.host(), listens.port())
    } else {
        listens.to_string()
    }
}

/// What a node says last that cannot listen.
pub(crate) const PORT_IN_USE: &str = "is the port in use?";

async fn listen(address: &Address, whom: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(address.to_string()).await;
    bound.with_context(|| format!("cannot listen at {address} for {whom}: {PORT_IN_USE}"))
}

fn member(text: &str) -> Result<(u32, Address), String> {
    let member =
        text.split_once('=').and_then(|(id, address)| Some((id.parse().ok()?, address.parse().ok()?)));
    member
        .ok_or_else(|| format!("'{text}' is not a member: write ID=HOST:PORT, for instance 0=10.0.0.7:7700"))
}
