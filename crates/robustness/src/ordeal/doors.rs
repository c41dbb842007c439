//! Clients of the HTTP door, by the thousand: all are served, those that hang up leave nothing behind, and a node that dies
//! takes no lock with it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench::http::{Answer, Http};
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use transport::loopback;

use super::report::Report;
use super::strangers::measures::{Memory, memory};
use super::strangers::process::raise_descriptor_limit;
use super::trial::{self, Plan, Trial};

/// So many clients wait at once, and in a short run.
const CROWD: usize = 10_000;
const SMALL_CROWD: usize = 300;
/// What docs/service.md says that clients can make a node keep.
const MOST_MEMORY: u64 = 5 << 28;
/// So many connections are opened at once.
const AT_ONCE: usize = 200;
/// On a busy machine a crowd takes its time. Each is served within this.
const SOON: Duration = Duration::from_secs(120);

pub(crate) async fn doors(plan: Plan) -> Result<Report> {
    raise_descriptor_limit();
    let mut setups = trial::setups(plan.nodes, None)?;
    for (setup, door) in setups.iter_mut().zip(loopback::addresses(plan.nodes as usize)?) {
        setup.http = Some(door);
    }
    let mut trial = Trial::of("doors", &plan, None, setups)?;
    trial.launch_all().await?;
    let crowd = if plan.is_short() { SMALL_CROWD } else { CROWD };
    serve_a_crowd(&mut trial, crowd).await?;
    abandon(&mut trial, crowd).await?;
    lose_a_node(&mut trial, plan.lease).await?;
    Ok(trial.close())
}

fn door(trial: &Trial, node: u32) -> Result<SocketAddr> {
    let http = trial.setups[node as usize].http.as_deref();
    Ok(http.context("a node without a door")?.parse()?)
}

/// All wait for one name at one node; then each is granted, and releases.
async fn serve_a_crowd(trial: &mut Trial, crowd: usize) -> Result<()> {
    let address = door(trial, 0)?;
    let process = trial.nodes.ids_and_pids().find(|(id, _)| *id == 0).context("no node 0")?.1;
    let before = memory(process, Memory::Now)?;
    let mut first = Http::connect(address).await?;
    let held = granted(first.exchange("POST /v1/locks/crowd/acquire", "{}").await?)?;
    trial.note(&format!("{crowd} clients wait"));
    let begun = Instant::now();
    let mut waiters = Vec::new();
    for waiter in join(address, "crowd", crowd).await? {
        waiters.push(tokio::spawn(wait_and_release(waiter)));
    }
    until_measured(address, "tokenwood_waiters", |waiters| waiters == crowd as f64).await?;
    trial.report.seconds("seconds_until_all_wait", begun.elapsed().as_secs_f64());
    let used = memory(process, Memory::Now)?;
    trial.report.count("mib_of_the_node_before", before >> 20);
    trial.report.count("mib_with_all_waiting", used >> 20);
    trial.report.count("kib_of_each_waiter", used.saturating_sub(before) / crowd as u64 / 1024);
    trial.report.demand(used <= MOST_MEMORY, || format!("{used} bytes for {crowd} waiters"));
    let begun = Instant::now();
    // The door ends connections that say nothing for a while, so this is another.
    release(&mut Http::connect(address).await?, "crowd", &held).await?;
    let mut fences = vec![held.number("fence")];
    for waiter in waiters {
        fences.push(timeout(SOON, waiter).await.context("a waiter is not served")???);
    }
    trial.report.seconds("seconds_until_all_were_served", begun.elapsed().as_secs_f64());
    fences.sort_unstable();
    fences.dedup();
    trial.report.count("served", fences.len() - 1);
    trial.report.demand(fences.len() == crowd + 1, || "two grants had the same fence".to_string());
    Ok(())
}

/// Opens connections, each with a request that waits for a name.
async fn join(address: SocketAddr, name: &'static str, crowd: usize) -> Result<Vec<Http>> {
    let (mut begun, mut waiters) = (JoinSet::new(), Vec::new());
    for _ in 0..crowd {
        if begun.len() == AT_ONCE {
            waiters.extend(begun.join_next().await.transpose()?.transpose()?);
        }
        begun.spawn(async move {
            let mut http = Http::connect(address).await?;
            http.begin(&format!("POST /v1/locks/{name}/acquire?wait=10m&ttl=30s"), "").await?;
            anyhow::Ok(http)
        });
    }
    while let Some(waiter) = begun.join_next().await {
        waiters.push(waiter??);
    }
    Ok(waiters)
}

