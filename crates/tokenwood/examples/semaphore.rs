//! At most two at a time, each with a slot of its own: which GPU to use.
//!
//! `cargo run -p tokenwood --example semaphore`

mod cluster;

use std::time::Duration;

use cluster::Cluster;
use tokenwood::Tokenwood;
use tokio::task::JoinSet;
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::find().await?;
    let mut jobs = JoinSet::new();
    for job in 0..5 {
        let tokenwood = Tokenwood::connect(cluster.endpoints.clone()).await?;
        jobs.spawn(async move {
            let gpu = tokenwood.semaphore("gpu", 2).acquire().await?;
            println!("job {job} runs on GPU {}", gpu.slot());
            sleep(Duration::from_millis(50)).await;
            Ok::<_, tokenwood::Error>(gpu.slot())
        });
    }
    for slot in jobs.join_all().await {
        assert!(slot? < 2, "slots are numbered from 0");
    }
    cluster.stop().await;
    Ok(())
}
