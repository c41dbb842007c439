//! The port for peers: those of the view, and those who agree on views. The first bytes tell which.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::host::Shared;

/// So many connections are open at once. Each peer needs two.
const CONNECTIONS: usize = 4096;
/// After so long it must be clear what a caller wants.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for the rest of the first bytes.
const PAUSE: Duration = Duration::from_millis(1);
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Serves whoever calls, until it is dropped.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = room.clone().acquire_owned().await.expect("never closed");
        while connections.try_join_next().is_some() {}
        let Ok((stream, address)) = listener.accept().await else {
            sleep(EXHAUSTED).await;
            continue;
        };
        let shared = shared.clone();
        connections.spawn(async move {
            let _place = place;
            // How a connection ends concerns only the caller.
            _ = serve(stream, address, &shared).await;
        });
    }
}

async fn serve(stream: TcpStream, address: SocketAddr, shared: &Shared) -> io::Result<()> {
    if timeout(PATIENCE, is_for_control(&stream)).await?? {
        return shared.control.serve(stream).await;
    }
    let calls = shared.lock().links.calls.clone();
    // If too many wait already, whoever called calls again.
    _ = calls.try_send((stream, address));
    Ok(())
}

async fn is_for_control(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; control::FIRST_BYTES];
    loop {
        let read = stream.peek(&mut first).await?;
        match control::is_for_us(&first[..read]) {
            Some(answer) => return Ok(answer),
            None if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => sleep(PAUSE).await,
        }
    }
}
