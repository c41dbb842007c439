//! The port for peers: for links of the view, and for consensus. The first bytes tell which.

use std::sync::Arc;
use std::time::Duration;

use control::OnRefusedCall;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::host::Shared;
use transport::Encryption;
use transport::peers::callers::{Call, Callers};
use transport::peers::{Notice, Trouble};

/// So many connections of the control plane are open at once: each peer needs one, and the callers that have not said who
/// they are leave room.
const CONNECTIONS: usize = 4096;
/// A caller has to show what it wants within this time.
const GREETING_LIMIT: Duration = Duration::from_secs(1);
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Serves all that call, until it is dropped.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let callers = Arc::new(Callers::default());
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        while connections.try_join_next().is_some() {}
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                shared.heed(&Notice::CannotAccept { why: error.into() });
                sleep(EXHAUSTED).await;
                continue;
            }
        };
        let call = callers.admit(stream, address);
        let (shared, room) = (shared.clone(), room.clone());
        connections.spawn(async move {
            if let Err(why) = serve(call, &shared, &room).await {
                shared.heed(&Notice::TurnedAway { address, caller: None, why });
            }
        });
    }
}

/// Serves a caller, or returns why it is rejected.
async fn serve(call: Call, shared: &Arc<Shared>, room: &Semaphore) -> Result<(), Trouble> {
    let greeted = timeout(GREETING_LIMIT, greet(call, &shared.encryption)).await;
    let (call, for_control) = greeted.unwrap_or(Err(Trouble::TimedOut))?;
    if !for_control {
        let calls = shared.lock().links.calls.clone();
        return match calls.try_send(call) {
            // The peer calls again.
            Err(TrySendError::Full(_)) => Err(Trouble::Crowded),
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
        };
    }
    let Call { stream, address, read, entry, mut eviction } = call;
    // The peer calls again.
    let _connection = room.try_acquire().map_err(|_| Trouble::Crowded)?;
    let (host, caller) = (shared.clone(), stream.node());
    let refused: OnRefusedCall = Arc::new(move |refused| host.call_refused(address, caller, &refused));
    tokio::select! {
        // What was refused is logged; how a connection ends otherwise concerns only the caller.
        _ = shared.control.serve(stream, &read, Box::new(entry), &refused) => Ok(()),
        () = eviction.comes() => Err(Trouble::Evicted),
    }
}

/// Has the handshake with a caller, if it is encrypted, and finds out what it wants: by the protocol that was agreed on, or
/// by its first bytes. It may have to make room meanwhile.
async fn greet(mut call: Call, encryption: &Encryption) -> Result<(Call, bool), Trouble> {
    let accepting =
        encryption.accept(call.stream, &[security::PEERS, security::CONTROL], security::Callers::Nodes);
    call.stream = tokio::select! {
        accepted = accepting => accepted?,
        () = call.eviction.comes() => return Err(Trouble::Evicted),
    };
    if let Some(protocol) = call.stream.protocol() {
        let for_control = protocol == security::CONTROL;
        return Ok((call, for_control));
    }
    if call.stream.is_encrypted() {
        return Err(Trouble::NoProtocol);
    }
    let for_control = is_for_control(&mut call).await?;
    Ok((call, for_control))
}

/// Reads until it is clear what a caller wants, or it has to make room.
async fn is_for_control(call: &mut Call) -> Result<bool, Trouble> {
    let mut first = [0; control::FIRST_BYTES];
    loop {
        let begun = call.read.len();
        let read = tokio::select! {
            read = call.stream.read(&mut first[begun..]) => read?,
            () = call.eviction.comes() => return Err(Trouble::Evicted),
        };
        call.read.extend_from_slice(&first[begun..begun + read]);
        match control::is_for_us(&call.read) {
            Some(answer) => return Ok(answer),
            None if read == 0 => return Err(Trouble::Closed),
            None => {}
        }
    }
}
