//! What was recorded between a caller and a node is worth nothing on another connection, whole or in part, and neither is what was
//! cut or changed on its way, or what the node said itself.

use std::fs;
use std::time::Duration;

use control::Hello;
use service::frame;
use service::protocol::{Order, OrderDone, ToClient, ToNode, VERSIONS};
use service::{Definition, SessionHandle};
use tokenwood::auth::Secret;
use tokenwood::{Tokenwood, auth::AuditEntry};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::caller::{Called, SOON, Shown, acquire, dial};
use super::recorder::{Recorder, Recording};
use super::watch::{ROOT, Stage, until};
use crate::certificates::{CLUSTER, access, options};
use crate::log;

/// So many places are tried, or a few more.
const SAMPLES: usize = 32;
/// A caller whose words were changed waits for an answer so long: mostly the node hangs up much earlier.
const ANSWER_LIMIT: Duration = Duration::from_millis(200);

/// What a caller said to a port, and where its handshake ended.
struct Tape {
    address: String,
    protocol: &'static [u8],
    shown: Shown,
    recording: Recording,
    handshake: usize,
}

/// What the first administrator shows.
fn root() -> Shown {
    Shown::token(Secret::new(ROOT))
}

fn define(name: &str) -> ToNode {
    let order = Order::Define { name: name.into(), definition: Some(Definition::Slots(3)) };
    ToNode::Order { number: 1, order }
}

impl Tape {
    /// Records an administrator that does all that a client can: it opens a session, acquires, releases, closes and defines.
    async fn of_client(stage: &mut Stage) -> Tape {
        let (address, protocol, shown) = (stage.for_clients(), security::CLIENTS, root());
        let recorder = Recorder::start(&address, None).await;
        let mut called = shown.call(&recorder.address, protocol).await.unwrap();
        let session: SessionHandle = called.open(&shown.greeting()).await;
        called.tell(&[acquire(session, 1, "friend/recorded")]).await.unwrap();
        let granted = called.answer().await;
        assert!(matches!(granted, Some(ToClient::Reply(_))), "{granted:?}");
        called.tell(&[ToNode::Close { session }, define("friend/defined")]).await.unwrap();
        let gone = called.answer().await;
        assert!(matches!(gone, Some(ToClient::SessionGone { .. })), "{gone:?}");
        let done = called.answer().await;
        assert!(
            matches!(done, Some(ToClient::OrderResult { result: Ok(OrderDone::Agreed), .. })),
            "{done:?}"
        );
        stage.undefine("friend/defined").await;
        Tape::cut(&recorder, &called, (address, protocol, shown))
    }

    /// Records a node that greets another for consensus.
    async fn of_node(stage: &Stage) -> Tape {
        let from = stage.other(1);
        let (address, protocol, shown) = (stage.for_peers(), security::CONTROL, stage.node(from));
        let recorder = Recorder::start(&address, None).await;
        let mut called = shown.call(&recorder.address, protocol).await.unwrap();
        let cluster_id = stage.target().control().cluster_id().await.unwrap();
        let (cluster, to) = (CLUSTER.to_owned(), stage.target);
        called.say(&Hello { version: 2, cluster, cluster_id, from, to }.encode()).await.unwrap();
        assert_ne!(called.hear(1).await, [], "the node greets");
        assert_ne!(connections(stage), 0, "who is there is counted");
        Tape::cut(&recorder, &called, (address, protocol, shown))
    }

