//! A room: all holders are in the same group. Servers of version 41 run together, never with version 42.
//!
//! `cargo run -p tokenwood --example room`

mod cluster;

use cluster::Cluster;
use tokenwood::Tokenwood;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::find().await?;
    let one = Tokenwood::connect(cluster.endpoints.clone()).await?;
    let other = Tokenwood::connect(cluster.endpoints.clone()).await?;

    let old = one.room("model").group("v41").acquire().await?;
    let also_old = other.room("model").group("v41").acquire().await?;
    println!("two servers of v41 run");
    assert!(other.room("model").group("v42").try_acquire().await.is_err(), "v42 has to wait");

    // A request can accept several groups: it joins the one that is open.
    let any = other.room("model").any_of(["v42", "v41"]).acquire().await?;
    println!("a server that takes either runs {}", ["v42", "v41"][any.group() as usize]);
    drop(any);

    drop((old, also_old));
    let new = one.room("model").group("v42").acquire().await?;
    println!("v41 has left: v42 runs, with fence {}", new.fence());
    drop(new);
    cluster.stop().await;
    Ok(())
}
