//! A node leaves and comes back, again and again: after a thousand views nothing has grown.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::field::{Field, Load, Mercy, Setup};
use super::report::Report;

/// So many views in a row, and in a short run.
const VIEWS: u64 = 1000;
const FEW_VIEWS: u64 = 10;
/// What has been there from the beginning is measured after so many of a hundred.
const WARM: u64 = 30;
/// Memory and files may be so much larger in the end: what the allocator and the database keep for themselves.
const SLACK: u64 = 4 << 20;

/// How much one node has.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    resident: u64,
    files: u64,
}

pub(crate) async fn views(setup: Setup) -> Result<Report> {
    let mut field = Field::start("views", &setup, false).await?;
    let restless = setup.nodes - 1;
    for node in 0..restless {
        field.editor(node, &Load::of(&[0], 2 * setup.lease))?;
    }
    let wanted = if setup.is_short() { FEW_VIEWS } else { VIEWS };
    let first = epoch(&field).await?;
    let (mut now, mut warm) = (first, None);
    let begun = Instant::now();
    while now < first + wanted {
        field.nodes.end(restless, Signal::TERM, super::field::ENDS_WITHIN).await?;
        field.nodes.launch(restless)?;
        field.until_whole(Duration::from_secs(30)).await?;
        now = epoch(&field).await?;
        if warm.is_none() && (now - first) * 100 >= wanted * WARM {
            warm = Some(largest(&field)?);
        }
    }
    let (warm, last) = (warm.unwrap_or_default(), largest(&field)?);
    field.report.count("views", now - first);
    field.report.seconds("seconds_for_each", begun.elapsed().as_secs_f64() / (now - first) as f64);
    field.report.count("resident_kib_before", warm.resident / 1024);
    field.report.count("resident_kib", last.resident / 1024);
    field.report.count("files_kib_before", warm.files / 1024);
    field.report.count("files_kib", last.files / 1024);
    field.report.demand(last.resident <= warm.resident + SLACK, || {
        format!("memory grew from {} to {} bytes", warm.resident, last.resident)
    });
    field.report.demand(last.files <= warm.files + SLACK, || {
        format!("files grew from {} to {} bytes", warm.files, last.files)
    });
    field.judge(Mercy::default()).await
}

async fn epoch(field: &Field) -> Result<u64> {
    Ok(field.ask(0).await.context("node 0 does not answer")?.epoch)
}

/// The largest of all nodes that have been there from the beginning.
fn largest(field: &Field) -> Result<Size> {
    let mut largest = Size::default();
    for (id, process) in field.nodes.ids_and_pids().take(field.places.len() - 1) {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        largest.resident = largest.resident.max(kib * 1024);
        largest.files = largest.files.max(folder_size(&field.nodes.data(id))?);
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
