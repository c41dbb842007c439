//! `tokenwood dev`: a cluster on this machine, to try things.

mod keyring;

use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use keyring::{Keyring, quoted};
use node::{Encryption, LocalCluster};
use robustness::{NodeProcesses, NodeSetup};
use serde_json::json;
use tokio::net::TcpListener;

use crate::Ended;
use crate::daemon::log;
use crate::daemon::log::{Format, Threshold};
use crate::daemon::node::PORT_IN_USE;
use crate::daemon::node_file::Length;
use crate::locks::endpoints::{USUAL_PORTS, runtime};
use crate::locks::ui::USUAL_HTTP_PORTS;
use crate::terminal::json;
use crate::terminal::output;
use crate::terminal::output::note;
use crate::terminal::schema::Schema;
use crate::terminal::signals::Signals;

/// Start a cluster on this machine, ready in a second; it ends with Ctrl-C
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    nodes: u32,
    /// Run each node as a process of its own: kill one and see what happens
    #[arg(long)]
    processes: bool,
    /// The length of node leases: what the clients of a dead node held is free again about that much later
    #[arg(long, default_value = "3s")]
    lease: Length,
    /// Encrypt, and deny what no rule allows: makes a CA, certificates and an admin token, in a folder that is removed at the
    /// end (but stays if this program is killed with -9), and prints what to type
    #[arg(long)]
    secure: bool,
    /// Write a JSON file with ids, process ids and endpoints when the cluster is ready
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// What the nodes log on standard error: error, warn, info, debug or trace; forced releases always
    #[arg(long, value_name = "LEVEL", env = "TOKENWOOD_LOG", default_value = "warn")]
    log_level: Threshold,
}

/// A node that runs.
struct Running {
    id: u32,
    pid: u32,
    endpoint: String,
    /// Where it speaks HTTP.
    http: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    runtime()?.block_on(async {
        // From here on, so that a signal leaves no keys behind.
        let signals = Signals::listen()?;
        if arguments.processes {
            processes(arguments, signals).await
        } else {
            in_process(arguments, signals).await
        }
    })?;
    Ok(Ended::Well)
}

/// The name of a cluster in this process.
const IN_PROCESS: &str = "local";
/// The name of a cluster of processes.
const OF_PROCESSES: &str = "dev";

async fn in_process(arguments: &Arguments, mut signals: Signals) -> Result<()> {
    log::start(Format::Text, arguments.log_level);
    let keyring = keyring(arguments, IN_PROCESS)?;
    let (cluster, running) = tokio::select! {
        begun = begin(arguments, keyring.as_ref()) => begun?,
        _ = signals.next() => return Ok(()),
    };
    ready(arguments, &running, keyring.as_ref())?;
    signals.next().await;
    // Nodes that end one after the other are not worth a log line.
    log::close();
    cluster.stop().await;
    Ok(())
}

/// Starts a cluster in this process.
async fn begin(arguments: &Arguments, keyring: Option<&Keyring>) -> Result<(LocalCluster, Vec<Running>)> {
    let (for_clients, lease) = (listeners(arguments.nodes, USUAL_PORTS).await?, arguments.lease.0);
    let encryption = match keyring {
        Some(keyring) => keyring.encryption(IN_PROCESS)?,
        None => vec![Encryption::Off; arguments.nodes as usize],
    };
    let encryption = move |id: u32| encryption[id as usize].clone();
    let cluster = LocalCluster::start_encrypted(IN_PROCESS, for_clients, lease, |_| {}, encryption).await?;
    let mut running = Vec::new();
    let doors = listeners(arguments.nodes, USUAL_HTTP_PORTS).await?;
    for (((id, host), endpoint), door) in (0..).zip(&cluster.hosts).zip(&cluster.endpoints).zip(doors) {
        let (pid, http) = (std::process::id(), door.local_addr()?.to_string());
        tokio::spawn(http_door::serve_with_player(host.clone(), door));
        running.push(Running { id, pid, endpoint: endpoint.clone(), http });
    }
    until_usable(&mut NodeProcesses::none(), &running, keyring).await?;
    Ok((cluster, running))
}

