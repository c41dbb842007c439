//! Strangers at the port for clients: random bytes, frames that are cut off, damaged or much too long, and messages that
//! are well formed and absurd. Whatever comes, the node stays up and serves others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node::LocalCluster;
use random::Random;
use service::core::{Cursor, Timeout};
use service::event::Filter;
use service::frame::{self, Incoming};
use service::name::Kind;
use service::protocol::{GREETING, Hello, Question, ToClient, ToNode, VERSIONS, Welcome};
use service::{Acquire, Definition, SessionHandle, SessionId, SessionKey, Want};
use tokenwood::Tokenwood;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const STRANGERS: u32 = 3_000;
const LONG: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_strangers_say_the_node_serves_others() {
    let cluster = LocalCluster::start(2).await.unwrap();
    let endpoint = cluster.endpoints[0].clone();
    let friend = Tokenwood::connect([endpoint.clone()]).await.unwrap();
    let mut random = Random::new(4);
    let begun = Instant::now();
    for stranger in 0..STRANGERS {
        let bytes = speech(&mut random);
        // It may be disconnected in the middle of a sentence.
        _ = visit(&endpoint, &bytes, stranger % 8 == 0).await;
        if stranger % 100 == 0 {
            let guard = timeout(LONG, friend.mutex("friendly").acquire()).await.expect("it stays up");
            guard.expect("a friend is served").release();
        }
        if begun.elapsed() > LONG {
            break;
        }
    }
    assert!(Tokenwood::connect([endpoint]).await.is_ok(), "and others may still come");
    cluster.stop().await;
}

/// A client with a session of its own, which asks for what cannot be and for what could be, and never leaves anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_asks_for_anything_harms_only_itself() {
    let cluster = LocalCluster::start(2).await.unwrap();
    let endpoint = cluster.endpoints[0].clone();
    let friend = Tokenwood::connect([endpoint.clone()]).await.unwrap();
    let mut random = Random::new(5);
    for _ in 0..20 {
        let (mut stream, session) = open(&endpoint).await;
        for request in 1..200 {
            let any = number(&mut random);
            let mut bytes = Vec::new();
            let said = match random.below(8) {
                0 => ToNode::Release { session, request: any, fence: number(&mut random) },
                1 => ToNode::Cancel { session, request: any },
                2 => ToNode::KeepAlive { session, sequence: any, settled: any },
                3 => ToNode::Acquire { session, ask: ask(&mut random, any) },
                _ => ToNode::Acquire { session, ask: ask(&mut random, request) },
            };
            frame::put(VERSIONS.1, &said, &mut bytes);
            stream.write_all(&bytes).await.unwrap();
        }
        let mut bytes = Vec::new();
        frame::put(VERSIONS.1, &ToNode::Close { session }, &mut bytes);
        stream.write_all(&bytes).await.unwrap();
        let guard = timeout(LONG, friend.rwlock("x").write().acquire()).await.expect("it stays up");
        guard.map_or_else(|error| assert!(error.to_string().contains("room"), "{error}"), drop);
    }
    cluster.stop().await;
}

async fn open(endpoint: &str) -> (TcpStream, SessionHandle) {
    let mut stream = TcpStream::connect(endpoint).await.unwrap();
    let mut bytes = Vec::new();
    frame::put(GREETING, &Hello::MINE, &mut bytes);
    frame::put(VERSIONS.1, &ToNode::Open { ttl: Duration::from_secs(1), label: None }, &mut bytes);
    stream.write_all(&bytes).await.unwrap();
    let mut incoming = Incoming::default();
    let mut welcome = None;
    loop {
        assert_ne!(stream.read_buf(incoming.buffer()).await.unwrap(), 0, "it hung up");
        if welcome.is_none() {
            welcome = incoming.next::<Welcome>(GREETING).unwrap();
        }
        if welcome.is_some()
            && let Some(ToClient::Opened { session: id, key, .. }) = incoming.next(VERSIONS.1).unwrap()
        {
            return (stream, SessionHandle { id, key });
        }
    }
}

/// Sends these bytes and leaves, or listens first.
async fn visit(endpoint: &str, bytes: &[u8], listens: bool) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(endpoint).await?;
    stream.write_all(bytes).await?;
    if listens {
        let mut answer = [0; 1024];
        _ = timeout(Duration::from_millis(20), stream.read(&mut answer)).await;
    }
    Ok(())
}

