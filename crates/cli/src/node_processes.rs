//! Nodes of a cluster on this machine, each a process of its own.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use client::{Observer, Question, Told};

/// Processes that end with this one.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    folder: Folder,
}

/// Where the nodes keep what they have agreed on: of no use when they are gone.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // There is none if no node was started.
        _ = std::fs::remove_dir_all(&self.0);
    }
}

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
        for node in &mut self.nodes {
            _ = node.child.kill();
            _ = node.child.wait();
        }
    }
}

/// Where a node is.
pub(crate) struct Place {
    /// Where its peers reach it,
    pub(crate) reached_at: String,
    /// where it listens for them,
    pub(crate) peers: String,
    /// and for clients.
    pub(crate) clients: String,
}

impl Nodes {
    /// No processes.
    pub(crate) fn none() -> Nodes {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tokenwood-nodes-{}-{count}", std::process::id());
        Nodes { nodes: Vec::new(), folder: Folder(std::env::temp_dir().join(name)) }
    }

    /// Starts a node at each of these places, with ids from 0 and these further settings.
    pub(crate) fn start(cluster: &str, places: &[Place], settings: &[&str]) -> Result<Nodes> {
        let member = |(id, place): (usize, &Place)| format!("{id}={}", place.reached_at);
        let members = places.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
        let mut nodes = Nodes::none();
        for (id, place) in (0..).zip(places) {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["node", "--cluster", cluster, "--id", &u32::to_string(&id)]);
            command.args(["--listen", &place.peers, "--clients", &place.clients]);
            command.arg("--data").arg(nodes.folder.0.join(id.to_string()));
            command.args(["--member", &members]).args(settings);
            // What is meant for other nodes.
            for setting in ["CONFIG", "ADVERTISE", "REACHED_AT", "JOIN"] {
                command.env_remove(format!("TOKENWOOD_{setting}"));
            }
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().context("a node cannot be started")?;
            let last_words = LastWords::listen_to(child.stderr.take());
            nodes.nodes.push(Node { id, child, last_words, ended: false });
        }
        Ok(nodes)
    }

    pub(crate) fn ids_and_pids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.nodes.iter().map(|node| (node.id, node.child.id()))
    }

    /// Waits until the node at this endpoint answers, is one of so many members and connected to all others.
    pub(crate) async fn until_connected(&mut self, endpoint: &str, members: usize) -> Result<()> {
        for _ in 0..1000 {
            if is_connected(endpoint, members).await {
                return Ok(());
            }
            if let Some(failure) = self.failure()? {
                bail!(failure);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("the node at {endpoint} does not answer, or cannot reach the others")
    }

    /// A node that has ended since this was last asked: which, how, and what it said last.
    pub(crate) fn failure(&mut self) -> Result<Option<String>> {
        for node in self.nodes.iter_mut().filter(|node| !node.ended) {
            if let Some(status) = node.child.try_wait()? {
                node.ended = true;
                return Ok(Some(format!("node {} has ended ({status}){}", node.id, node.last_words)));
            }
        }
        Ok(None)
    }

    /// Says which nodes end, for ever.
    pub(crate) async fn tell_of_failures(&mut self) -> Result<()> {
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

async fn is_connected(endpoint: &str, expected: usize) -> bool {
    let Ok(mut observer) = Observer::connect(endpoint).await else { return false };
    let Ok(Told::Cluster(cluster)) = observer.ask(Question::Cluster).await else { return false };
    if cluster.lease_left.is_zero() {
        return false;
    }
    match observer.ask(Question::Status).await {
        Ok(Told::Status { members, .. }) => {
            members.len() == expected && members.iter().all(|member| member.unreachable.is_none())
        }
        _ => false,
    }
}