    fn cut(
        recorder: &Recorder,
        called: &Called,
        (address, protocol, shown): (String, &'static [u8], Shown),
    ) -> Tape {
        let recording = recorder.recording();
        let handshake = recording.said.len() - called.sealed;
        assert!(recording.records().contains(&handshake), "a record begins where the handshake has ended");
        Tape { address, protocol, shown, recording, handshake }
    }

    /// Plays it to its port in all ways. Returns from where.
    async fn play(&self) -> Vec<String> {
        let (said, heard) = (&self.recording.said, &self.recording.heard);
        let frames = &said[self.handshake..];
        let mut from = Vec::new();
        for bytes in [said, frames, heard] {
            from.push(deliver(dial(&self.address).await.unwrap(), bytes).await);
        }
        // A handshake of one's own, and frames of another's.
        for bytes in [frames, &heard[..]] {
            let stream = dial(&self.address).await.unwrap();
            let stream = self.shown.encrypt(stream, self.protocol).await.unwrap();
            from.push(deliver(stream.into_inner().0, bytes).await);
        }
        from.push(self.reflect().await);
        for length in self.recording.samples(SAMPLES) {
            from.push(deliver(dial(&self.address).await.unwrap(), &said[..length]).await);
        }
        from
    }

    /// Begins a handshake, and says to the node whatever the node says.
    async fn reflect(&self) -> String {
        let mut stream = dial(&self.address).await.unwrap();
        let from = stream.local_addr().unwrap().to_string();
        let first = self.recording.records()[1];
        stream.write_all(&self.recording.said[..first]).await.unwrap();
        let mut heard = [0; 4096];
        while let Ok(count @ 1..) = timeout(SOON, stream.read(&mut heard)).await.expect("it hangs up") {
            if stream.write_all(&heard[..count]).await.is_err() {
                break;
            }
        }
        from
    }
}

/// Says this and nothing more, and waits until the node has hung up. Returns from where.
async fn deliver(mut stream: TcpStream, bytes: &[u8]) -> String {
    let from = stream.local_addr().unwrap().to_string();
    // The node may hang up in the middle of it.
    _ = stream.write_all(bytes).await;
    _ = stream.shutdown().await;
    _ = timeout(SOON, stream.read_to_end(&mut Vec::new())).await.expect("it hangs up");
    from
}

fn is_broken(entry: &AuditEntry) -> bool {
    entry.what == "connection to the port for clients" && entry.why.contains("cannot decrypt peer's message")
}

/// How many connections of intruders stand at the ports of the target: those that come from where [`dial`] comes from.
fn connections(stage: &Stage) -> usize {
    let hexadecimal = |address: String| {
        let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
        format!("0100007F:{port:04X}")
    };
    let ports = [stage.for_clients(), stage.for_peers()].map(hexadecimal);
    let (established, half_closed) = ("01", "08");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    // The bytes of an address are there from the last to the first.
    let rows = rows.filter(|row| &row[2][4..8] == "017F");
    rows.filter(|row| ports.iter().any(|port| port == row[1]) && [established, half_closed].contains(&row[3]))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_recorded_is_worth_nothing_on_another_connection() {
    let mut stage = Stage::start().await;
    let friend = access(stage.certificates.client("friend"));
    let friend = Tokenwood::connect_with([stage.for_clients()], options(friend)).await.unwrap();
    let held = friend.mutex("friend/held").acquire().await.unwrap();
    let tapes = [Tape::of_client(&mut stage).await, Tape::of_node(&stage).await];
    until("gone", async || connections(&stage) == 0).await;
    let (before, grants) = (stage.state(), stage.target().status().counts.grants);

    let mut from = Vec::new();
    for tape in &tapes {
        from.extend(tape.play().await);
        drop(friend.mutex("friend/lock").acquire().await.expect("a friend is served"));
    }
    assert!(from.len() > 2 * SAMPLES);
    let let_in = log::lines("let in");
    for from in &from {
        let line = let_in.iter().find(|line| line.contains(from));
        assert_eq!(line, None, "a recording was let in");
    }
    assert_eq!(stage.state(), before, "nothing was changed");
    let status = stage.target().status();
    // The two of the friend, and no other.
    assert_eq!((status.counts.grants - grants, status.sessions), (2, 1));
    until("closed", async || connections(&stage) == 0).await;
    assert!(!held.is_lost());
    stage.until_refused("a frame of another connection", is_broken).await;
    stage.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_changed_on_its_way_is_not_heard() {
    let mut stage = Stage::start().await;
    let (shown, address) = (root(), stage.for_clients());
    let mut words = shown.greeting();
    frame::put(VERSIONS.1, &define("friend/defined"), &mut words);
    // Says it all through a recorder, and tells whether it was done.
    let say = async |flipped| {
        let recorder = Recorder::start(&address, flipped).await;
        let done = async {
            let mut called = shown.call(&recorder.address, security::CLIENTS).await.ok()?;
            called.say(&words).await.ok()?;
            called.welcome().await?;
            called.answer().await
        };
        let limit = if flipped.is_some() { ANSWER_LIMIT } else { SOON };
        (timeout(limit, done).await.ok().flatten(), recorder.recording())
    };
    let (done, recording) = say(None).await;
    assert!(matches!(done, Some(ToClient::OrderResult { result: Ok(_), .. })), "{done:?}");
    stage.undefine("friend/defined").await;
    let before = stage.state();
    for (number, at) in recording.samples(SAMPLES).into_iter().enumerate() {
        let (done, _) = say(Some(8 * at + number % 8)).await;
        assert!(done.is_none(), "byte {at}: {done:?}");
    }
    assert_eq!(stage.state(), before, "nothing was changed");
    until("closed", async || connections(&stage) == 0).await;
    stage.until_refused("a frame that was changed", is_broken).await;
    stage.cluster.stop().await;
}
