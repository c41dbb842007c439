//! What nodes of this process say, collected as an embedding program would.

use std::fmt::{Debug, Write};
use std::net::SocketAddr;
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use control::Hello;
use node::LocalCluster;
use service::frame;
use tokenwood::{Admin, GrantAgain, Tokenwood};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What the nodes of all tests said, as `target: message field=value …`.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Begins to collect.
pub(crate) fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).unwrap());
}

/// The lines so far that contain this.
pub(crate) fn lines(part: &str) -> Vec<String> {
    LINES.lock().unwrap().iter().filter(|line| line.contains(part)).cloned().collect()
}

struct Collector;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && !metadata.target().starts_with("openraft")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{}: ", event.metadata().target()));
        event.record(&mut line);
        LINES.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_release_is_audited_in_an_embedded_cluster() {
    collect();
    let cluster = LocalCluster::start(1).await.unwrap();
    let client = Tokenwood::connect(cluster.endpoints.clone()).await.unwrap();
    let held = client.mutex("audited").acquire().await.unwrap();
    let mut admin = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    // `release --force` repeats the order until it reaches no further holder; one revocation is one line.
    for _ in 0..2 {
        admin.force_release("audited", held.slot(), held.fence(), GrantAgain::WhenSafe).await.unwrap();
    }
    let fence = format!("fence={}", held.fence());
    let mut said = lines("audit: ");
    said.retain(|line| line.contains("forced release of audited") && line.contains(&fence));
    assert_eq!(said.len(), 1, "{said:?}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_flood_the_log() {
    collect();
    let cluster = LocalCluster::start(1).await.unwrap();
    let begun = Instant::now();
    for _ in 0..100 {
        let mut stream = connect_from(STRANGERS, &cluster.endpoints[0]).await;
        _ = stream.write_all(&[0xff; 64]).await;
        _ = stream.read(&mut [0; 64]).await;
    }
    // Lines of the two kinds that say how they end are left to the unit tests; this is about the whole way.
    tokio::time::sleep(Duration::from_millis(100)).await;
    expect_few_lines("no client greeting", STRANGERS, begun);
    cluster.stop().await;
}

/// Where the strangers of a test call from. Each test has an address of its own: lines of all tests go into one list,
/// and the system gives a port of 127.0.0.1 to callers of several nodes.
const STRANGERS: &str = "127.1.1.1";
const STRANGERS_OF_CONSENSUS: &str = "127.1.1.2";

async fn connect_from(host: &str, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(host.parse().unwrap(), 0)).unwrap();
    socket.connect(address.parse().unwrap()).await.unwrap()
}

/// A hundred callers caused a line or more, and not more than the limit: ten at once, then one in six seconds.
fn expect_few_lines(what: &str, from: &str, begun: Instant) {
    let count = lines(what).iter().filter(|line| line.contains(&format!("from {from}:"))).count();
    let most = 10 + begun.elapsed().as_secs() / 6 + 1;
    assert!((1..=most as usize).contains(&count), "{count} lines about 100 strangers");
}

/// Calls, sends this, and waits until the other end has answered or closed the connection. Returns where it
/// called from.
async fn call(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    send(&mut stream, bytes).await;
    stream.local_addr().unwrap().to_string()
}

async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).await.unwrap();
    _ = stream.read_to_end(&mut Vec::new()).await;
}

/// Waits until there is a line that contains all of this.
async fn until_said(parts: &[&str]) {
    let begun = Instant::now();
    while !lines(parts[0]).iter().any(|line| parts.iter().all(|part| line.contains(part))) {
        assert!(begun.elapsed() < Duration::from_secs(20), "never {parts:?}: {:?}", lines("node: "));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_the_control_plane_refuses_are_logged_and_cannot_flood_the_log() {
    collect();
    let cluster = LocalCluster::start(1).await.unwrap();
    let control = cluster.hosts[0].control();
    let address = control.nodes()[&0].clone();
    let invitation = control.invite(Duration::from_secs(60)).await.unwrap();
    let cluster_id = invitation.cluster_id;
    let hello = |cluster: &str| Hello { version: 2, cluster: cluster.to_owned(), cluster_id, from: 2, to: 0 };

    let mine = call(&address, &hello("prod\u{1b}").encode()).await;
    until_said(&["rejected: node 2 connects", &mine, "cluster 'prod\\u{1b}', this node to 'local'"]).await;
    let mut greeting = hello("local").encode();
    // The length of the cluster's name.
    greeting[frame::LENGTH_BYTES + 1 + control::MAGIC.len() + 1] = 0xff;
    let mine = call(&address, &greeting).await;
    until_said(&["rejected: no greeting for the control plane", &mine]).await;
    let mine = call(&address, b"").await;
    until_said(&["rejected: the greeting took too long", &mine]).await;
    let nonsense = [hello("local").encode(), vec![2, 0, 0, 0, 2, 0xff]].concat();
    let mine = call(&address, &nonsense).await;
    until_said(&["rejected: node 2 sent a malformed frame", &mine]).await;

    // A stranger speaks for another, and guesses the secret of an invitation.
    let guess = (1_u64, PASS_ON, JOIN, invitation.id, invitation.secret ^ 1, "127.0.0.1:1");
    let wrong = [(2, "node 2 may not ask this"), (invitation.id, "this invitation is not known")];
    for (from, why) in wrong {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let mut bytes = Hello { from, ..hello("local") }.encode();
        frame::put(2, &guess, &mut bytes);
        stream.write_all(&bytes).await.unwrap();
        let mine = stream.local_addr().unwrap().to_string();
        until_said(&[&format!("refused: node {from} asked"), why, &mine]).await;
    }

    let begun = Instant::now();
    for _ in 0..100 {
        let mut stream = connect_from(STRANGERS_OF_CONSENSUS, &address).await;
        send(&mut stream, &hello("prod").encode()).await;
    }
    expect_few_lines("rejected", STRANGERS_OF_CONSENSUS, begun);
    cluster.stop().await;
}

/// The numbers of a question that is passed on to the leader, and of one to join, on the wire.
const PASS_ON: u32 = 5;
const JOIN: u32 = 5;
