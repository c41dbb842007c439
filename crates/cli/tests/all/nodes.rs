//! Nodes of `tokenwood node` on this machine, a process each: shared by the tests of single nodes.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::{SOON, TOKENWOOD, client_of};
use crate::folder::Folder;

/// Nodes of a new cluster with short leases, which end with the test.
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Child>,
    pub(crate) endpoints: Vec<String>,
    folder: Folder,
}

impl Nodes {
    /// Starts nodes, each after `prepare` has had its number and command: standard error goes to a file, unless it says otherwise.
    pub(crate) fn start(name: &str, count: usize, prepare: impl FnMut(usize, &mut Command)) -> Nodes {
        Nodes::start_in(Folder::new(name), count, prepare)
    }

    /// The same in this folder, where the data of node N is in a folder named `N`.
    pub(crate) fn start_in(
        folder: Folder,
        count: usize,
        mut prepare: impl FnMut(usize, &mut Command),
    ) -> Nodes {
        let mut ports = free_ports(2 * count);
        let endpoints = ports.split_off(count);
        let members: Vec<String> = (0..).zip(&ports).map(|(id, at): (u32, _)| format!("{id}={at}")).collect();
        let mut nodes = Nodes { nodes: Vec::new(), endpoints, folder };
        for id in 0..count {
            let mut command = Command::new(TOKENWOOD);
            command.args(["node", "--id", &id.to_string(), "--member", &members.join(",")]);
            command.args(["--clients", &nodes.endpoints[id], "--lease", "1s", "--data"]).arg(nodes.data(id));
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            command.stderr(fs::File::create(nodes.log_file(id)).unwrap());
            prepare(id, &mut command);
            nodes.nodes.push(command.spawn().unwrap());
        }
        nodes
    }

    /// The data folder of a node.
    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.folder.0.join(node.to_string())
    }

    fn log_file(&self, node: usize) -> PathBuf {
        self.folder.0.join(format!("{node}.log"))
    }

    /// What a node has logged.
    pub(crate) fn log(&self, node: usize) -> String {
        fs::read_to_string(self.log_file(node)).unwrap()
    }

    /// Waits until this is in the log of a node.
    pub(crate) fn until_logged(&self, node: usize, part: &str) {
        assert!(until(|| self.log(node).contains(part)), "never '{part}': {}", self.log(node));
    }

    /// The process of a node.
    pub(crate) fn pid(&self, node: usize) -> u64 {
        u64::from(self.nodes[node].id())
    }

    /// A command of a client of this node, which says nothing.
    pub(crate) fn client(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = client_of(&self.endpoints[node], arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Whether such a command succeeds.
    pub(crate) fn run(&self, node: usize, arguments: &[&str]) -> bool {
        self.client(node, arguments).status().unwrap().success()
    }

    /// What this node tells of the cluster.
    fn told(&self, node: usize) -> Option<Value> {
        let told = client_of(&self.endpoints[node], &["members", "--format", "json"]).output().unwrap();
        serde_json::from_slice(&told.stdout).ok()
    }

    /// The number of the view that this node is in.
    pub(crate) fn view(&self, node: usize) -> Option<u64> {
        self.told(node)?["in_view"].as_u64()
    }

    /// How many members this node knows, if it has a lease itself.
    pub(crate) fn members(&self, node: usize) -> Option<usize> {
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

/// Addresses that nothing listens at, and that stay free until a node of this test takes them.
pub(crate) fn free_ports(count: usize) -> Vec<String> {
    transport::loopback::addresses(count).unwrap()
}

/// Whether it becomes so soon.
pub(crate) fn until(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < SOON {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
