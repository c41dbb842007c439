//! NodeProcesses of a cluster on this machine, each a process of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use security::Files;
use service::InWords;
use sync::IgnorePoison;
use tokenwood::{Access, Admin, NodeStatus};
use transport::clock;

/// Processes that end with this one.
pub struct NodeProcesses {
    nodes: BTreeMap<u32, Node>,
    plan: Plan,
    folder: Folder,
}

/// How the nodes are started.
#[derive(Default)]
struct Plan {
    cluster: String,
    setups: Vec<NodeSetup>,
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
    last_line: LastLine,
    /// A log that is full, and is not read.
    _unread: Option<PipeReader>,
    /// It has ended, and that was said or meant.
    ended: bool,
}

impl Drop for NodeProcesses {
    fn drop(&mut self) {
        for node in self.nodes.values_mut() {
            _ = node.child.kill();
            _ = node.child.wait();
        }
    }
}

/// How a node is started: its addresses, its network and its log.
#[derive(Clone, Default)]
pub struct NodeSetup {
    /// The address that its peers call.
    pub reached_at: String,
    /// The address at which it listens for peers.
    pub peers: String,
    /// The address at which it listens for clients.
    pub clients: String,
    /// The address of its HTTP door, if it has one.
    pub http: Option<String>,
    /// The process whose network it is in, if not in that of this process.
    pub network_of: Option<u32>,
    /// Variables to set in its environment.
    pub environment: Vec<(&'static str, String)>,
    /// Its CA, certificate and key, if it encrypts.
    pub files: Option<Files>,
    /// What happens to its standard error.
    pub log: Log,
    /// Called with each line of its audit, unless its log is kept in a file.
    pub on_audit: Option<fn(&str)>,
}

/// What becomes of a node's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Log {
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

/// Variables that are meant for other nodes, or for clients.
const FOR_OTHER_NODES: [&str; 14] = [
    "CONFIG",
    "ADVERTISE",
    "REACHED_AT",
    "JOIN",
    "LOG_FORMAT",
    "CA",
    "CERTIFICATE",
    "KEY",
    "ENCRYPTION",
    "INSECURE",
    "SOCKET",
    "HTTP_LISTEN",
    "PLAYER",
    "RIGHTS",
];

impl NodeSetup {
    /// The flags that say how it encrypts.
    fn encryption(&self) -> Vec<OsString> {
        // Networks of their own, where nodes have other addresses than loopback, belong to tests alone.
        let Some(files) = &self.files else { return vec!["--insecure".into()] };
        // What started the nodes turns rights on, if it wants them.
        as_flags(files).into_iter().chain(["--rights".into(), "off".into()]).collect()
    }

