//! A cluster of `tokenwood dev`, and commands of its clients: shared by the tests of locks.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::Folder;
use crate::json_schema::{self, document};

pub(crate) const TOKENWOOD: &str = env!("CARGO_BIN_EXE_tokenwood");

/// A cluster that ends with the test.
pub(crate) struct Cluster {
    dev: Child,
    pub(crate) folder: Folder,
    pub(crate) pids: Vec<u64>,
    pub(crate) endpoints: Vec<String>,
    /// What it says to programs.
    pub(crate) ready: Value,
}

impl Cluster {
    pub(crate) fn start(name: &str, nodes: u32, processes: bool) -> Cluster {
        Cluster::start_with(name, nodes, processes, |_, _| {})
    }

    /// The same, after `prepare` has had its folder and the command.
    pub(crate) fn start_with(
        name: &str,
        nodes: u32,
        processes: bool,
        prepare: impl FnOnce(&Path, &mut Command),
    ) -> Cluster {
        let folder = Folder::new(name);
        let ready = folder.0.join("ready.json");
        let mut dev = Command::new(TOKENWOOD);
        dev.args(["dev", "--nodes", &nodes.to_string(), "--ready-file"]).arg(&ready);
        dev.args(processes.then_some("--processes")).stdout(Stdio::null()).stderr(Stdio::inherit());
        prepare(&folder.0, &mut dev);
        let mut dev = dev.spawn().unwrap();
        for _ in 0..2000 {
            if ready.exists() {
                let ready: Value = serde_json::from_str(&fs::read_to_string(&ready).unwrap()).unwrap();
                let nodes = ready["nodes"].as_array().unwrap();
                let pids = nodes.iter().map(|node| node["pid"].as_u64().unwrap()).collect();
                let endpoints =
                    nodes.iter().map(|node| node["endpoint"].as_str().unwrap().to_string()).collect();
                let cluster = Cluster { dev, folder, pids, endpoints, ready };
                // Only now: a cluster that nothing owns would outlive the test.
                assert_eq!(json_schema::problems(&cluster.ready), [""; 0]);
                return cluster;
            }
            assert_eq!(dev.try_wait().unwrap(), None, "it ended before it was ready");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the cluster is not ready");
    }

    /// A command of a client of this node.
    pub(crate) fn client(&self, node: usize, arguments: &[&str]) -> Command {
        client_of(&self.endpoints[node], arguments)
    }

    pub(crate) fn run(&self, node: usize, arguments: &[&str]) -> Output {
        self.client(node, arguments).output().unwrap()
    }

    /// What a command that succeeds prints.
    pub(crate) fn says(&self, node: usize, arguments: &[&str]) -> String {
        let output = self.run(node, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", error(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that succeeds prints as JSON.
    pub(crate) fn json(&self, node: usize, arguments: &[&str]) -> Value {
        let said = self.says(node, &[arguments, &["--format", "json"]].concat());
        document(said)
    }

    /// Waits until so many hold and so many wait for a name.
    pub(crate) fn until(&self, name: &str, hold: usize, wait: usize) {
        let mut found = Value::Null;
        for _ in 0..500 {
            found = self.json(0, &["inspect", name]);
            let count = |key: &str| found[key].as_array().unwrap().len();
            if (count("holders"), count("waiters")) == (hold, wait) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("never {hold} hold and {wait} wait: {found:#}");
    }
}

impl Cluster {
    /// Asks the cluster to end, and says whether it does.
    pub(crate) fn ends(&mut self) -> bool {
        if self.dev.try_wait().unwrap().is_some() {
            return true;
        }
        kill("-TERM", u64::from(self.dev.id()));
        ended_within(&mut self.dev, SOON).is_some()
    }
}

impl Cluster {
    /// Kills `dev` without warning, so that it ends nothing.
    pub(crate) fn kill_dev(&mut self) {
        self.dev.kill().unwrap();
        self.dev.wait().unwrap();
    }
}

/// Whether a process is there, and not merely waits for its parent to notice its end.
pub(crate) fn lives(process: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

pub(crate) fn until_gone(process: u64) {
    let begun = Instant::now();
    while lives(process) {
        assert!(begun.elapsed() < SOON, "process {process} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Politely, so that it ends its nodes.
        if !self.ends() {
            _ = self.dev.kill();
            _ = self.dev.wait();
        }
    }
}

/// A command of a client of the node at this endpoint.
pub(crate) fn client_of(endpoint: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(TOKENWOOD);
    let at = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
    command.args(&arguments[..at]).args(["--endpoint", endpoint]).args(&arguments[at..]);
    command.stdin(Stdio::null());
    command
}

/// What is about to happen has happened by then, also on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// How a process ended, if it did in time.
pub(crate) fn ended_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if begun.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal. The shell knows how; a program for it need not be there.
pub(crate) fn kill(signal: &str, process: u64) {
    _ = Command::new("sh").args(["-c", &format!("kill {signal} {process}")]).status();
}

pub(crate) fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
