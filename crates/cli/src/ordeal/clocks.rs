//! Processes whose clocks run wrong: within the bound that the protocol allows for, and far beyond it.

use std::time::{Duration, Instant};

use anyhow::Result;
use client::clock::FAKE;
use rustix::process::Signal;
use tokio::time::sleep;

use super::crashes::usual;
use super::field::{Field, Load, Mercy, Setup};
use super::report::Report;

/// All clocks are up to 8 % off: nothing may come of it.
pub(crate) async fn clocks(setup: Setup) -> Result<Report> {
    let rates = ["1.08", "0.92", "1", "0.92", "1.08"];
    wrong_clocks("clocks", setup, &rates, &["0.92", "1.08"], Mercy::default()).await
}

/// Clocks are off by half, or jump by seconds: two may be inside together, but what checks fences is safe.
pub(crate) async fn wild_clocks(setup: Setup) -> Result<Report> {
    let rates = ["1.5", "0.6", "1,20@6", "1,-3@8", "2"];
    let mercy = Mercy { together: true, without_fences: true };
    wrong_clocks("wild-clocks", setup, &rates, &["0.5", "1", "1,-3@5"], mercy).await
}

/// Nodes and clients have these clocks in turn; nodes are killed and stopped meanwhile.
async fn wrong_clocks(
    scenario: &'static str,
    setup: Setup,
    of_nodes: &[&str],
    of_clients: &[&str],
    mercy: Mercy,
) -> Result<Report> {
    let pick = |clocks: &[&str], number: usize| clocks[number % clocks.len()].to_string();
    let mut field = Field::plan(scenario, &setup, setup.networks, |id, place| {
        place.environment.push((FAKE, pick(of_nodes, id as usize)));
    })?;
    field.launch_all().await?;
    for client in 0..2 * setup.nodes {
        let clock = Some(pick(of_clients, client as usize));
        let section = Duration::from_millis(30);
        field.editor(client % setup.nodes, &Load { clock, section, ..usual(&setup) })?;
    }
    let (begun, mut faults) = (Instant::now(), 0);
    while faults < 2 || begun.elapsed() < setup.time {
        sleep(setup.lease / 2).await;
        let victim = field.any_of(&field.ids());
        let away = setup.lease / 2 * (1 + field.dice.below(5) as u32);
        if faults % 2 == 0 {
            field.signal(victim, Signal::STOP)?;
            sleep(away).await;
            field.signal(victim, Signal::CONT)?;
        } else {
            field.end(victim, Signal::KILL).await?;
            sleep(away).await;
            field.launch(victim)?;
        }
        faults += 1;
        // With clocks that jump it may take a while, and the next fault need not wait.
        _ = field.until_whole(Duration::from_secs(5)).await;
    }
    field.report.count("stops_and_kills", faults);
    field.judge(mercy).await
}