    /// A command of this program that runs there.
    pub fn command(&self) -> Result<Command> {
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

/// The flags that name these files.
pub(crate) fn as_flags(files: &Files) -> Vec<OsString> {
    let Files { ca, certificate, key } = files;
    let files = [("--ca", Some(ca)), ("--certificate", certificate.as_ref()), ("--key", key.as_ref())];
    files.into_iter().filter_map(|(flag, file)| Some([flag.into(), file?.into()])).flatten().collect()
}

impl NodeProcesses {
    /// No processes.
    pub fn none() -> NodeProcesses {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tokenwood-nodes-{}-{count}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        NodeProcesses { nodes: BTreeMap::new(), plan: Plan::default(), folder }
    }

    /// Starts a node at each of these setups, with ids from 0 and these further settings.
    pub fn start(cluster: &str, setups: &[NodeSetup], settings: &[&str]) -> Result<NodeProcesses> {
        let mut nodes = NodeProcesses::planned(cluster, setups, settings, None);
        for id in (0..).take(setups.len()) {
            nodes.launch(id)?;
        }
        Ok(nodes)
    }

    /// The same, without starting any yet.
    pub fn planned(
        cluster: &str,
        setups: &[NodeSetup],
        settings: &[&str],
        logs: Option<PathBuf>,
    ) -> NodeProcesses {
        let settings = settings.iter().map(|setting| setting.to_string()).collect();
        let mut nodes = NodeProcesses::none();
        nodes.plan = Plan { cluster: cluster.to_string(), setups: setups.to_vec(), settings, logs };
        nodes
    }

    /// Where this node keeps what was agreed on.
    pub fn data(&self, id: u32) -> PathBuf {
        self.folder.0.join(id.to_string())
    }

    /// Starts this node, or starts it again from its folder. It ends with the thread that calls this, at the latest.
    pub fn launch(&mut self, id: u32) -> Result<()> {
        let Plan { cluster, setups, settings, logs } = &self.plan;
        let member = |(id, setup): (usize, &NodeSetup)| format!("{id}={}", setup.reached_at);
        let members = setups.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
        let setup = setups.get(id as usize).with_context(|| format!("there is no node {id}"))?;
        let mut command = setup.command()?;
        command.args(["node", "--cluster", cluster, "--id", &id.to_string()]);
        command.args(["--listen", &setup.peers, "--clients", &setup.clients]);
        command.args(setup.http.iter().flat_map(|http| ["--http", http]));
        command.arg("--data").arg(self.data(id));
        // If this process is killed, it cannot end its nodes.
        command.args(["--parent", &std::process::id().to_string()]);
        command.args(["--member", &members]).args(setup.encryption()).args(settings);
        for setting in FOR_OTHER_NODES {
            command.env_remove(format!("TOKENWOOD_{setting}"));
        }
        let (stderr, unread) = setup.log.open()?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let log = match logs {
            Some(folder) => {
                Some(File::options().append(true).create(true).open(folder.join(format!("node-{id}.log")))?)
            }
            None => None,
        };
        let mut child = command.spawn().context("cannot start a node")?;
        let last_line = LastLine::listen_to(child.stderr.take(), log, setup.on_audit);
        self.nodes.insert(id, Node { child, last_line, _unread: unread, ended: false });
        Ok(())
    }

    /// What becomes of the log of a node from its next start on.
    pub fn set_log(&mut self, id: u32, log: Log) {
        self.plan.setups[id as usize].log = log;
    }

    /// The nodes that run and were not asked to end.
    pub fn running(&self) -> Vec<u32> {
        self.nodes.iter().filter(|(_, node)| !node.ended).map(|(id, _)| *id).collect()
    }

    /// Sends a signal to a node.
    pub fn signal(&self, id: u32, signal: Signal) -> Result<()> {
        let node = self.nodes.get(&id).with_context(|| format!("node {id} does not run"))?;
        let process = Pid::from_raw(node.child.id().cast_signed()).context("a node has no process id")?;
        kill_process(process, signal).with_context(|| format!("cannot send node {id} a signal"))
    }

    /// Ends a node with this signal and waits until it is gone, or kills it. Returns how it ended.
    pub async fn end(&mut self, id: u32, signal: Signal, limit: Duration) -> Result<ExitStatus> {
        self.signal(id, signal)?;
        let node = self.nodes.get_mut(&id).with_context(|| format!("node {id} does not run"))?;
        node.ended = true;
        let until = Instant::now() + limit;
        loop {
            if let Some(status) = node.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                node.child.kill()?;
                node.child.wait()?;
                let (within, said) = (InWords(limit), &node.last_line);
                bail!("node {id} did not end within {within} after {signal:?}{said}");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The ids of all nodes that were started, with their process ids.
    pub fn ids_and_pids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.nodes.iter().map(|(id, node)| (*id, node.child.id()))
    }

    /// Waits until the node at this endpoint answers, is one of so many members and connected to all others.
    pub async fn until_connected(&mut self, endpoint: &str, members: usize, access: &Access) -> Result<()> {
        for _ in 0..1000 {
            if is_connected(endpoint, members, access).await {
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
    pub fn failure(&mut self) -> Result<Option<String>> {
        for (id, node) in self.nodes.iter_mut().filter(|(_, node)| !node.ended) {
            if let Some(status) = node.child.try_wait()? {
                node.ended = true;
                return Ok(Some(format!("node {id} has ended ({status}){}", node.last_line.at_its_end())));
            }
        }
        Ok(None)
    }

    /// Waits until a node ends that was not asked to. Returns which, how, and what it said last.
    pub async fn next_failure(&mut self) -> Result<String> {
        loop {
            if let Some(failure) = self.failure()? {
                return Ok(failure);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// What is in a line of the audit, as nodes write it.
const AUDIT: &str = " audit: ";

/// The last thing that a node wrote to its standard error.
struct LastLine {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

/// What a node wrote before it ended is read by then, unless another process has its standard error, too.
const LONGEST_READ: Duration = Duration::from_secs(1);

impl LastLine {
    fn listen_to(stderr: Option<ChildStderr>, mut log: Option<File>, on_audit: Option<fn(&str)>) -> LastLine {
        let last = Arc::new(Mutex::new(String::new()));
        let kept = last.clone();
        let reader = std::thread::spawn(move || {
            for line in
                stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
            {
                if let Some(log) = &mut log {
                    // With the time, for those who read it later.
                    _ = writeln!(log, "{} {line}", clock::machine_now().0);
                } else if let Some(on_audit) = on_audit.filter(|_| line.contains(AUDIT)) {
                    on_audit(&line);
                }
                *kept.lock().ignore_poison() = line;
            }
        });
        LastLine { text: last, reader }
    }

    /// The same, of a node that has ended: how it ended is known before what it said is read.
    fn at_its_end(&self) -> &LastLine {
        let until = Instant::now() + LONGEST_READ;
        while !self.reader.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self
    }
}

impl fmt::Display for LastLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &**self.text.lock().ignore_poison() {
            "" => Ok(()),
            last => write!(f, "; its last line: {last}"),
        }
    }
}

pub(crate) async fn is_connected(endpoint: &str, expected: usize, access: &Access) -> bool {
    let Ok(mut admin) = Admin::connect_with(endpoint, access).await else { return false };
    let Ok(cluster) = admin.cluster().await else { return false };
    if cluster.lease_left.is_zero() {
        return false;
    }
    admin.status().await.is_ok_and(|NodeStatus { members, .. }| {
        members.len() == expected && members.iter().all(|member| member.unreachable.is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a process says last is known once its end is: whether ports are chosen anew depends on it.
    #[test]
    fn a_process_that_has_ended_has_said_its_last_line() {
        for _ in 0..50 {
            let mut said = Command::new("sh");
            said.args(["-c", "echo the port is taken >&2; exit 2"]).stderr(Stdio::piped());
            let mut child = said.spawn().unwrap();
            let last_line = LastLine::listen_to(child.stderr.take(), None, None);
            while child.try_wait().unwrap().is_none() {}
            assert_eq!(last_line.at_its_end().to_string(), "; its last line: the port is taken");
        }
    }
}