async fn processes(arguments: &Arguments, mut signals: Signals) -> Result<()> {
    let keyring = keyring(arguments, OF_PROCESSES)?;
    let launching = async {
        let mut tries = 1;
        loop {
            match launch(arguments, keyring.as_ref()).await {
                // Another process took a port before the node that it was meant for.
                Err(error) if tries < TRIES && format!("{error:#}").contains(PORT_IN_USE) => tries += 1,
                launched => break launched,
            }
        }
    };
    let (mut nodes, running) = tokio::select! {
        launched = launching => launched?,
        _ = signals.next() => return Ok(()),
    };
    ready(arguments, &running, keyring.as_ref())?;
    tokio::select! {
        _ = signals.next() => Ok(()),
        failed = note_failures(&mut nodes) => failed,
    }
}

fn keyring(arguments: &Arguments, cluster: &str) -> Result<Option<Keyring>> {
    arguments.secure.then(|| Keyring::make(cluster, arguments.nodes)).transpose()
}

/// Waits until all nodes are connected; turns security on, if that is wanted.
async fn until_usable(
    nodes: &mut NodeProcesses,
    running: &[Running],
    keyring: Option<&Keyring>,
) -> Result<()> {
    let access = keyring.map(|keyring| keyring.access(None)).transpose()?.unwrap_or_default();
    for node in running {
        nodes.until_connected(&node.endpoint, running.len(), &access).await?;
    }
    match keyring {
        Some(keyring) => {
            let endpoints: Vec<&str> = running.iter().map(|node| &*node.endpoint).collect();
            keyring.turn_on(&endpoints).await.context("cannot turn security on")
        }
        None => Ok(()),
    }
}

/// Notes which nodes end, for ever.
async fn note_failures(nodes: &mut NodeProcesses) -> Result<()> {
    loop {
        let failure = nodes.next_failure().await?;
        note!("tokenwood: {failure}");
    }
}

async fn launch(arguments: &Arguments, keyring: Option<&Keyring>) -> Result<(NodeProcesses, Vec<Running>)> {
    let for_clients = listeners(arguments.nodes, USUAL_PORTS).await?;
    let doors = listeners(arguments.nodes, USUAL_HTTP_PORTS).await?;
    let mut for_peers = Vec::new();
    for _ in 0..arguments.nodes {
        for_peers.push(TcpListener::bind("127.0.0.1:0").await.context(NO_PORT)?);
    }
    let setups = for_peers
        .iter()
        .zip(for_clients.iter().zip(&doors))
        .enumerate()
        .map(|(id, (peers, (clients, http)))| {
            let (peers, clients) = (peers.local_addr()?.to_string(), clients.local_addr()?.to_string());
            let http = Some(http.local_addr()?.to_string());
            // A person who tries things sees what was forced.
            let on_audit: Option<fn(&str)> = Some(|line| note!("{line}"));
            let files = keyring.map(|keyring| keyring.nodes()[id].clone());
            Ok(NodeSetup {
                reached_at: peers.clone(),
                peers,
                clients,
                http,
                files,
                on_audit,
                ..NodeSetup::default()
            })
        })
        .collect::<Result<Vec<_>>>()?;
    // Each node binds its ports anew.
    drop((for_clients, for_peers, doors));
    let lease = arguments.lease.to_string();
    let mut nodes = NodeProcesses::start(OF_PROCESSES, &setups, &["--lease", &lease, "--player", "on"])?;
    let running: Vec<Running> = nodes
        .ids_and_pids()
        .zip(&setups)
        .map(|((id, pid), setup)| {
            let http = setup.http.clone().unwrap_or_default();
            Running { id, pid, endpoint: setup.clients.clone(), http }
        })
        .collect();
    until_usable(&mut nodes, &running, keyring).await?;
    Ok((nodes, running))
}

/// How many times ports are chosen.
const TRIES: u32 = 5;

const NO_PORT: &str = "cannot listen at any port of 127.0.0.1";

/// Ports for so many nodes: the usual ones if they are free, otherwise whatever is.
async fn listeners(nodes: u32, usual: Range<u16>) -> Result<Vec<TcpListener>> {
    let (mut listeners, most) = (Vec::new(), usual.len());
    for port in usual.take(nodes as usize) {
        listeners.extend(TcpListener::bind(("127.0.0.1", port)).await);
    }
    if listeners.len() != (nodes as usize).min(most) {
        listeners.clear();
    }
    while listeners.len() < nodes as usize {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.context(NO_PORT)?);
    }
    Ok(listeners)
}