/// What a stranger says.
fn speech(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !random.once_in(8) {
        frame::put(GREETING, &Hello::MINE, &mut bytes);
    }
    let polite = bytes.len();
    match random.below(5) {
        0 => noise(random, &mut bytes),
        1 => bytes.extend((random.bits() as u32).to_le_bytes()),
        2 => {
            let messages = 1 + random.below(20);
            (0..messages).for_each(|_| frame::put(VERSIONS.1, &absurd(random), &mut bytes));
        }
        3 => {
            frame::put(VERSIONS.1, &absurd(random), &mut bytes);
            let kept = polite + random.below((bytes.len() - polite) as u64) as usize;
            bytes.truncate(kept);
        }
        _ => {
            frame::put(VERSIONS.1, &absurd(random), &mut bytes);
            for _ in 0..1 + random.below(4) {
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << random.below(8);
            }
        }
    }
    bytes
}

fn noise(random: &mut Random, bytes: &mut Vec<u8>) {
    let length = random.below(2_000) as usize;
    let start = bytes.len();
    bytes.resize(start + length, 0);
    random.fill(&mut bytes[start..]);
}

/// One of the numbers that programs forget about.
fn number(random: &mut Random) -> u64 {
    [0, 1, 2, u64::from(u32::MAX), u64::MAX, u64::MAX - 1, 1 << 63, 1 << 40][random.below(8) as usize]
}

fn time(random: &mut Random) -> Duration {
    let times = [Duration::ZERO, Duration::MAX, Duration::from_secs(1), Duration::from_secs(u64::MAX / 2)];
    times[random.below(times.len() as u64) as usize]
}

/// A message that no client of ours sends.
fn absurd(random: &mut Random) -> ToNode {
    // The session of the friend has a low number too: to say what belongs to others is possible, to crash is not.
    let node = random.below(3) as u32;
    let id = SessionId { node, incarnation: number(random), number: 1_000 + number(random) % 1_000 };
    let session = SessionHandle { id, key: SessionKey::new([0; 16]) };
    let request = number(random);
    match random.below(8) {
        0 => ToNode::Open { ttl: time(random), label: None },
        1 => ToNode::KeepAlive { session, sequence: number(random), settled: number(random) },
        2 => ToNode::Cancel { session, request },
        3 => ToNode::Release { session, request, fence: number(random) },
        4 => ToNode::Close { session },
        5 => ToNode::Ask { number: number(random), question: strange_question(random) },
        _ => ToNode::Acquire { session, ask: ask(random, request) },
    }
}

fn strange_question(random: &mut Random) -> Question {
    let name = "\u{0}".repeat(300);
    let kind = [Kind::Slots, Kind::RwLock, Kind::Room][random.below(3) as usize];
    let client = random.once_in(2).then(|| number(random) as u32);
    let after = Some(Cursor { kind, name: name.as_str().into(), client });
    match random.below(4) {
        0 => Question::Definitions(Some(name.into())),
        1 => Question::List { filter: Filter::default(), after },
        2 => Question::Inspect { name: "x".to_string(), after },
        _ => Question::Inspect { name, after: None },
    }
}

fn ask(random: &mut Random, request: u64) -> Acquire {
    let names = ["", "a\nb", "x", &"y".repeat(10_000)];
    let name = Arc::from(names[random.below(names.len() as u64) as usize]);
    let definition = match random.below(5) {
        0 => Definition::Slots(0),
        1 => Definition::Slots(u32::MAX),
        2 => Definition::Slots(3),
        3 => Definition::Room,
        _ => Definition::RwLock,
    };
    let want = match random.below(5) {
        0 => Want::Slot,
        1 => Want::Write,
        2 => Want::AnyOf([].into()),
        3 => Want::AnyOf([Arc::from("g")].into()),
        _ => Want::AnyOf(vec![Arc::from("g"); 1_000].into()),
    };
    let timeout = match random.below(3) {
        0 => Timeout::Try,
        1 => Timeout::After(time(random)),
        _ => Timeout::Never,
    };
    Acquire { request, name, definition, want, timeout }
}

/// What operators may ask for is bounded by the node, and not only by the command that asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_that_no_node_could_keep_are_refused() {
    let cluster = LocalCluster::start(2).await.unwrap();
    let endpoint = cluster.endpoints[0].clone();
    let friend = Tokenwood::connect([endpoint.clone()]).await.unwrap();
    let mut admin = tokenwood::Admin::connect(&endpoint).await.unwrap();
    for lasts in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(3600), Duration::MAX] {
        match admin.set_lease(lasts).await {
            Err(tokenwood::Error::NotDone(why)) => assert!(why.contains("500 ms"), "{why}"),
            other => panic!("leases of {lasts:?}: {other:?}"),
        }
    }
    let guard = timeout(LONG, friend.mutex("friendly").acquire()).await.expect("it stays up");
    guard.expect("a friend is served").release();
    cluster.stop().await;
}
