//! Disks that are full, or slow.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokio::time::sleep;

use super::crashes::usual;
use super::report::Report;
use super::trial::{Plan, Tolerance, Trial};

/// The cluster is whole again within so long.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);
/// The node whose disk is small.
const SMALL: u32 = 1;

/// A voter's disk fills up while the others agree on one view after the other; when there is room again it is restarted and
/// comes back.
pub(crate) async fn full_disk(plan: Plan) -> Result<Report> {
    let mut trial = Trial::plan("full-disk", &plan, true, |_, _| {})?;
    let data = trial.nodes.data(SMALL);
    fs::create_dir_all(&data)?;
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "none"]).arg(&data).output()?;
    if !mounted.status.success() {
        bail!("cannot mount a small file system: {}", String::from_utf8_lossy(&mounted.stderr).trim());
    }
    trial.launch_all().await?;
    trial.editors_everywhere(&usual(&plan))?;
    sleep(plan.lease).await;
    // A file of zeros takes all the room there is.
    let filler = data.join("filler");
    let filled = fs::write(&filler, vec![0; 16 << 20]);
    trial.report.demand(filled.is_err(), || "the small file system is not full".to_string());
    trial.note(&format!("the disk of node {SMALL} is full"));
    let (begun, mut views) = (Instant::now(), 0);
    let others: Vec<u32> = trial.ids().into_iter().filter(|id| *id != SMALL).collect();
    while views < 2 || begun.elapsed() < plan.time {
        let victim = trial.any_of(&others);
        trial.end(victim, Signal::KILL).await?;
        sleep(plan.lease * 2).await;
        trial.launch(victim)?;
        // The node whose disk is full may or may not be a member.
        sleep(plan.lease * 2).await;
        views += 2;
    }
    trial.report.count("views_at_least", views);
    // It may have ended by itself, and said why.
    let ended = trial.nodes.failure()?;
    if let Some(ended) = &ended {
        trial.note(ended);
    }
    let said = trial.said_by(SMALL)?.contains("no longer takes part");
    trial.report.demand(said, || format!("node {SMALL} does not say that its disk is full"));
    fs::remove_file(&filler).context("cannot make room")?;
    trial.note("there is room again");
    if ended.is_none() {
        trial.end(SMALL, Signal::KILL).await?;
    }
    trial.launch(SMALL)?;
    let whole = trial.until_whole(WHOLE_WITHIN).await?;
    trial.report.seconds("whole_again_after_seconds", whole.as_secs_f64());
    let report = trial.judge(Tolerance::default()).await;
    // What is mounted goes with this program; its folder can be removed only now.
    _ = Command::new("umount").arg(&data).output();
    _ = fs::remove_dir_all(data.parent().unwrap_or(&data));
    report
}

/// The disks of all voters take a fortieth of a lease longer to flush, while nodes are killed and come back. If it takes more
/// than a tenth, votes come too late to be counted, and no node leads: leases have to be longer for such disks.
pub(crate) async fn slow_disk(plan: Plan) -> Result<Report> {
    let millis = (plan.lease / 40).as_millis();
    let mut trial = Trial::plan("slow-disk", &plan, plan.networks, |_, setup| {
        setup.environment.push((control::SLOW_DISK, millis.to_string()));
    })?;
    trial.launch_all().await?;
    trial.editors_everywhere(&usual(&plan))?;
    let (begun, mut kills, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while kills < 2 || begun.elapsed() < plan.time {
        sleep(plan.lease / 2).await;
        let victim = if kills % 2 == 0 { trial.any_of(&trial.ids()) } else { trial.leader().await? };
        trial.end(victim, Signal::KILL).await?;
        sleep(plan.lease).await;
        trial.launch(victim)?;
        slowest = slowest.max(trial.until_whole(WHOLE_WITHIN).await?);
        kills += 1;
    }
    trial.report.count("kills", kills);
    trial.report.seconds("whole_again_after_seconds", slowest.as_secs_f64());
    trial.judge(Tolerance::default()).await
}
