//! The nodes of a run over sockets: `tokenwood seat`, which waits on a machine for a collector, or which this program starts
//! itself; and the collector's side of both.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use sockets::{Collector, Plan, Report, run_worker, serve_seat};
use tokio::net::TcpListener;

use crate::Ended;
use crate::daemon::dev::until_stopped;
use crate::locks::endpoints::runtime;
use crate::terminal::output::say;

/// How often it is looked whether a process has ended.
const LOOK: Duration = Duration::from_millis(20);
/// More of what a process said is not passed on.
const LONGEST_WORDS: u64 = 4096;

/// Make this machine a node of the thesis' experiment: it waits for a collector and takes part in its runs.
///
/// Start one on each machine, then 'tokenwood reproduce --sockets --seat HOST:PORT --seat ... --out DIR' anywhere: the first --seat is node 0. All programs must have the same version. A seat does what any caller says: keep its ports on a network you trust.
///
/// Exit code: 0 ended by Ctrl-C; 2 wrong usage, or it cannot listen.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Where to wait for a collector; other nodes must reach this host, too
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "collector")]
    listen: Option<String>,
    /// The port for the other nodes, if a firewall needs to know it [default: any]
    #[arg(long, value_name = "PORT", requires = "listen")]
    peer_port: Option<u16>,
    /// Where the collector listens that has started this process
    #[arg(long, value_name = "HOST:PORT", hide = true, requires = "node", conflicts_with = "listen")]
    collector: Option<String>,
    /// Which node this is
    #[arg(long, value_name = "ID", hide = true, requires = "collector")]
    node: Option<u32>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    match (&arguments.listen, &arguments.collector, arguments.node) {
        (Some(address), ..) => runtime()?.block_on(wait_at(address, arguments.peer_port.unwrap_or(0)))?,
        (None, Some(collector), Some(node)) => {
            runtime()?.block_on(run_worker(collector, node)).map_err(|error| anyhow!(error))?;
        }
        _ => bail!("say where to wait for a collector: tokenwood seat --listen 0.0.0.0:7720"),
    }
    Ok(Ended::Well)
}

/// Takes part in runs until it is stopped.
async fn wait_at(address: &str, peer_port: u16) -> Result<()> {
    // No seat has a port by default.
    if address.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
        bail!("--listen {address}: write HOST:PORT, for instance 0.0.0.0:7720");
    }
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| {
        format!("cannot listen at {address}: choose a free port, and an address of this machine or 0.0.0.0")
    })?;
    let version = env!("CARGO_PKG_VERSION");
    say!("A seat of version {version} waits at {}. Ctrl-C ends it.", listener.local_addr()?);
    tokio::select! {
        served = serve_seat(&listener, peer_port, |event| say!("{event}")) => served.map_err(|error| anyhow!(error)),
        stopped = until_stopped() => stopped,
    }
}

/// Runs an algorithm on seats that wait elsewhere. Says how many entries there were so far.
pub(crate) async fn on_seats(
    seats: &[String],
    name: &str,
    plan: &Plan,
    progress: impl FnMut(u64),
) -> Result<Vec<Report>> {
    let collected = async {
        let mut collector = Collector::call(seats).await?;
        collector.run(name, plan, progress).await
    };
    tokio::select! {
        stopped = until_stopped() => {
            stopped?;
            bail!("stopped before the end: no report is written");
        }
        collected = collected => collected.map_err(|error| {
            match error.node().and_then(|node| seats.get(node as usize)) {
                Some(seat) => {
                    anyhow!("{error} (the seat at {seat}): the experiment has ended, no report is written")
                }
                None => anyhow!(error),
            }
        }),
    }
}

/// Runs an algorithm in processes of their own, which have ended when this returns. Says how many entries there were so far.
pub(crate) async fn in_processes(name: &str, plan: &Plan, progress: impl FnMut(u64)) -> Result<Vec<Report>> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.context("cannot listen at any port of 127.0.0.1")?;
    let collector = listener.local_addr()?.to_string();
    let mut processes = NodeProcesses(Vec::new());
    for node in 0..plan.setting.nodes {
        processes.start(&collector, node)?;
    }
    let collected = async {
        let mut collector = Collector::gather(&listener, plan.setting.nodes).await?;
        collector.run(name, plan, progress).await
    };
    let collected = tokio::select! {
        failed = processes.first_to_fail() => return Err(failed),
        stopped = until_stopped() => {
            stopped?;
            bail!("stopped before the end: no report is written");
        }
        collected = collected => collected,
    };
    match collected {
        Ok(reports) => Ok(reports),
        // The connection of a process ends before the process has.
        Err(error) => {
            Err(tokio::time::timeout(10 * LOOK, processes.first_to_fail()).await.unwrap_or(anyhow!(error)))
        }
    }
}

/// Processes that end with this one, by node.
struct NodeProcesses(Vec<Child>);

impl NodeProcesses {
    fn start(&mut self, collector: &str, node: u32) -> Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["seat", "--collector", collector, "--node", &node.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        self.0.push(command.spawn().with_context(|| format!("cannot start the process of node {node}"))?);
        Ok(())
    }

    /// The first process that fails.
    async fn first_to_fail(&mut self) -> anyhow::Error {
        loop {
            if let Some(error) = self.failed() {
                return error;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A process that has failed, and what it said.
    fn failed(&mut self) -> Option<anyhow::Error> {
        for (node, child) in self.0.iter_mut().enumerate() {
            let Ok(Some(status)) = child.try_wait() else { continue };
            if status.success() {
                continue;
            }
            let mut words = Vec::new();
            if let Some(stderr) = child.stderr.take() {
                // What cannot be read is not known.
                _ = stderr.take(LONGEST_WORDS).read_to_end(&mut words);
            }
            let words = String::from_utf8_lossy(&words);
            let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let said = if words.is_empty() { String::new() } else { format!(": {}", words.join(" ")) };
            let pid = child.id();
            return Some(anyhow!("the process of node {node} ({pid}) ended during the run ({status}){said}"));
        }
        None
    }
}

impl Drop for NodeProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill();
        }
        for child in &mut self.0 {
            _ = child.wait();
        }
    }
}
