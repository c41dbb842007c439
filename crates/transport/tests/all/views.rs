//! View changes: links start again, later frames wait, earlier ones are dropped, connections stay.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use random::Random;
use service::Identity;
use service::view::{View, ViewMember};
use tokio::task::JoinSet;
use tokio::time::sleep;
use transport::{Limits, Notice};

use super::fixture::{Node, config, identity, listeners, pair, view, wait_until};
use super::proxy::Proxy;

fn text(epoch: u64, text: &str) -> (u64, Vec<u8>) {
    (epoch, text.as_bytes().to_vec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_of_a_later_view_wait_and_of_an_earlier_one_are_dropped() {
    let ([first, second], view) = pair(Limits::default()).await;
    first.send_patiently(1, b"a").await;
    second.send_patiently(0, b"b").await;
    wait_until("both", || first.log.count() == 1 && second.log.count() == 1).await;
    let next = View { epoch: 4, ..view };
    assert!(first.peers.enter(next.clone()));
    first.send_patiently(1, b"c").await;
    first.send_patiently(1, b"d").await;
    // The second node learns that there is a later view, is given nothing of it, and what it sends is dropped.
    let later = Notice::LaterView { peer: identity(0), epoch: 4 };
    second.log.wait_for_notice(|notice| *notice == later).await;
    second.send_patiently(0, b"too late").await;
    assert_eq!(second.log.from(0), [text(1, "a")]);
    assert!(second.peers.enter(next));
    second.send_patiently(0, b"e").await;
    wait_until("the later frames", || second.log.count() == 3).await;
    wait_until("the answer", || first.log.count() == 2).await;
    assert_eq!(second.log.from(0), [text(1, "a"), text(4, "c"), text(4, "d")]);
    assert_eq!(first.log.from(1), [text(1, "b"), text(4, "e")]);
    wait_until("acknowledgements", || first.peers.kept(1) == 0 && second.peers.kept(0) == 0).await;
    let lost = |notice: &Notice| matches!(notice, Notice::Disconnected { .. });
    assert!(!first.log.notices().iter().chain(&second.log.notices()).any(lost), "the connection stays");
    first.peers.stop().await;
    second.peers.stop().await;
}

/// Nodes in different views greet each other: the node that is behind catches up over that very connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_in_different_views_can_connect() {
    for ahead in [0, 1] {
        let listeners = listeners(2).await;
        let old = view(1, &listeners);
        let new = View { epoch: 2, ..old.clone() };
        let nodes: Vec<Node> = (0..)
            .zip(listeners)
            .map(|(id, listener)| {
                let view = if id == ahead { &new } else { &old };
                Node::start(config(identity(id)), view, listener)
            })
            .collect();
        let (ahead, behind) = (&nodes[ahead as usize], &nodes[1 - ahead as usize]);
        let [to_behind, to_ahead] = if std::ptr::eq(ahead, &nodes[0]) { [1, 0] } else { [0, 1] };
        ahead.send_patiently(to_behind, b"early").await;
        behind.send_patiently(to_ahead, b"dropped").await;
        behind.log.wait_for_notice(|notice| matches!(notice, Notice::LaterView { .. })).await;
        behind.peers.enter(new);
        behind.send_patiently(to_ahead, b"now").await;
        wait_until("both", || ahead.log.count() == 1 && behind.log.count() == 1).await;
        assert_eq!(behind.log.from(to_ahead), [text(2, "early")]);
        assert_eq!(ahead.log.from(to_behind), [text(2, "now")]);
        for node in &nodes {
            node.peers.stop().await;
        }
    }
}

/// A node that was lost comes back as another incarnation, in a later view; a third member leaves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_come_and_go_with_views() {
    let first_listeners = listeners(3).await;
    let one = view(1, &first_listeners);
    let mut nodes: Vec<Node> = (0..)
        .zip(first_listeners)
        .map(|(id, listener)| Node::start(config(identity(id)), &one, listener))
        .collect();
    nodes[0].send_patiently(1, b"to the first life").await;
    nodes[0].send_patiently(2, b"farewell").await;
    wait_until("both", || nodes[1].log.count() == 1 && nodes[2].log.count() == 1).await;
    nodes[1].peers.stop().await;
    nodes[0].send_patiently(1, b"never read").await;
    let listener = listeners(1).await.remove(0);
    let again = Identity { id: 1, incarnation: 2 };
    let address = listener.local_addr().unwrap().to_string();
    let two = View { epoch: 2, members: vec![one.members[0].clone(), ViewMember::new(again, &address)] };
    nodes[1] = Node::start(config(again), &two, listener);
    assert!(nodes[0].peers.enter(two));
    nodes[0].send_patiently(1, b"to the second life").await;
    wait_until("the payload", || nodes[1].log.from(0) == [text(2, "to the second life")]).await;
    assert!(nodes[0].peers.send(2, Vec::new()).is_err(), "no longer a member");
    wait_until("the loss", || nodes[2].peers.unreachable().contains_key(&0)).await;
    for node in &nodes {
        node.peers.stop().await;
    }
}

