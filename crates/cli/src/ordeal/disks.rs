//! Disks that are full, or slow.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokio::time::sleep;

use super::crashes::usual;
use super::field::{Field, Mercy, Setup};
use super::report::Report;

/// The cluster is whole again within so long.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);
/// The node whose disk is small.
const SMALL: u32 = 1;

/// A voter's disk fills up while the others agree on one view after the other; when there is room again it is restarted and
/// comes back.
pub(crate) async fn full_disk(setup: Setup) -> Result<Report> {
    let mut field = Field::plan("full-disk", &setup, true, |_, _| {})?;
    let data = field.nodes.data(SMALL);
    fs::create_dir_all(&data)?;
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "none"]).arg(&data).output()?;
    if !mounted.status.success() {
        bail!("cannot mount a small file system: {}", String::from_utf8_lossy(&mounted.stderr).trim());
    }
    field.launch_all().await?;
    field.editors_everywhere(&usual(&setup))?;
    sleep(setup.lease).await;
    // A file of zeros takes all the room there is.
    let filler = data.join("filler");
    let filled = fs::write(&filler, vec![0; 16 << 20]);
    field.report.demand(filled.is_err(), || "the small file system is not full".to_string());
    field.note(&format!("the disk of node {SMALL} is full"));
    let (begun, mut views) = (Instant::now(), 0);
    let others: Vec<u32> = field.ids().into_iter().filter(|id| *id != SMALL).collect();
    while views < 2 || begun.elapsed() < setup.time {
        let victim = field.any_of(&others);
        field.end(victim, Signal::KILL).await?;
        sleep(setup.lease * 2).await;
        field.launch(victim)?;
        // The node whose disk is full may or may not be a member.
        sleep(setup.lease * 2).await;
        views += 2;
    }
    field.report.count("views_at_least", views);
    // It may have ended by itself, and said why.
    let ended = field.nodes.failure()?;
    if let Some(ended) = &ended {
        field.note(ended);
    }
    let said = field.said_by(SMALL)?.contains("no longer takes part");
    field.report.demand(said, || format!("node {SMALL} does not say that its disk is full"));
    fs::remove_file(&filler).context("cannot make room")?;
    field.note("there is room again");
    if ended.is_none() {
        field.end(SMALL, Signal::KILL).await?;
    }
    field.launch(SMALL)?;
    let whole = field.until_whole(WHOLE_WITHIN).await?;
    field.report.seconds("whole_again_after_seconds", whole.as_secs_f64());
    let report = field.judge(Mercy::default()).await;
    // What is mounted goes with this program; its folder can be removed only now.
    _ = Command::new("umount").arg(&data).output();
    _ = fs::remove_dir_all(data.parent().unwrap_or(&data));
    report
}

/// The disks of all voters take a fortieth of a lease longer to flush, while nodes are killed and come back. If it takes more
/// than a tenth, votes come too late to be counted, and no node leads: leases have to be longer for such disks.
pub(crate) async fn slow_disk(setup: Setup) -> Result<Report> {
    let millis = (setup.lease / 40).as_millis();
    let mut field = Field::plan("slow-disk", &setup, setup.networks, |_, place| {
        place.environment.push((control::SLOW_DISK, millis.to_string()));
    })?;
    field.launch_all().await?;
    field.editors_everywhere(&usual(&setup))?;
    let (begun, mut kills, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while kills < 2 || begun.elapsed() < setup.time {
        sleep(setup.lease / 2).await;
        let victim = if kills % 2 == 0 { field.any_of(&field.ids()) } else { field.leader().await? };
        field.end(victim, Signal::KILL).await?;
        sleep(setup.lease).await;
        field.launch(victim)?;
        slowest = slowest.max(field.until_whole(WHOLE_WITHIN).await?);
        kills += 1;
    }
    field.report.count("kills", kills);
    field.report.seconds("whole_again_after_seconds", slowest.as_secs_f64());
    field.judge(Mercy::default()).await
}
