//! The cost of names that are used once each.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::{Effort, Figure};

/// Names must be forgotten after this time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(crate) fn memory(effort: &Effort) -> Result<Vec<Figure>, Error> {
    let names = effort.names;
    runtime()?.block_on(async {
        // Soon enough not to be waited for, and late enough that none is forgotten before all are there.
        let cluster = Cluster::start_with(1, |config| config.keep_idle = Duration::from_secs(2)).await?;
        let tokenwood = cluster.embedded(0);
        let before = resident()?;
        let begun = Instant::now();
        for number in 0..names {
            let lock = tokenwood.mutex(&format!("jobs/nightly/{number}"));
            lock.acquire().await?.release();
        }
        let (span, used) = (begun.elapsed(), resident()?.saturating_sub(before));
        while cluster.resources() > 0 {
            if begun.elapsed() > span + LONGEST_WAIT {
                return Err(Error::Measurement(format!("{} names are never forgotten", cluster.resources())));
            }
            sleep(Duration::from_millis(50)).await;
        }
        // Freed memory is not returned at once: allocators take their time, and each thread returns its own.
        let forgotten = Instant::now();
        let mut left = resident()?.saturating_sub(before);
        while left > used / 10 && forgotten.elapsed() < LONGEST_WAIT / 10 {
            sleep(Duration::from_millis(50)).await;
            left = resident()?.saturating_sub(before);
        }
        cluster.stop().await;
        let (mebi, names) = (f64::from(1 << 20), f64::from(names));
        Ok(vec![
            Figure::new("names", names, ""),
            Figure::new("first use of a name", span.as_secs_f64() * 1e6 / names, "µs"),
            Figure::new("bytes per name", used as f64 / names, ""),
            Figure::new("memory for all of them", used as f64 / mebi, "MiB").at_most(1024.0),
            Figure::new("left when they are forgotten", left as f64 / mebi, "MiB")
                .at_most((used as f64 / mebi / 10.0).round()),
        ])
    })
}

/// The resident memory of this process, in bytes.
fn resident() -> Result<u64, Error> {
    let cannot = "how much memory this process has cannot be found out: there is no /proc/self/statm";
    let cannot = || Error::Measurement(cannot.to_string());
    let text = std::fs::read_to_string("/proc/self/statm").map_err(|_| cannot())?;
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).ok_or_else(cannot)?;
    Ok(pages * 4096)
}