const LAST_EPOCH: u64 = 30;
const MESSAGES: u64 = 40;

fn numbered(epoch: u64, number: u64) -> Vec<u8> {
    [epoch, number].map(u64::to_le_bytes).concat()
}

/// Sends in every view and goes on to the next one when it likes.
async fn wander(node: Arc<Node>, me: u32, view: View) {
    let mut random = Random::new(u64::from(me));
    for epoch in 1..=LAST_EPOCH {
        if epoch > 1 {
            assert!(node.peers.enter(View { epoch, ..view.clone() }));
        }
        for number in 0..MESSAGES {
            for to in (0..3).filter(|&to| to != me) {
                node.send_patiently(to, &numbered(epoch, number)).await;
            }
        }
        sleep(Duration::from_millis(random.below(12))).await;
    }
}

/// Nodes go through many views, each at its own pace, while connections are cut: of each view a beginning arrives, once
/// and in order, and of the last one everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_change_while_connections_are_cut() {
    let listeners = listeners(3).await;
    let mut view = view(1, &listeners);
    let mut proxies = Vec::new();
    for (member, seed) in view.members.iter_mut().zip(1..) {
        let proxy = Proxy::start(member.address.parse().unwrap(), 4_000, seed).await;
        member.address = proxy.address.to_string().into();
        proxies.push(proxy);
    }
    let start = |(id, listener)| Arc::new(Node::start(config(identity(id)), &view, listener));
    let nodes: Vec<Arc<Node>> = (0..).zip(listeners).map(start).collect();
    let mut wanderers = JoinSet::new();
    for (me, node) in (0..).zip(&nodes) {
        wanderers.spawn(wander(node.clone(), me, view.clone()));
    }
    while let Some(wanderer) = wanderers.join_next().await {
        wanderer.unwrap();
    }
    for (me, node) in (0u32..).zip(&nodes) {
        for from in (0..3).filter(|&from| from != me) {
            let last =
                || node.log.from(from).last() == Some(&(LAST_EPOCH, numbered(LAST_EPOCH, MESSAGES - 1)));
            wait_until("the last payload", last).await;
            let mut next = (1, 0);
            for (epoch, bytes) in node.log.from(from) {
                next = if epoch > next.0 { (epoch, 0) } else { next };
                assert_eq!((epoch, bytes), (next.0, numbered(next.0, next.1)), "{from} to {me}");
                next.1 += 1;
            }
        }
    }
    let cuts: u32 = proxies.iter().map(|proxy| proxy.state.cuts.load(Ordering::Relaxed)).sum();
    assert!(cuts > 10, "only {cuts} cuts");
    for node in &nodes {
        node.peers.stop().await;
    }
}
