//! Processes that are stopped for longer than they may be, and go on as if nothing had happened.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::time::sleep;

use super::crashes::usual;
use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};

/// NodeProcesses are stopped for longer than their lease, every other time the one that leads.
pub(crate) async fn pauses(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("pauses", &plan, plan.networks).await?;
    trial.editors_everywhere(&usual(&plan))?;
    let (begun, mut pauses) = (Instant::now(), 0);
    while pauses < 2 || begun.elapsed() < plan.time {
        let leader = trial.leader().await?;
        let victim = if pauses % 2 == 0 { leader } else { trial.any_of(&trial.ids()) };
        trial.signal(victim, Signal::STOP)?;
        let halves = 3 + trial.random.below(4) as u32;
        sleep(plan.lease / 2 * halves).await;
        trial.signal(victim, Signal::CONT)?;
        pauses += 1;
        sleep(plan.lease).await;
        trial.until_whole(Duration::from_secs(30)).await?;
    }
    trial.report.count("pauses", pauses);
    trial.judge(Tolerance::default()).await
}

/// Leases of the attack,
const LEASE: Duration = Duration::from_secs(2);
/// its clients,
const CLIENTS: u32 = 5;
/// how often one of them is stopped,
const EVERY: Duration = Duration::from_secs(5);
/// and for how long.
const STOPPED: Duration = Duration::from_millis(2700);

/// The attack that was published on etcd's locks: clients that update a value under a lock are stopped for longer than
/// their lease, and write as soon as they go on, without a look at whether they still hold it.
pub(crate) async fn attack(plan: Plan) -> Result<Report> {
    let plan = Plan { lease: LEASE, ..plan };
    let mut trial = Trial::start("attack", &plan, false).await?;
    let section = Duration::from_millis(200);
    let load = Load { section, careless: true, ..Load::of(&[0], LEASE) };
    for client in 0..CLIENTS {
        trial.editor(client % plan.nodes, &load)?;
    }
    _ = trial.until_served(crate::storm::now(), Duration::from_secs(10)).await;
    let (begun, mut pauses) = (Instant::now(), 0);
    while pauses < 2 || begun.elapsed() < plan.time {
        let next = Instant::now() + EVERY;
        // The holder, as far as that is known here.
        let inside = trial.arrivals().last().map(|arrival| arrival.process);
        let victim = trial.clients.iter().position(|process| Some(process.number) == inside);
        let victim = victim.context("no client ever held the lock")?;
        trial.note(&format!("stop of process {}", trial.clients[victim].number));
        trial.clients[victim].signal(Signal::STOP)?;
        sleep(STOPPED).await;
        trial.clients[victim].signal(Signal::CONT)?;
        pauses += 1;
        sleep(next.saturating_duration_since(Instant::now()).min(plan.time)).await;
    }
    trial.report.count("pauses", pauses);
    trial.judge(Tolerance { without_fences: true, ..Tolerance::default() }).await
}
