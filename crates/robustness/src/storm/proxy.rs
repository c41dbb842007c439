//! A proxy that cuts connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sync::IgnorePoison;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

/// Forwards connections until they are cut.
pub struct Proxy {
    /// The address to connect to.
    pub address: String,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
    listener: JoinHandle<()>,
}

impl Proxy {
    /// Starts in front of this address, which need not answer yet. Needs a tokio runtime.
    pub async fn start(target: String) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let connections: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let open = connections.clone();
        let listener = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                };
                let connection = tokio::spawn(pass_on(stream, target.clone()));
                let mut open = open.lock().ignore_poison();
                open.retain(|connection| !connection.is_finished());
                open.push(connection.abort_handle());
            }
        });
        Ok(Proxy { address, connections, listener })
    }

    /// Cuts one of the connections, if there is any. Returns whether it did.
    pub fn cut(&self, which: u64) -> bool {
        let mut connections = self.connections.lock().ignore_poison();
        connections.retain(|connection| !connection.is_finished());
        if connections.is_empty() {
            return false;
        }
        let setup = which as usize % connections.len();
        connections.swap_remove(setup).abort();
        true
    }
}

impl Proxy {
    /// Cuts all connections. Returns how many.
    pub fn cut_all(&self) -> usize {
        std::iter::from_fn(|| self.cut(0).then_some(())).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.cut_all();
    }
}

async fn pass_on(mut stream: TcpStream, target: String) {
    let Ok(mut onward) = TcpStream::connect(target).await else { return };
    _ = (stream.set_nodelay(true), onward.set_nodelay(true));
    // However it ends, both sides see the end of the connection.
    _ = copy_bidirectional(&mut stream, &mut onward).await;
}
