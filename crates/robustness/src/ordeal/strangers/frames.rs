//! What strangers say: noise, and frames of every kind with absurd fields, which are then cut off, lengthened or damaged.
//!
//! Connections are not authenticated: a stranger that knows the id and the incarnation of a member passes for it, and one that asks for
//! a node to be removed is an operator. Such are not tried here: identities are no member's, and orders cannot be meant.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use random::Random;
use service::auth::{TokenHash, Vouched, VouchedShown};
use service::core::{Cursor, Timeout};
use service::event::Filter;
use service::frame;
use service::name::Kind;
use service::protocol::{GREETING, Hello, Order, Question, ToNode, VERSIONS};
use service::{Acquire, Definition, Identity, SessionHandle, SessionId, SessionKey, Want};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use transport::link::Frame;
use transport::wire::{self, Answer, HelloRefusal, Versions};

use super::process::{Arguments, Counts, any, call};

/// How long a stranger waits between two visits, at most.
const BETWEEN: Duration = Duration::from_millis(20);
/// How long it listens, if it does.
const LISTENS: Duration = Duration::from_millis(20);
/// Some stay so long after what they said.
const LINGERS: Duration = Duration::from_secs(3);
/// The name of the cluster, which strangers may know.
const CLUSTER: &str = "ordeal";

/// So many strangers at once say something, leave and come back.
pub(super) async fn visit_all(arguments: Arguments, counts: Counts) {
    let mut strangers = JoinSet::new();
    for stranger in 0..arguments.count as u64 {
        let (arguments, counts) = (arguments.clone(), counts.clone());
        strangers.spawn(async move {
            let mut random = Random::new(arguments.seed.wrapping_mul(1_000_003).wrapping_add(stranger));
            loop {
                let for_clients = random.below(2) == 0;
                let to = any(&mut random, if for_clients { &arguments.clients } else { &arguments.peers });
                let mut bytes =
                    if for_clients { to_a_clients_port(&mut random) } else { to_a_peers_port(&mut random) };
                if random.below(2) == 0 {
                    damage(&mut random, &mut bytes);
                }
                // It may be hung up on in the middle of a sentence, or there is no node at the moment.
                if visit(to, &bytes, &mut random).await.is_ok() {
                    counts.add("absurd_visits", 1);
                }
                sleep(BETWEEN * random.below(100) as u32 / 100).await;
            }
        });
    }
    strangers.join_all().await;
}

async fn visit(to: SocketAddr, bytes: &[u8], random: &mut Random) -> std::io::Result<()> {
    let mut stream = call(to, random.below(1 << 20)).await?;
    timeout(LINGERS, stream.write_all(bytes)).await??;
    match random.below(64) {
        0 => sleep(LINGERS).await,
        1..=16 => _ = timeout(LISTENS, stream.read(&mut [0; 4096])).await,
        _ => {}
    }
    Ok(())
}

/// A greeting, most of the time, and then anything that a client may say.
fn to_a_clients_port(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    if random.below(8) > 0 {
        let versions =
            any(random, &[VERSIONS, VERSIONS, VERSIONS, VERSIONS, (0, 0), (9, 9), (0, 255), (255, 0)]);
        frame::put(GREETING, &Hello { versions, ..Hello::MINE }, &mut bytes);
    }
    match random.below(6) {
        0 => noise(random, &mut bytes),
        1 => bytes.extend(any(random, &[0, 1, 16 << 10, (16 << 10) + 1, u32::MAX]).to_le_bytes()),
        _ => {
            let version = if random.below(3) > 0 { VERSIONS.1 } else { any(random, &[0, 1, 255]) };
            (0..1 + random.below(20)).for_each(|_| frame::put(version, &absurd(random), &mut bytes));
        }
    }
    bytes
}

