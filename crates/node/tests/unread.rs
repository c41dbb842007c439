//! Connections that one end does not read: they cost little, and disturb no other client.
//!
//! One test runs at a time, with its tasks on one thread, so that a task that never yields stops the test,
//! and the CPU time of the process is that of the nodes and clients under test.

use std::future::Future;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use node::LocalCluster;
use service::frame::{self, Incoming};
use service::protocol::{GREETING, Hello, Question, ToClient, ToNode, VERSIONS, Welcome};
use service::session::Promise;
use service::{Reply, RequestOutcome, SessionId, SessionKey};
use sync::IgnorePoison;
use tokenwood::{Filter, Guard, Options, Tokenwood};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::unconstrained;
use tokio::time::{sleep, timeout};

const LONG: Duration = Duration::from_secs(20);
const MOMENT: Duration = Duration::from_secs(1);
/// What an idle second may cost: a busy loop takes nearly all of it.
const IDLE_SECOND: Duration = Duration::from_millis(50);

#[test]
fn a_watcher_that_does_not_read_costs_nothing_and_delays_nobody() {
    on_one_thread(async || {
        let cluster = LocalCluster::start(1).await.unwrap();
        let unread = visit(&cluster.endpoints[0], &[ToNode::Watch(Filter::default())]).await;
        let near = cluster.hosts[0].embedded().mutex(&"x".repeat(255));
        let far = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        for round in 0..20_000 {
            near.acquire().await.unwrap().release();
            if round % 1_000 == 0 {
                timeout(MOMENT, far.mutex("y").acquire()).await.expect("others are served").unwrap();
            }
        }
        idles().await;
        timeout(MOMENT, far.mutex("y").acquire()).await.expect("others are served").unwrap();
        timeout(LONG, cluster.hosts[0].leave()).await.expect("the node can leave");
        drop(unread);
    });
}

#[test]
fn questions_are_not_taken_in_while_their_answers_are_not_read() {
    on_one_thread(async || {
        let cluster = LocalCluster::start(1).await.unwrap();
        let _held = hold_a_thousand(&cluster).await;
        let (mut stream, mut incoming) = visit(&cluster.endpoints[0], &questions()).await;
        idles().await;
        let far = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        timeout(MOMENT, far.mutex("y").acquire()).await.expect("others are served").unwrap();
        // The client was not given up on: it reads now, and gets every answer.
        for expected in 0..QUESTIONS {
            match timeout(LONG, next(&mut stream, &mut incoming)).await.expect("there is an answer") {
                ToClient::QuestionAnswer { number, .. } => assert_eq!(number, expected),
                other => panic!("{other:?}"),
            }
        }
        cluster.stop().await;
    });
}

#[test]
fn a_client_that_goes_without_reading_its_answers_leaves_nothing_behind() {
    on_one_thread(async || {
        let cluster = LocalCluster::start(1).await.unwrap();
        let _held = hold_a_thousand(&cluster).await;
        let unread = visit(&cluster.endpoints[0], &questions()).await;
        idles().await;
        drop(unread);
        idles().await;
        cluster.stop().await;
    });
}

#[test]
fn a_node_that_does_not_read_costs_its_client_nothing_but_the_session() {
    const TTL: Duration = Duration::from_secs(3);
    on_one_thread(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = listener.local_addr().unwrap().to_string();
        let fake = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            grant(&mut stream, TTL).await;
            // It keeps the connection, and reads nothing more.
            (stream, listener)
        });
        let options = Options::with_ttl(TTL);
        let client = Tokenwood::connect_with([endpoint], options).await.unwrap();
        let lock = client.mutex(&"x".repeat(255));
        let guard = timeout(LONG, lock.acquire()).await.unwrap().unwrap();
        let kept_open = fake.await.unwrap();
        // More than any buffer between the two takes.
        let waits: Vec<_> = (0..40_000)
            .map(|_| {
                let mut waits = Box::pin(unconstrained(lock.acquire()));
                assert!(poll_once(&mut waits).is_none(), "nobody grants anything");
                waits
            })
            .collect();
        idles().await;
        timeout(TTL, guard.lost()).await.expect("what it held is lost by its deadline");
        drop((waits, kept_open));
    });
}

