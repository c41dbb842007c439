//! `tokenwood storm`: a cluster and many clients as processes, some of which are killed, connections that are cut, and a
//! judge that finds out whether a slot ever had two holders.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench::storm::{self, Ledger, Proxy};
use clap::Args;
use random::Random;
use serde_json::json;
use tokenwood::{Observer, Question, QuestionAnswer};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::Ended;
use crate::check_arguments::Format;
use crate::client_processes::{Crew, PATIENCE, Process, lock};
use crate::endpoints::{duration, runtime};
use crate::node_processes::{Nodes, Place};
use crate::output::say;

/// Kill clients, cut connections, and check that locks hold
///
/// Starts nodes and clients as processes of their own. Clients acquire, try, wait, cancel and release at random; some are
/// killed without warning; connections of clients and between nodes are cut all the time. Afterwards a judge checks what all
/// clients recorded: never too many holders, fences that rise, and every wait ended. The nodes must remember nothing that no
/// client uses. Exit code 1 if anything is wrong.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many nodes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=20))]
    nodes: u32,
    /// How many clients, ten to a process
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    clients: u64,
    /// How long it lasts
    #[arg(long, value_parser = duration, default_value = "60s")]
    time: Duration,
    /// How long a session lives without its client
    #[arg(long, value_parser = duration, default_value = "3s")]
    ttl: Duration,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Clients of a storm
#[derive(Args)]
pub(crate) struct ClientArguments {
    #[arg(long = "endpoint", value_delimiter = ',')]
    endpoints: Vec<String>,
    #[arg(long)]
    clients: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long, value_parser = duration)]
    ttl: Duration,
}

/// How many clients share a process.
const TOGETHER: u64 = 10;
/// About how often a process is killed,
const KILLS: Duration = Duration::from_millis(1500);
/// and a connection is cut.
const CUTS: Duration = Duration::from_millis(40);
/// Nodes forget unused names after this long at each of two steps.
const SOON: &str = "500ms";

/// Lives as clients until standard input ends.
pub(crate) fn clients(arguments: &ClientArguments) -> Result<Ended> {
    let ClientArguments { endpoints, clients, seed, ttl } = arguments;
    runtime()?.block_on(async {
        let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        storm::live(endpoints, *clients, *seed, *ttl, async { _ = over.await }).await;
    });
    Ok(Ended::Well)
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let outcome = runtime()?.block_on(rage(arguments))?;
    let Outcome { ledger, killed, cut, mut wrong } = outcome;
    wrong.extend(ledger.judge().iter().map(ToString::to_string));
    let tally = ledger.tally();
    match arguments.format {
        Format::Json => say!(
            "{}",
            json!({
                "stays": ledger.stays(),
                "granted": tally.granted,
                "refused": tally.refused,
                "given_up": tally.given_up,
                "lost": tally.lost,
                "killed": killed,
                "cut": cut,
                "wrong": wrong,
            })
        ),
        Format::Table => {
            say!("Clients recorded {} grants.", ledger.stays());
            say!(
                "Clients that were not killed: {} granted, {} refused, {} gave up, {} lost their session.",
                tally.granted,
                tally.refused,
                tally.given_up,
                tally.lost
            );
            say!("{killed} processes were killed, {cut} connections cut.");
            wrong.iter().for_each(|wrong| say!("WRONG: {wrong}"));
            if wrong.is_empty() {
                say!("Never too many holders, fences rose, every wait ended, and nothing was left behind.");
            }
        }
    }
    Ok(if wrong.is_empty() { Ended::Well } else { Ended::Violated })
}

struct Outcome {
    ledger: Ledger,
    killed: u32,
    cut: u32,
    wrong: Vec<String>,
}

