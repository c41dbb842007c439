//! A node leaves and comes back, again and again: after a thousand views nothing has grown.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};

/// So many views in a row at least, and in a short run.
const VIEWS: u64 = 1000;
const FEW_VIEWS: u64 = 10;
/// So often the nodes that have been there from the beginning are measured,
const SAMPLES: u64 = 10;
/// and what they have after this one is what they may have in the end.
const WARM: usize = 2;
/// Memory and files may be so much larger in the end: what the allocator and the database keep for themselves.
const SLACK: u64 = 2 << 20;

/// How much one node has.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    resident: u64,
    files: u64,
}

pub(crate) async fn views(plan: Plan) -> Result<Report> {
    let mut trial = Trial::start("views", &plan, false).await?;
    let restless = plan.nodes - 1;
    for node in 0..restless {
        trial.editor(node, &Load::of(&[0], 2 * plan.lease))?;
    }
    let wanted = if plan.is_short() { FEW_VIEWS } else { VIEWS };
    let first = epoch(&trial).await?;
    let (mut now, mut sizes) = (first, Vec::new());
    let begun = Instant::now();
    while now < first + wanted || begun.elapsed() < plan.time {
        trial.nodes.end(restless, Signal::TERM, super::trial::ENDS_WITHIN).await?;
        trial.nodes.launch(restless)?;
        trial.until_whole(Duration::from_secs(30)).await?;
        now = epoch(&trial).await?;
        if (now - first) * SAMPLES >= wanted * (sizes.len() as u64 + 1) {
            sizes.push(largest(&trial)?);
        }
    }
    let last = largest(&trial)?;
    let warm = sizes.get(WARM).copied().unwrap_or(last);
    let resident: Vec<u64> = sizes.iter().map(|size| size.resident / 1024).collect();
    let files: Vec<u64> = sizes.iter().map(|size| size.files / 1024).collect();
    trial.report.count("views", now - first);
    trial.report.seconds("seconds_for_each", begun.elapsed().as_secs_f64() / (now - first) as f64);
    trial.report.count("resident_kib", resident);
    trial.report.count("files_kib", files);
    trial.report.demand(last.resident <= warm.resident + SLACK, || {
        format!("memory grew from {} to {} bytes", warm.resident, last.resident)
    });
    trial.report.demand(last.files <= warm.files + SLACK, || {
        format!("files grew from {} to {} bytes", warm.files, last.files)
    });
    trial.judge(Tolerance::default()).await
}

async fn epoch(trial: &Trial) -> Result<u64> {
    Ok(trial.ask(0).await.context("node 0 does not answer")?.epoch)
}

/// The largest of all nodes that have been there from the beginning.
fn largest(trial: &Trial) -> Result<Size> {
    let mut largest = Size::default();
    for (id, process) in trial.nodes.ids_and_pids().take(trial.setups.len() - 1) {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        largest.resident = largest.resident.max(kib * 1024);
        largest.files = largest.files.max(folder_size(&trial.nodes.data(id))?);
    }
    Ok(largest)
}

fn folder_size(folder: &Path) -> Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}
