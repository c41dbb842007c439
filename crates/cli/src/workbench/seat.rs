//! Processes that are the nodes of a run over sockets: `tokenwood seat`, which this program starts itself, and what starts
//! and ends them.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use sockets::{Collector, Plan, Report, run_worker};
use tokio::net::TcpListener;

use crate::Ended;
use crate::daemon::dev::until_stopped;
use crate::locks::endpoints::runtime;

/// How often it is looked whether a process has ended.
const LOOK: Duration = Duration::from_millis(20);
/// More of what a process said is not passed on.
const LONGEST_WORDS: u64 = 4096;

/// A node of a run over sockets: it does what a collector says. Started by 'tokenwood reproduce --sockets'
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    /// Where the collector listens
    #[arg(long, value_name = "HOST:PORT")]
    collector: String,
    /// Which node this is
    #[arg(long, value_name = "ID")]
    node: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let part = run_worker(&arguments.collector, arguments.node);
    runtime()?.block_on(part).map_err(|error| anyhow!(error))?;
    Ok(Ended::Well)
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