async fn wait_and_release(mut http: Http) -> Result<Option<u64>> {
    let held = granted(http.finish().await?)?;
    release(&mut http, "crowd", &held).await?;
    Ok(held.number("fence"))
}

fn granted(answer: Answer) -> Result<Answer> {
    ensure!(answer.status == 200, "no grant: {answer:?}");
    Ok(answer)
}

async fn release(http: &mut Http, name: &str, held: &Answer) -> Result<()> {
    let grant = held.text("grant").context("an answer without a grant")?;
    let released =
        http.exchange(&format!("DELETE /v1/locks/{name}"), &format!("{{\"grant\":\"{grant}\"}}")).await?;
    ensure!(released.status == 204, "not released: {released:?}");
    Ok(())
}

/// All wait, and hang up without a word. The node keeps nothing of them.
async fn abandon(trial: &mut Trial, crowd: usize) -> Result<()> {
    let address = door(trial, 0)?;
    let mut holder = Http::connect(address).await?;
    let held = granted(holder.exchange("POST /v1/locks/abandoned/acquire", "{}").await?)?;
    let sessions = measured(&mut holder, "tokenwood_sessions").await?;
    trial.note(&format!("{crowd} clients hang up"));
    let waiters = join(address, "abandoned", crowd).await?;
    until_measured(address, "tokenwood_waiters", |waiters| waiters == crowd as f64).await?;
    let begun = Instant::now();
    drop(waiters);
    until_measured(address, "tokenwood_waiters", |waiters| waiters == 0.0).await?;
    until_measured(address, "tokenwood_sessions", |now| now == sessions).await?;
    // The holder's own, if the door has not ended it, and the one that asks.
    until_measured(address, "tokenwood_connections", |connections| connections <= 2.0).await?;
    trial.report.count("hung_up", crowd);
    trial.report.seconds("seconds_until_nothing_was_left", begun.elapsed().as_secs_f64());
    release(&mut Http::connect(address).await?, "abandoned", &held).await
}

/// A client holds at a node, others wait at it and elsewhere; the node is killed. The client elsewhere is granted after the
/// holder's time is over, with a higher fence.
async fn lose_a_node(trial: &mut Trial, lease: Duration) -> Result<()> {
    let (lost, other) = (trial.setups.len() as u32 - 1, 0);
    let mut holder = Http::connect(door(trial, lost)?).await?;
    let sent = Instant::now();
    let held = granted(holder.exchange("POST /v1/locks/left/acquire?ttl=60s", "").await?)?;
    let certain = Duration::from_millis(held.number("certain_ms").context("no certain_ms")?);
    let mut waits_there = join(door(trial, lost)?, "left", 1).await?;
    let mut waits_here = join(door(trial, other)?, "left", 1).await?;
    until_measured(door(trial, other)?, "tokenwood_waiters", |waiters| waiters == 1.0).await?;
    trial.note(&format!("node {lost} is killed"));
    let killed = Instant::now();
    trial.end(lost, Signal::KILL).await?;
    trial.report.demand(waits_there[0].finish().await.is_err(), || "a dead node answered".to_string());
    let next = timeout(SOON, waits_here[0].finish()).await.context("the waiter is not served")??;
    let (next, waited) = (granted(next)?, killed.elapsed());
    trial.report.seconds("seconds_from_kill_to_grant", waited.as_secs_f64());
    trial.report.demand(sent.elapsed() >= certain, || {
        "a client was granted the lock while another still counted on it".to_string()
    });
    trial.report.demand(next.number("fence") > held.number("fence"), || {
        format!("the fence did not rise: {held:?}, {next:?}")
    });
    let limit = 2 * lease + Duration::from_secs(5);
    trial.report.demand(waited <= limit, || format!("{waited:?} until the next grant"));
    trial.launch(lost)
}

/// A number that a node measures.
async fn measured(http: &mut Http, metric: &str) -> Result<f64> {
    let text = http.exchange("GET /metrics", "").await?.body;
    let value = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' ')?.parse().ok());
    value.with_context(|| format!("no {metric}"))
}

async fn until_measured(address: SocketAddr, metric: &str, is_so: impl Fn(f64) -> bool) -> Result<()> {
    let (mut http, begun) = (Http::connect(address).await?, Instant::now());
    loop {
        let value = measured(&mut http, metric).await?;
        if is_so(value) {
            return Ok(());
        }
        ensure!(begun.elapsed() < SOON, "{metric} stays at {value}");
        sleep(Duration::from_millis(20)).await;
    }
}
