//! `tokenwood node`: one node of a cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use control::folder::{self, Identity};
use node::{Bootstrap, Hearts, Host, HostConfig, Invitation};
use rustix::process::Signal;
use service::leases::validate_lease;
use tokio::net::TcpListener;

use crate::Ended;
use crate::daemon::addresses::{self, Addresses, Said};
use crate::daemon::encryption;
use crate::daemon::environment;
use crate::daemon::fail_stop;
use crate::daemon::kept;
use crate::daemon::log;
use crate::daemon::log::{Format, Threshold};
use crate::daemon::node_file::{Address, Length, MemberId, NodeFile, Player, Settings};
use crate::daemon::parent::end_with;
use crate::locks::endpoints::runtime;
use crate::terminal::output;
use crate::terminal::signals::Signals;

/// Run one node of a cluster
///
/// To found a cluster, start all its nodes with the same list of members (--member), each with its --id and an empty folder
/// (--data). To add a node, start it with an invitation of 'tokenwood members invite' (--join). To restart a node, name its
/// folder (--data), which knows its id, its cluster and its addresses.
///
/// Flags override the environment, which overrides the file, which overrides what the folder remembers. An empty variable
/// counts as not set.
///
/// On SIGTERM and Ctrl-C the node hands off its tokens, leaves and ends with 0; a second signal ends it at once. SIGHUP
/// has it read its certificates again. Exit code 2: the node cannot start, and says why. Exit code 70: the node failed (a panic, a task that
/// ended, a part that hangs, a disk that does not write), said why and ended at once, so that the other nodes go on without
/// it; start it again.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A file with the settings that the flags below set; --print-config shows its format
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CONFIG")]
    config: Option<PathBuf>,
    /// Print the settings in effect, as a file for --config, and exit
    #[arg(long)]
    print_config: bool,
    /// The name of the cluster, the same on all its nodes [default: tokenwood]
    #[arg(long, env = "TOKENWOOD_CLUSTER")]
    cluster: Option<String>,
    /// The number of this node [default: the one in its folder or its invitation]
    #[arg(long, env = "TOKENWOOD_ID")]
    id: Option<u32>,
    /// The folder where this node stores what the cluster agrees on [default: tokenwood-data]
    #[arg(long, value_name = "FOLDER", env = "TOKENWOOD_DATA")]
    data: Option<PathBuf>,
    /// Join a cluster with this invitation of 'tokenwood members invite'; it can be used once
    #[arg(long, value_name = "INVITATION", env = "TOKENWOOD_JOIN", conflicts_with = "members")]
    join: Option<Invitation>,
    /// A member of a new cluster and where its peers reach it, as ID=HOST:PORT; list all members, this node included
    #[arg(
        long = "member",
        value_name = "ID=HOST:PORT",
        env = "TOKENWOOD_MEMBERS",
        value_delimiter = ',',
        value_parser = member
    )]
    members: Vec<(u32, Address)>,
    /// Where to listen for peers [default: the address of this member; as at the last start; for an invited node, the address
    /// of this machine on the way to the cluster; or 127.0.0.1:7700]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_LISTEN")]
    listen: Option<Address>,
    /// Where peers on other machines reach this node [default: the address of this member; as at the last start; or where it
    /// listens for them]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_REACHED_AT")]
    reached_at: Option<Address>,
    /// Where to listen for clients [default: as at the last start; 0.0.0.0:7710, every address of this machine, if peers reach
    /// it from other machines; otherwise 127.0.0.1:7710]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_CLIENTS")]
    clients: Option<Address>,
    /// Where clients on other machines reach this node [default: where it listens for them, or if that is every address of
    /// this machine, the host of this member with that port]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_ADVERTISE")]
    advertise: Option<Address>,
    /// Where to listen for HTTP: JSON for programs in any language, events, health [default: as at the last start, or not at all]
    #[arg(long, value_name = "HOST:PORT", env = "TOKENWOOD_HTTP_LISTEN")]
    http: Option<Address>,
    /// Whether the page at the HTTP door plays algorithms (on), which takes processor time from the node: at most two searches
    /// at once [default: as at the last start, or off: 'tokenwood play' needs no node]
    #[arg(long, value_name = "ON|OFF", env = "TOKENWOOD_PLAYER", value_enum, hide_possible_values = true)]
    player: Option<Player>,
    /// The length of node leases in a new cluster: what the clients of a dead node held is free again about that much later,
    /// and a node that cannot reach the others for that long loses what its clients hold [default: 3s]
    #[arg(long, env = "TOKENWOOD_LEASE")]
    lease: Option<Length>,
    /// How long an idle token stays where it was used last before it goes home [default: 10s]
    #[arg(long, env = "TOKENWOOD_LINGER")]
    linger: Option<Length>,
    /// How long the node remembers an unused name [default: 10s]
    #[arg(long, env = "TOKENWOOD_KEEP_IDLE")]
    keep_idle: Option<Length>,
    /// What to log on standard error: error, warn, info, debug or trace, and everything above it. Consensus is quiet below
    /// debug; forced releases are always logged (target audit) [default: info]
    #[arg(long, value_name = "LEVEL", env = "TOKENWOOD_LOG")]
    log_level: Option<Threshold>,
    /// The log format: text for people, or json: one object per line with timestamp, level, target, message and fields
    /// [default: text]
    #[arg(
        long,
        value_name = "FORMAT",
        env = "TOKENWOOD_LOG_FORMAT",
        value_enum,
        hide_possible_values = true
    )]
    log_format: Option<Format>,
    #[command(flatten)]
    encryption: encryption::EncryptionArguments,
    /// The process that started this node, and that the node must not outlive
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<u32>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if let Some(parent) = arguments.parent.filter(|parent| !end_with(*parent)) {
        bail!("process {parent}, which this node was to end with, has ended");
    }
    let (settings, kept) = settings(arguments)?;
    if arguments.print_config {
        output::print(format_args!("{settings}"));
        return Ok(Ended::Well);
    }
    log::start(settings.log_format, settings.log_level);
    fail_stop::on_panic();
    environment::warn_of_fault_variables();
    environment::allow_most_files();
    let runtime = runtime()?;
    let served = runtime.block_on(serve(settings, kept, arguments.join.clone()));
    // Nothing that matters still runs, and a task that hangs must not delay the end.
    runtime.shutdown_timeout(LAST_TASKS);
    log::finish();
    served?;
    Ok(Ended::Well)
}

