//! Connections break all the time; every payload arrives once and in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use service::view::View;
use tokio::task::JoinSet;
use transport::{Config, SendError, Timing, Trouble};
use transport::{Limits, Notice, Sockets};

use super::fixture::{Node, config, identity, listeners, pair, view, wait_until};
use super::proxy::Proxy;

const MESSAGES: u32 = 10_000;

/// A payload that says who sent it and which it is, of a length that varies.
fn payload(from: u32, to: u32, number: u32) -> Vec<u8> {
    let length = if number.is_multiple_of(500) { 3000 } else { number % 40 };
    let mut bytes = [from, to, number].map(u32::to_le_bytes).concat();
    bytes.resize(bytes.len() + length as usize, number as u8);
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_peers_lose_nothing_while_connections_are_cut_anywhere() {
    let listeners = listeners(3).await;
    let mut view = view(1, &listeners);
    let mut proxies = Vec::new();
    for (member, seed) in view.members.iter_mut().zip(1..) {
        let proxy = Proxy::start(member.address.parse().unwrap(), 20_000, seed).await;
        member.address = proxy.address.to_string().into();
        proxies.push(proxy);
    }
    let limits = Limits { payloads: 300, bytes: 20_000 };
    let nodes = (0..).zip(listeners).map(|(id, listener)| {
        Arc::new(Node::start(Config { limits, ..config(identity(id)) }, &view, listener))
    });
    let nodes: Vec<Arc<Node>> = nodes.collect();
    let pairs =
        (0..3u32).flat_map(|from| (0..3u32).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let mut senders = JoinSet::new();
    for (from, to) in pairs.clone() {
        let node = nodes[from as usize].clone();
        senders.spawn(async move {
            for number in 0..MESSAGES {
                node.send_patiently(to, &payload(from, to, number)).await;
            }
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender.unwrap();
    }
    for node in &nodes {
        wait_until("all payloads", || node.log.count() >= 2 * MESSAGES as usize).await;
    }
    for (from, to) in pairs {
        let arrived = nodes[to as usize].log.from(from);
        assert_eq!(arrived.len(), MESSAGES as usize);
        for (number, (epoch, bytes)) in (0..).zip(arrived) {
            assert_eq!((epoch, bytes), (1, payload(from, to, number)), "{from} to {to}");
        }
        wait_until("acknowledgements", || nodes[from as usize].peers.kept(to) == 0).await;
    }
    let cuts: u32 = proxies.iter().map(|proxy| proxy.state.cuts.load(Ordering::Relaxed)).sum();
    assert!(cuts > 50, "only {cuts} cuts");
    let resends = |node: &Arc<Node>| {
        let notices = node.log.notices();
        notices.iter().filter(|notice| matches!(notice, Notice::Connected { resent: 1.., .. })).count()
    };
    assert!(nodes.iter().map(resends).sum::<usize>() > 10, "payloads were sent again");
    for node in &nodes {
        node.peers.stop().await;
    }
}

/// Two nodes, of which the second takes in nothing yet. There are no signs of life and no late acknowledgements while
/// the test runs: a writer task that was not woken would be found sleeping.
async fn quick_and_slow(payloads: usize) -> (Node, Node) {
    let listeners = listeners(2).await;
    let view = view(1, &listeners);
    let limits = Limits { payloads, bytes: 1 << 30 };
    let hour = Duration::from_secs(3600);
    let timing = Timing { silence_limit: hour, acknowledge: hour, ..config(identity(0)).timing };
    // A thread may wait for the gate, a task of the runtime may not.
    let sockets = Sockets::OwnThread;
    let config = |id| Config { limits, timing: timing.clone(), sockets, ..config(identity(id)) };
    let mut listeners = listeners.into_iter();
    let quick = Node::start(config(0), &view, listeners.next().unwrap());
    let slow = Node::start_closed(config(1), &view, listeners.next().unwrap());
    wait_until("a connection", || quick.peers.unreachable().is_empty()).await;
    (quick, slow)
}

/// Sends until the link is full; how many payloads that took.
fn fill(node: &Node, to: u32, payload: &[u8], most: usize) -> usize {
    for taken in 0..most {
        if let Err(error) = node.peers.send(to, payload.to_vec()) {
            assert_eq!(error, SendError::Full);
            return taken;
        }
    }
    panic!("{most} payloads were taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_does_not_keep_up_is_not_read_from() {
    // More than the sockets take in between.
    let (quick, slow) = quick_and_slow(1000).await;
    let taken = fill(&quick, 1, &[7; 60_000], 2000);
    assert!(taken >= 1000);
    assert_eq!(slow.log.count(), 0);
    slow.log.open_gate();
    wait_until("all payloads", || slow.log.count() == taken).await;
    quick.peers.stop().await;
    slow.peers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_does_not_keep_up_can_still_send() {
    let (quick, slow) = quick_and_slow(50).await;
    let taken = fill(&quick, 1, b"small", 1000);
    slow.send_patiently(0, b"still here").await;
    wait_until("a payload", || quick.log.from(1) == [(1, b"still here".to_vec())]).await;
    assert_eq!(slow.log.count(), 0);
    slow.log.open_gate();
    wait_until("all payloads", || slow.log.count() == taken).await;
    quick.peers.stop().await;
    slow.peers.stop().await;
}

/// Two nodes with this limit on silence, and a proxy between them.
async fn through_a_proxy(silence_limit: Duration) -> ([Node; 2], Proxy) {
    let listeners = listeners(2).await;
    let mut view = view(1, &listeners);
    let proxy = Proxy::start(view.members[1].address.parse().unwrap(), u64::MAX, 1).await;
    view.members[1].address = proxy.address.to_string().into();
    let timing = Timing { silence_limit, ..config(identity(0)).timing };
    let mut nodes = (0..).zip(listeners).map(|(id, listener)| {
        Node::start(Config { timing: timing.clone(), ..config(identity(id)) }, &view, listener)
    });
    let nodes = [nodes.next().unwrap(), nodes.next().unwrap()];
    wait_until("a connection", || nodes.iter().all(|node| node.peers.unreachable().is_empty())).await;
    (nodes, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_is_given_up_and_made_anew() {
    let (nodes, proxy) = through_a_proxy(Duration::from_millis(150)).await;
    proxy.state.silent.store(true, Ordering::Relaxed);
    nodes[0].send_patiently(1, b"lost at first").await;
    for node in &nodes {
        let silent = |notice: &Notice| matches!(notice, Notice::Disconnected { why: Trouble::Silent, .. });
        node.log.wait_for_notice(silent).await;
    }
    wait_until("nobody reachable", || nodes[0].peers.unreachable().contains_key(&1)).await;
    assert_eq!(nodes[1].log.count(), 0);
    proxy.state.silent.store(false, Ordering::Relaxed);
    wait_until("the payload", || nodes[1].log.from(0) == [(1, b"lost at first".to_vec())]).await;
    for node in &nodes {
        node.peers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_nobody_uses_stays() {
    let (nodes, proxy) = through_a_proxy(Duration::from_millis(600)).await;
    let carried = || proxy.state.carried.load(Ordering::Relaxed);
    // Two greetings; everything after them are signs of life, for longer than the limit on silence.
    wait_until("signs of life", || carried() >= 2 + 2 * 5).await;
    let lost = |notice: &Notice| matches!(notice, Notice::Disconnected { .. });
    assert!(!nodes.iter().any(|node| node.log.notices().iter().any(lost)));
    for node in &nodes {
        node.peers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_to_a_lost_peer_is_kept() {
    let (nodes, _) = pair(Limits::default()).await;
    wait_until("a connection", || nodes.iter().all(|node| node.peers.unreachable().is_empty())).await;
    nodes[0].send_patiently(1, b"one").await;
    wait_until("an acknowledgement", || nodes[0].peers.kept(1) == 0).await;
    nodes[1].peers.stop().await;
    wait_until("the loss", || nodes[0].peers.unreachable().contains_key(&1)).await;
    nodes[0].send_patiently(1, b"two").await;
    assert_eq!(nodes[0].peers.kept(1), 1);
    nodes[0].peers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_sent_is_refused_at_once() {
    let (nodes, view) = pair(Limits::default()).await;
    let longest = transport::wire::LONGEST_PAYLOAD;
    let length = longest + 1;
    assert_eq!(nodes[0].peers.send(1, vec![0; length]), Err(SendError::TooLong { length }));
    assert_eq!(nodes[0].peers.send(0, vec![]), Err(SendError::NoSuchPeer(0)));
    assert_eq!(nodes[0].peers.send(9, vec![]), Err(SendError::NoSuchPeer(9)));
    nodes[0].send_patiently(1, &vec![5; longest]).await;
    nodes[0].send_patiently(1, b"").await;
    wait_until("both payloads", || nodes[1].log.count() == 2).await;
    assert_eq!(nodes[1].log.from(0), [(1, vec![5; longest]), (1, Vec::new())]);
    assert!(!nodes[0].peers.enter(View { epoch: 1, ..view }), "not a later view");
    for node in &nodes {
        node.peers.stop().await;
    }
}

/// Senders on threads of their own share one pen: nothing is lost between them, and each one's order is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_threads_send_to_one_peer() {
    const THREADS: u32 = 6;
    const EACH: u32 = 5000;
    let (nodes, _) = pair(Limits::default()).await;
    let senders: Vec<_> = (0..THREADS)
        .map(|thread| {
            let peers = nodes[0].peers.clone();
            std::thread::spawn(move || {
                for number in 0..EACH {
                    let payload = payload(thread, 1, number);
                    if thread % 2 == 0 {
                        peers.send(1, payload).unwrap();
                    } else {
                        peers.queue(1, payload).unwrap();
                        peers.flush(1);
                    }
                }
            })
        })
        .collect();
    wait_until("all payloads", || nodes[1].log.count() == (THREADS * EACH) as usize).await;
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    let mut next = [0; THREADS as usize];
    for (_, bytes) in nodes[1].log.from(0) {
        let thread = u32::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(bytes, payload(thread, 1, next[thread as usize]));
        next[thread as usize] += 1;
    }
    wait_until("acknowledgements", || nodes[0].peers.kept(1) == 0).await;
    for node in &nodes {
        node.peers.stop().await;
    }
}
