//! How long a message takes there and back over loopback, beside a bare TCP echo, and what many messages one way cost.
//!
//! `cargo run --package tokenwood-transport --example round_trip`

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use service::Identity;
use service::view::{View, ViewMember};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use transport::Config;
use transport::{Inbox, Outbox, Peers};

const BYTES: usize = 64;
const ROUND_TRIPS: u32 = 30_000;
const ONE_WAY: u32 = 300_000;
const SERIES: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let pair = Pair::start().await?;
        for series in 1..=SERIES {
            let bare = bare_echo().await?;
            let linked = pair.round_trips().await;
            println!(
                "{series}: round trip bare {:.1} µs, linked {:.1} µs, {:.2} times",
                micros(bare),
                micros(linked),
                linked.as_secs_f64() / bare.as_secs_f64()
            );
        }
        for batch in [1, 8, 32] {
            println!("one way, {batch} at a time: {:.2} µs a message", micros(pair.one_way(batch).await));
        }
        pair.nodes[0].peers().stop().await;
        pair.nodes[1].peers().stop().await;
        Ok(())
    })
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The time of one round trip between two tasks with a socket each.
async fn bare_echo() -> std::io::Result<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let echo = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let mut bytes = [0; BYTES];
        for _ in 0..ROUND_TRIPS {
            stream.read_exact(&mut bytes).await?;
            stream.write_all(&bytes).await?;
        }
        std::io::Result::Ok(())
    });
    let client = tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut bytes = [0; BYTES];
        let started = Instant::now();
        for _ in 0..ROUND_TRIPS {
            stream.write_all(&bytes).await?;
            stream.read_exact(&mut bytes).await?;
        }
        std::io::Result::Ok(started.elapsed() / ROUND_TRIPS)
    });
    let time = client.await.expect("the client does not panic")?;
    echo.await.expect("the echo does not panic")?;
    Ok(time)
}

/// A node that sends everything back until a count runs out.
#[derive(Default)]
struct Node {
    peers: OnceLock<Peers>,
    left: AtomicU32,
    done: Notify,
}

impl Node {
    fn peers(&self) -> &Peers {
        self.peers.get().expect("started")
    }
}

impl Inbox for Node {
    fn received(&self, from: u32, _: u64, payloads: &[&[u8]], _: &mut Outbox<'_>) {
        for payload in payloads {
            // A message one way begins with 1 and is only counted; the others go back.
            let left = self.left.fetch_sub(1, Ordering::Relaxed) - 1;
            if left == 0 {
                self.done.notify_one();
            }
            if payload[0] == 0 && left > 0 {
                self.peers().send(from, payload.to_vec()).expect("the link is not full");
            }
        }
    }
}

struct Pair {
    nodes: [Arc<Node>; 2],
}

impl Pair {
    async fn start() -> Result<Pair, Box<dyn std::error::Error>> {
        let listeners = [TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?];
        let mut members = Vec::new();
        for (id, listener) in (0..).zip(&listeners) {
            let address = listener.local_addr()?.to_string();
            members.push(ViewMember::new(Identity { id, incarnation: 1 }, &address));
        }
        let view = View { epoch: 1, members };
        let nodes = [Arc::new(Node::default()), Arc::new(Node::default())];
        for ((id, listener), node) in (0..).zip(listeners).zip(&nodes) {
            let config = Config::new("example", Identity { id, incarnation: 1 });
            let peers = Peers::start(config, view.clone(), listener, node.clone())?;
            node.peers.get_or_init(|| peers);
        }
        Ok(Pair { nodes })
    }

    async fn round_trips(&self) -> Duration {
        let [first, second] = &self.nodes;
        first.left.store(ROUND_TRIPS, Ordering::Relaxed);
        second.left.store(ROUND_TRIPS + 1, Ordering::Relaxed);
        let started = Instant::now();
        first.peers().send(1, vec![0; BYTES]).expect("the link is not full");
        first.done.notified().await;
        started.elapsed() / ROUND_TRIPS
    }

    async fn one_way(&self, batch: u32) -> Duration {
        let [first, second] = &self.nodes;
        second.left.store(ONE_WAY, Ordering::Relaxed);
        let started = Instant::now();
        let mut message = 0;
        while message < ONE_WAY {
            for _ in 0..batch.min(ONE_WAY - message) {
                while first.peers().queue(1, vec![1; BYTES]).is_err() {
                    tokio::task::yield_now().await;
                }
                message += 1;
            }
            first.peers().flush(1);
        }
        second.done.notified().await;
        started.elapsed() / ONE_WAY
    }
}
