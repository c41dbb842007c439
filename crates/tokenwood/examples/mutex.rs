//! One at a time: two programs want the same mutex, and a third only tries.
//!
//! `cargo run -p tokenwood --example mutex`

mod cluster;

use std::time::Duration;

use cluster::Cluster;
use tokenwood::Tokenwood;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::find().await?;
    let first = Tokenwood::connect(cluster.endpoints.clone()).await?;
    let second = Tokenwood::connect(cluster.endpoints.clone()).await?;

    let guard = first.mutex("jobs/nightly").acquire().await?;
    println!("the first holds it, with fence {}", guard.fence());

    match second.mutex("jobs/nightly").try_acquire().await {
        Err(error) if error.is_taken() => println!("the second tried: {error}"),
        other => panic!("two clients hold a mutex: {other:?}"),
    }

    let waits = tokio::spawn(async move {
        let lock = second.mutex("jobs/nightly");
        lock.acquire_within(Duration::from_secs(10)).await.map(|guard| guard.fence())
    });
    guard.release(); // Dropping the guard does the same.
    println!("the first released it, and the second holds it, with fence {}", waits.await??);

    cluster.stop().await;
    Ok(())
}
