//! The same workloads against Tokenwood and against other services that are used for locks. Each client is a
//! task, with a connection of its own unless the workload shares them. The caller starts and stops the
//! servers.

mod bare;
mod etcd;
mod redis;
mod tally;
mod tokenwood;
mod zookeeper;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cpu;
use crate::error::Error;
use crate::floor::micros;
pub use bare::bare_round_trip;
pub use tally::{FIGURES, HAND_OFF, HAND_OFF_RATIO, Sample, Versus, compare};

/// A service and its servers.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The service.
    pub kind: Kind,
    /// Where its servers listen, each as `host:port`.
    pub endpoints: Vec<String>,
    /// The processes of the servers.
    pub processes: Vec<u32>,
}

/// A service, and how its clients go from one lock to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ours: release, then acquire.
    Tokenwood,
    /// Ours: release and acquire in one message.
    TokenwoodJoined,
    /// Redis: a script that compares and deletes, then `SET NX`.
    Redis,
    /// Redis: both commands in one write.
    RedisJoined,
    /// etcd: its lock service, through its JSON gateway.
    Etcd,
    /// ZooKeeper: ephemeral sequential nodes, each watching the one before.
    ZooKeeper,
}

impl Kind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tokenwood => "tokenwood",
            Kind::TokenwoodJoined => "tokenwood, joined",
            Kind::Redis => "redis",
            Kind::RedisJoined => "redis, joined",
            Kind::Etcd => "etcd",
            Kind::ZooKeeper => "zookeeper",
        }
    }

    /// Whether our client of this service supports this workload.
    pub fn can_do(self, workload: &Workload) -> bool {
        // They have one request at a time on a connection.
        let alone = matches!(self, Kind::Etcd | Kind::ZooKeeper);
        !alone || workload.connections == Connections::Own
    }
}

/// The behaviour of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Its description, in a line.
    pub about: &'static str,
    /// The number of clients, spread over the servers.
    pub clients: usize,
    /// The number of names, one of which is chosen at random each time.
    pub names: u64,
    /// Whether connections are shared.
    pub connections: Connections,
}

/// Whether clients share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Each client has its own, as programs on different machines do.
    Own,
    /// All clients share one to each server, as the tasks of one program do.
    Shared,
}

/// The name of the workload in which hand-offs are timed: all clients request the same lock.
pub const CONTENDED: &str = "contended";

/// All workloads.
pub const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "uncontended",
        about: "one client, one lock",
        clients: 1,
        names: 1,
        connections: Connections::Own,
    },
    Workload {
        name: CONTENDED,
        about: "30 clients want one lock",
        clients: 30,
        names: 1,
        connections: Connections::Own,
    },
    Workload {
        name: "many-names",
        about: "30 clients, each time one of 1,000 names at random",
        clients: 30,
        names: 1_000,
        connections: Connections::Own,
    },
    Workload {
        name: "one-program",
        about: "the same by 30 tasks of one program, which share a connection to each server",
        clients: 30,
        names: 1_000,
        connections: Connections::Shared,
    },
];