/// Holds enough locks with long names that a list of them is more than any buffer takes.
async fn hold_a_thousand(cluster: &LocalCluster) -> Vec<Guard> {
    let near = cluster.hosts[0].embedded();
    let mut held = Vec::new();
    for number in 0..1_000 {
        held.push(near.mutex(&format!("{number:0>100}")).acquire().await.unwrap());
    }
    held
}

const QUESTIONS: u64 = 1_000;

/// So many questions for that list.
fn questions() -> Vec<ToNode> {
    (0..QUESTIONS)
        .map(|number| ToNode::Ask {
            number,
            question: Question::List { filter: Filter::default(), after: None },
        })
        .collect()
}

/// Runs a test on a thread of its own. If that never yields, the test fails all the same.
fn on_one_thread<F: Future>(test: impl FnOnce() -> F + Send + 'static) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().ignore_poison();
    let (sender, ended) = mpsc::channel();
    let runs = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test());
        _ = sender.send(());
    });
    match ended.recv_timeout(3 * LONG) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("a task never yields"),
        _ => runs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Does nothing for a second, and checks that nothing else in this process does much.
async fn idles() {
    let before = cpu_time();
    sleep(MOMENT).await;
    let spent = cpu_time() - before;
    assert!(spent < IDLE_SECOND, "{spent:?} of CPU time in an idle second");
}

/// The CPU time of this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

/// A client with a small buffer that says all of this, and has read only the greeting.
async fn visit(endpoint: &str, says: &[ToNode]) -> (TcpStream, Incoming) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(endpoint.parse().unwrap()).await.unwrap();
    let mut bytes = Vec::new();
    frame::put(GREETING, &Hello::MINE, &mut bytes);
    stream.write_all(&bytes).await.unwrap();
    let mut incoming = Incoming::default();
    while incoming.next::<Welcome>(GREETING).unwrap().is_none() {
        assert_ne!(stream.read_buf(incoming.buffer()).await.unwrap(), 0, "it hung up");
    }
    bytes.clear();
    says.iter().for_each(|said| frame::put(VERSION, said, &mut bytes));
    stream.write_all(&bytes).await.unwrap();
    (stream, incoming)
}

async fn next(stream: &mut TcpStream, incoming: &mut Incoming) -> ToClient {
    loop {
        if let Some(said) = incoming.next(VERSION).unwrap() {
            return said;
        }
        let buffer = incoming.buffer();
        buffer.reserve(1 << 16);
        assert_ne!(stream.read_buf(buffer).await.unwrap(), 0, "it hung up");
    }
}

/// What a node does: it greets, opens a session and grants the first request.
async fn grant(stream: &mut TcpStream, ttl: Duration) {
    let mut incoming = Incoming::default();
    let mut says = async |stream: &mut TcpStream, version: u8, bytes: &mut Vec<u8>| {
        stream.write_all(bytes).await.unwrap();
        bytes.clear();
        loop {
            match version {
                GREETING if incoming.next::<Hello>(GREETING).unwrap().is_some() => return,
                VERSION if incoming.next::<ToNode>(VERSION).unwrap().is_some() => return,
                _ => _ = stream.read_buf(incoming.buffer()).await.unwrap(),
            }
        }
    };
    let mut bytes = Vec::new();
    says(stream, GREETING, &mut bytes).await;
    frame::put(GREETING, &Welcome::Version { version: VERSION, node: 0, incarnation: 1 }, &mut bytes);
    says(stream, VERSION, &mut bytes).await;
    let session = SessionId { node: 0, incarnation: 1, number: 1 };
    let lasts = ttl.as_nanos() as u64;
    let promise = Promise { sequence: 0, lasts, kept: lasts };
    frame::put(VERSION, &ToClient::Opened { session, key: SessionKey::new([0; 16]), promise }, &mut bytes);
    says(stream, VERSION, &mut bytes).await;
    let outcome = RequestOutcome::Granted(service::Grant { slot: 0, fence: 1, group: 0 });
    frame::put(VERSION, &ToClient::Reply(Reply { session, request: 1, outcome }), &mut bytes);
    stream.write_all(&bytes).await.unwrap();
}

const VERSION: u8 = VERSIONS.1;
