//! Wrong cluster, wrong version, wrong incarnation, garbage: refused with a reason, and the node stays up.

use std::time::Duration;

use service::Identity;
use service::view::View;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use transport::wire::{self, HelloRefusal, Versions, WireError};
use transport::{Config, StartError, Timing, Trouble};
use transport::{Notice, Peers};

use super::fixture::{LONGEST_WAIT, Node, config, identity, listeners, view, wait_until};

/// Node 0 is the odd one, node 1 a good one and node 2 the one that both call. The odd one and the called one have to
/// give this reason, and the other two go on talking.
async fn odd_one_out(odd: Config, view_of_odd: impl FnOnce(&View) -> View, reason: HelloRefusal) {
    let listeners = listeners(3).await;
    let view = view(1, &listeners);
    let mut listeners = listeners.into_iter();
    let odd = Node::start(odd, &view_of_odd(&view), listeners.next().unwrap());
    let good = Node::start(config(identity(1)), &view, listeners.next().unwrap());
    let called = Node::start(config(identity(2)), &view, listeners.next().unwrap());
    let why = Trouble::Refused(reason);
    let turned_away =
        |notice: &Notice| matches!(notice, Notice::TurnedAway { why: found, .. } if *found == why);
    called.log.wait_for_notice(turned_away).await;
    let refused = |notice: &Notice| match notice {
        Notice::NoConnection { peer, why: found } => peer.id == 2 && *found == why,
        _ => false,
    };
    odd.log.wait_for_notice(refused).await;
    good.send_patiently(2, b"good").await;
    wait_until("the good payload", || called.log.from(1) == [(1, b"good".to_vec())]).await;
    assert!(called.peers.unreachable().contains_key(&0));
    for node in [odd, good, called] {
        node.peers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_cluster_is_refused() {
    let odd = Config { cluster: "other".to_string(), ..config(identity(0)) };
    let reason = HelloRefusal::Cluster { caller: "other".to_string(), called: "test".to_string() };
    odd_one_out(odd, View::clone, reason).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_is_refused_naming_both() {
    let caller = Versions { lowest: 7, highest: 9 };
    let odd = Config { versions: caller, ..config(identity(0)) };
    let reason = HelloRefusal::Versions { caller, called: wire::VERSIONS };
    assert!(reason.to_string().contains("7 to 9") && reason.to_string().contains("1 to 1"));
    odd_one_out(odd, View::clone, reason).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_incarnation_of_the_caller_is_refused() {
    let caller = Identity { id: 0, incarnation: 2 };
    let with_caller = |view: &View| {
        let mut view = view.clone();
        view.members[0].identity = caller;
        view
    };
    odd_one_out(config(caller), with_caller, HelloRefusal::NotAMember { caller, epoch: 1 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_incarnation_of_the_called_is_not_there() {
    let wanted = Identity { id: 2, incarnation: 0 };
    let with_wanted = |view: &View| {
        let mut view = view.clone();
        view.members[2].identity = wanted;
        view
    };
    odd_one_out(config(identity(0)), with_wanted, HelloRefusal::Mistaken { wanted, called: identity(2) })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_turned_away() {
    let listeners = listeners(2).await;
    let view = view(1, &listeners);
    let mut listeners = listeners.into_iter();
    let caller = Node::start(config(identity(0)), &view, listeners.next().unwrap());
    let timing = Timing { greeting: Duration::from_millis(300), ..config(identity(1)).timing };
    let called = Config { timing, ..config(identity(1)) };
    let called = Node::start(called, &view, listeners.next().unwrap());
    let too_long = |length| Trouble::Wire(WireError::TooLong { length, most: wire::LONGEST_GREETING });
    let mut wrong_way = Vec::new();
    let local =
        transport::handshake::Local { cluster: "test".into(), me: identity(1), versions: wire::VERSIONS };
    wire::put_hello(&local.hello(identity(1), 1, 0), &mut wrong_way);
    let cases: [(&[u8], Trouble); 7] = [
        (b"GET / HTTP/1.1\r\n\r\n", too_long(0x2054_4547)),
        (&[0xff; 64], too_long(0xffff_ffff)),
        (&[5, 0, 0, 0, 1, 2, 3, 4, 5], Trouble::Wire(WireError::NotTokenwood)),
        (&[0, 0, 0, 0], Trouble::Wire(WireError::Empty)),
        (&wrong_way, Trouble::Refused(HelloRefusal::WrongDirection)),
        (&wrong_way[..20], Trouble::TimedOut),
        (b"", Trouble::TimedOut),
    ];
    for (bytes, expected) in cases {
        let before = called.log.notices().len();
        let mut stream = TcpStream::connect(&*view.members[1].address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let like = |notice: &Notice| matches!(notice, Notice::TurnedAway { why, .. } if *why == expected);
        wait_until("the reason", || called.log.notices().iter().skip(before).any(like)).await;
        // The stranger is disconnected, perhaps after an answer.
        let mut answer = Vec::new();
        let _ = timeout(LONGEST_WAIT, stream.read_to_end(&mut answer)).await.expect("hung up on");
    }
    caller.send_patiently(1, b"still up").await;
    wait_until("a payload", || called.log.from(0) == [(1, b"still up".to_vec())]).await;
    caller.peers.stop().await;
    called.peers.stop().await;
}

/// More callers than may wait connect and say nothing, over and over: a peer that calls is heard all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_say_nothing_do_not_keep_a_peer_out() {
    let listeners = listeners(2).await;
    let view = view(1, &listeners);
    let mut listeners = listeners.into_iter();
    let calling = listeners.next().unwrap();
    let hour = Timing { greeting: Duration::from_secs(3600), ..config(identity(1)).timing };
    let patient = Config { timing: hour, ..config(identity(1)) };
    let called = Node::start(patient, &view, listeners.next().unwrap());
    let address = view.members[1].address.clone();
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(&*address).await.unwrap());
    }
    let evicted = |notice: &Notice| matches!(notice, Notice::TurnedAway { why: Trouble::Evicted, .. });
    called.log.wait_for_notice(evicted).await;
    let flood = tokio::spawn(async move {
        loop {
            silent.push(TcpStream::connect(&*address).await.unwrap());
            silent.remove(0);
        }
    });
    let caller = Node::start(config(identity(0)), &view, calling);
    caller.send_patiently(1, b"heard").await;
    wait_until("a payload", || called.log.from(0) == [(1, b"heard".to_vec())]).await;
    flood.abort();
    caller.peers.stop().await;
    called.peers.stop().await;
}

/// A process that comes back under the same incarnation has forgotten what it acknowledged. To continue with
/// it would lose payloads, so no node does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_forgot_is_not_talked_to() {
    let mut listeners = listeners(2).await;
    let view = view(1, &listeners);
    let forgetful = Node::start(config(identity(1)), &view, listeners.pop().unwrap());
    let other = Node::start(config(identity(0)), &view, listeners.pop().unwrap());
    other.send_patiently(1, b"one").await;
    wait_until("an acknowledgement", || forgetful.log.count() == 1 && other.peers.kept(1) == 0).await;
    forgetful.peers.stop().await;
    let again = tokio::net::TcpListener::bind(&*view.members[1].address).await.unwrap();
    let forgetful = Node::start(config(identity(1)), &view, again);
    let like = |notice: &Notice| matches!(notice, Notice::NoConnection { why: Trouble::Link(_), .. });
    let Notice::NoConnection { why, .. } = other.log.wait_for_notice(like).await else { unreachable!() };
    assert_eq!(why.to_string(), "the peer says it has received up to 0, but it had acknowledged 1");
    forgetful.peers.stop().await;
    other.peers.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_does_not_start() {
    let mut listeners = listeners(2).await;
    let view = view(1, &listeners);
    let log = Node::start(config(identity(0)), &view, listeners.pop().unwrap());
    let start = |config, listener| Peers::start(config, view.clone(), listener, log.log.clone()).err();
    let listener = listeners.pop().unwrap();
    assert_eq!(start(config(identity(5)), listener), Some(StartError::NotAMember(identity(5))));
    log.peers.stop().await;
}
