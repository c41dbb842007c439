//! Processes that are stopped for longer than they may be, and go on as if nothing had happened.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::time::sleep;

use super::crashes::usual;
use super::field::{Field, Load, Mercy, Setup};
use super::report::Report;

/// Nodes are stopped for longer than their lease, every other time the one that leads.
pub(crate) async fn pauses(setup: Setup) -> Result<Report> {
    let mut field = Field::start("pauses", &setup, setup.networks).await?;
    field.editors_everywhere(&usual(&setup))?;
    let (begun, mut pauses) = (Instant::now(), 0);
    while pauses < 2 || begun.elapsed() < setup.time {
        let leader = field.leader().await?;
        let victim = if pauses % 2 == 0 { leader } else { field.any_of(&field.ids()) };
        field.signal(victim, Signal::STOP)?;
        let halves = 3 + field.dice.below(4) as u32;
        sleep(setup.lease / 2 * halves).await;
        field.signal(victim, Signal::CONT)?;
        pauses += 1;
        sleep(setup.lease).await;
        field.until_whole(Duration::from_secs(30)).await?;
    }
    field.report.count("pauses", pauses);
    field.judge(Mercy::default()).await
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
pub(crate) async fn attack(setup: Setup) -> Result<Report> {
    let setup = Setup { lease: LEASE, ..setup };
    let mut field = Field::start("attack", &setup, false).await?;
    let section = Duration::from_millis(200);
    let load = Load { section, careless: true, ..Load::of(&[0], LEASE) };
    for client in 0..CLIENTS {
        field.editor(client % setup.nodes, &load)?;
    }
    _ = field.until_served(bench::storm::now(), Duration::from_secs(10)).await;
    let (begun, mut pauses) = (Instant::now(), 0);
    while pauses < 2 || begun.elapsed() < setup.time {
        let next = Instant::now() + EVERY;
        // The holder, as far as that is known here.
        let inside = field.arrivals().last().map(|arrival| arrival.process);
        let victim = field.clients.iter().position(|process| Some(process.number) == inside);
        let victim = victim.context("no client ever held the lock")?;
        field.note(&format!("stop of process {}", field.clients[victim].number));
        field.clients[victim].signal(Signal::STOP)?;
        sleep(STOPPED).await;
        field.clients[victim].signal(Signal::CONT)?;
        pauses += 1;
        sleep(next.saturating_duration_since(Instant::now()).min(setup.time)).await;
    }
    field.report.count("pauses", pauses);
    field.judge(Mercy { without_fences: true, ..Mercy::default() }).await
}
