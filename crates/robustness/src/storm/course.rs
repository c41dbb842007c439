//! The course of a storm: nodes and clients as processes, some of which are killed, and connections that are cut.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use tokenwood::{Access, Admin};
use tokio::time::sleep;

use super::{Ledger, Proxy, live};
use crate::client_processes::{ClientLauncher, ClientProcess, LONGEST_WAIT, lock};
use crate::node_processes::{NodeProcesses, NodeSetup};
use random::Random;
use transport::loopback;

/// How a storm is to be.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// How many nodes.
    pub nodes: u32,
    /// How many clients, ten to a process.
    pub clients: u64,
    /// How long it lasts.
    pub time: Duration,
    /// How long a session lives without its client.
    pub ttl: Duration,
    /// The seed of everything random.
    pub seed: u64,
}

/// Clients of a storm
#[derive(Args)]
pub struct ClientArguments {
    #[arg(long = "endpoint", value_delimiter = ',')]
    endpoints: Vec<String>,
    #[arg(long)]
    clients: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    ttl_ms: u64,
}

/// How many clients share a process.
const TOGETHER: u64 = 10;
/// About how often a process is killed.
const KILLS: Duration = Duration::from_millis(1500);
/// How often a connection is cut.
const CUTS: Duration = Duration::from_millis(40);
/// Nodes forget unused names after this long at each of two steps.
const SOON: &str = "500ms";

/// Runs the clients of one process until standard input ends.
pub async fn run_clients(arguments: &ClientArguments) {
    let ClientArguments { endpoints, clients, seed, ttl_ms } = arguments;
    let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    live(endpoints, *clients, *seed, Duration::from_millis(*ttl_ms), async { _ = over.await }).await;
}

/// What came of a storm.
pub struct Outcome {
    /// What all clients recorded.
    pub ledger: Ledger,
    /// How many processes were killed.
    pub killed: u32,
    /// How many connections were cut.
    pub cut: u32,
    /// What is wrong beside what the ledger's judge finds.
    pub wrong: Vec<String>,
}

/// Starts nodes and clients, kills and cuts for as long as the storm lasts, and waits until all have ended.
pub async fn run(storm: &Storm) -> Result<Outcome> {
    let (setups, mut proxies) = setups(storm.nodes).await?;
    let mut nodes = NodeProcesses::start("storm", &setups, &["--linger", SOON, "--keep-idle", SOON])?;
    for setup in &setups {
        nodes.until_connected(&setup.clients, setups.len(), &Access::default()).await?;
    }
    let mut endpoints = Vec::new();
    for setup in &setups {
        let proxy = Proxy::start(setup.clients.clone()).await?;
        endpoints.push(proxy.address.clone());
        proxies.push(proxy);
    }
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut launcher = ClientLauncher::new(ledger.clone(), None);
    let (crowd, here) = (StormClients { endpoints, ttl: storm.ttl, seed: storm.seed }, NodeSetup::default());
    let mut processes = Vec::new();
    for first in (0..storm.clients).step_by(TOGETHER as usize) {
        let clients = TOGETHER.min(storm.clients - first);
        processes.push((clients, crowd.start(&mut launcher, clients, &here)?));
    }
    let mut random = Random::new(storm.seed);
    let (mut killed, mut cut) = (0, 0);
    let (begun, mut last_kill) = (Instant::now(), Instant::now());
    while begun.elapsed() < storm.time {
        sleep(CUTS).await;
        let which = random.below(proxies.len() as u64) as usize;
        cut += u32::from(proxies[which].cut(random.below(1 << 32)));
        if last_kill.elapsed() >= KILLS {
            last_kill = Instant::now();
            let which = random.below(processes.len() as u64) as usize;
            let clients = processes[which].0;
            let next = crowd.start(&mut launcher, clients, &here)?;
            let victim = std::mem::replace(&mut processes[which].1, next);
            victim.kill(&ledger).await?;
            killed += 1;
        }
    }
    let mut wrong = Vec::new();
    for (_, process) in &mut processes {
        process.ask_to_finish();
    }
    for (_, process) in processes {
        wrong.extend(process.end(&ledger).await?);
    }
    wrong.extend(left_behind(&setups, storm.ttl).await?);
    if let Some(failure) = nodes.failure()? {
        wrong.push(failure);
    }
    Ok(Outcome { ledger: std::mem::take(&mut *lock(&ledger)), killed, cut, wrong })
}

/// Ports for nodes, with a proxy between each two.
async fn setups(nodes: u32) -> Result<(Vec<NodeSetup>, Vec<Proxy>)> {
    let cannot = "cannot listen at any port of this machine";
    let (mut setups, mut proxies) = (Vec::new(), Vec::new());
    for ports in loopback::addresses(2 * nodes as usize).context(cannot)?.chunks(2) {
        let (peers, clients) = (ports[0].clone(), ports[1].clone());
        let proxy = Proxy::start(peers.clone()).await.context(cannot)?;
        setups.push(NodeSetup { reached_at: proxy.address.clone(), peers, clients, ..NodeSetup::default() });
        proxies.push(proxy);
    }
    Ok((setups, proxies))
}

/// What clients of a storm are told.
pub(crate) struct StormClients {
    pub(crate) endpoints: Vec<String>,
    pub(crate) ttl: Duration,
    pub(crate) seed: u64,
}

impl StormClients {
    /// Starts so many clients in a process of their own.
    pub(crate) fn start(
        &self,
        launcher: &mut ClientLauncher,
        clients: u64,
        setup: &NodeSetup,
    ) -> Result<ClientProcess> {
        let mut command = setup.command()?;
        command.arg("storm-clients").args(["--endpoint", &self.endpoints.join(",")]);
        command.args(["--clients", &clients.to_string(), "--ttl-ms", &self.ttl.as_millis().to_string()]);
        command.args(["--seed", &(self.seed * 1_000_003 + u64::from(launcher.next())).to_string()]);
        launcher.start(command)
    }
}

/// Waits until no node remembers anything. What is left if that does not happen.
async fn left_behind(setups: &[NodeSetup], ttl: Duration) -> Result<Option<String>> {
    let deadline = Instant::now() + 2 * ttl + LONGEST_WAIT / 6;
    loop {
        let mut counts = (0, 0, 0);
        for setup in setups {
            let mut admin = Admin::connect(&setup.clients).await?;
            let node = admin.status().await?.node;
            counts.0 += node.sessions;
            counts.1 += node.requests;
            counts.2 += node.resources;
        }
        if counts == (0, 0, 0) {
            return Ok(None);
        }
        if Instant::now() > deadline {
            let (sessions, requests, names) = counts;
            return Ok(Some(format!(
                "{sessions} sessions, {requests} requests and {names} names are left behind"
            )));
        }
        sleep(Duration::from_millis(100)).await;
    }
}
