//! How long agreeing takes on this machine: three voters in one process, real sockets and files, default times.
//!
//! `cargo run -p tokenwood-control --example agree [FOLDER]`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{Config, Control, Timing};
use service::Definition;
use service::Time;
use service::registry::{Entry, Leadership};
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("tokenwood-agree-{}", std::process::id()));
    let measured = measure(&folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(folder: &std::path::Path) -> Result<(), Failure> {
    let mut listeners = BTreeMap::new();
    for node in 1..=3 {
        listeners.insert(node, TcpListener::bind("127.0.0.1:0").await?);
    }
    let mut addresses = BTreeMap::new();
    for (node, listener) in &listeners {
        addresses.insert(*node, listener.local_addr()?.to_string());
    }
    let mut nodes = BTreeMap::new();
    for (node, listener) in listeners {
        let (cluster, folder) = ("agree".to_owned(), folder.join(node.to_string()));
        let control = Control::start(Config {
            cluster,
            node,
            folder,
            timing: Timing::default(),
            lease: None,
            clock: || Time(0),
            encryption: transport::Encryption::Off,
        })
        .await?;
        control.listen(listener);
        nodes.insert(node, control);
    }
    let begun = Instant::now();
    nodes[&1].found(&addresses).await?;
    let (leader, leadership) = leader(&nodes).await;
    println!("a leader after founding: {:?}", begun.elapsed());

    let mut times = Vec::new();
    for number in 0..1000 {
        let name = Arc::from(format!("name-{}", number % 100));
        let begun = Instant::now();
        nodes[&leader].propose(Entry::Define { name, definition: Some(Definition::MUTEX) }).await?;
        times.push(begun.elapsed());
    }
    print("an entry is agreed on", &mut times);
    for _ in 0..1000 {
        let begun = Instant::now();
        nodes[&leader].prove_leadership(leadership).await?;
        times.push(begun.elapsed());
    }
    print("leadership is proven", &mut times);

    if let Some(control) = nodes.remove(&leader) {
        control.stop().await;
    }
    let begun = Instant::now();
    self::leader(&nodes).await;
    println!("another leader after the first has stopped: {:?}", begun.elapsed());
    let size = std::fs::metadata(folder.join("1").join("control.redb"))?.len();
    println!("a database after 1000 entries: {size} bytes");
    for control in nodes.into_values() {
        control.stop().await;
    }
    Ok(())
}

/// The leader that can prove it.
async fn leader(nodes: &BTreeMap<u32, Control>) -> (u32, Leadership) {
    loop {
        for (node, control) in nodes {
            let leadership = *control.leadership().borrow();
            if let Some(leadership) = leadership
                && control.prove_leadership(leadership).await.is_ok()
            {
                return (*node, leadership);
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn print(what: &str, times: &mut Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100];
    println!("{what}: median {:?}, 99 of 100 within {:?}", at(50), at(99));
    times.clear();
}
