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

/// Clocks are twice as fast or half as fast as they should be, or jump by seconds: two may be inside together, but what checks
/// fences is safe. Half as fast are those that are cut off: they believe in their leases when the others do not any more.
pub(crate) async fn wild_clocks(setup: Setup) -> Result<Report> {
    let rates = ["0.5", "2", "0.5", "2,5@9", "0.5,-1@12"];
    let mercy = Mercy { together: true, without_fences: true };
    wrong_clocks("wild-clocks", setup, &rates, &["0.5", "1", "1,-2@8"], mercy).await
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
    while faults < 3 || begun.elapsed() < setup.time {
        sleep(setup.lease / 2).await;
        // Each in turn, so that every clock is tried.
        let victim = faults % setup.nodes;
        let away = setup.lease / 2 * (3 + field.dice.below(3) as u32);
        trouble(&mut field, faults, victim, away).await?;
        faults += 1;
        // With clocks that jump it may take a while, and the next fault need not wait.
        _ = field.until_whole(Duration::from_secs(5)).await;
    }
    field.report.count("faults", faults);
    field.judge(mercy).await
}

/// A node is cut off, stopped or killed for a while. Cut off is where clocks matter most: it goes on by its own clock, with
/// the clients that are with it.
async fn trouble(field: &mut Field, which: u32, victim: u32, away: Duration) -> Result<()> {
    match (which % 4, &field.network) {
        (0 | 2, Some(network)) => {
            field.note(&format!("node {victim} is cut off"));
            network.cut_off(victim)?;
            sleep(away).await;
            network.heal()?;
            field.note("the network is whole");
        }
        (1, _) => {
            field.end(victim, Signal::KILL).await?;
            sleep(away).await;
            field.launch(victim)?;
        }
        _ => {
            field.signal(victim, Signal::STOP)?;
            sleep(away).await;
            field.signal(victim, Signal::CONT)?;
        }
    }
    Ok(())
}