/// A client of a lock service. Holds at most one lock at a time.
trait Locker: Send + Sized + 'static {
    /// Waits until it holds this lock.
    fn acquire(&mut self, name: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Releases what it holds.
    fn release(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Releases the lock it holds, and waits until it holds this one. `released` is called just before the
    /// release is written.
    fn go_on(
        &mut self,
        name: &str,
        released: impl Fn() + Send,
    ) -> impl Future<Output = Result<Instant, Error>> + Send {
        async move {
            released();
            self.release().await?;
            let asked = Instant::now();
            self.acquire(name).await?;
            Ok(asked)
        }
    }
}

/// Runs the clients of this peer for `time`.
pub async fn measure(peer: &Peer, workload: &Workload, time: Duration) -> Result<Sample, Error> {
    let measured = match peer.kind {
        Kind::Tokenwood => run(tokenwood::clients(peer, workload, false).await?, peer, workload, time).await,
        Kind::TokenwoodJoined => {
            run(tokenwood::clients(peer, workload, true).await?, peer, workload, time).await
        }
        Kind::Redis => run(redis::clients(peer, workload, false).await?, peer, workload, time).await,
        Kind::RedisJoined => run(redis::clients(peer, workload, true).await?, peer, workload, time).await,
        Kind::Etcd => run(etcd::clients(peer, workload).await?, peer, workload, time).await,
        Kind::ZooKeeper => run(zookeeper::clients(peer, workload).await?, peer, workload, time).await,
    };
    let (peer, workload) = (peer.kind.name(), workload.name);
    measured.map_err(|why| Error::At { peer, workload, why: Box::new(why) })
}

/// Whether this peer serves: one client acquires a lock and releases it. The error says why not.
pub async fn answers(peer: &Peer) -> Result<(), Error> {
    async fn once<L: Locker>(clients: Vec<L>) -> Result<(), Error> {
        for mut client in clients {
            client.acquire(&name_of(&FIRST, 0)).await?;
            client.release().await?;
        }
        Ok(())
    }
    match peer.kind {
        Kind::Tokenwood | Kind::TokenwoodJoined => once(tokenwood::clients(peer, &FIRST, false).await?).await,
        Kind::Redis | Kind::RedisJoined => once(redis::clients(peer, &FIRST, false).await?).await,
        Kind::Etcd => once(etcd::clients(peer, &FIRST).await?).await,
        Kind::ZooKeeper => once(zookeeper::clients(peer, &FIRST).await?).await,
    }
}

/// At most as many clients as there are servers: each server is asked once.
const FIRST: Workload = Workload {
    name: "first",
    about: "whether it serves",
    clients: 3,
    names: 1,
    connections: Connections::Own,
};

/// The state that the clients of a run share.
struct Shared {
    begin: Barrier,
    over: AtomicBool,
    /// When the lock was last released, in nanoseconds since the start.
    released: AtomicU64,
    since: Instant,
}

impl Shared {
    fn nanos(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

async fn run<L: Locker>(
    clients: Vec<L>,
    peer: &Peer,
    workload: &Workload,
    time: Duration,
) -> Result<Sample, Error> {
    let shared = Arc::new(Shared {
        begin: Barrier::new(clients.len() + 1),
        over: AtomicBool::new(false),
        released: AtomicU64::new(0),
        since: Instant::now(),
    });
    let mut tasks = JoinSet::new();
    for (number, client) in clients.into_iter().enumerate() {
        tasks.spawn(run_client(client, number, *workload, shared.clone()));
    }
    shared.begin.wait().await;
    let (servers, mine, begun) = (used_by_servers(peer)?, used_by_clients()?, Instant::now());
    sleep(time).await;
    // Before the clients end, which takes some of them a while.
    let (servers, mine, span) =
        (used_by_servers(peer)? - servers, used_by_clients()? - mine, begun.elapsed());
    shared.over.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    while let Some(measured) = tasks.join_next().await {
        all.push(measured??);
    }
    Ok(Sample::new(&all, span, servers, mine))
}

fn used_by_servers(peer: &Peer) -> Result<f64, Error> {
    peer.processes.iter().map(|process| cpu::used_by(*process)).sum()
}

fn used_by_clients() -> Result<f64, Error> {
    cpu::used_by(std::process::id())
}

/// The measurements of a client, in microseconds.
#[derive(Default)]
struct Measured {
    waits: Vec<f64>,
    /// From the release of any client to the next grant.
    hand_offs: Vec<f64>,
}

/// Acquires one lock after the other until the time is up.
async fn run_client<L: Locker>(
    mut client: L,
    number: usize,
    workload: Workload,
    shared: Arc<Shared>,
) -> Result<Measured, Error> {
    let mut measured = Measured::default();
    // The first lock is acquired before it counts, so that connections and names are warm.
    client.acquire(&name(&workload, number, 0)).await?;
    client.release().await?;
    shared.begin.wait().await;
    let asked = Instant::now();
    client.acquire(&name(&workload, number, 1)).await?;
    let mut time = 1;
    if !shared.over.load(Ordering::Relaxed) {
        measured.waits.push(micros(asked));
    }
    while !shared.over.load(Ordering::Relaxed) {
        time += 1;
        let next = name(&workload, number, time);
        let released = || shared.released.store(shared.nanos(), Ordering::Relaxed);
        let asked = client.go_on(&next, released).await?;
        if shared.over.load(Ordering::Relaxed) {
            // Granted after the end: it does not count.
            break;
        }
        measured.waits.push(micros(asked));
        if workload.name == CONTENDED {
            let since = shared.nanos().saturating_sub(shared.released.load(Ordering::Relaxed));
            measured.hand_offs.push(since as f64 / 1e3);
        }
    }
    client.release().await?;
    Ok(measured)
}

/// The lock that a client takes next, spread by a fixed hash, so that every run uses the same names.
fn name(workload: &Workload, client: usize, time: u64) -> String {
    let mixed =
        (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ client as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    name_of(workload, (mixed >> 32) % workload.names)
}

fn name_of(workload: &Workload, number: u64) -> String {
    format!("{}-{number}", workload.name)
}
