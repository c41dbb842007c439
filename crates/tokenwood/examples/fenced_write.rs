//! A store that checks fences: the write of a holder that was paused for too long is refused.
//!
//! `cargo run -p tokenwood --example fenced_write`

mod cluster;

use cluster::Cluster;
use tokenwood::Tokenwood;
use tokenwood::fence::{Gate, TooLate};

/// What the mutex protects. It accepts a write only with a fence that is not older than the last.
#[derive(Default)]
struct Store {
    gate: Gate,
    text: String,
}

impl Store {
    fn write(&mut self, fence: u64, text: &str) -> Result<(), TooLate> {
        self.gate.pass(0, fence)?;
        self.text = text.to_string();
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::find().await?;
    let tokenwood = Tokenwood::connect(cluster.endpoints.clone()).await?;
    let mut store = Store::default();

    let first = tokenwood.mutex("report").acquire().await?;
    let first_fence = first.fence();
    store.write(first_fence, "by the first holder")?;
    drop(first);

    let second = tokenwood.mutex("report").acquire().await?;
    store.write(second.fence(), "by the second holder")?;

    // The first holder was paused before its last write and does not know yet that it is too late.
    let late = store.write(first_fence, "too late").unwrap_err();
    println!("refused: {late}");
    println!("the store has what was written {}", store.text);
    drop(second);
    cluster.stop().await;
    Ok(())
}
