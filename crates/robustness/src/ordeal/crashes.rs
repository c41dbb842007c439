//! NodeProcesses that are killed, and come back from their folders: one by one, in waves, all at once, too many of them.

use std::time::{Duration, Instant};

use crate::storm;
use anyhow::Result;
use rustix::process::Signal;
use service::InWords;
use tokio::time::sleep;

use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};

/// The cluster is whole again within so long.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);

/// Two mutexes and a semaphore with two slots, in sessions that live as long as two leases.
pub(crate) fn usual(plan: &Plan) -> Load {
    Load::of(&[0, 1, 3], 2 * plan.lease)
}

/// NodeProcesses are killed without warning, every other time the one that leads, and started again after a while.
pub(crate) async fn kills(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("kills", &plan, plan.networks).await?;
    trial.editors_everywhere(&usual(&plan))?;
    let (begun, mut kills, mut leaders) = (Instant::now(), 0, 0);
    let together = (plan.nodes.saturating_sub(1) / 2).max(1);
    while begun.elapsed() < plan.time {
        sleep(plan.lease / 2).await;
        let leader = trial.leader().await?;
        let mut victims = vec![if kills % 2 == 0 { leader } else { trial.any_of(&trial.ids()) }];
        if together > 1 && trial.random.below(3) == 0 {
            let other = (victims[0] + 1) % plan.nodes;
            victims.push(other);
        }
        leaders += u32::from(victims.contains(&leader));
        kills += victims.len();
        for victim in &victims {
            trial.end(*victim, Signal::KILL).await?;
        }
        let away = plan.lease / 4 * (1 + trial.random.below(10) as u32);
        sleep(away).await;
        for victim in &victims {
            trial.launch(*victim)?;
        }
        trial.until_whole(WHOLE_WITHIN).await?;
    }
    trial.report.count("kills", kills);
    trial.report.count("of_the_leader", leaders);
    trial.judge(Tolerance::default()).await
}

/// All nodes are restarted one after the other, with SIGTERM, under load.
pub(crate) async fn rolling(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("rolling", &plan, plan.networks).await?;
    trial.editors_everywhere(&usual(&plan))?;
    sleep(plan.lease).await;
    let begun = Instant::now();
    let (mut restarts, mut slowest_end) = (0, Duration::ZERO);
    while restarts == 0 || begun.elapsed() < plan.time {
        for node in trial.ids() {
            let asked = Instant::now();
            trial.end(node, Signal::TERM).await?;
            slowest_end = slowest_end.max(asked.elapsed());
            trial.launch(node)?;
            trial.until_whole(WHOLE_WITHIN).await?;
            restarts += 1;
        }
    }
    trial.report.count("restarts", restarts);
    trial.report.seconds("slowest_end_seconds", slowest_end.as_secs_f64());
    let longest = trial.arrivals().iter().map(|arrival| arrival.at - arrival.asked).max().unwrap_or_default();
    let bound = plan.lease + Duration::from_secs(1);
    trial.report.demand(longest <= bound, || {
        format!("a client waited for {}, longer than {}", InWords(longest), InWords(bound))
    });
    trial.judge(Tolerance::default()).await
}

/// The same by kill -9, and then all nodes at once.
pub(crate) async fn waves(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("waves", &plan, plan.networks).await?;
    trial.editors_everywhere(&usual(&plan))?;
    let (begun, mut kills, mut all) = (Instant::now(), 0, 0);
    while all == 0 || begun.elapsed() < plan.time {
        for node in trial.ids() {
            trial.end(node, Signal::KILL).await?;
            trial.launch(node)?;
            trial.until_whole(WHOLE_WITHIN).await?;
            kills += 1;
        }
        for node in trial.ids() {
            trial.end(node, Signal::KILL).await?;
            kills += 1;
        }
        for node in trial.ids() {
            trial.launch(node)?;
        }
        let whole = trial.until_whole(WHOLE_WITHIN).await?;
        trial.note(&format!("whole again {} after all were killed", InWords(whole)));
        all += 1;
    }
    trial.report.count("kills", kills);
    trial.report.count("all_at_once", all);
    trial.judge(Tolerance::default()).await
}

/// A majority is killed: those who are left grant nothing when the leases have run out. Two come back: service resumes.
pub(crate) async fn majority(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("majority", &plan, plan.networks).await?;
    trial.editors_everywhere(&usual(&plan))?;
    sleep(plan.lease).await;
    let down: Vec<u32> = trial.ids().into_iter().rev().take(plan.nodes as usize / 2 + 1).collect();
    for node in &down {
        trial.end(*node, Signal::KILL).await?;
    }
    let gone = storm::now();
    // No clock is so slow that a lease would last longer.
    let over = gone + plan.lease * 11 / 9;
    sleep(plan.lease * 11 / 9 + plan.time.min(Duration::from_secs(5))).await;
    let back = storm::now();
    let arrivals = trial.arrivals();
    let late = arrivals.iter().filter(|arrival| arrival.at > over && arrival.at < back).count();
    trial.report.demand(late == 0, || format!("{late} grants by nodes that had lost their majority"));
    let inside = arrivals.iter().filter(|arrival| arrival.at < back && arrival.until > over).count();
    trial
        .report
        .demand(inside == 0, || format!("{inside} holders were not told that their node has lost its lease"));
    trial.report.count("grants_after_the_leases", late);
    // As many as make a majority again.
    let come_back = down.len().min(2);
    for node in &down[..come_back] {
        trial.launch(*node)?;
    }
    let begun = Instant::now();
    let resumed = loop {
        if let Some(arrival) = trial.arrivals().iter().find(|arrival| arrival.at > back) {
            break Some((arrival.at - back).as_secs_f64());
        }
        if begun.elapsed() > WHOLE_WITHIN {
            break None;
        }
        sleep(Duration::from_millis(20)).await;
    };
    trial.report.demand(resumed.is_some(), || "service does not resume when a majority is back".to_string());
    trial.report.seconds("resumed_after_seconds", resumed.unwrap_or(-1.0));
    for node in &down[come_back..] {
        trial.launch(*node)?;
    }
    trial.judge(Tolerance::default()).await
}
