//! Connections of clients.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use service::frame::{self, Incoming};
use service::member::ConnectionId;
use service::protocol::{GREETING, Hello, ToClient, ToNode, VERSIONS, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::host::{Shared, Sink};
use crate::identity::Identity;

/// A client must have greeted after so long.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// So many clients are connected at most.
const MOST_CONNECTIONS: usize = 10_000;
/// A client that lets so much wait to be read is hung up on: it can connect again and ask.
const MOST_UNREAD: usize = 4 << 20;
/// A watcher that lets so much wait to be read is told how much it missed instead.
const MOST_UNWATCHED: usize = 256 << 10;
/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// The way to a client far away.
pub(crate) struct ClientLink {
    stream: TcpStream,
    version: u8,
    outgoing: Mutex<Outgoing>,
    /// Something could not be written at once, or the connection is to end.
    wake: Notify,
}

#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    over: bool,
    /// The member knows that the client has much to read.
    behind: bool,
}

/// What came of telling a client something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The client keeps up, or the member knows that it does not.
    AsBefore,
    /// The client has much to read already: the member has to know.
    Behind,
}

impl ClientLink {
    /// Tells the client something. Never waits.
    pub(crate) fn tell(&self, what: &ToClient) -> Told {
        let mut outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        frame::put(self.version, what, &mut outgoing.bytes);
        self.write(&mut outgoing);
        if outgoing.behind || outgoing.bytes.len() <= MOST_UNWATCHED {
            return Told::AsBefore;
        }
        outgoing.behind = true;
        Told::Behind
    }

    /// Whether the client has read everything since the member was told that it had not.
    fn has_caught_up(&self) -> bool {
        let mut outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let caught_up = outgoing.behind && outgoing.bytes.is_empty();
        outgoing.behind &= !caught_up;
        caught_up
    }

    pub(crate) fn hang_up(&self) {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.wake.notify_one();
    }

    fn write(&self, outgoing: &mut Outgoing) {
        while !outgoing.bytes.is_empty() && !outgoing.over {
            match self.stream.try_write(&outgoing.bytes) {
                Ok(written) => _ = outgoing.bytes.drain(..written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    outgoing.over |= outgoing.bytes.len() > MOST_UNREAD;
                    return self.wake.notify_one();
                }
                Err(_) => outgoing.over = true,
            }
        }
    }

    /// Whether something waits to be written, and whether the connection is to end.
    fn waits(&self) -> (bool, bool) {
        let outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        (!outgoing.bytes.is_empty(), outgoing.over)
    }
}

/// Serves clients, each in a task of its own.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: others have to end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            _ = serve(stream, &shared).await;
            drop(place);
        });
    }
}

async fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut incoming = Incoming::default();
    let me = shared.identity();
    let Ok(version) = timeout(GREETING_LIMIT, greet(&mut stream, &mut incoming, me)).await else {
        return Ok(());
    };
    let Some(version) = version? else { return Ok(()) };
    let client = stream.peer_addr()?.to_string();
    let link = Arc::new(ClientLink { stream, version, outgoing: Mutex::default(), wake: Notify::new() });
    let connection = shared.happen(|turn| {
        let connection = turn.member.connected(&client);
        turn.sinks.insert(connection, Sink::Far(link.clone()));
        connection
    });
    let result = converse(&link, connection, &mut incoming, shared).await;
    shared.happen(|turn| {
        turn.sinks.remove(&connection);
        turn.member.disconnected(connection, turn.now, turn.effects);
    });
    result
}

/// Greets a client. `None` if it does not speak as we do; it has been told.
async fn greet(stream: &mut TcpStream, incoming: &mut Incoming, me: Identity) -> io::Result<Option<u8>> {
    let hello = loop {
        match incoming.next::<Hello>(GREETING) {
            Ok(Some(hello)) => break hello,
            Ok(None) => {}
            Err(_) => return Ok(None),
        }
        if stream.read_buf(incoming.buffer()).await? == 0 {
            return Ok(None);
        }
    };
    let version = hello.agreed();
    let welcome = match version {
        Some(version) => Welcome::Version { version, node: me.id, incarnation: me.incarnation },
        None => Welcome::NoCommonVersion(VERSIONS),
    };
    let mut bytes = Vec::new();
    frame::put(GREETING, &welcome, &mut bytes);
    stream.write_all(&bytes).await?;
    Ok(version)
}

async fn converse(
    link: &ClientLink,
    connection: ConnectionId,
    incoming: &mut Incoming,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    loop {
        while let Some(said) = incoming.next::<ToNode>(link.version).map_err(io::Error::other)? {
            shared.happen(|turn| turn.member.hear(connection, said, turn.around, turn.now, turn.effects));
        }
        if link.has_caught_up() {
            shared.happen(|turn| turn.member.keeps_up(connection, true, turn.effects));
        }
        let (more, over) = link.waits();
        if over {
            return Ok(());
        }
        tokio::select! {
            ready = link.stream.readable() => ready?,
            ready = link.stream.writable(), if more => ready?,
            () = link.wake.notified() => {}
        }
        link.write(&mut link.outgoing.lock().unwrap_or_else(PoisonError::into_inner));
        let buffer = incoming.buffer();
        buffer.reserve(READ_BYTES);
        match link.stream.try_read_buf(buffer) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
}
