//! Nodes of a cluster on this machine, each a process of its own.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use client::{Observer, Question, Told};

/// Processes that end with this one.
pub(crate) struct Nodes(Vec<Node>);

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
        Nodes(Vec::new())
    }

    /// Starts a node at each of these places, with ids from 0 and these further settings.
    pub(crate) fn start(cluster: &str, places: &[Place], settings: &[&str]) -> Result<Nodes> {
        let member = |(id, place): (usize, &Place)| format!("{id}={}", place.reached_at);
        let members = places.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
        // New at every start, so that nothing of an earlier cluster is mistaken for this one.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let incarnation = since.map_or(1, |since| since.as_micros()).to_string();
        let mut nodes = Nodes::none();
        for (id, place) in (0..).zip(places) {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["node", "--cluster", cluster, "--id", &u32::to_string(&id)]);
            command.args(["--listen", &place.peers, "--clients", &place.clients]);
            command.args(["--incarnation", &incarnation, "--member", &members]).args(settings);
            // What is meant for other nodes.
            for setting in ["TOKENWOOD_CONFIG", "TOKENWOOD_ADVERTISE"] {
                command.env_remove(setting);
            }
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().context("a node cannot be started")?;
            let last_words = LastWords::listen_to(child.stderr.take());
            nodes.0.push(Node { id, child, last_words, ended: false });
        }
        Ok(nodes)
    }

    pub(crate) fn ids_and_pids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|node| (node.id, node.child.id()))
    }

    /// Waits until the node at this endpoint answers and is connected to all others.
    pub(crate) async fn until_connected(&mut self, endpoint: &str) -> Result<()> {
        for _ in 0..500 {
            if is_connected(endpoint).await {
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
        for node in self.0.iter_mut().filter(|node| !node.ended) {
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

async fn is_connected(endpoint: &str) -> bool {
    let Ok(mut observer) = Observer::connect(endpoint).await else { return false };
    match observer.ask(Question::Status).await {
        Ok(Told::Status { members, .. }) => members.iter().all(|member| member.unreachable.is_none()),
        _ => false,
    }
}
