//! A way to a node that can be closed, for all or for one caller: it reads who calls.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use control::Hello;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Which nodes cannot reach others, nor be reached.
pub(crate) type CutOff = watch::Sender<BTreeSet<u32>>;

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
        let (shared, cut_off) = (target.clone(), cut_off.subscribe());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                connections.spawn(carry(stream, node, shared.clone(), cut_off.clone()));
            }
        });
        Proxy { address, target, _tasks: tasks }
    }

    pub(crate) fn leads_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap() = Some(target);
    }
}

async fn carry(
    mut near: TcpStream,
    node: u32,
    target: Arc<Mutex<Option<SocketAddr>>>,
    mut cut_off: watch::Receiver<BTreeSet<u32>>,
) {
    let Ok(length) = near.read_u32_le().await else { return };
    let mut body = vec![0; length as usize];
    if near.read_exact(&mut body).await.is_err() {
        return;
    }
    let hello = Hello::decode(&body).unwrap();
    let is_cut = |cut: &BTreeSet<u32>| cut.contains(&hello.from) || cut.contains(&node);
    let Some(target) = *target.lock().unwrap() else { return };
    if is_cut(&cut_off.borrow()) {
        return;
    }
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    if far.write_all(&hello.encode()).await.is_err() {
        return;
    }
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = cut_off.wait_for(is_cut) => {}
    }
}
