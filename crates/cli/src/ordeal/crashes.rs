//! Nodes that are killed, and come back from their folders: one by one, in waves, all at once, too many of them.

use std::time::{Duration, Instant};

use anyhow::Result;
use bench::storm;
use rustix::process::Signal;
use tokio::time::sleep;

use super::field::{Field, Load, Mercy, Setup};
use super::report::Report;

/// The cluster is whole again within so long.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);

/// Two mutexes and a semaphore with two slots, in sessions that live as long as two leases.
pub(crate) fn usual(setup: &Setup) -> Load {
    Load::of(&[0, 1, 3], 2 * setup.lease)
}

/// Nodes are killed without warning, every other time the one that leads, and started again after a while.
pub(crate) async fn kills(setup: Setup) -> Result<Report> {
    let mut field = Field::start("kills", &setup, setup.networks).await?;
    field.editors_everywhere(&usual(&setup))?;
    let (begun, mut kills, mut leaders) = (Instant::now(), 0, 0);
    let together = (setup.nodes.saturating_sub(1) / 2).max(1);
    while begun.elapsed() < setup.time {
        sleep(setup.lease / 2).await;
        let leader = field.leader().await?;
        let mut victims = vec![if kills % 2 == 0 { leader } else { field.any_of(&field.ids()) }];
        if together > 1 && field.dice.below(3) == 0 {
            let other = (victims[0] + 1) % setup.nodes;
            victims.push(other);
        }
        leaders += u32::from(victims.contains(&leader));
        kills += victims.len();
        for victim in &victims {
            field.end(*victim, Signal::KILL).await?;
        }
        let away = setup.lease / 4 * (1 + field.dice.below(10) as u32);
        sleep(away).await;
        for victim in &victims {
            field.launch(*victim)?;
        }
        field.until_whole(WHOLE_WITHIN).await?;
    }
    field.report.count("kills", kills);
    field.report.count("of_the_leader", leaders);
    field.judge(Mercy::default()).await
}

/// All nodes are restarted one after the other, with SIGTERM, under load.
pub(crate) async fn rolling(setup: Setup) -> Result<Report> {
    let mut field = Field::start("rolling", &setup, setup.networks).await?;
    field.editors_everywhere(&usual(&setup))?;
    sleep(setup.lease).await;
    let begun = Instant::now();
    let (mut restarts, mut slowest_end) = (0, Duration::ZERO);
    while restarts == 0 || begun.elapsed() < setup.time {
        for node in field.ids() {
            let asked = Instant::now();
            field.end(node, Signal::TERM).await?;
            slowest_end = slowest_end.max(asked.elapsed());
            field.launch(node)?;
            field.until_whole(WHOLE_WITHIN).await?;
            restarts += 1;
        }
    }
    field.report.count("restarts", restarts);
    field.report.seconds("slowest_end_seconds", slowest_end.as_secs_f64());
    let longest = field.arrivals().iter().map(|arrival| arrival.at - arrival.asked).max().unwrap_or_default();
    let bound = setup.lease + Duration::from_secs(1);
    field
        .report
        .demand(longest <= bound, || format!("a client waited for {longest:?}, longer than {bound:?}"));
    field.judge(Mercy::default()).await
}

/// The same by kill -9, and then all nodes at once.
pub(crate) async fn waves(setup: Setup) -> Result<Report> {
    let mut field = Field::start("waves", &setup, setup.networks).await?;
    field.editors_everywhere(&usual(&setup))?;
    let (begun, mut kills, mut all) = (Instant::now(), 0, 0);
    while all == 0 || begun.elapsed() < setup.time {
        for node in field.ids() {
            field.end(node, Signal::KILL).await?;
            field.launch(node)?;
            field.until_whole(WHOLE_WITHIN).await?;
            kills += 1;
        }
        for node in field.ids() {
            field.end(node, Signal::KILL).await?;
            kills += 1;
        }
        for node in field.ids() {
            field.launch(node)?;
        }
        let whole = field.until_whole(WHOLE_WITHIN).await?;
        field.note(&format!("whole again {whole:?} after all were killed"));
        all += 1;
    }
    field.report.count("kills", kills);
    field.report.count("all_at_once", all);
    field.judge(Mercy::default()).await
}

/// A majority is killed: those who are left grant nothing when the leases have run out. Two come back: service resumes.
pub(crate) async fn majority(setup: Setup) -> Result<Report> {
    let mut field = Field::start("majority", &setup, setup.networks).await?;
    field.editors_everywhere(&usual(&setup))?;
    sleep(setup.lease).await;
    let down: Vec<u32> = field.ids().into_iter().rev().take(setup.nodes as usize / 2 + 1).collect();
    for node in &down {
        field.end(*node, Signal::KILL).await?;
    }
    let gone = storm::now();
    // No clock is so slow that a lease would last longer.
    let over = gone + setup.lease * 11 / 9;
    sleep(setup.lease * 11 / 9 + setup.time.min(Duration::from_secs(5))).await;
    let back = storm::now();
    let arrivals = field.arrivals();
    let late = arrivals.iter().filter(|arrival| arrival.at > over && arrival.at < back).count();
    field.report.demand(late == 0, || format!("{late} grants by nodes that had lost their majority"));
    let inside = arrivals.iter().filter(|arrival| arrival.at < back && arrival.until > over).count();
    field
        .report
        .demand(inside == 0, || format!("{inside} holders were not told that their node has lost its lease"));
    field.report.count("grants_after_the_leases", late);
    // As many as make a majority again.
    let come_back = down.len().min(2);
    for node in &down[..come_back] {
        field.launch(*node)?;
    }
    let begun = Instant::now();
    let resumed = loop {
        if let Some(arrival) = field.arrivals().iter().find(|arrival| arrival.at > back) {
            break Some((arrival.at - back).as_secs_f64());
        }
        if begun.elapsed() > WHOLE_WITHIN {
            break None;
        }
        sleep(Duration::from_millis(20)).await;
    };
    field.report.demand(resumed.is_some(), || "service does not resume when a majority is back".to_string());
    field.report.seconds("resumed_after_seconds", resumed.unwrap_or(-1.0));
    for node in &down[come_back..] {
        field.launch(*node)?;
    }
    field.judge(Mercy::default()).await
}
