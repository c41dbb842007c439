//! Tasks of one session whose requests are answered together ask for their next locks together, in one write.

use std::time::Duration;

use service::frame::{self, Incoming};
use service::protocol::{GREETING, Hello, ToClient, ToNode, VERSIONS, Welcome};
use service::session::Promise;
use service::{Grant, Reply, RequestOutcome, SessionId, SessionKey};
use tokenwood::Tokenwood;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const VERSION: u8 = VERSIONS.1;
const SESSION: SessionId = SessionId { node: 0, incarnation: 1, number: 1 };
const TASKS: usize = 5;
const ROUNDS: u64 = 20;

/// A node that does what this test wants.
struct Node {
    stream: TcpStream,
    incoming: Incoming,
}

impl Node {
    /// Greets a client and opens its session.
    async fn serve(listener: TcpListener) -> Node {
        let (stream, _) = listener.accept().await.unwrap();
        let mut node = Node { stream, incoming: Incoming::default() };
        while node.incoming.next::<Hello>(GREETING).unwrap().is_none() {
            node.read().await;
        }
        let mut bytes = Vec::new();
        frame::put(GREETING, &Welcome::Version { version: VERSION, node: 0, incarnation: 1 }, &mut bytes);
        node.stream.write_all(&bytes).await.unwrap();
        assert!(matches!(node.next().await, ToNode::Open { .. }));
        let lasts = Duration::from_secs(60).as_nanos() as u64;
        let promise = Promise { sequence: 0, lasts, kept: lasts };
        node.tell(&[ToClient::Opened { session: SESSION, key: SessionKey::new([0; 16]), promise }]).await;
        node
    }

    async fn read(&mut self) {
        let buffer = self.incoming.buffer();
        buffer.reserve(1 << 16);
        assert_ne!(self.stream.read_buf(buffer).await.unwrap(), 0, "it hung up");
    }

    /// What has been read already.
    fn heard(&mut self) -> Option<ToNode> {
        self.incoming.next(VERSION).unwrap().filter(|said| !matches!(said, ToNode::KeepAlive { .. }))
    }

    async fn next(&mut self) -> ToNode {
        loop {
            match self.heard() {
                Some(said) => return said,
                None => self.read().await,
            }
        }
    }

    async fn tell(&mut self, what: &[ToClient]) {
        let mut bytes = Vec::new();
        what.iter().for_each(|what| frame::put(VERSION, what, &mut bytes));
        self.stream.write_all(&bytes).await.unwrap();
    }
}

fn granted(request: u64) -> ToClient {
    let outcome = RequestOutcome::Granted(Grant { slot: 0, fence: request, group: 0 });
    ToClient::Reply(Reply { session: SESSION, request, outcome })
}

fn request(said: &ToNode) -> u64 {
    match said {
        ToNode::Acquire { ask, .. } => ask.request,
        other => panic!("{other:?}"),
    }
}

/// The node has its own thread, so that it reads whenever something has been written.
#[test]
fn what_is_asked_for_after_common_answers_comes_in_one_piece() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    listener.set_nonblocking(true).unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let node = std::thread::spawn(move || {
        runtime().block_on(async {
            let mut node = Node::serve(TcpListener::from_std(listener).unwrap()).await;
            let mut requests = Vec::new();
            while requests.len() < TASKS {
                requests.push(request(&node.next().await));
            }
            for round in 0..ROUNDS {
                node.tell(&requests.drain(..).map(granted).collect::<Vec<_>>()).await;
                requests.push(request(&node.next().await));
                requests.extend(std::iter::from_fn(|| node.heard()).map(|said| request(&said)));
                assert_eq!(requests.len(), TASKS, "one piece has them all, round {round}");
            }
        });
    });
    runtime().block_on(async {
        let tokenwood = Tokenwood::connect([endpoint]).await.unwrap();
        for task in 0..TASKS {
            let lock = tokenwood.mutex(&format!("lock-{task}"));
            tokio::spawn(async move {
                let mut held = Vec::new();
                while let Ok(guard) = lock.acquire().await {
                    held.push(guard);
                }
            });
        }
        while !node.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    node.join().unwrap();
}
