//! Nodes of a cluster on this machine, each a process of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokenwood::{Observer, Question, QuestionAnswer};
use transport::clock;

use crate::output::note;

/// Processes that end with this one.
pub(crate) struct Nodes {
    nodes: BTreeMap<u32, Node>,
    plan: Plan,
    folder: Folder,
}

/// How the nodes are started.
#[derive(Default)]
struct Plan {
    cluster: String,
    places: Vec<Place>,
    settings: Vec<String>,
    /// Where everything that nodes say is kept.
    logs: Option<PathBuf>,
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
    child: Child,
    last_words: LastWords,
    /// A log that is full, and is not read.
    _unread: Option<PipeReader>,
    /// It has ended, and that was said or meant.
    ended: bool,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in self.nodes.values_mut() {
            _ = node.child.kill();
            _ = node.child.wait();
        }
    }
}

/// Where a node is.
#[derive(Clone, Default)]
pub(crate) struct Place {
    /// Where its peers reach it,
    pub(crate) reached_at: String,
    /// where it listens for them,
    pub(crate) peers: String,
    /// and for clients.
    pub(crate) clients: String,
    /// It lives in the network of this process.
    pub(crate) network_of: Option<u32>,
    /// What else it finds in its environment.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// What becomes of what it writes to standard error.
    pub(crate) log: Log,
}

/// What becomes of a node's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Log {
    /// It is read.
    #[default]
    Read,
    /// Its reader is gone.
    Closed,
    /// It is full, and its reader does not read.
    Full,
}

/// What a pipe takes on Linux.
const PIPE_BYTES: usize = 1 << 16;

impl Log {
    /// The standard error of a node, and what has to be kept until it ends.
    fn open(self) -> Result<(Stdio, Option<PipeReader>)> {
        if self == Log::Read {
            return Ok((Stdio::piped(), None));
        }
        let (reader, mut writer) = std::io::pipe()?;
        if self == Log::Full {
            writer.write_all(&[b'x'; PIPE_BYTES])?;
        }
        Ok((writer.into(), (self == Log::Full).then_some(reader)))
    }
}

impl Place {
    /// A command of this program that runs there.
    pub(crate) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe()?;
        let mut command = match self.network_of {
            None => Command::new(program),
            Some(process) => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net=/proc/{process}/ns/net")).arg("--").arg(program);
                command
            }
        };
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

impl Nodes {
    /// No processes.
    pub(crate) fn none() -> Nodes {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tokenwood-nodes-{}-{count}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        Nodes { nodes: BTreeMap::new(), plan: Plan::default(), folder }
    }

    /// Starts a node at each of these places, with ids from 0 and these further settings.
    pub(crate) fn start(cluster: &str, places: &[Place], settings: &[&str]) -> Result<Nodes> {
        let mut nodes = Nodes::planned(cluster, places, settings, None);
        for id in (0..).take(places.len()) {
            nodes.launch(id)?;
        }
        Ok(nodes)
    }

    /// The same, without starting any yet.
    pub(crate) fn planned(
        cluster: &str,
        places: &[Place],
        settings: &[&str],
        logs: Option<PathBuf>,
    ) -> Nodes {
        let settings = settings.iter().map(|setting| setting.to_string()).collect();
        let mut nodes = Nodes::none();
        nodes.plan = Plan { cluster: cluster.to_string(), places: places.to_vec(), settings, logs };
        nodes
    }

    /// Where this node keeps what was agreed on.
    pub(crate) fn data(&self, id: u32) -> PathBuf {
        self.folder.0.join(id.to_string())
    }

