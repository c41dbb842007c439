//! A name that leads to one node and then to another, as balancers do: a session is at one node, and stays there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use node::LocalCluster;
use tokenwood::Tokenwood;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

/// Passes the first connection on to the first of these nodes, the next to the second, and so on in a circle. All connections are
/// cut when the number changes.
async fn balance(
    listener: TcpListener,
    nodes: Vec<String>,
    served: Arc<AtomicUsize>,
    cut: watch::Receiver<u32>,
) {
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let node = nodes[served.fetch_add(1, Ordering::SeqCst) % nodes.len()].clone();
        let mut cut = cut.clone();
        cut.mark_unchanged();
        tokio::spawn(async move {
            let mut server = TcpStream::connect(node).await.unwrap();
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => {}
                _ = cut.changed() => {}
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_not_lost_because_another_node_answers_in_between() {
    let cluster = LocalCluster::start(2).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (served, (cutter, cut)) = (Arc::new(AtomicUsize::new(0)), watch::channel(0));
    tokio::spawn(balance(listener, cluster.endpoints.clone(), served.clone(), cut));
    let tokenwood = Tokenwood::connect([address]).await.unwrap();
    let guard = tokenwood.mutex("backup").acquire().await.unwrap();
    cutter.send_replace(1);
    // The second connection leads to the other node, the third back to the first.
    assert!(timeout(Duration::from_secs(2), guard.lost()).await.is_err(), "the other node was believed");
    assert!(served.load(Ordering::SeqCst) >= 3);
    drop(guard);
    let other = Tokenwood::connect([cluster.endpoints[1].clone()]).await.unwrap();
    let next = timeout(Duration::from_secs(5), other.mutex("backup").acquire()).await;
    assert!(next.is_ok_and(|acquired| acquired.is_ok()), "it was not released at the first node");
    cluster.stop().await;
}
