//! Strangers that are many: connections that do nothing, waiters for one name, names that one session holds.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use random::Random;
use service::core::Timeout;
use service::event::Filter;
use service::frame::{self, Incoming};
use service::protocol::{GREETING, Hello, ToClient, ToNode, VERSIONS, Welcome};
use service::{Acquire, Definition, RequestOutcome, SessionHandle, Want};
use tokenwood::Admin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::process::{Arguments, Counts, any, call};

/// A stranger that was hung up on comes back after so long.
const BACK: Duration = Duration::from_secs(1);
/// Sessions of waiters live so long without a word: the crowd lapses together when its process is killed.
pub(super) const TTL: Duration = Duration::from_secs(3);
/// A crowd has so many connections at each node, each from an address of its own,
const CONNECTIONS: usize = 10;
/// and a session for so many waiters.
const WAITERS_OF_SESSION: usize = 100;
/// So many requests are written at once.
const AT_ONCE: usize = 256;
/// The names of a listing are held by so many sessions,
const HOLDERS: usize = 4;
/// and so many strangers read it.
const LISTERS: usize = 20;

/// So many connections that say nothing, or only a greeting.
pub(super) async fn idle(arguments: Arguments, counts: Counts) {
    let mut strangers = JoinSet::new();
    for stranger in 0..arguments.count as u64 {
        let mut random = Random::new(arguments.seed.wrapping_mul(1_000_037).wrapping_add(stranger));
        let (arguments, counts) = (arguments.clone(), counts.clone());
        // Who says nothing is hung up on, and comes back. Most greet, and stay.
        let greets = stranger % 8 != 0;
        let at_peers = stranger % 16 == 0;
        strangers.spawn(async move {
            loop {
                let to = any(&mut random, if at_peers { &arguments.peers } else { &arguments.clients });
                if let Ok(stream) = call(to, stranger).await {
                    counts.add("idle_connections", 1);
                    _ = until_hung_up(stream, greets).await;
                    counts.add("idle_connections", -1);
                }
                sleep(BACK + BACK * random.below(100) as u32 / 100).await;
            }
        });
    }
    strangers.join_all().await;
}

async fn until_hung_up(mut stream: TcpStream, greets: bool) -> io::Result<()> {
    if greets {
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello::MINE, &mut bytes);
        stream.write_all(&bytes).await?;
    }
    while stream.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}

/// So many waiters for one name, at all nodes together.
pub(super) async fn waiters(arguments: Arguments, counts: Counts) {
    let mut strangers = JoinSet::new();
    let setups = arguments.clients.len() * CONNECTIONS;
    for setup in 0..setups {
        let to = arguments.clients[setup % arguments.clients.len()];
        let count = arguments.count / setups;
        let counts = counts.clone();
        // As long as a name may be, so that watchers have much to read.
        let name: Arc<str> = format!("stranger/crowd/{}", "x".repeat(200)).into();
        strangers.spawn(async move {
            let names = (0..count).map(move |_| name.clone());
            // A node that is killed takes its crowd with it.
            _ = crowd(to, setup as u64 * 8 + 1, count.div_ceil(WAITERS_OF_SESSION), names, &counts).await;
        });
    }
    strangers.join_all().await;
}

/// Opens so many sessions, asks for each of these names, in turn for each session, and keeps them alive.
async fn crowd(
    to: SocketAddr,
    caller: u64,
    sessions: usize,
    mut names: impl Iterator<Item = Arc<str>>,
    counts: &Counts,
) -> io::Result<()> {
    let (reading, mut writing) = call(to, caller).await?.into_split();
    let (sender, mut opened) = mpsc::unbounded_channel();
    let reader = listen(reading, sender, counts.clone());
    let writer = async {
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello::MINE, &mut bytes);
        (0..sessions)
            .for_each(|_| frame::put(VERSIONS.1, &ToNode::Open { ttl: TTL, label: None }, &mut bytes));
        writing.write_all(&bytes).await?;
        let mut mine = Vec::new();
        while mine.len() < sessions {
            let Some(Some(session)) = opened.recv().await else { break };
            mine.push(session);
        }
        let mut alive = Kept { sessions: mine, sequence: 0, since: Instant::now() };
        let mut request = 0;
        loop {
            let portion: Vec<Arc<str>> = names.by_ref().take(AT_ONCE).collect();
            if alive.sessions.is_empty() || portion.is_empty() {
                break;
            }
            bytes.clear();
            for name in &portion {
                let session = alive.sessions[request % alive.sessions.len()];
                request += 1;
                frame::put(VERSIONS.1, &ToNode::Acquire { session, ask: ask(request, name) }, &mut bytes);
            }
            writing.write_all(&bytes).await?;
            counts.add("asked", portion.len() as i64);
            alive.keep(&mut writing).await?;
        }
        loop {
            sleep(TTL / 20).await;
            alive.keep(&mut writing).await?;
        }
    };
    tokio::select! {
        ended = reader => ended,
        ended = writer => ended,
    }
}

