//! `tokenwood dev`: a cluster on this machine, to try things.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::Args;
use client::{Observer, Question, Told};
use node::LocalCluster;
use serde_json::json;
use tokio::net::TcpListener;

use crate::endpoints::{USUAL_PORTS, runtime};
use crate::signals::Signals;
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
    let cluster = LocalCluster::start_at(for_clients(arguments.nodes).await?, |_| {}).await?;
    let endpoints = (0..).zip(cluster.endpoints.clone());
    let running: Vec<Running> =
        endpoints.map(|(id, endpoint)| Running { id, pid: std::process::id(), endpoint }).collect();
    for node in &running {
        until_connected(&node.endpoint, &mut Nodes(Vec::new())).await?;
    }
    ready(arguments, &running)?;
    until_stopped().await?;
    cluster.stop().await;
    Ok(())
}

async fn processes(arguments: &Arguments) -> Result<()> {
    let for_clients = for_clients(arguments.nodes).await?;
    let mut for_peers = Vec::new();
    for _ in 0..arguments.nodes {
        for_peers.push(TcpListener::bind("127.0.0.1:0").await.context(NO_PORT)?);
    }
    let address = |listener: &TcpListener| listener.local_addr().map(|address| address.to_string());
    let members: Vec<String> = (0..)
        .zip(&for_peers)
        .map(|(id, listener): (u32, _)| Ok(format!("{id}={}", address(listener)?)))
        .collect::<Result<_>>()?;
    // New at every start, so that nothing of an earlier cluster is mistaken for this one.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let incarnation = since.map_or(1, |since| since.as_micros()).to_string();
    let mut commands = Vec::new();
    for (id, listener) in (0..).zip(&for_clients) {
        let endpoint = address(listener)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["node", "--cluster", "dev", "--id", &id.to_string(), "--clients", &endpoint]);
        command.args(["--incarnation", &incarnation, "--member", &members.join(",")]);
        // What is meant for other nodes.
        for setting in ["TOKENWOOD_CONFIG", "TOKENWOOD_LISTEN", "TOKENWOOD_ADVERTISE"] {
            command.env_remove(setting);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        commands.push((id, endpoint, command));
    }
    // Each node binds its ports anew.
    drop((for_clients, for_peers));
    let (mut nodes, mut running) = (Nodes(Vec::new()), Vec::new());
    for (id, endpoint, mut command) in commands {
        let mut child = command.spawn().context("a node cannot be started")?;
        running.push(Running { id, pid: child.id(), endpoint });
        let last_words = LastWords::listen_to(child.stderr.take());
        nodes.0.push(Node { id, child, last_words, ended: false });
    }
    for node in &running {
        until_connected(&node.endpoint, &mut nodes).await?;
    }
    ready(arguments, &running)?;
    tokio::select! {
        stopped = until_stopped() => stopped,
        failed = nodes.tell_of_failures() => failed,
    }
}

/// Processes that end with this one.
struct Nodes(Vec<Node>);

/// A node that is a process of its own.
struct Node {
    id: u32,
    child: Child,
    last_words: LastWords,
    /// It has ended, and that was said.
    ended: bool,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.0 {
            _ = node.child.kill();
            _ = node.child.wait();
        }
    }
}

impl Nodes {
    /// A node that has ended since this was last asked: which, how, and what it said last.
    fn failure(&mut self) -> Result<Option<String>> {
        for node in self.0.iter_mut().filter(|node| !node.ended) {
            if let Some(status) = node.child.try_wait()? {
                node.ended = true;
                return Ok(Some(format!("node {} has ended ({status}){}", node.id, node.last_words)));
            }
        }
        Ok(None)
    }

    /// Says which nodes end, for ever.
    async fn tell_of_failures(&mut self) -> Result<()> {
        loop {
            if let Some(failure) = self.failure()? {
                eprintln!("tokenwood: {failure}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// The last thing that a node wrote to its standard error.
struct LastWords(Arc<Mutex<String>>);

impl LastWords {
    fn listen_to(stderr: Option<ChildStderr>) -> LastWords {
        let last = Arc::new(Mutex::new(String::new()));
        let kept = last.clone();
        std::thread::spawn(move || {
            for line in
                stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
            {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
            }
        });
        LastWords(last)
    }
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &**self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            "" => Ok(()),
            last => write!(f, "; it said last: {last}"),
        }
    }
}

/// Waits until a node answers and is connected to all others.
async fn until_connected(endpoint: &str, nodes: &mut Nodes) -> Result<()> {
    for _ in 0..500 {
        if is_connected(endpoint).await {
            return Ok(());
        }
        if let Some(failure) = nodes.failure()? {
            bail!(failure);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("the node at {endpoint} does not answer, or cannot reach the others")
}

async fn is_connected(endpoint: &str) -> bool {
    let Ok(mut observer) = Observer::connect(endpoint).await else { return false };
    match observer.ask(Question::Status).await {
        Ok(Told::Status { members, .. }) => members.iter().all(|member| member.unreachable.is_none()),
        _ => false,
    }
}

const NO_PORT: &str = "no port on 127.0.0.1 can be listened at";

/// Ports for the clients of so many nodes: the usual ones if they are free, otherwise whatever is.
async fn for_clients(nodes: u32) -> Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for port in USUAL_PORTS.take(nodes as usize) {
        listeners.extend(TcpListener::bind(("127.0.0.1", port)).await);
    }
    if listeners.len() != (nodes as usize).min(USUAL_PORTS.len()) {
        listeners.clear();
    }
    while listeners.len() < nodes as usize {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.context(NO_PORT)?);
    }
    Ok(listeners)
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
    Signals::listen()?.next().await;
    Ok(())
}
