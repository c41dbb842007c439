//! `tokenwood node`: one node of a cluster whose members are known.

use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use node::{Host, HostConfig, Identity, Member, View};
use tokio::net::TcpListener;

use crate::dev_command::until_stopped;
use crate::endpoints::runtime;
use crate::{Ended, output};

/// Run one node of a cluster whose members are known and stay the same
#[derive(Args)]
pub(crate) struct Arguments {
    /// The name of the cluster, the same on all its nodes
    #[arg(long, env = "TOKENWOOD_CLUSTER", default_value = "tokenwood")]
    cluster: String,
    /// Which of the members this is
    #[arg(long, env = "TOKENWOOD_ID")]
    id: u32,
    /// A member and where its peers reach it, as ID=HOST:PORT; name all, this node included
    #[arg(long = "member", value_name = "ID=HOST:PORT", env = "TOKENWOOD_MEMBERS", value_delimiter = ',')]
    members: Vec<String>,
    /// Where to listen for peers [default: the address of this member]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_LISTEN")]
    listen: Option<String>,
    /// Where to listen for clients
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_CLIENTS", default_value = "127.0.0.1:7710")]
    clients: String,
    /// Where clients on other machines reach this node [default: where it listens for them, or if that is every address of
    /// this machine, the host of this member with that port]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_ADVERTISE")]
    advertise: Option<String>,
    /// The life that all members are in: give all of them a higher number when the cluster is started anew
    #[arg(long, env = "TOKENWOOD_INCARNATION", default_value_t = 1)]
    incarnation: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    runtime()?.block_on(serve(arguments))?;
    Ok(Ended::Well)
}

async fn serve(arguments: &Arguments) -> Result<()> {
    let members: Vec<Member> =
        arguments.members.iter().map(|text| member(text, arguments.incarnation)).collect::<Result<_>>()?;
    let me = Identity { id: arguments.id, incarnation: arguments.incarnation };
    let Some(mine) = members.iter().find(|member| member.identity == me) else {
        bail!("node {} is not among the members: name it too, with --member {}=HOST:PORT", me.id, me.id);
    };
    if let Some(twice) =
        members.iter().find(|one| members.iter().filter(|other| one.identity == other.identity).count() > 1)
    {
        bail!("{} is named twice", twice.identity);
    }
    let address = arguments.listen.clone().unwrap_or_else(|| mine.address.clone());
    let for_peers = listen(&address, "peers").await?;
    let for_clients = listen(&arguments.clients, "clients").await?;
    let listens = for_clients.local_addr().context("where clients are listened for is not known")?;
    let clients = arguments.advertise.clone().unwrap_or_else(|| advertised(listens, &mine.address));
    let view = View { epoch: 1, members };
    let config = HostConfig {
        cluster: arguments.cluster.clone(),
        me,
        view,
        clients,
        tune: |_| {},
        log: |line| eprintln!("{line}"),
    };
    let host = Host::start(config, for_peers, for_clients)?;
    output::print(format_args!(
        "node {} listens at {address} for peers, at {} for clients\n",
        me.id, arguments.clients
    ));
    until_stopped().await?;
    host.stop().await;
    Ok(())
}

/// What to tell clients who ask where this node is: every address of a machine is none that they could use.
fn advertised(listens: SocketAddr, mine: &str) -> String {
    match mine.rsplit_once(':') {
        Some((host, _)) if listens.ip().is_unspecified() => format!("{host}:{}", listens.port()),
        _ => listens.to_string(),
    }
}

async fn listen(address: &str, whom: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.with_context(|| format!("cannot listen at {address} for {whom}: is the port in use?"))
}

fn member(text: &str, incarnation: u64) -> Result<Member> {
    let wrong = || anyhow!("'{text}' is not a member: write ID=HOST:PORT, for instance 0=10.0.0.7:7700");
    let (id, address) = text.split_once('=').ok_or_else(wrong)?;
    let id = id.parse().map_err(|_| wrong())?;
    if !address.contains(':') {
        return Err(wrong());
    }
    Ok(Member { identity: Identity { id, incarnation }, address: address.to_string() })
}
