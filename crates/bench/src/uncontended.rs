//! Locks without contention.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tokenwood::Lock;

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::figure::{median, quantile};
use crate::floor::{BesideFloor, Way, beside_floor, micros};
use crate::{Effort, Figure};

/// This many cycles are timed together where one is too short for the clock.
const TOGETHER: u32 = 1_000;
/// Floor and figure are measured alternately, this many at a time.
const TURN: u32 = 500;

pub(crate) fn embedded(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(3).await?;
        let tokenwood = cluster.embedded(0);
        let lock = tokenwood.mutex("embedded");
        cycle(&lock).await?;
        let messages = cluster.messages();
        let mut times = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < effort.time {
            let started = Instant::now();
            for _ in 0..TOGETHER {
                cycle(&lock).await?;
            }
            times.push(micros(started) * 1e3 / f64::from(TOGETHER));
        }
        let sent = cluster.messages() - messages;
        cluster.stop().await;
        Ok(vec![
            Figure::new("take and release", median(&mut times), "ns").at_most(1_000.0),
            Figure::new("messages between nodes", sent as f64, "").at_most(0.0),
        ])
    })
}

pub(crate) async fn cycle(lock: &Lock) -> Result<(), Error> {
    let guard = lock.acquire().await?;
    black_box(guard).release();
    Ok(())
}

pub(crate) fn through_client(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(3).await?;
        let tokenwood = cluster.client(0).await?;
        let lock = tokenwood.mutex("client");
        cycle(&lock).await?;
        let ours = move || {
            let lock = lock.clone();
            async move {
                let mut times = Vec::new();
                for _ in 0..TURN {
                    let started = Instant::now();
                    cycle(&lock).await?;
                    times.push(micros(started));
                }
                Ok(times)
            }
        };
        let how = (TURN, Duration::ZERO, Way::ThereAndBack);
        let BesideFloor { mut bare, ours: mut all, mut ratios } =
            beside_floor(effort.time, how, ours).await?;
        cluster.stop().await;
        Ok(vec![
            Figure::new("bare round trip", median(&mut bare), "µs"),
            Figure::new("take and release", median(&mut all), "µs"),
            Figure::new("99 of 100 within", quantile(&mut all, 0.99), "µs"),
            Figure::new("bare round trips per cycle", median(&mut ratios), "").at_most(2.0),
        ])
    })
}

pub(crate) fn own_locks(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(3).await?;
        let (mut locks, mut tasks) = (Vec::new(), Vec::new());
        for node in 0..3 {
            let lock = cluster.client(node).await?.mutex(&format!("own-{node}"));
            cycle(&lock).await?;
            locks.push(lock);
        }
        let (messages, time) = (cluster.messages(), effort.time);
        for lock in locks {
            tasks.push(tokio::spawn(async move {
                let (mut count, begun) = (0_u64, Instant::now());
                while begun.elapsed() < time {
                    cycle(&lock).await?;
                    count += 1;
                }
                Ok::<u64, Error>(count)
            }));
        }
        let mut entries = 0;
        for task in tasks {
            entries += task.await??;
        }
        let sent = cluster.messages() - messages;
        cluster.stop().await;
        Ok(vec![
            Figure::new("entries", entries as f64 / effort.time.as_secs_f64(), "/s"),
            Figure::new("messages per entry", sent as f64 / entries as f64, "").at_most(0.001),
        ])
    })
}
