//! `tokenwood dev`: a cluster on this machine, to try things.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::Args;
use node::{Host, HostConfig, Identity, Member, View};
use serde_json::json;
use tokio::net::TcpListener;

use crate::endpoints::{USUAL_PORTS, runtime};
use crate::{Ended, output};

/// Start a cluster on this machine, ready in a second; it ends with Ctrl-C
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    nodes: u32,
    /// Each node is a process of its own
    #[arg(long)]
    processes: bool,
    /// Write a JSON file with ids, process ids and endpoints when the cluster is ready
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

/// A node that runs.
struct Running {
    id: u32,
    pid: u32,
    endpoint: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    runtime()?.block_on(async {
        if arguments.processes { processes(arguments).await } else { in_process(arguments).await }
    })?;
    Ok(Ended::Well)
}

async fn in_process(arguments: &Arguments) -> Result<()> {
    let (view, listeners) = listeners(arguments.nodes).await?;
    let (mut hosts, mut running) = (Vec::new(), Vec::new());
    for (me, for_peers, for_clients) in listeners {
        let endpoint = for_clients.local_addr()?.to_string();
        let (cluster, clients) = ("dev".to_string(), endpoint.clone());
        running.push(Running { id: me.id, pid: std::process::id(), endpoint });
        let config = HostConfig { cluster, me, view: view.clone(), clients, tune: |_| {}, log: |_| {} };
        hosts.push(Host::start(config, for_peers, for_clients)?);
    }
    ready(arguments, &running)?;
    until_stopped().await?;
    for host in hosts {
        host.stop().await;
    }
    Ok(())
}

async fn processes(arguments: &Arguments) -> Result<()> {
    let (view, listeners) = listeners(arguments.nodes).await?;
    let mut commands = Vec::new();
    for (me, _, for_clients) in &listeners {
        let endpoint = for_clients.local_addr()?.to_string();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["node", "--cluster", "dev", "--id", &me.id.to_string(), "--clients", &endpoint]);
        command.args(["--incarnation", &me.incarnation.to_string()]);
        for member in &view.members {
            command.args(["--member", &format!("{}={}", member.identity.id, member.address)]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        commands.push((me.id, endpoint, command));
    }
    // Each node binds its ports anew.
    drop(listeners);
    let (mut nodes, mut running) = (Nodes(Vec::new()), Vec::new());
    for (id, endpoint, mut command) in commands {
        let child = command.spawn().context("a node cannot be started")?;
        running.push(Running { id, pid: child.id(), endpoint });
        nodes.0.push(child);
    }
    for node in &running {
        wait_for(&node.endpoint, &mut nodes).await?;
    }
    ready(arguments, &running)?;
    until_stopped().await
}

/// Processes that end with this one.
struct Nodes(Vec<Child>);

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill();
            _ = child.wait();
        }
    }
}

async fn wait_for(endpoint: &str, nodes: &mut Nodes) -> Result<()> {
    for _ in 0..500 {
        if client::Tokenwood::connect([endpoint]).await.is_ok() {
            return Ok(());
        }
        for child in &mut nodes.0 {
            if let Some(status) = child.try_wait()? {
                bail!("a node ended at once: {status}");
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("the node at {endpoint} does not answer")
}

type Listeners = Vec<(Identity, TcpListener, TcpListener)>;

/// Ports for so many nodes: the usual ones for clients if they are free, otherwise whatever is.
async fn listeners(nodes: u32) -> Result<(View, Listeners)> {
    let cannot = "no port on 127.0.0.1 can be listened at";
    // New at every start, so that nothing of an earlier cluster is mistaken for this one.
    let incarnation =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64);
    let mut usual = Vec::new();
    for port in USUAL_PORTS.take(nodes as usize) {
        usual.extend(TcpListener::bind(("127.0.0.1", port)).await);
    }
    if usual.len() != (nodes as usize).min(USUAL_PORTS.len()) {
        usual.clear();
    }
    let mut usual = usual.into_iter();
    let (mut members, mut listeners) = (Vec::new(), Vec::new());
    for id in 0..nodes {
        let for_clients = match usual.next() {
            Some(listener) => listener,
            None => TcpListener::bind("127.0.0.1:0").await.context(cannot)?,
        };
        let for_peers = TcpListener::bind("127.0.0.1:0").await.context(cannot)?;
        let identity = Identity { id, incarnation };
        members.push(Member { identity, address: for_peers.local_addr()?.to_string() });
        listeners.push((identity, for_peers, for_clients));
    }
    Ok((View { epoch: 1, members }, listeners))
}

/// Says what to type next.
fn ready(arguments: &Arguments, running: &[Running]) -> Result<()> {
    let count = running.len();
    let what = if count == 1 { "A node is".to_string() } else { format!("A cluster of {count} nodes is") };
    output::print(format_args!("{what} ready. Ctrl-C ends it, and with it everything it remembers.\n\n"));
    for Running { id, pid, endpoint } in running {
        output::print(format_args!("  node {id}  {endpoint}  (process {pid})\n"));
    }
    let endpoints: Vec<&str> = running.iter().map(|node| &node.endpoint[..]).collect();
    let usual = USUAL_PORTS.map(|port| format!("127.0.0.1:{port}"));
    output::print(format_args!("\nIn another terminal:\n\n"));
    if !usual.zip(&endpoints).all(|(usual, endpoint)| usual == **endpoint) {
        output::print(format_args!("  export TOKENWOOD_ENDPOINTS={}\n", endpoints.join(",")));
    }
    output::print(format_args!(
        "  tokenwood run backup -- sleep 10          # one at a time\n  \
           tokenwood run gpu --slots 2 -- sleep 10   # two at a time: start three\n  \
           tokenwood locks                           # who holds what, and who waits\n"
    ));
    match &arguments.ready_file {
        Some(file) => write_ready_file(file, running),
        None => Ok(()),
    }
}

/// Whole or not at all: whoever waits for it may read it as soon as it is there.
fn write_ready_file(file: &Path, running: &[Running]) -> Result<()> {
    let nodes: Vec<_> = running
        .iter()
        .map(|node| json!({ "id": node.id, "pid": node.pid, "endpoint": node.endpoint }))
        .collect();
    let cannot = || format!("cannot write {}", file.display());
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, format!("{:#}\n", json!({ "nodes": nodes }))).with_context(cannot)?;
    fs::rename(&unfinished, file).with_context(cannot)
}

/// Waits for Ctrl-C or a polite request to end.
pub(crate) async fn until_stopped() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let cannot = "signals cannot be listened for";
    let mut terminate = signal(SignalKind::terminate()).context(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).context(cannot)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