/// A greeting, an answer or frames of peers, or what belongs to consensus.
fn to_a_peers_port(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    match random.below(6) {
        0 => noise(random, &mut bytes),
        1 => wire::put_hello(&peer_hello(random), &mut bytes),
        2 => {
            wire::put_hello(&peer_hello(random), &mut bytes);
            peer_frames(random, &mut bytes);
        }
        3 => {
            let (caller, called) =
                (Versions { lowest: 0, highest: 255 }, Versions { lowest: 255, highest: 0 });
            let refused = Answer::Refused(HelloRefusal::Versions { caller, called });
            let answer = if random.below(2) == 0 { refused } else { Answer::Welcome(peer_hello(random)) };
            wire::put_answer(&answer, &mut bytes);
        }
        4 => peer_frames(random, &mut bytes),
        _ => {
            let version = any(random, &[0, 2, 2, 2, 2, 1, 255]);
            let cluster = cluster(random);
            // The number of the cluster is drawn from 64 bits when it is founded.
            let (from, to) = (random.below(4) as u32, random.below(4) as u32);
            bytes = control::Hello { version, cluster, cluster_id: number(random), from, to }.encode();
            for _ in 0..random.below(4) {
                let (question, mut content) = (number(random), Vec::new());
                noise(random, &mut content);
                frame::put(1, &(question, random.below(8) as u32, content), &mut bytes);
            }
        }
    }
    bytes
}

fn cluster(random: &mut Random) -> String {
    any(random, &[CLUSTER, CLUSTER, CLUSTER, "", "tokenwood", "\u{0}\u{10ffff}"]).to_string()
}

/// From a node that is no member.
fn peer_hello(random: &mut Random) -> wire::Hello {
    let nobody = Identity { id: any(random, &[7, 1_000, u32::MAX]), incarnation: number(random) };
    let to = Identity { id: random.below(4) as u32, incarnation: number(random) };
    let versions = any(random, &[wire::VERSIONS, wire::VERSIONS, Versions { lowest: 255, highest: 0 }]);
    let (epoch, received) = (number(random), number(random));
    wire::Hello { versions, cluster: cluster(random), epoch, from: nobody, to, received }
}

fn peer_frames(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let mut payload = Vec::new();
        noise(random, &mut payload);
        let payloads = vec![&payload[..]; random.below(4) as usize];
        let (epoch, first, acknowledged) = (number(random), number(random), number(random));
        wire::put_frame(any(random, &[1, 1, 0, 255]), &Frame { epoch, first, acknowledged, payloads }, bytes);
    }
}

/// Cuts it off, lengthens it, or turns bits round.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    match random.below(3) {
        _ if bytes.is_empty() => {}
        0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
        1 => noise(random, bytes),
        _ => {
            for _ in 0..1 + random.below(4) {
                let setup = random.below(bytes.len() as u64) as usize;
                bytes[setup] ^= 1 << random.below(8);
            }
        }
    }
}

fn noise(random: &mut Random, bytes: &mut Vec<u8>) {
    bytes.extend((0..random.below(500)).map(|_| random.below(256) as u8));
}

/// One of the numbers that programs forget about.
fn number(random: &mut Random) -> u64 {
    let extreme = [0, u64::from(u32::MAX), u64::MAX, u64::MAX - 1, 1 << 63, 1 << 40, i64::MAX as u64];
    if random.below(3) == 0 { random.below(u64::MAX) } else { any(random, &extreme) }
}

fn time(random: &mut Random) -> Duration {
    let seconds = Duration::from_secs;
    any(random, &[Duration::ZERO, Duration::MAX, seconds(1), seconds(u64::MAX / 2), Duration::from_nanos(1)])
}

/// A name that no friend uses, or none at all.
fn name(random: &mut Random) -> String {
    match random.below(5) {
        0 => "stranger/\n".to_string(),
        1 => "stranger".repeat(1_000),
        2 => "\u{0}".repeat(300),
        _ => format!("stranger/{}", random.below(100)),
    }
}

/// Anything that a client may say, with fields that no client of ours sends.
fn absurd(random: &mut Random) -> ToNode {
    let session =
        SessionId { node: random.below(4) as u32, incarnation: number(random), number: number(random) };
    let session = SessionHandle { id: session, key: SessionKey::new([0; 16]) };
    let request = number(random);
    match random.below(10) {
        0 => ToNode::Open { ttl: time(random), label: None },
        1 => ToNode::KeepAlive { session, sequence: number(random), settled: number(random) },
        2 => ToNode::Cancel { session, request },
        3 => ToNode::Release { session, request, fence: number(random) },
        4 => ToNode::Close { session },
        5 => ToNode::Ask { number: number(random), question: question(random) },
        6 => ToNode::Watch(Filter {
            names: vec![name(random); random.below(4) as usize],
            prefixes: vec![name(random)],
        }),
        7 => ToNode::Order { number: number(random), order: order(random) },
        _ => ToNode::Acquire { session, ask: acquire(random, request) },
    }
}

