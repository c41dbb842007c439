//! A way to a node that can be closed, for all or for one caller: it reads who calls.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use control::Hello;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Which nodes cannot reach others, nor be reached, and which connections there are.
#[derive(Clone, Default)]
pub(crate) struct CutOff {
    nodes: watch::Sender<BTreeSet<u32>>,
    /// From whom to whom, and how many.
    open: watch::Sender<BTreeMap<(u32, u32), u32>>,
    /// Whenever it changes, the connections that there are fall silent and stay open.
    hushed: watch::Sender<u32>,
}

impl CutOff {
    /// When this returns, this node reaches no other node, and no other node reaches it.
    pub(crate) async fn cut(&self, node: u32) {
        self.nodes.send_modify(|nodes| _ = nodes.insert(node));
        let is_alone = |open: &BTreeMap<(u32, u32), u32>| {
            open.iter().all(|((from, to), count)| *count == 0 || (*from != node && *to != node))
        };
        self.open.subscribe().wait_for(is_alone).await.unwrap();
    }

    /// The open connections carry nothing any more, and no end is told.
    pub(crate) fn hush(&self) {
        self.hushed.send_modify(|times| *times += 1);
    }

    pub(crate) fn heal(&self) {
        self.nodes.send_modify(BTreeSet::clear);
    }
}

/// An open connection.
struct Open(CutOff, (u32, u32));

impl Open {
    fn new(cut_off: &CutOff, ends: (u32, u32)) -> Open {
        cut_off.open.send_modify(|open| *open.entry(ends).or_default() += 1);
        Open(cut_off.clone(), ends)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open.entry(self.1).or_default() -= 1);
    }
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// Where the node listens at the moment.
    target: Arc<Mutex<Option<SocketAddr>>>,
    /// Ends everything when it is dropped.
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// A way to this node.
    pub(crate) async fn start(node: u32, cut_off: &CutOff) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let target: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let mut tasks = JoinSet::new();
        let (shared, cut_off) = (target.clone(), cut_off.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                connections.spawn(carry(stream, node, shared.clone(), cut_off.clone()));
            }
        });
        Proxy { address, target, _tasks: tasks }
    }

    pub(crate) fn target(&self) -> SocketAddr {
        self.target.lock().unwrap().unwrap()
    }

    pub(crate) fn leads_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap() = Some(target);
    }
}

async fn carry(mut near: TcpStream, node: u32, target: Arc<Mutex<Option<SocketAddr>>>, cut_off: CutOff) {
    let Ok(length) = near.read_u32_le().await else { return };
    let mut body = vec![0; length as usize];
    if near.read_exact(&mut body).await.is_err() {
        return;
    }
    let hello = Hello::decode(&body).unwrap();
    let _open = Open::new(&cut_off, (hello.from, node));
    let (mut cut, mut hushed) = (cut_off.nodes.subscribe(), cut_off.hushed.subscribe());
    let is_cut = |cut: &BTreeSet<u32>| cut.contains(&hello.from) || cut.contains(&node);
    let Some(target) = *target.lock().unwrap() else { return };
    if is_cut(&cut.borrow()) {
        return;
    }
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    near.set_nodelay(true).and_then(|()| far.set_nodelay(true)).unwrap();
    if far.write_all(&hello.encode()).await.is_err() {
        return;
    }
    let is_hushed = tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => false,
        () = async { _ = cut.wait_for(is_cut).await } => false,
        _ = hushed.changed() => true,
    };
    if is_hushed {
        std::future::pending::<()>().await;
    }
}
