//! From a release at one node to the grant at another.

use std::time::Instant;

use tokenwood::{Lock, Tokenwood};
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::figure::{median, quantile};
use crate::floor::{BesideFloor, Way, beside_floor};
use crate::{Effort, Figure};

/// Floor and figure are measured alternately, this many at a time.
const TURN: u32 = 100;
/// Long enough for a request to arrive. The floor is measured after the same pause, because sleeping threads
/// have to wake up.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn embedded(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(2).await?;
        let clients = [cluster.embedded(0), cluster.embedded(1)];
        measure(cluster, clients, 4.0, effort).await
    })
}

pub(crate) fn between_clients(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(2).await?;
        let clients = [cluster.client(0).await?, cluster.client(1).await?];
        measure(cluster, clients, 8.0, effort).await
    })
}

async fn measure(
    cluster: Cluster,
    clients: [Tokenwood; 2],
    limit: f64,
    effort: &Effort,
) -> Result<Vec<Figure>, Error> {
    let [first, second] = clients.map(|client| client.mutex("hand-off"));
    let ours = move || {
        let (first, second) = (first.clone(), second.clone());
        async move { turn(&first, &second).await }
    };
    let measured = beside_floor(effort.time, (TURN, PAUSE, Way::There), ours).await?;
    let BesideFloor { mut bare, ours: mut all, mut ratios } = measured;
    cluster.stop().await;
    Ok(vec![
        Figure::new("bare one way", median(&mut bare), "µs"),
        Figure::new("from release to grant", median(&mut all), "µs"),
        Figure::new("99 of 100 within", quantile(&mut all, 0.99), "µs"),
        Figure::new("bare one ways per hand-off", median(&mut ratios), "").at_most(limit),
    ])
}

/// Hands the lock to and fro. Returns how many microseconds each hand-off took.
pub(crate) async fn turn(first: &Lock, second: &Lock) -> Result<Vec<f64>, Error> {
    let mut times = Vec::new();
    for round in 0..TURN {
        let (giver, taker) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let guard = giver.acquire().await?;
        let taker = taker.clone();
        let (granted, mut grant) = mpsc::channel(1);
        let waiter = tokio::spawn(async move {
            let guard = taker.acquire().await?;
            _ = granted.try_send(Instant::now());
            drop(guard);
            Ok::<(), Error>(())
        });
        sleep(PAUSE).await;
        let released = Instant::now();
        guard.release();
        waiter.await??;
        let granted =
            grant.recv().await.ok_or_else(|| Error::Measurement("no grant was received".to_string()))?;
        times.push(granted.duration_since(released).as_secs_f64() * 1e6);
    }
    Ok(times)
}
