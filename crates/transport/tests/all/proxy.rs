//! A proxy that cuts connections after a random number of bytes, or lets them fall silent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use random::Random;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) state: Arc<State>,
    /// Ends everything when it is dropped.
    _tasks: JoinSet<()>,
}

#[derive(Default)]
pub(crate) struct State {
    /// How many connections were cut.
    pub(crate) cuts: AtomicU32,
    /// How often bytes were carried.
    pub(crate) carried: AtomicU64,
    /// Whether connections are open but carry nothing.
    pub(crate) silent: AtomicBool,
}

impl Proxy {
    /// Forwards to this address; each connection carries fewer than this many bytes, both directions
    /// together.
    pub(crate) async fn start(target: SocketAddr, most_bytes: u64, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let mut tasks = JoinSet::new();
        let shared = state.clone();
        tasks.spawn(async move {
            let mut random = Random::new(seed);
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let budget = random.below(most_bytes);
                connections.spawn(carry(stream, target, budget, shared.clone()));
            }
        });
        Proxy { address, state, _tasks: tasks }
    }
}

/// Carries this many bytes and cuts.
async fn carry(mut near: TcpStream, target: SocketAddr, mut budget: u64, state: Arc<State>) {
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    let (mut there, mut back) = ([0; 512], [0; 512]);
    while budget > 0 {
        let there_room = there.len().min(budget as usize);
        let back_room = back.len().min(budget as usize);
        let carried = tokio::select! {
            count = near.read(&mut there[..there_room]) => match count {
                _ if state.silent.load(Ordering::Relaxed) => return state.hold().await,
                Ok(count @ 1..) => far.write_all(&there[..count]).await.map(|()| count),
                _ => return,
            },
            count = far.read(&mut back[..back_room]) => match count {
                _ if state.silent.load(Ordering::Relaxed) => return state.hold().await,
                Ok(count @ 1..) => near.write_all(&back[..count]).await.map(|()| count),
                _ => return,
            },
        };
        let Ok(count) = carried else { return };
        budget -= count as u64;
        state.carried.fetch_add(1, Ordering::Relaxed);
    }
    state.cuts.fetch_add(1, Ordering::Relaxed);
}

impl State {
    /// Keeps a connection open that carries nothing any more.
    async fn hold(&self) {
        while self.silent.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    }
}
