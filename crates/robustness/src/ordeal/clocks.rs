//! Processes whose clocks run wrong: within the bound that the protocol allows for, and far beyond it.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Signal;
use tokio::time::sleep;
use transport::clock::FAKE;

use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};

/// Names from here on are mutexes that no other scenario uses.
const OWN: usize = 200;

/// Clocks of nodes and of clients, given to them in turn. The first is that of the node that is cut off: it is the slowest, and
/// counts on its lease for longest.
struct Clocks {
    nodes: [&'static str; 5],
    clients: &'static [&'static str],
}

/// All clocks are up to 8 % off: nothing may come of it.
pub(crate) async fn clocks(plan: Plan) -> Result<Report> {
    let clocks = Clocks { nodes: ["0.92", "1.08", "1", "1.08", "0.92"], clients: &["0.92", "1.08"] };
    wrong_clocks("clocks", plan, clocks, Tolerance::default()).await
}

/// Clocks are twice as fast or half as fast as they should be, or jump by seconds: two clients may hold the same slot, but what checks
/// fences is safe.
pub(crate) async fn wild_clocks(plan: Plan) -> Result<Report> {
    let clocks = Clocks { nodes: ["0.5", "2", "1.5", "2,5@9", "2"], clients: &["0.5", "1", "1,-2@8"] };
    wrong_clocks("wild-clocks", plan, clocks, Tolerance { together: true, without_fences: true }).await
}

async fn wrong_clocks(
    scenario: &'static str,
    plan: Plan,
    clocks: Clocks,
    tolerance: Tolerance,
) -> Result<Report> {
    let pick = |clocks: &[&str], number: u32| clocks[number as usize % clocks.len()].to_string();
    let mut trial = Trial::plan(scenario, &plan, plan.networks, |id, setup| {
        setup.environment.push((FAKE, pick(&clocks.nodes, id)));
    })?;
    trial.launch_all().await?;
    for client in 0..2 * plan.nodes {
        let node = client % plan.nodes;
        // Every node has a lock that its own clients use, and those of one other node now and then: so when node 0 is cut off it has
        // the token, hardly ever with a request of another node in its queue, and soon clients on both sides acquire it.
        let mut wanted = vec![OWN + node as usize; 15];
        if node != 0 {
            wanted.push(OWN + ((node + 1) % plan.nodes) as usize);
        }
        let load = Load::of(&wanted, 2 * plan.lease);
        let clock = Some(pick(clocks.clients, client));
        trial.editor(node, &Load { clock, section: Duration::from_millis(30), ..load })?;
    }
    let (begun, mut faults) = (Instant::now(), 0);
    while faults < 3 || begun.elapsed() < plan.time {
        sleep(plan.lease / 2).await;
        let away = plan.lease / 2 * (3 + trial.random.below(4) as u32);
        trouble(&mut trial, faults, away).await?;
        faults += 1;
        // With clocks that jump it may take a while, and the next fault need not wait.
        _ = trial.until_whole(Duration::from_secs(5)).await;
    }
    trial.report.count("faults", faults);
    trial.judge(tolerance).await
}

/// A node is cut off, stopped or killed for a while. Cut off is where clocks matter most: it goes on by its own clock, with
/// the clients that are with it.
async fn trouble(trial: &mut Trial, which: usize, away: Duration) -> Result<()> {
    let victim = trial.any_of(&trial.ids());
    match (which % 4, &trial.network) {
        (0 | 2, Some(network)) => {
            trial.note("node 0 is cut off");
            network.cut_off(0)?;
            sleep(away).await;
            network.heal()?;
            trial.note("the network is whole");
        }
        (1, _) => {
            trial.end(victim, Signal::KILL).await?;
            sleep(away).await;
            trial.launch(victim)?;
        }
        _ => {
            trial.signal(victim, Signal::STOP)?;
            sleep(away).await;
            trial.signal(victim, Signal::CONT)?;
        }
    }
    Ok(())
}