fn ask(request: usize, name: &Arc<str>) -> Acquire {
    Acquire {
        request: request as u64,
        name: name.clone(),
        definition: Definition::MUTEX,
        want: Want::Slot,
        timeout: Timeout::Never,
    }
}

/// Sessions that are kept alive.
struct Kept {
    sessions: Vec<SessionHandle>,
    sequence: u64,
    since: Instant,
}

impl Kept {
    /// Says that the sessions are there, if it is time.
    async fn keep(&mut self, writing: &mut OwnedWriteHalf) -> io::Result<()> {
        if self.since.elapsed() < TTL / 5 {
            return Ok(());
        }
        (self.since, self.sequence) = (Instant::now(), self.sequence + 1);
        let mut bytes = Vec::new();
        for session in &self.sessions {
            let said = ToNode::KeepAlive { session: *session, sequence: self.sequence, settled: 0 };
            frame::put(VERSIONS.1, &said, &mut bytes);
        }
        writing.write_all(&bytes).await
    }
}

/// Reads everything, counts what is refused, and passes on which sessions there are: `None` for one that is refused.
async fn listen(
    mut reading: OwnedReadHalf,
    opened: mpsc::UnboundedSender<Option<SessionHandle>>,
    counts: Counts,
) -> io::Result<()> {
    let mut incoming = Incoming::default();
    while incoming.next::<Welcome>(GREETING).map_err(io::Error::other)?.is_none() {
        more(&mut reading, &mut incoming).await?;
    }
    loop {
        while let Some(said) = incoming.next(VERSIONS.1).map_err(io::Error::other)? {
            match said {
                ToClient::Opened { session: id, key, .. } => {
                    counts.add("sessions", 1);
                    _ = opened.send(Some(SessionHandle { id, key }));
                }
                ToClient::NotOpened(_) => {
                    counts.add("sessions_refused", 1);
                    _ = opened.send(None);
                }
                ToClient::Reply(reply) => match reply.outcome {
                    RequestOutcome::Granted(_) => counts.add("granted", 1),
                    _ => counts.add("requests_refused", 1),
                },
                ToClient::SessionGone { .. } => counts.add("sessions_gone", 1),
                _ => {}
            }
        }
        more(&mut reading, &mut incoming).await?;
    }
}

async fn more(reading: &mut OwnedReadHalf, incoming: &mut Incoming) -> io::Result<()> {
    let buffer = incoming.buffer();
    buffer.reserve(64 << 10);
    if reading.read_buf(buffer).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Holds so many names at the first node, and asks all nodes for listings that are not read to the end.
pub(super) async fn listings(arguments: Arguments, counts: Counts) {
    let mut strangers = JoinSet::new();
    let of_each = arguments.count / HOLDERS;
    for holder in 0..HOLDERS {
        let (to, counts) = (arguments.clients[0], counts.clone());
        strangers.spawn(async move {
            loop {
                let names =
                    (0..of_each).map(move |number| format!("stranger/list/{holder}/{number:06}").into());
                _ = crowd(to, holder as u64 * 8 + 1, 1, names, &counts).await;
                sleep(BACK).await;
            }
        });
    }
    for lister in 0..LISTERS as u64 {
        let (clients, counts) = (arguments.clients.clone(), counts.clone());
        let mut random = Random::new(arguments.seed.wrapping_add(lister));
        strangers.spawn(async move {
            loop {
                let elsewhere = any(&mut random, &clients);
                let to = any(&mut random, &[clients[0], elsewhere]).to_string();
                // There may be no node at the moment.
                if let Ok(Ok(mut admin)) = timeout(BACK, Admin::connect(&to)).await {
                    _ = pages(&mut admin, random.below(10), &counts).await;
                    // Some stay without a word.
                    sleep(BACK * random.below(3) as u32).await;
                }
                sleep(BACK / 10).await;
            }
        });
    }
    strangers.join_all().await;
}

/// Reads so many pages at most, and stops.
async fn pages(admin: &mut Admin, most: u64, counts: &Counts) -> Result<(), tokenwood::Error> {
    let mut after = None;
    for _ in 0..most {
        let page = admin.list_page(Filter::default(), after).await?;
        counts.add("pages", 1);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(())
}