/// How long a node that ends waits for the last tasks of its runtime.
const LAST_TASKS: Duration = Duration::from_millis(500);

/// What is in effect: flags and environment over the file over what the folder remembers over defaults; and what it
/// remembers of addresses.
fn settings(arguments: &Arguments) -> Result<(Settings, Said)> {
    let file = match &arguments.config {
        Some(file) => NodeFile::read(file)?,
        None => NodeFile::default(),
    };
    let said = Said {
        listen: arguments.listen.clone(),
        reached_at: arguments.reached_at.clone(),
        clients: arguments.clients.clone(),
        advertise: arguments.advertise.clone(),
    };
    let said = said.or(Said::of(&file));
    let data = arguments.data.clone().or(file.data.clone()).unwrap_or_else(|| "tokenwood-data".into());
    let owner = folder::whose(&data)?;
    let kept = kept::read(&data)?;
    let invited = arguments.join.as_ref().map(|invitation| (invitation.id, invitation.cluster.clone()));
    let known = owner.as_ref().map(|identity| (identity.node, identity.cluster.clone())).or(invited);
    let Some(id) = arguments.id.or(file.id).or(known.as_ref().map(|(id, _)| *id)) else {
        bail!(
            "which node is this? {} is empty or not there. To restart a node, name its folder with --data; if that is lost, \
             'tokenwood members remove ID' and 'tokenwood members invite' where the cluster runs. For a new cluster set --id \
             (or TOKENWOOD_ID, or 'id = …' in the file of --config) and --member",
            data.display()
        );
    };
    let named = file.members.iter().map(|(MemberId(id), address)| (*id, address.clone()));
    let members = members(arguments, named.collect(), id, owner.as_ref(), &kept)?;
    if owner.is_none() && members.len() == 1 {
        kept::refuse_to_found_again(&data, id)?;
    }
    let length = |flag: Option<Length>, file: Option<Length>, seconds| {
        flag.or(file).unwrap_or(Length(Duration::from_secs(seconds)))
    };
    let lease = length(arguments.lease, file.lease.or(kept.lease), 3);
    validate_lease(lease.0).map_err(anyhow::Error::msg)?;
    let (before, encryption) = (Said::of(&kept), arguments.encryption.choose(&file, &kept));
    let others = match &arguments.join {
        Some(invitation) => invitation.nodes.clone(),
        None => members.iter().filter(|(it, _)| **it != id).map(|(it, at)| (*it, at.to_string())).collect(),
    };
    let Addresses { listen, reached_at, clients, advertise } =
        addresses::choose(said, before.clone(), members.get(&id), &others)?;
    let cluster = arguments.cluster.clone().or(file.cluster);
    let settings = Settings {
        cluster: cluster.or(known.map(|(_, name)| name)).unwrap_or_else(|| "tokenwood".to_string()),
        id,
        data,
        listen,
        reached_at,
        clients,
        advertise,
        http: arguments.http.clone().or(file.http).or(kept.http),
        player: arguments.player.or(file.player).or(kept.player).unwrap_or(Player::Off),
        lease,
        linger: length(arguments.linger, file.linger, 10),
        keep_idle: length(arguments.keep_idle, file.keep_idle, 10),
        encryption,
        limits: file.limits.unwrap_or_default(),
        log_level: arguments.log_level.or(file.log_level).unwrap_or(Threshold(tracing::Level::INFO)),
        log_format: arguments.log_format.or(file.log_format).unwrap_or_default(),
        members,
    };
    if settings.player == Player::On && settings.http.is_none() {
        bail!(
            "the player is a part of the page at the HTTP door: add --http 127.0.0.1:7720, or leave out --player"
        );
    }
    Ok((settings, before))
}

