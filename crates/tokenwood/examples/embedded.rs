//! A node in the program's own process: a lock whose token is there costs no message.
//!
//! `cargo run -p tokenwood --example embedded`

use std::time::Instant;

use node::LocalCluster;

const ROUNDS: u32 = 10_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A real program starts one node with `node::Host::start`; this one starts a whole cluster.
    let cluster = LocalCluster::start(3).await?;
    let tokenwood = cluster.hosts[0].embedded();
    let lock = tokenwood.mutex("counter");
    lock.acquire().await?.release();

    let begun = Instant::now();
    for _ in 0..ROUNDS {
        drop(lock.acquire().await?);
    }
    println!("acquire and release take {:?}", begun.elapsed() / ROUNDS);
    drop(tokenwood);
    cluster.stop().await;
    Ok(())
}
