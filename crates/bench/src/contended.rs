//! Many clients over three nodes that compete for the same locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokenwood::{Lock, Tokenwood};
use tokio::sync::Barrier;
use tokio::time::sleep;

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::figure::{jain, quantile};
use crate::floor::micros;
use crate::{Effort, Figure};

const NODES: usize = 3;

/// The lock that a client takes next: by client and count.
type Choice = fn(&Tokenwood, usize, u64) -> Lock;

/// The result of a run.
struct Run {
    entries: f64,
    messages: f64,
    jain: f64,
    longest_wait: f64,
}

pub(crate) fn three(effort: &Effort) -> Result<Vec<Figure>, Error> {
    let run = run(3, one_lock, effort)?;
    Ok(run
        .figures()
        .map(|figure| match figure.what.as_str() {
            MESSAGES => figure.at_most(2.0),
            _ => figure,
        })
        .to_vec())
}

pub(crate) fn nine(effort: &Effort) -> Result<Vec<Figure>, Error> {
    Ok(run(9, one_lock, effort)?.figures().to_vec())
}

pub(crate) fn thirty(effort: &Effort) -> Result<Vec<Figure>, Error> {
    let run = run(30, one_lock, effort)?;
    Ok(run
        .figures()
        .map(|figure| match figure.what.as_str() {
            MESSAGES => figure.at_most(0.999),
            FAIRNESS => figure.at_least(0.99),
            _ => figure,
        })
        .to_vec())
}

pub(crate) fn hundred(effort: &Effort) -> Result<Vec<Figure>, Error> {
    Ok(run(100, one_lock, effort)?.figures().to_vec())
}

pub(crate) fn semaphore(effort: &Effort) -> Result<Vec<Figure>, Error> {
    Ok(run(30, |tokenwood, _, _| tokenwood.semaphore("semaphore", 3), effort)?.figures().to_vec())
}

pub(crate) fn rooms(effort: &Effort) -> Result<Vec<Figure>, Error> {
    let group = |tokenwood: &Tokenwood, client: usize, _| {
        tokenwood.room("room").group(if client.is_multiple_of(2) { "even" } else { "odd" })
    };
    let run = run(30, group, effort)?;
    Ok(run
        .figures()
        .map(|figure| match figure.what.as_str() {
            FAIRNESS => figure.at_least(0.99),
            _ => figure,
        })
        .to_vec())
}

pub(crate) fn many_names(effort: &Effort) -> Result<Vec<Figure>, Error> {
    let any = |tokenwood: &Tokenwood, client: usize, time: u64| {
        // Spread by a fixed hash, so that every run uses the same names.
        let mixed =
            (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ client as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        tokenwood.mutex(&format!("name-{}", (mixed >> 32) % 1_000))
    };
    Ok(run(30, any, effort)?.figures().to_vec())
}

fn one_lock(tokenwood: &Tokenwood, _: usize, _: u64) -> Lock {
    tokenwood.mutex("contended")
}

const MESSAGES: &str = "messages per entry";
const FAIRNESS: &str = "fairness (Jain)";

impl Run {
    fn figures(&self) -> [Figure; 4] {
        [
            Figure::new("entries", self.entries, "/s"),
            Figure::new(MESSAGES, self.messages, ""),
            Figure::new(FAIRNESS, self.jain, ""),
            Figure::new("999 of 1000 wait at most", self.longest_wait, "µs"),
        ]
    }
}

fn run(clients: usize, choice: Choice, effort: &Effort) -> Result<Run, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(NODES as u32).await?;
        let (begin, over) = (Arc::new(Barrier::new(clients + 1)), Arc::new(AtomicBool::new(false)));
        let mut tasks = Vec::new();
        for client in 0..clients {
            let tokenwood = cluster.client(client % NODES).await?;
            // Once before it counts, so that every node knows the lock.
            let first = choice(&tokenwood, client, 0).acquire().await;
            first?.release();
            let (begin, over) = (begin.clone(), over.clone());
            tasks.push(tokio::spawn(async move {
                begin.wait().await;
                live(&tokenwood, client, choice, &over).await
            }));
        }
        begin.wait().await;
        let (messages, begun) = (cluster.messages(), Instant::now());
        sleep(effort.time).await;
        over.store(true, Ordering::Relaxed);
        let (mut entries, mut waits) = (Vec::new(), Vec::new());
        for task in tasks {
            let times = task.await??;
            entries.push(times.len() as u64);
            waits.extend(times);
        }
        let (messages, span) = (cluster.messages() - messages, begun.elapsed());
        cluster.stop().await;
        let sum: u64 = entries.iter().sum();
        Ok(Run {
            entries: sum as f64 / span.as_secs_f64(),
            messages: messages as f64 / sum as f64,
            jain: jain(&entries),
            longest_wait: quantile(&mut waits, 0.999),
        })
    })
}

/// Acquires and releases until the time is up. Returns the length of each wait.
async fn live(
    tokenwood: &Tokenwood,
    client: usize,
    choice: Choice,
    over: &AtomicBool,
) -> Result<Vec<f64>, Error> {
    let mut waits = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let lock = choice(tokenwood, client, waits.len() as u64);
        let asked = Instant::now();
        let guard = lock.acquire().await?;
        waits.push(micros(asked));
        guard.release();
    }
    Ok(waits)
}