async fn rage(arguments: &Arguments) -> Result<Outcome> {
    let (places, mut proxies) = places(arguments.nodes).await?;
    let mut nodes = Nodes::start("storm", &places, &["--linger", SOON, "--keep-idle", SOON])?;
    for place in &places {
        nodes.until_connected(&place.clients, places.len()).await?;
    }
    let mut endpoints = Vec::new();
    for place in &places {
        let proxy = Proxy::start(place.clients.clone()).await?;
        endpoints.push(proxy.address.clone());
        proxies.push(proxy);
    }
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut crew = Crew::new(ledger.clone(), None);
    let (crowd, here) = (Crowd { endpoints, ttl: arguments.ttl, seed: arguments.seed }, Place::default());
    let mut processes = Vec::new();
    for first in (0..arguments.clients).step_by(TOGETHER as usize) {
        let clients = TOGETHER.min(arguments.clients - first);
        processes.push((clients, crowd.start(&mut crew, clients, &here)?));
    }
    let mut dice = Random::new(arguments.seed);
    let (mut killed, mut cut) = (0, 0);
    let (begun, mut last_kill) = (Instant::now(), Instant::now());
    while begun.elapsed() < arguments.time {
        sleep(CUTS).await;
        let which = dice.below(proxies.len() as u64) as usize;
        cut += u32::from(proxies[which].cut(dice.below(1 << 32)));
        if last_kill.elapsed() >= KILLS {
            last_kill = Instant::now();
            let which = dice.below(processes.len() as u64) as usize;
            let clients = processes[which].0;
            let next = crowd.start(&mut crew, clients, &here)?;
            let victim = std::mem::replace(&mut processes[which].1, next);
            victim.kill(&ledger).await?;
            killed += 1;
        }
    }
    let mut wrong = Vec::new();
    for (_, process) in &mut processes {
        process.that_is_all();
    }
    for (_, process) in processes {
        wrong.extend(process.end(&ledger).await?);
    }
    wrong.extend(left_behind(&places, arguments.ttl).await?);
    if let Some(failure) = nodes.failure()? {
        wrong.push(failure);
    }
    Ok(Outcome { ledger: std::mem::take(&mut *lock(&ledger)), killed, cut, wrong })
}

/// Ports for nodes, with a proxy between each two.
async fn places(nodes: u32) -> Result<(Vec<Place>, Vec<Proxy>)> {
    let (mut places, mut proxies, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..nodes {
        let cannot = "cannot listen at any port of 127.0.0.1";
        let peers = TcpListener::bind("127.0.0.1:0").await.context(cannot)?;
        let clients = TcpListener::bind("127.0.0.1:0").await.context(cannot)?;
        let address = |listener: &TcpListener| listener.local_addr().map(|address| address.to_string());
        let proxy = Proxy::start(address(&peers)?).await.context(cannot)?;
        let reached_at = proxy.address.clone();
        let (peers_at, clients_at) = (address(&peers)?, address(&clients)?);
        places.push(Place { reached_at, peers: peers_at, clients: clients_at, ..Place::default() });
        proxies.push(proxy);
        taken.push((peers, clients));
    }
    Ok((places, proxies))
}

/// What clients of a storm are told.
pub(crate) struct Crowd {
    pub(crate) endpoints: Vec<String>,
    pub(crate) ttl: Duration,
    pub(crate) seed: u64,
}

impl Crowd {
    /// Starts so many clients in a process of their own.
    pub(crate) fn start(&self, crew: &mut Crew, clients: u64, place: &Place) -> Result<Process> {
        let mut command = place.command()?;
        command.arg("storm-clients").args(["--endpoint", &self.endpoints.join(",")]);
        command.args(["--clients", &clients.to_string(), "--ttl", &format!("{}ms", self.ttl.as_millis())]);
        command.args(["--seed", &(self.seed * 1_000_003 + u64::from(crew.next())).to_string()]);
        crew.start(command)
    }
}

/// Waits until no node remembers anything. What is left if that does not happen.
async fn left_behind(places: &[Place], ttl: Duration) -> Result<Option<String>> {
    let deadline = Instant::now() + 2 * ttl + PATIENCE / 6;
    loop {
        let mut counts = (0, 0, 0);
        for place in places {
            let mut observer = Observer::connect(&place.clients).await?;
            let QuestionAnswer::Status { node, .. } = observer.ask(Question::Status).await? else {
                bail!("unexpected answer from the node at {}", place.clients);
            };
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
