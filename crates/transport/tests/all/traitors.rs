//! Peers that greet well and then break the rules: the connection ends with the reason, and the next one is good again.

use std::time::Duration;

use service::view::View;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use transport::Trouble;
use transport::handshake::Local;
use transport::link::{Frame, LinkError};
use transport::wire::{self, Answer, WireError};
use transport::{Limits, Notice};

use super::fixture::{LONGEST_WAIT, Node, config, identity, listeners, pair, view, wait_until};

/// Greets node 1 as node 0 and writes these bytes; reads until the connection is closed.
async fn betray(view: &View, bytes: &[u8]) {
    let mut stream = TcpStream::connect(&*view.members[1].address).await.unwrap();
    let local = Local { cluster: "test".into(), me: identity(0), versions: wire::VERSIONS };
    let mut hello = Vec::new();
    wire::put_hello(&local.hello(identity(1), 1, 0), &mut hello);
    stream.write_all(&hello).await.unwrap();
    let mut length = [0; wire::LENGTH_BYTES];
    stream.read_exact(&mut length).await.unwrap();
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body).await.unwrap();
    assert!(matches!(wire::answer(&body), Ok(Answer::Welcome(_))));
    stream.write_all(bytes).await.unwrap();
    let _ = timeout(LONGEST_WAIT, stream.read_to_end(&mut Vec::new())).await.expect("hung up on");
}

fn frame(first: u64, acknowledged: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::put_frame(1, &Frame { epoch: 1, first, acknowledged, payloads: vec![payload] }, &mut bytes);
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_breaks_the_rules_is_hung_up_on() {
    let mut listeners = listeners(2).await;
    let view = view(1, &listeners);
    let called = Node::start(config(identity(1)), &view, listeners.pop().unwrap());
    let mut bad_version = frame(1, 0, b"x");
    bad_version[wire::LENGTH_BYTES] = 9;
    let length = wire::LONGEST_BODY + 1;
    let cases: [(Vec<u8>, Trouble); 5] = [
        (frame(2, 0, b"x"), Trouble::Link(LinkError::Gap { expected: 1, first: 2 })),
        (frame(1, 5, b"x"), Trouble::Link(LinkError::NeverSent { acknowledged: 5, sent: 0 })),
        (bad_version, Trouble::Wire(WireError::Version { found: 9, agreed: 1 })),
        (vec![1, 0, 16, 0], Trouble::Wire(WireError::TooLong { length, most: wire::LONGEST_BODY })),
        ([&[6, 0, 0, 0, 1][..], &[0xff; 5]].concat(), {
            let body = [&[1][..], &[0xff; 5]].concat();
            Trouble::Wire(wire::read_frame(1, &body).unwrap_err())
        }),
    ];
    for (bytes, expected) in cases {
        betray(&view, &bytes).await;
        let like = |notice: &Notice| matches!(notice, Notice::Disconnected { why, .. } if *why == expected);
        called.log.wait_for_notice(like).await;
    }
    assert_eq!(called.log.count(), 0, "nothing of a bad frame is delivered");
    let caller = Node::start(config(identity(0)), &view, listeners.pop().unwrap());
    caller.send_patiently(1, b"good").await;
    wait_until("the good payload", || called.log.from(0) == [(1, b"good".to_vec())]).await;
    called.peers.stop().await;
    caller.peers.stop().await;
}

/// The member has a peer barred that breaks the rules of what payloads say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_is_barred_is_connected_again_in_the_next_view() {
    for barring in [0, 1] {
        let (nodes, view) = pair(Limits::default()).await;
        let (barred, id) = (&nodes[1 - barring], 1 - barring as u32);
        barred.send_patiently(barring as u32, b"a").await;
        wait_until("a payload", || nodes[barring].log.count() == 1).await;
        nodes[barring].peers.bar(id, "it lies".to_string());
        wait_until("no connection", || barred.peers.unreachable().contains_key(&(barring as u32))).await;
        barred.send_patiently(barring as u32, b"b").await;
        // Longer than it takes to call again.
        sleep(Duration::from_millis(200)).await;
        assert_eq!(nodes[barring].log.count(), 1, "nothing more is taken in of it");
        assert!(nodes[barring].peers.unreachable().contains_key(&id));
        let next = View { epoch: 2, ..view };
        assert!(nodes.iter().all(|node| node.peers.enter(next.clone())));
        barred.send_patiently(barring as u32, b"c").await;
        wait_until("the next view", || nodes[barring].log.from(id).last() == Some(&(2, b"c".to_vec()))).await;
        for node in &nodes {
            node.peers.stop().await;
        }
    }
}