/// Prints what to type next. If the file that says so to a program cannot be written, nothing is announced.
fn ready(arguments: &Arguments, running: &[Running], keyring: Option<&Keyring>) -> Result<()> {
    if let Some(file) = &arguments.ready_file {
        write_ready_file(file, running, keyring)?;
    }
    let count = running.len();
    let what = if count == 1 { "A node is".to_string() } else { format!("A cluster of {count} nodes is") };
    output::announce(format_args!("{what} ready. Ctrl-C ends it and discards its state.\n\n"));
    for Running { id, pid, endpoint, http } in running {
        output::announce(format_args!("  node {id}  {endpoint}  http {http}  (process {pid})\n"));
    }
    let endpoints: Vec<&str> = running.iter().map(|node| &node.endpoint[..]).collect();
    let usual = USUAL_PORTS.map(|port| format!("127.0.0.1:{port}"));
    output::announce(format_args!("\nIn another terminal:\n\n"));
    let program = std::env::current_exe();
    let search = std::env::var_os("PATH").unwrap_or_default();
    if let Some(alias) = program.ok().and_then(|program| alias(&program, &search)) {
        output::announce(format_args!("  {alias}\n"));
    }
    if !usual.zip(&endpoints).all(|(usual, endpoint)| usual == **endpoint) {
        output::announce(format_args!("  export TOKENWOOD_ENDPOINTS={}\n", endpoints.join(",")));
    }
    if let Some(keyring) = keyring {
        output::announce(format_args!("  {}\n", keyring.export()));
    }
    output::announce(format_args!(
        "  tokenwood run backup -- sleep 10          # one at a time\n  \
           tokenwood run gpu --slots 2 -- sleep 10   # two at a time: start three\n  \
           tokenwood locks                           # holders and waiters\n"
    ));
    if let Some(first) = running.first() {
        let curl = keyring
            .map_or_else(|| format!("curl http://{}", first.http), |keyring| keyring.curl(&first.http));
        output::announce(format_args!("  {curl}/v1/locks/backup/acquire -d ''   # the same by HTTP\n"));
        let scheme = if keyring.is_some() { "https" } else { "http" };
        output::announce(format_args!("\nIn a browser: {scheme}://{}/ui/\n", first.http));
    }
    if let Some(keyring) = keyring {
        output::announce(format_args!(
            "\nThe token is that of 'admin', who may do everything; it is shown this once. Keys and certificates are in\n{}, \
             removed at the end; if this program is killed with -9, remove them yourself.\n",
            keyring.folder().display()
        ));
    }
    Ok(())
}

/// What to type first so that `tokenwood` is this program, if it is not found on the search path: it was not installed, or is
/// another one than that.
fn alias(program: &Path, search: &OsStr) -> Option<String> {
    let installed = std::env::split_paths(search).map(|folder| folder.join("tokenwood"));
    let installed = installed.filter(|file| file.is_file()).find_map(|file| file.canonicalize().ok());
    let program = program.canonicalize().ok()?;
    (installed.as_ref() != Some(&program)).then(|| format!("alias tokenwood={}", quoted(&program)))
}

/// Whole or not at all: a program that waits for it may read it as soon as it is there.
fn write_ready_file(file: &Path, running: &[Running], keyring: Option<&Keyring>) -> Result<()> {
    let nodes: Vec<_> = running
        .iter()
        .map(|node| json!({ "id": node.id, "pid": node.pid, "endpoint": node.endpoint, "http": node.http }))
        .collect();
    let cannot = || format!("cannot write {}", file.display());
    let unfinished = file.with_extension("unfinished");
    let mut facts = json!({ "nodes": nodes });
    for (name, path) in Keyring::paths(keyring) {
        facts[name] = path;
    }
    let ready = json::pretty(Schema::Ready, &facts);
    fs::write(&unfinished, ready + "\n").with_context(cannot)?;
    fs::rename(&unfinished, file).with_context(cannot)
}

/// Waits for a signal that asks this program to end.
pub(crate) async fn until_stopped() -> Result<()> {
    Signals::listen()?.next().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_installed_says_how_to_call_it() {
        let folder = std::env::temp_dir().join(format!("tokenwood-alias-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let expected = Some(format!("alias tokenwood='{}'", program.display()));
        assert_eq!(alias(&program, OsStr::new("")), expected);
        assert_eq!(alias(&program, folder.as_os_str()), expected);
        let installed = folder.join("tokenwood");
        fs::write(&installed, "another one").unwrap();
        assert_eq!(alias(&program, folder.as_os_str()), expected);
        fs::remove_file(&installed).unwrap();
        std::os::unix::fs::symlink(&program, &installed).unwrap();
        assert_eq!(alias(&program, folder.as_os_str()), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
