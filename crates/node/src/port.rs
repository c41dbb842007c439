//! The port for peers: those of the view, and those who agree on views. The first bytes tell which.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::host::Shared;
use crate::transport::callers::{Call, Callers};

/// So many connections of the control plane are open at once: each peer needs one, and the callers that have not said who
/// they are leave room.
const CONNECTIONS: usize = 4096;
/// After so long it must be clear what a caller wants.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Serves all that call, until it is dropped.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let callers = Arc::new(Callers::default());
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, address)) = listener.accept().await else {
            sleep(EXHAUSTED).await;
            continue;
        };
        let call = callers.admit(stream, address);
        let (shared, room) = (shared.clone(), room.clone());
        // How a connection ends concerns only the caller.
        connections.spawn(async move { _ = serve(call, &shared, &room).await });
    }
}

async fn serve(mut call: Call, shared: &Shared, room: &Semaphore) -> io::Result<()> {
    if !timeout(PATIENCE, is_for_control(&mut call)).await?? {
        let calls = shared.lock().links.calls.clone();
        // If too many wait already, the peer calls again.
        _ = calls.try_send(call);
        return Ok(());
    }
    let Call { stream, read, place, mut eviction, .. } = call;
    // If all connections are taken, the peer calls again.
    let Ok(_connection) = room.try_acquire() else { return Ok(()) };
    tokio::select! {
        served = shared.control.serve(stream, &read, place) => served,
        () = eviction.comes() => Ok(()),
    }
}

/// Reads until it is clear what a caller wants, or it has to make room.
async fn is_for_control(call: &mut Call) -> io::Result<bool> {
    let mut first = [0; control::FIRST_BYTES];
    loop {
        let begun = call.read.len();
        let read = tokio::select! {
            read = call.stream.read(&mut first[begun..]) => read?,
            () = call.eviction.comes() => return Err(io::ErrorKind::TimedOut.into()),
        };
        call.read.extend_from_slice(&first[begun..begun + read]);
        match control::is_for_us(&call.read) {
            Some(answer) => return Ok(answer),
            None if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    }
}
