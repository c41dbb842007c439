//! A network of its own for an ordeal: every node in a network namespace, all of them behind a bridge. Nothing of the machine
//! is touched: it is made inside a user, process, network and mount namespace, and is gone when the ordeal is.

use std::fs::read_link;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Says to the program inside that it is.
pub const INSIDE: &str = "--inside";

/// How to get namespaces: the user's own, with everything in them killed when this ends.
const UNSHARE: [&str; 7] =
    ["--user", "--map-root-user", "--net", "--mount", "--pid", "--kill-child", "--mount-proc"];

/// Why there can be no network of its own here; `None` if there can.
pub fn cannot() -> Option<String> {
    for (tool, why) in [("ip", "-V"), ("nsenter", "-V"), ("unshare", "-V")] {
        if Command::new(tool).arg(why).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            return Some(format!("the program '{tool}' is not installed"));
        }
    }
    let bridge = ["--fork", "ip", "link", "add", "type", "bridge"];
    match Command::new("unshare").args(UNSHARE).args(bridge).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(format!("namespaces are not allowed: {}", said.lines().next().unwrap_or("no reason given")))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Runs the same program with the same arguments in namespaces of its own, and returns its exit code. It ends when its standard
/// input does, so that nothing stays if this process is killed.
pub async fn go_inside(stopped: impl Future<Output = ()>) -> Result<u8> {
    let mut command = tokio::process::Command::new("unshare");
    command.args(UNSHARE).args(["--fork", "--"]).arg(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).arg(INSIDE);
    // Inside, every ordeal has the same process id, and would take the folders of another for its own.
    let folder = std::env::temp_dir().join(format!("tokenwood-ordeal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    command.env("TMPDIR", folder).stdin(Stdio::piped());
    let mut child = command.spawn().context("cannot create namespaces")?;
    let stdin = child.stdin.take();
    let status = tokio::select! {
        status = child.wait() => status?,
        () = stopped => {
            drop(stdin);
            match tokio::time::timeout(Duration::from_secs(5), child.wait()).await {
                Ok(status) => status?,
                Err(_) => {
                    child.kill().await?;
                    child.wait().await?
                }
            }
        }
    };
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}

/// Lets processes inside reach each other at 127.0.0.1: a new network begins without even that.
pub fn arrive() -> Result<()> {
    ip("link set lo up")
}

/// Comes when standard input ends.
pub async fn until_nobody_is_outside() {
    let (ended, has_ended) = tokio::sync::oneshot::channel();
    // A thread of its own, because nothing waits for its end.
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        _ = ended.send(());
    });
    _ = has_ended.await;
}

/// Each node has a namespace, kept by a process that does nothing else.
pub(crate) struct Network {
    keepers: Vec<Child>,
}

impl Network {
    /// For so many nodes. This program itself is at the bridge.
    pub(crate) fn build(nodes: u32) -> Result<Network> {
        for bridge in [MAIN, OTHER] {
            ip(&format!("link add {bridge} type bridge"))?;
            ip(&format!("link set {bridge} up"))?;
        }
        ip(&format!("address add {HERE}/24 dev {MAIN}"))?;
        let mut network = Network { keepers: Vec::new() };
        for node in 0..nodes {
            let mut keeper = Command::new("unshare");
            // It ends with this program, because its standard input does.
            keeper.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
            let keeper = keeper.spawn().context("cannot create a network namespace")?;
            let process = keeper.id();
            network.keepers.push(keeper);
            until_apart(process)?;
            ip(&format!("link add port{node} type veth peer name eth0 netns {process}"))?;
            ip(&format!("link set port{node} master {MAIN} up"))?;
            network.at(node, "link set lo up")?;
            network.at(node, &format!("address add {}/24 dev eth0", address(node)))?;
            network.at(node, "link set eth0 up")?;
        }
        Ok(network)
    }

    /// The process whose network a node lives in.
    pub(crate) fn process(&self, node: u32) -> u32 {
        self.keepers[node as usize].id()
    }

    /// No node reaches this one, and it reaches none.
    pub(crate) fn cut_off(&self, node: u32) -> Result<()> {
        ip(&format!("link set port{node} down"))
    }

    /// These nodes reach only each other.
    pub(crate) fn part(&self, nodes: &[u32]) -> Result<()> {
        nodes.iter().try_for_each(|node| ip(&format!("link set port{node} master {OTHER}")))
    }

    /// Nothing that one node sends to the other arrives.
    pub(crate) fn silence(&self, from: u32, to: u32) -> Result<()> {
        self.at(from, &format!("route add blackhole {}/32", address(to)))
    }

    /// All nodes reach each other again.
    pub(crate) fn heal(&self) -> Result<()> {
        let nodes = (0..).take(self.keepers.len());
        for node in nodes.clone() {
            ip(&format!("link set port{node} master {MAIN} up"))?;
            for other in nodes.clone() {
                // There is hardly ever one.
                _ = self.at(node, &format!("route del blackhole {}/32", address(other)));
            }
        }
        Ok(())
    }

    /// Changes the network of this node.
    fn at(&self, node: u32, change: &str) -> Result<()> {
        let namespace = format!("--net=/proc/{}/ns/net", self.process(node));
        succeed(Command::new("nsenter").args([&namespace, "ip"]).args(change.split(' ')))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for node in 0..self.keepers.len() {
            _ = ip(&format!("link delete port{node}"));
        }
        for bridge in [MAIN, OTHER] {
            _ = ip(&format!("link delete {bridge}"));
        }
        for keeper in &mut self.keepers {
            _ = keeper.kill();
            _ = keeper.wait();
        }
    }
}

/// The bridge of all nodes, the one of those that are cut off from them,
const MAIN: &str = "main";
const OTHER: &str = "other";
/// and the address of this program.
const HERE: &str = "10.77.0.254";

/// The address of a node.
pub(crate) fn address(node: u32) -> String {
    format!("10.77.0.{}", node + 1)
}

/// Waits until this process has a network of its own.
fn until_apart(process: u32) -> Result<()> {
    let mine = read_link("/proc/self/ns/net")?;
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        if read_link(format!("/proc/{process}/ns/net")).is_ok_and(|theirs| theirs != mine) {
            return Ok(());
        }
        sleep(Duration::from_millis(1));
    }
    bail!("a network namespace was not created in time")
}

fn ip(change: &str) -> Result<()> {
    succeed(Command::new("ip").args(change.split(' ')))
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
