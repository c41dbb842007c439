//! NodeProcesses that do not reach each other: one alone, two halves, a pair, one way only.

use std::time::{Duration, Instant};

use crate::storm;
use anyhow::{Context, Result};
use tokio::time::sleep;

use super::crashes::usual;
use super::network::Network;
use super::report::Report;
use super::trial::{Plan, Tolerance, Trial};

/// How the network is parted.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Alone,
    Halves,
    Pair,
    OneWay,
}

const KINDS: [Kind; 4] = [Kind::Alone, Kind::OneWay, Kind::Halves, Kind::Pair];

impl Kind {
    /// Parts the network around this node. Returns who is with the majority for certain.
    fn part(self, network: &Network, node: u32, ids: &[u32]) -> Result<Vec<u32>> {
        let other = (node + 1) % ids.len() as u32;
        let cut: Vec<u32> = match self {
            Kind::Alone => {
                network.cut_off(node)?;
                vec![node]
            }
            Kind::Halves => {
                let minority: Vec<u32> =
                    (0..(ids.len() as u32 - 1) / 2).map(|next| (node + next) % ids.len() as u32).collect();
                network.part(&minority)?;
                minority
            }
            Kind::Pair => {
                network.silence(node, other)?;
                network.silence(other, node)?;
                vec![node, other]
            }
            Kind::OneWay => {
                network.silence(node, other)?;
                vec![node, other]
            }
        };
        Ok(ids.iter().copied().filter(|id| !cut.contains(id)).collect())
    }
}

/// Parts the network in every way, with the leader in the middle of it every other time.
pub(crate) async fn partitions(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("partitions", &plan, true).await?;
    trial.editors_everywhere(&usual(&plan))?;
    let (begun, mut parted, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    let at_least = if plan.is_short() { 2 } else { KINDS.len() };
    while parted < at_least || begun.elapsed() < plan.time {
        let kind = KINDS[parted % KINDS.len()];
        let leader = trial.leader().await?;
        let node = if (parted / KINDS.len()).is_multiple_of(2) { leader } else { trial.any_of(&trial.ids()) };
        let from = storm::now();
        let network = trial.network.as_ref().context("there is no network to part")?;
        let majority = kind.part(network, node, &trial.ids())?;
        trial.note(&format!(
            "{kind:?} around node {node} (leader: {leader}); with the majority: {majority:?}"
        ));
        sleep(plan.lease * 5).await;
        let until = storm::now();
        // One client at each node, in their order; who is with the majority goes on, or begins again soon.
        let served = |node: &u32| {
            let process = node + 1;
            trial
                .arrivals()
                .iter()
                .any(|arrival| arrival.process == process && arrival.at > from + plan.lease * 7 / 2)
        };
        let silent: Vec<u32> = majority.iter().copied().filter(|node| !served(node)).collect();
        trial.report.demand(silent.is_empty(), || {
            format!(
                "{kind:?} around node {node}, from {} to {}: clients of nodes {silent:?} were not served",
                from.0, until.0
            )
        });
        network.heal()?;
        trial.note("the network is whole");
        slowest = slowest.max(trial.until_whole(Duration::from_secs(30)).await?);
        parted += 1;
    }
    trial.report.count("partitions", parted);
    trial.report.seconds("whole_again_after_seconds", slowest.as_secs_f64());
    trial.judge(Tolerance::default()).await
}
