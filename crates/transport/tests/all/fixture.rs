//! Nodes that remember what they received, and bounded waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use service::Identity;
use service::NodeId;
use service::view::{View, ViewMember};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use transport::{Config, Timing};
use transport::{Inbox, Limits, Notice, Outbox, Peers};

/// Long enough for a busy machine; a test that needs it all has failed.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A payload with its view.
pub(crate) type Received = (u64, Vec<u8>);

/// What a node has seen.
pub(crate) struct Log {
    received: Mutex<BTreeMap<NodeId, Vec<Received>>>,
    notices: Mutex<Vec<Notice>>,
    /// Whether payloads are taken in: the thread that brings them waits until they are.
    gate: Mutex<bool>,
    opened: Condvar,
}

impl Inbox for Log {
    fn received(&self, from: NodeId, epoch: u64, payloads: &[&[u8]], _: &mut Outbox<'_>) {
        let gate = self.gate.lock().unwrap();
        drop(self.opened.wait_timeout_while(gate, LONGEST_WAIT, |open| !*open).unwrap());
        let arrived = payloads.iter().map(|payload| (epoch, payload.to_vec()));
        self.received.lock().unwrap().entry(from).or_default().extend(arrived);
    }

    fn notice(&self, notice: Notice) {
        self.notices.lock().unwrap().push(notice);
    }
}

impl Log {
    /// What came from a node, with its views.
    pub(crate) fn from(&self, node: NodeId) -> Vec<Received> {
        self.received.lock().unwrap().get(&node).cloned().unwrap_or_default()
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().values().map(Vec::len).sum()
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }

    pub(crate) fn open_gate(&self) {
        *self.gate.lock().unwrap() = true;
        self.opened.notify_all();
    }

    /// Waits for a notice like this.
    pub(crate) async fn wait_for_notice(&self, like: impl Fn(&Notice) -> bool) -> Notice {
        wait_until("a notice", || self.notices().iter().any(&like)).await;
        self.notices().into_iter().find(|notice| like(notice)).unwrap()
    }
}

/// Waits, for a bounded time, until something holds.
pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONGEST_WAIT, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

pub(crate) fn identity(id: NodeId) -> Identity {
    Identity { id, incarnation: 1 }
}

/// Times for tests: short between tries, and long enough for a busy machine.
pub(crate) fn config(me: Identity) -> Config {
    let timing = Timing {
        silence_limit: Duration::from_secs(20),
        longest_retry: Duration::from_millis(20),
        ..Timing::default()
    };
    Config { timing, ..Config::new("test", me) }
}

/// A running node.
pub(crate) struct Node {
    pub(crate) peers: Peers,
    pub(crate) log: Arc<Log>,
}

impl Node {
    pub(crate) fn start(config: Config, view: &View, listener: TcpListener) -> Node {
        let node = Node::start_closed(config, view, listener);
        node.log.open_gate();
        node
    }

    /// A node that takes in nothing until its gate is opened.
    pub(crate) fn start_closed(config: Config, view: &View, listener: TcpListener) -> Node {
        let log = Arc::new(Log {
            received: Mutex::default(),
            notices: Mutex::default(),
            gate: Mutex::new(false),
            opened: Condvar::new(),
        });
        let peers = Peers::start(config, view.clone(), listener, log.clone()).unwrap();
        Node { peers, log }
    }

    /// Sends, and tries again as long as the link is full.
    pub(crate) async fn send_patiently(&self, to: NodeId, payload: &[u8]) {
        let trying = async {
            while self.peers.send(to, payload.to_vec()).is_err() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(LONGEST_WAIT, trying).await.expect("the link does not stay full");
    }
}

/// Listeners of this many nodes at ports chosen by the system.
pub(crate) async fn listeners(count: usize) -> Vec<TcpListener> {
    let mut listeners = Vec::new();
    for _ in 0..count {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    listeners
}

/// A view whose members listen there.
pub(crate) fn view(epoch: u64, listeners: &[TcpListener]) -> View {
    let member = |(id, listener): (NodeId, &TcpListener)| {
        ViewMember::new(identity(id), &listener.local_addr().unwrap().to_string())
    };
    View { epoch, members: (0..).zip(listeners).map(member).collect() }
}

/// Two nodes of view 1, with this for limits.
pub(crate) async fn pair(limits: Limits) -> ([Node; 2], View) {
    let listeners = listeners(2).await;
    let view = view(1, &listeners);
    let mut nodes = (0..).zip(listeners).map(|(id, listener)| {
        let config = Config { limits, ..config(identity(id)) };
        Node::start(config, &view, listener)
    });
    let nodes = [nodes.next().unwrap(), nodes.next().unwrap()];
    (nodes, view)
}