    /// Starts this node, or starts it again from its folder.
    pub(crate) fn launch(&mut self, id: u32) -> Result<()> {
        let Plan { cluster, places, settings, logs } = &self.plan;
        let member = |(id, place): (usize, &Place)| format!("{id}={}", place.reached_at);
        let members = places.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
        let place = places.get(id as usize).with_context(|| format!("there is no node {id}"))?;
        let mut command = place.command()?;
        command.args(["node", "--cluster", cluster, "--id", &id.to_string()]);
        command.args(["--listen", &place.peers, "--clients", &place.clients]);
        command.arg("--data").arg(self.data(id));
        command.args(["--member", &members]).args(settings);
        // What is meant for other nodes.
        for setting in ["CONFIG", "ADVERTISE", "REACHED_AT", "JOIN", "LOG_FORMAT"] {
            command.env_remove(format!("TOKENWOOD_{setting}"));
        }
        let (stderr, unread) = place.log.open()?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let log = match logs {
            Some(folder) => {
                Some(File::options().append(true).create(true).open(folder.join(format!("node-{id}.log")))?)
            }
            None => None,
        };
        let mut child = command.spawn().context("cannot start a node")?;
        let last_words = LastWords::listen_to(child.stderr.take(), log);
        self.nodes.insert(id, Node { child, last_words, _unread: unread, ended: false });
        Ok(())
    }

    /// What becomes of the log of a node from its next start on.
    pub(crate) fn set_log(&mut self, id: u32, log: Log) {
        self.plan.places[id as usize].log = log;
    }

    /// The nodes that run and were not asked to end.
    pub(crate) fn running(&self) -> Vec<u32> {
        self.nodes.iter().filter(|(_, node)| !node.ended).map(|(id, _)| *id).collect()
    }

    /// Sends a signal to a node.
    pub(crate) fn signal(&self, id: u32, signal: Signal) -> Result<()> {
        let node = self.nodes.get(&id).with_context(|| format!("node {id} does not run"))?;
        let process = Pid::from_raw(node.child.id().cast_signed()).context("a node has no process id")?;
        kill_process(process, signal).with_context(|| format!("cannot send node {id} a signal"))
    }

    /// Ends a node with this signal and waits until it is gone, or kills it. Returns how it ended.
    pub(crate) async fn end(&mut self, id: u32, signal: Signal, patience: Duration) -> Result<ExitStatus> {
        self.signal(id, signal)?;
        let node = self.nodes.get_mut(&id).with_context(|| format!("node {id} does not run"))?;
        node.ended = true;
        let until = Instant::now() + patience;
        loop {
            if let Some(status) = node.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                node.child.kill()?;
                node.child.wait()?;
                bail!("node {id} did not end within {patience:?} after {signal:?}{}", node.last_words);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn ids_and_pids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.nodes.iter().map(|(id, node)| (*id, node.child.id()))
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
        for (id, node) in self.nodes.iter_mut().filter(|(_, node)| !node.ended) {
            if let Some(status) = node.child.try_wait()? {
                node.ended = true;
                return Ok(Some(format!("node {id} has ended ({status}){}", node.last_words)));
            }
        }
        Ok(None)
    }

    /// Says which nodes end, for ever.
    pub(crate) async fn tell_of_failures(&mut self) -> Result<()> {
        loop {
            if let Some(failure) = self.failure()? {
                note!("tokenwood: {failure}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// What is in a line of the audit, as nodes write it.
const AUDIT: &str = " audit: ";

/// The last thing that a node wrote to its standard error.
struct LastWords(Arc<Mutex<String>>);

impl LastWords {
    fn listen_to(stderr: Option<ChildStderr>, mut log: Option<File>) -> LastWords {
        let last = Arc::new(Mutex::new(String::new()));
        let kept = last.clone();
        std::thread::spawn(move || {
            for line in
                stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
            {
                if let Some(log) = &mut log {
                    // With the time, for those who read it later.
                    _ = writeln!(log, "{} {line}", clock::machine_now().0);
                } else if line.contains(AUDIT) {
                    // A person who tries things sees what was forced.
                    note!("{line}");
                }
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
            last => write!(f, "; its last line: {last}"),
        }
    }
}

pub(crate) async fn is_connected(endpoint: &str, expected: usize) -> bool {
    let Ok(mut observer) = Observer::connect(endpoint).await else { return false };
    let Ok(QuestionAnswer::Cluster(cluster)) = observer.ask(Question::Cluster).await else { return false };
    if cluster.lease_left.is_zero() {
        return false;
    }
    match observer.ask(Question::Status).await {
        Ok(QuestionAnswer::Status { members, .. }) => {
            members.len() == expected && members.iter().all(|member| member.unreachable.is_none())
        }
        _ => false,
    }
}
