//! Output that is not read: a watcher that is suspended, a log whose reader is gone. Nodes and commands go on.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::cluster::{Cluster, SOON, ended_within, kill};
use crate::nodes::{Nodes, until};
use tokenwood::Tokenwood;

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
    assert!(busy, "the node does not serve any more");
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
    let mut command = nodes.client(0, &["run", "x", "--", "true"]).spawn().unwrap();
    let served = ended_within(&mut command, SOON);
    _ = command.kill();
    _ = command.wait();
    assert!(served.is_some_and(|status| status.success()), "the node grants locks");
    kill("-TERM", nodes.pid(0));
    let ended = ended_within(&mut nodes.nodes[0], SOON);
    assert!(ended.is_some_and(|status| status.success()), "it ends when it is asked to: {ended:?}");
}

#[test]
fn a_node_goes_on_when_nobody_reads_its_log() {
    let mut nodes = start("log", None);
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
    let mut nodes = start("full-log", Some(full.into()));
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

/// A watcher, once it watches all nodes. From then on its standard error is not read.
fn watch(cluster: &Cluster, arguments: &[&str]) -> Child {
    let mut command = cluster.client(0, &[&["watch"], arguments].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    said.take(cluster.endpoints.len()).for_each(drop);
    child
}

/// Starts nodes whose standard error the test may close, with this one for the first of them.
fn start(name: &str, mut first: Option<Stdio>) -> Nodes {
    const COUNT: usize = 3;
    let nodes = Nodes::start(name, COUNT, |_, command| {
        command.stderr(first.take().unwrap_or_else(Stdio::piped));
    });
    assert!(until(|| (0..COUNT).all(|node| nodes.members(node) == Some(COUNT))), "all are members");
    nodes
}
