//! What a killed node costs: how long until another client holds what was held there, whether the holder's command had ended
//! before, and how other clients fare meanwhile.

use std::time::{Duration, Instant};

use crate::storm::{self, Arrival};
use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use service::{InWords, Time};
use tokenwood::Admin;
use tokio::time::sleep;

use super::holder::{BEATS, Holder, LONGEST_WAIT, exit};
use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};

/// Names from here on are mutexes that one client has for itself.
const OWN: usize = 100;
/// The lock whose holder's node is killed.
const HELD: &str = "ordeal/held";

/// The node of a holder is killed, again and again.
pub(crate) async fn holder(plan: Plan) -> Result<Report> {
    holders_of("holder", plan).await
}

/// The same with leases of three seconds, which is the default.
pub(crate) async fn holder_3s(plan: Plan) -> Result<Report> {
    holders_of("holder-3s", Plan { lease: Duration::from_secs(3), ..plan }).await
}

async fn holders_of(scenario: &'static str, plan: Plan) -> Result<Report> {
    let mut trial = Trial::start(scenario, &plan, plan.networks).await?;
    let rounds = if plan.is_short() { 3 } else { 11 };
    for node in trial.ids() {
        let load = Load::of(&[OWN + node as usize], 2 * plan.lease);
        trial.editor(node, &Load { faithful: true, ..load })?;
    }
    let bound = plan.lease * 5 / 4 + Duration::from_millis(500);
    let (mut usual, mut leading, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let leader = trial.leader().await?;
        // Every third time it is the leader.
        let victim =
            if round % 3 == 2 { leader } else { (leader + 1 + round as u32 % (plan.nodes - 1)) % plan.nodes };
        let killed = one(&mut trial, victim, plan.nodes).await?;
        let Killed { took, told_before, code, ratio } = killed;
        let (after, allowed) = (InWords(took), InWords(bound));
        trial.note(&format!("the next holder {after} after node {victim} was killed (leader: {leader})"));
        trial
            .report
            .demand(told_before, || format!("round {round}: the command of the old holder still ran"));
        trial
            .report
            .demand(code == Some(76), || format!("round {round}: the old holder ended with {}", exit(code)));
        // Short runs are tests beside other tests: a busy machine says nothing about times.
        trial.report.demand(took <= bound || plan.is_short(), || {
            format!("round {round}: the next grant came after {after}, and {allowed} are allowed")
        });
        ratios.push(ratio);
        if victim == leader { leading.push(took) } else { usual.push(took) }
    }
    let seconds = |times: &[Duration]| times.iter().max().map_or(0.0, Duration::as_secs_f64);
    trial.report.count("kills", rounds);
    trial.report.seconds("next_grant_at_most_seconds", seconds(&usual));
    trial.report.seconds("if_it_led_seconds", seconds(&leading));
    let ratio = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    trial.report.seconds("own_locks_of_others_during_to_before", ratio);
    trial.judge(Tolerance::default()).await
}

/// What came of one kill.
struct Killed {
    took: Duration,
    told_before: bool,
    code: Option<i32>,
    /// Grants of locks that have nothing to do with it, during to before.
    ratio: f64,
}

fn holder_at(trial: &Trial, node: u32) -> Result<Holder> {
    Holder::start(&trial.setups[node as usize], HELD, &[], BEATS, None)
}