fn question(random: &mut Random) -> Question {
    let kind = any(random, &[Kind::Slots, Kind::RwLock, Kind::Room]);
    let client = (random.below(2) == 0).then(|| number(random) as u32);
    let after = Some(Cursor { kind, name: name(random).into(), client });
    match random.below(8) {
        0 => Question::Status,
        1 => Question::Cluster,
        2 => Question::Definitions(Some(name(random).into())),
        3 => Question::List { filter: Filter::default(), after },
        4 => Question::Inspect { name: name(random), after },
        5 => Question::Invite(Duration::ZERO),
        // No node has such a number, and no lease can last so long.
        6 => Question::Remove(u32::MAX - random.below(4) as u32),
        _ => Question::Lease(Duration::MAX),
    }
}

fn order(random: &mut Random) -> Order {
    let name: Arc<str> = name(random).into();
    match random.below(5) {
        0 => Order::Define { name, definition: None },
        1 => Order::Define { name, definition: Some(definition(random)) },
        2 => Order::Resize { name, slots: any(random, &[0, 1, u32::MAX]) },
        3 => Order::ForceReleaseFor {
            caller: vouched(random),
            name,
            slot: number(random) as u32,
            fence: number(random),
            at_once: random.below(2) == 0,
        },
        _ => Order::ForceRelease {
            name,
            slot: number(random) as u32,
            fence: number(random),
            at_once: random.below(2) == 0,
        },
    }
}

/// A caller that only a node could speak for.
fn vouched(random: &mut Random) -> Vouched {
    let shown = match random.below(3) {
        0 => VouchedShown::Nothing,
        1 => VouchedShown::Token(TokenHash([0; 32])),
        _ => VouchedShown::Certificate(name(random).into()),
    };
    Vouched { address: SocketAddr::from(([0; 4], random.below(1 << 16) as u16)), shown }
}

fn definition(random: &mut Random) -> Definition {
    any(
        random,
        &[
            Definition::Slots(0),
            Definition::Slots(u32::MAX),
            Definition::Slots(3),
            Definition::Room,
            Definition::RwLock,
        ],
    )
}

fn acquire(random: &mut Random, request: u64) -> Acquire {
    let want = match random.below(6) {
        0 => Want::Slot,
        1 => Want::AnySlot,
        2 => Want::Write,
        3 => Want::AnyOf([].into()),
        4 => Want::AnyOf([Arc::from("g")].into()),
        _ => Want::AnyOf(vec![Arc::from("g"); 1_000].into()),
    };
    let timeout = match random.below(3) {
        0 => Timeout::Try,
        1 => Timeout::After(time(random)),
        _ => Timeout::Never,
    };
    Acquire { request, name: name(random).into(), definition: definition(random), want, timeout }
}

#[cfg(test)]
mod tests {
    use super::*;
    use service::frame::Incoming;

    /// A node hangs up at a frame of another version, and reads nothing of it: the version rose once, and strangers did not follow.
    #[test]
    fn nodes_understand_strangers_that_are_undamaged() {
        let (mut random, mut orders, mut vouching) = (Random::new(1), 0, 0);
        for _ in 0..2000 {
            let mut incoming = Incoming::default();
            incoming.extend(&to_a_clients_port(&mut random));
            let Ok(Some(hello)) = incoming.next::<Hello>(GREETING) else { continue };
            if hello.versions != VERSIONS {
                continue;
            }
            while let Ok(Some(said)) = incoming.next::<ToNode>(VERSIONS.1) {
                let ToNode::Order { order, .. } = said else { continue };
                orders += 1;
                vouching += u32::from(order.vouched().is_some());
            }
        }
        assert!(orders > 100 && vouching > 10, "{orders} orders, {vouching} of them for another caller");
    }
}