/// The members that a cluster is to begin with: those of flags, of the file, or, until the cluster has begun, those of the last
/// start. This node is among them, if there are any.
fn members(
    arguments: &Arguments,
    of_file: BTreeMap<u32, Address>,
    id: u32,
    owner: Option<&Identity>,
    kept: &NodeFile,
) -> Result<BTreeMap<u32, Address>> {
    let mut members = of_file;
    if !arguments.members.is_empty() {
        members.clear();
    }
    for (id, address) in &arguments.members {
        if members.insert(*id, address.clone()).is_some() {
            bail!("member {id} is named twice");
        }
    }
    let has_begun = owner.is_none_or(|owner| owner.cluster_id.is_some());
    if members.is_empty() && arguments.join.is_none() && !has_begun {
        members = kept.members.iter().map(|(MemberId(id), address)| (*id, address.clone())).collect();
    }
    if !members.is_empty() && !members.contains_key(&id) {
        bail!("node {id} is not among the members: name it too, with --member {id}=HOST:PORT");
    }
    Ok(members)
}

async fn serve(mut settings: Settings, kept: Said, invitation: Option<Invitation>) -> Result<()> {
    let (linger, keep_idle, limits) = (settings.linger.0, settings.keep_idle.0, settings.limits.clone());
    let encryption = encryption::load(&settings)?;
    tokio::spawn(encryption::keep_fresh(encryption.clone()));
    let hearts = Hearts::default();
    fail_stop::watch(hearts.clone()).context("cannot start the thread of the watchdog")?;
    let for_peers = listen(&settings.listen, "peers").await?;
    let for_clients = listen(&settings.clients, "clients").await?;
    let for_http = match &settings.http {
        Some(http) => Some(listen(http, "HTTP").await?),
        None => None,
    };
    let unknown = "the address of a socket is not known";
    let listens = (for_peers.local_addr().context(unknown)?, for_clients.local_addr().context(unknown)?);
    let addresses = settings.addresses().with_ports(listens.0, listens.1)?;
    addresses.log_changes(&kept, listens.0);
    let founds = invitation.is_none() && settings.members.len() == 1;
    let members = settings.members.iter().map(|(id, at)| (*id, at.to_string())).collect::<BTreeMap<_, _>>();
    let bootstrap = match invitation {
        Some(invitation) => Bootstrap::Invited(invitation),
        None if members.is_empty() => Bootstrap::Existing,
        None => Bootstrap::Together(members),
    };
    let config = HostConfig {
        cluster: settings.cluster.clone(),
        id: settings.id,
        peers: addresses.reached_at.to_string(),
        clients: addresses.advertised(),
        folder: settings.data.clone(),
        bootstrap,
        lease: settings.lease.0,
        tune: Box::new(move |config| {
            (config.linger, config.keep_idle, config.limits) = (linger, keep_idle, limits);
        }),
        encryption,
        on_first_token: encryption::on_first_token(&settings.encryption),
        local_socket: settings.encryption.socket.clone(),
        sockets: node::Sockets::OwnThread,
        on_failure: fail_stop::on_failure(),
        hearts,
    };
    let host = Host::start(config, for_peers, for_clients).await?;
    settings.set_addresses(addresses);
    let mut also = String::new();
    if let Some(listener) = for_http {
        let at = listener.local_addr().context(unknown)?;
        settings.http = Some(at.to_string().parse().map_err(anyhow::Error::msg)?);
        also = format!(", at {at} for HTTP");
        match settings.player {
            Player::On => tokio::spawn(http_door::serve_with_player(host.clone(), listener)),
            Player::Off => tokio::spawn(http_door::serve(host.clone(), listener)),
        };
    }
    keep(&settings, founds);
    output::announce(format_args!(
        "node {} listens at {} for peers, at {} for clients{also}\n",
        settings.id, settings.listen, listens.1
    ));
    tokio::select! {
        stopped = until_asked_to_end() => stopped?,
        why = host.control().failed() => fail_stop::stop(&format!(
            "this node no longer takes part in the control plane: {why}. Fix that, and start it again"
        )),
    }
    // A second request to end is one to end at once.
    tokio::select! {
        () = host.leave() => {}
        stopped = until_asked_to_end() => stopped?,
    }
    Ok(())
}

/// Remembers what is in effect. A node that cannot write it goes on: its next start may need the flags again.
fn keep(settings: &Settings, founds: bool) {
    if let Err(error) = kept::write(settings) {
        tracing::warn!(target: "tokenwood", "the next start needs the same flags: {error:#}");
    }
    if founds {
        kept::note_founded(settings);
    }
}

/// Waits for Ctrl-C or SIGTERM.
async fn until_asked_to_end() -> Result<()> {
    let mut signals = Signals::listen()?;
    while signals.next().await == Signal::HUP {}
    Ok(())
}

/// The end of the error of a node that cannot listen.
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