async fn one(trial: &mut Trial, victim: u32, nodes: u32) -> Result<Killed> {
    let mut old = holder_at(trial, victim)?;
    if old.beat().await?.is_none() {
        bail!("no client holds '{HELD}'");
    }
    let mut next = holder_at(trial, (victim + 1) % nodes)?;
    sleep(Duration::from_millis(600)).await;
    // What the old one says is read all the time, or it would wait for its reader.
    let old = tokio::spawn(old.end());
    let killed = storm::now();
    trial.end(victim, Signal::KILL).await?;
    let first = next.beat().await?.context("the next holder ended")?;
    let (last, code) = old.await??;
    let took = first - killed;
    let bystanders: Vec<Arrival> =
        trial.arrivals().into_iter().filter(|arrival| arrival.wanted != OWN + victim as usize).collect();
    let within = |from: Time, until: Time| {
        let count = bystanders.iter().filter(|arrival| arrival.at >= from && arrival.at < until).count();
        count as f64 / (until - from).as_secs_f64()
    };
    let before = Time(killed.0.saturating_sub(500_000_000));
    let ratio = within(killed, first) / within(before, killed).max(1.0);
    next.stop()?;
    _ = next.end().await?;
    trial.launch(victim)?;
    trial.until_whole(LONGEST_WAIT).await?;
    Ok(Killed { took, told_before: last < first, code, ratio })
}

/// The node that leads is killed while others contend for a lock that is not at home there: they hardly notice.
pub(crate) async fn leader(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("leader", &plan, plan.networks).await?;
    let rounds = if plan.is_short() { 1 } else { 5 };
    let (mut longest, mut usual) = (Duration::ZERO, Duration::ZERO);
    for round in 0..rounds {
        let leader = trial.leader().await?;
        let wanted = at_home_elsewhere(&trial, leader, OWN + round * 100).await?;
        let others: Vec<u32> = trial.ids().into_iter().filter(|node| *node != leader).collect();
        let ttl = 2 * plan.lease;
        for node in &others {
            trial.editor(*node, &Load::of(&[wanted], ttl))?;
        }
        _ = trial.until_served(storm::now(), LONGEST_WAIT).await;
        sleep(plan.lease).await;
        let killed = storm::now();
        trial.end(leader, Signal::KILL).await?;
        // Another node leads, and the view without it is in use.
        trial.until_whole(LONGEST_WAIT).await?;
        sleep(plan.lease).await;
        let all: Vec<Time> = trial
            .arrivals()
            .iter()
            .filter(|arrival| arrival.wanted == wanted)
            .map(|arrival| arrival.at)
            .collect();
        let gap = |during: bool| {
            let pairs = all.windows(2).filter(|pair| (pair[1] > killed) == during);
            pairs.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
        };
        longest = longest.max(gap(true));
        usual = usual.max(gap(false));
        trial.launch(leader)?;
        trial.until_whole(LONGEST_WAIT).await?;
        trial.clients.iter_mut().for_each(crate::client_processes::ClientProcess::ask_to_finish);
        for process in std::mem::take(&mut trial.clients) {
            let wrong = process.end(&trial.ledger).await?;
            trial.report.wrong.extend(wrong);
        }
    }
    let lost = crate::client_processes::lock(&trial.ledger).tally().lost;
    trial.report.count("kills_of_the_leader", rounds);
    trial.report.count("lost_by_others", lost);
    trial.report.seconds("longest_gap_seconds", longest.as_secs_f64());
    trial.report.seconds("longest_gap_before_seconds", usual.as_secs_f64());
    trial
        .report
        .demand(lost == 0, || format!("{lost} sessions or grants at other nodes were lost with the leader"));
    let at_once = Duration::from_millis(500);
    trial.report.demand(longest < at_once, || format!("hand-offs stood still for {}", InWords(longest)));
    trial.judge(Tolerance::default()).await
}

/// The number of a mutex that is not at home at this node.
async fn at_home_elsewhere(trial: &Trial, node: u32, from: usize) -> Result<usize> {
    let begun = Instant::now();
    for wanted in from.. {
        let mut admin = Admin::connect(&trial.setups[node as usize].clients).await?;
        match admin.inspect(&storm::wanted(wanted).0).await? {
            (home, _) if home != node => return Ok(wanted),
            _ if begun.elapsed() > LONGEST_WAIT => break,
            _ => {}
        }
    }
    bail!("everything is at home at node {node}")
}
