//! Output that nobody reads: a watcher that is suspended, a log whose reader is gone. Nodes and commands go on.

mod cluster;
mod folder;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::Tokenwood;
use cluster::{Cluster, SOON, TOKENWOOD, ended_within, kill};
use folder::Folder;
use serde_json::Value;

#[test]
fn a_suspended_watcher_stops_nobody() {
    let mut cluster = Cluster::start("suspended", 1, false);
    let mut watcher = watch(&cluster, &[]);
    kill("-STOP", u64::from(watcher.id()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let busy = runtime.block_on(async {
        let client = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        let lock = client.mutex(&"x".repeat(255));
        // More than all buffers on the way to the watcher take.
        for _ in 0..20_000 {
            match tokio::time::timeout(SOON, lock.acquire()).await {
                Ok(guard) => guard.unwrap().release(),
                Err(_) => return false,
            }
        }
        true
    });
    assert!(busy, "the node serves nobody any more");
    let mut next = cluster.client(0, &["run", "y", "--", "true"]).spawn().unwrap();
    let served = ended_within(&mut next, SOON);
    let ends = cluster.ends();
    _ = next.kill();
    _ = watcher.kill();
    _ = (next.wait(), watcher.wait());
    assert!(served.is_some_and(|status| status.success()), "others are served");
    assert!(ends, "the cluster ends when it is asked to");
}

/// Node 0 grants locks, and ends when it is asked to.
fn serves_and_ends(nodes: &mut Nodes) {
    let mut command = Command::new(TOKENWOOD);
    command.args(["run", "x", "--endpoint", &nodes.endpoints[0], "--", "true"]).stdin(Stdio::null());
    let mut command = command.spawn().unwrap();
    let served = ended_within(&mut command, SOON);
    _ = command.kill();
    _ = command.wait();
    assert!(served.is_some_and(|status| status.success()), "the node grants locks");
    kill("-TERM", u64::from(nodes.nodes[0].id()));
    let ended = ended_within(&mut nodes.nodes[0], SOON);
    assert!(ended.is_some_and(|status| status.success()), "it ends when it is asked to: {ended:?}");
}

#[test]
fn a_node_goes_on_when_nobody_reads_its_log() {
    let mut nodes = Nodes::start("log", 3);
    // Its reader goes away, as that of 'tokenwood node 2> >(head -1)' does.
    drop(nodes.nodes[0].stderr.take());
    let view = nodes.view(1).unwrap();
    nodes.nodes[2].kill().unwrap();
    assert!(until(|| nodes.view(1).is_some_and(|now| now > view)), "there is a new view");
    serves_and_ends(&mut nodes);
}

#[test]
fn a_node_goes_on_when_its_log_is_full() {
    // As with a terminal that was stopped with Ctrl-S: there is a reader, and it does not read.
    let (unread, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'x'; PIPE_BYTES]).unwrap();
    let mut nodes = Nodes::start_with("full-log", 3, Some(full.into()));
    serves_and_ends(&mut nodes);
    drop(unread);
}

/// What a pipe takes on Linux.
const PIPE_BYTES: usize = 1 << 16;

#[test]
fn a_command_is_ended_with_its_lock_also_if_nobody_reads_why() {
    let cluster = Cluster::start("unread-loss", 3, true);
    let log = cluster.folder.0.join("log");
    let script =
        format!("trap 'echo asked >> {0}; exit 3' TERM; echo in >> {0}; sleep 60 & wait", log.display());
    let arguments = ["run", "x", "--ttl", "1s", "--", "sh", "-c", &script];
    let mut holder = cluster.client(1, &arguments).stderr(Stdio::piped()).spawn().unwrap();
    drop(holder.stderr.take());
    assert!(until(|| log.exists()));
    kill("-KILL", cluster.pids[1]);
    assert_eq!(ended_within(&mut holder, SOON).and_then(|status| status.code()), Some(76));
    assert_eq!(fs::read_to_string(&log).unwrap(), "in\nasked\n");
}

#[test]
fn a_watcher_goes_on_when_nobody_reads_its_notes() {
    let cluster = Cluster::start("unread-notes", 2, true);
    let mut watcher = watch(&cluster, &["x", "--count", "1"]);
    kill("-KILL", cluster.pids[1]);
    // Long enough for the watcher to notice that the node is gone, and to say so.
    std::thread::sleep(Duration::from_millis(500));
    cluster.says(0, &["acquire", "x", "--wait", "20s", "--quiet"]);
    assert_eq!(ended_within(&mut watcher, SOON).and_then(|status| status.code()), Some(0));
}

/// A watcher, once it watches all nodes. From then on nobody reads its standard error.
fn watch(cluster: &Cluster, arguments: &[&str]) -> Child {
    let mut command = cluster.client(0, &[&["watch"], arguments].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    said.take(cluster.endpoints.len()).for_each(drop);
    child
}

fn until(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < SOON {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Nodes that are processes, with standard errors that the test may close.
struct Nodes {
    nodes: Vec<Child>,
    endpoints: Vec<String>,
    _folder: Folder,
}

impl Nodes {
    fn start(name: &str, count: usize) -> Nodes {
        Nodes::start_with(name, count, None)
    }

    /// The same, with this standard error for the first of them.
    fn start_with(name: &str, count: usize, mut first: Option<Stdio>) -> Nodes {
        let folder = Folder::new(name);
        let listeners: Vec<TcpListener> =
            (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let mut ports: Vec<String> =
            listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
        drop(listeners);
        let endpoints = ports.split_off(count);
        let members: Vec<String> = (0..).zip(&ports).map(|(id, at): (u32, _)| format!("{id}={at}")).collect();
        let node = |(id, clients): (usize, &String)| {
            let mut command = Command::new(TOKENWOOD);
            command.args(["node", "--id", &id.to_string(), "--member", &members.join(",")]);
            command
                .args(["--clients", clients, "--lease", "1s", "--data"])
                .arg(folder.0.join(id.to_string()));
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(first.take().unwrap_or_else(Stdio::piped)).spawn().unwrap()
        };
        let nodes: Vec<Child> = endpoints.iter().enumerate().map(node).collect();
        let nodes = Nodes { nodes, endpoints, _folder: folder };
        assert!(until(|| (0..count).all(|node| nodes.members(node) == Some(count))), "all are members");
        nodes
    }

    /// What this node tells of the cluster.
    fn told(&self, node: usize) -> Option<Value> {
        let mut command = Command::new(TOKENWOOD);
        command.args(["members", "--format", "json", "--endpoint", &self.endpoints[node]]);
        serde_json::from_slice(&command.output().unwrap().stdout).ok()
    }

    fn view(&self, node: usize) -> Option<u64> {
        self.told(node)?["in_view"].as_u64()
    }

    /// How many members this node knows, if it has a lease itself.
    fn members(&self, node: usize) -> Option<usize> {
        let told = self.told(node)?;
        told["lease_left_seconds"].as_f64().filter(|left| *left > 0.0)?;
        Some(told["nodes"].as_array()?.iter().filter(|node| node["member"] == true).count())
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            _ = node.kill();
            _ = node.wait();
        }
    }
}
