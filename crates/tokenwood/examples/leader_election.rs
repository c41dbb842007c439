//! Leader election: the holder of a mutex leads, until it is done or has lost the mutex.
//!
//! `cargo run -p tokenwood --example leader_election`

mod cluster;

use std::time::Duration;

use cluster::Cluster;
use tokenwood::{Options, Tokenwood};
use tokio::task::JoinSet;
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::find().await?;
    let mut candidates = JoinSet::new();
    for number in 0..3 {
        // This long after a crash of the leader, another candidate leads.
        let options = Options::with_ttl(Duration::from_secs(5));
        let tokenwood = Tokenwood::connect_with(cluster.endpoints.clone(), options).await?;
        candidates.spawn(async move { lead_once(number, &tokenwood).await });
    }
    for outcome in candidates.join_all().await {
        outcome?;
    }
    cluster.stop().await;
    Ok(())
}

async fn lead_once(number: u32, tokenwood: &Tokenwood) -> Result<(), tokenwood::Error> {
    let leadership = tokenwood.mutex("leader").acquire().await?;
    println!("candidate {number} leads, in term {}", leadership.fence());
    tokio::select! {
        () = work() => println!("candidate {number} steps down"),
        // The client counts on its own clock: it knows before another candidate leads.
        () = leadership.lost() => println!("candidate {number} lost the leadership: it stops at once"),
    }
    Ok(())
}

async fn work() {
    sleep(Duration::from_millis(50)).await;
}
