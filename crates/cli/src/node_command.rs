//! `tokenwood node`: one node of a cluster whose members are known.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use node::{Host, HostConfig, Identity, Member, View};
use tokio::net::TcpListener;

use crate::dev_command::until_stopped;
use crate::endpoints::runtime;
use crate::node_file::{Address, Length, MemberId, NodeFile, Settings};
use crate::{Ended, output};

/// Run one node of a cluster whose members are known and stay the same
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
    /// Which of the members this is
    #[arg(long, env = "TOKENWOOD_ID")]
    id: Option<u32>,
    /// A member and where its peers reach it, as ID=HOST:PORT; name all, this node included
    #[arg(
        long = "member",
        value_name = "ID=HOST:PORT",
        env = "TOKENWOOD_MEMBERS",
        value_delimiter = ',',
        value_parser = member
    )]
    members: Vec<(u32, Address)>,
    /// Where to listen for peers [default: the address of this member]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_LISTEN")]
    listen: Option<Address>,
    /// Where to listen for clients [default: 127.0.0.1:7710]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_CLIENTS")]
    clients: Option<Address>,
    /// Where clients on other machines reach this node [default: where it listens for them, or if that is every address of
    /// this machine, the host of this member with that port]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_ADVERTISE")]
    advertise: Option<Address>,
    /// The life that all members are in: give all of them a higher number when the cluster is started anew [default: 1]
    #[arg(long, env = "TOKENWOOD_INCARNATION")]
    incarnation: Option<u64>,
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
    runtime()?.block_on(serve(settings))?;
    Ok(Ended::Well)
}

/// What is in effect: flags and environment over the file over defaults.
fn settings(arguments: &Arguments) -> Result<Settings> {
    let file = match &arguments.config {
        Some(file) => NodeFile::read(file)?,
        None => NodeFile::default(),
    };
    let Some(id) = arguments.id.or(file.id) else {
        bail!(
            "which of the members is this? Say it with --id, TOKENWOOD_ID or 'id = …' in the file of --config"
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
    let Some(mine) = members.get(&id) else {
        bail!("node {id} is not among the members: name it too, with --member {id}=HOST:PORT");
    };
    Ok(Settings {
        cluster: arguments.cluster.clone().or(file.cluster).unwrap_or_else(|| "tokenwood".to_string()),
        id,
        incarnation: arguments.incarnation.or(file.incarnation).unwrap_or(1),
        listen: arguments.listen.clone().or(file.listen).unwrap_or_else(|| mine.clone()),
        clients: match arguments.clients.clone().or(file.clients) {
            Some(clients) => clients,
            None => "127.0.0.1:7710".parse().map_err(anyhow::Error::msg)?,
        },
        advertise: arguments.advertise.clone().or(file.advertise),
        linger: arguments.linger.or(file.linger).unwrap_or(Length(Duration::from_secs(10))),
        keep_idle: arguments.keep_idle.or(file.keep_idle).unwrap_or(Length(Duration::from_secs(10))),
        members,
    })
}

async fn serve(settings: Settings) -> Result<()> {
    let Settings { cluster, id, incarnation, members, listen: address, clients, .. } = settings;
    let (advertise, linger, keep_idle) = (settings.advertise, settings.linger.0, settings.keep_idle.0);
    let for_peers = listen(&address, "peers").await?;
    let for_clients = listen(&clients, "clients").await?;
    let listens = for_clients.local_addr().context("where clients are listened for is not known")?;
    let advertised = match advertise {
        Some(advertise) => advertise.to_string(),
        None => advertised(listens, &members[&id]),
    };
    let identity = |id| Identity { id, incarnation };
    let members = members
        .into_iter()
        .map(|(id, address)| Member { identity: identity(id), address: address.to_string() });
    let config = HostConfig {
        cluster,
        me: identity(id),
        view: View { epoch: 1, members: members.collect() },
        clients: advertised,
        tune: Box::new(move |config| (config.linger, config.keep_idle) = (linger, keep_idle)),
        log: |line| eprintln!("{line}"),
    };
    let host = Host::start(config, for_peers, for_clients)?;
    output::print(format_args!("node {id} listens at {address} for peers, at {listens} for clients\n"));
    until_stopped().await?;
    host.stop().await;
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

async fn listen(address: &Address, whom: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(address.to_string()).await;
    bound.with_context(|| format!("cannot listen at {address} for {whom}: is the port in use?"))
}

fn member(text: &str) -> Result<(u32, Address), String> {
    let member =
        text.split_once('=').and_then(|(id, address)| Some((id.parse().ok()?, address.parse().ok()?)));
    member
        .ok_or_else(|| format!("'{text}' is not a member: write ID=HOST:PORT, for instance 0=10.0.0.7:7700"))
}
