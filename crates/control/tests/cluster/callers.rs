//! Callers: nodes through a shared port, strangers, and malformed bytes.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use control::{CallRefusal, FIRST_BYTES, Hello, MAGIC, Neighbour, OnRefusedCall, RefusedCall, is_for_us};
use service::frame;
use service::registry::Applied;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::fixture::{Cluster, define, within};

/// Reads the body of a frame.
async fn body(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32_le().await.unwrap();
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.unwrap();
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_can_be_shared_and_strangers_are_told_why_they_are_refused() {
    let cluster = Cluster::founded(&[1]).await;
    let (leader, _) = cluster.leader().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hello = |version, cluster: &str, to| Hello {
        version,
        cluster: cluster.to_owned(),
        cluster_id: 1,
        from: 2,
        to,
    };
    let cases = [
        (hello(1, "test", 1), CallRefusal::Version { here: 2 }),
        (hello(2, "prod", 1), CallRefusal::Cluster { here: "test".to_owned() }),
        (hello(2, "test", 7), CallRefusal::Mistaken { here: 1 }),
        (hello(2, "test", 1), CallRefusal::ClusterId),
    ];
    let (sender, told) = mpsc::channel();
    let on_refused: OnRefusedCall = Arc::new(move |refused| sender.send(refused).unwrap());
    for (hello, refusal) in cases {
        let mut calling = TcpStream::connect(address).await.unwrap();
        calling.write_all(&hello.encode()).await.unwrap();
        let (called, _) = listener.accept().await.unwrap();
        // Another listener reads the first bytes, and finds that the call is for consensus.
        let mut first = [0; FIRST_BYTES];
        while called.peek(&mut first).await.unwrap() < FIRST_BYTES {
            tokio::task::yield_now().await;
        }
        assert_eq!(is_for_us(&first), Some(true));
        within("it ends", cluster.control(leader).serve(called.into(), &[], Box::new(()), &on_refused))
            .await
            .unwrap();
        let answer = body(&mut calling).await;
        let answer: Result<u64, CallRefusal> = frame::whole(&answer[1 + MAGIC.len()..]).unwrap();
        assert_eq!(answer, Err(refusal.clone()));
        match told.try_recv() {
            Ok(RefusedCall::Caller { hello: refused, why }) => assert_eq!((refused, why), (hello, refusal)),
            other => panic!("{other:?}"),
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_a_cluster_learns_who_has_one_and_joins_none_by_asking() {
    let cluster = Cluster::founded(&[1]).await;
    let (leader, _) = cluster.leader().await;
    let majority = cluster.control(leader).majority();
    assert_eq!((majority.is_there, majority.voters), (true, [(1, None)].into()));
    let address = cluster.listens_at(leader).to_string();
    let ask = |from| Hello { version: 2, cluster: "test".to_owned(), cluster_id: 0, from, to: leader };
    for (from, known) in [(1, true), (7, false)] {
        let mut calling = TcpStream::connect(&address).await.unwrap();
        calling.write_all(&ask(from).encode()).await.unwrap();
        let answer = body(&mut calling).await;
        let answer: Result<u64, CallRefusal> = frame::whole(&answer[1 + MAGIC.len()..]).unwrap();
        assert_eq!(answer, Err(CallRefusal::InCluster { used: false, known }));
    }
    // Two that belong to none ask each other, and still belong to none.
    let others = Cluster::of(&[1, 2]).await;
    let nodes = [1, 2].map(|id| (id, others.listens_at(id).to_string())).into();
    assert_eq!(others.control(1).look_around(&nodes).await, [(2, Neighbour::Waits)].into());
    assert!(!others.control(2).belongs().await && others.control(2).cluster_id().await.is_none());
    assert!(!others.control(1).majority().is_there);
    let wrong = [(2, others.listens_at(1).to_string()), (3, "127.0.0.1:1".to_owned())].into();
    let found = others.control(1).look_around(&wrong).await;
    let why = |id: u32| match &found[&id] {
        Neighbour::Missing(why) => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(why(2).contains("it is node 1") && why(3).contains("refused"), "{found:?}");
    others.stop().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_make_no_sense_end_their_connection_and_nothing_else() {
    let cluster = Cluster::founded(&[1]).await;
    let (leader, leadership) = cluster.leader().await;
    let address = cluster.listens_at(leader);
    let mut random = random::Random::new(1);
    for round in 0..200 {
        let mut bytes = [0; 64];
        random.fill(&mut bytes);
        if round % 2 == 0 {
            // A plausible length.
            bytes[..4].copy_from_slice(&(random.below(60) as u32 + 1).to_le_bytes());
        }
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let end = timeout(Duration::from_secs(10), stream.read_to_end(&mut Vec::new())).await;
        assert!(end.is_ok(), "the connection ends");
    }
    assert_eq!(*cluster.control(leader).leadership().borrow(), Some(leadership));
    assert_eq!(cluster.control(leader).propose(define("gpu", 1)).await, Ok(Applied::Yes));
    cluster.stop().await;
}
