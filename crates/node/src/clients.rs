//! Connections of clients.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use service::Identity;
use service::Refusal;
use service::frame::{self, FrameError, Incoming};
use service::member::ConnectionId;
use service::protocol::{self, GREETING, Hello, ToClient, VERSIONS, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::host::{Shared, Sink};
use crate::log::Log;

/// A client must have greeted after so long.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// So many clients are connected at most.
const MOST_CONNECTIONS: usize = 10_000;
/// A client that lets so much wait to be read is hung up on: it can connect again and ask.
const MOST_UNREAD: usize = 4 << 20;
/// A watcher that lets so much wait to be read is told how much it missed instead.
const MOST_UNWATCHED: usize = 256 << 10;
/// From a client that lets so much wait to be read nothing more is taken in: every question costs an answer.
const MOST_UNANSWERED: usize = 256 << 10;
/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// The way to a client far away.
pub(crate) struct ClientLink {
    stream: TcpStream,
    version: u8,
    outgoing: Mutex<Outgoing>,
    /// There is now something that could not be written at once, or the connection is to end. Raised by those who tell
    /// something, never by the task that waits for it: that one knows what it could not write.
    wake: Notify,
}

#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    over: bool,
    /// The member knows that the client has much to read.
    behind: bool,
}

impl Outgoing {
    /// So many bytes have been written.
    fn written(&mut self, bytes: usize) {
        self.bytes.drain(..bytes);
        if self.bytes.is_empty() && self.bytes.capacity() > MOST_UNANSWERED {
            // A long answer shall not cost its memory for as long as the connection lasts.
            self.bytes = Vec::new();
        }
    }
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
        let mut outgoing = self.outgoing();
        self.send(&mut outgoing, what);
        if outgoing.behind || outgoing.bytes.len() <= MOST_UNWATCHED {
            return Told::AsBefore;
        }
        outgoing.behind = true;
        Told::Behind
    }

    /// Whether the client has read everything since the member was told that it had not.
    fn has_caught_up(&self) -> bool {
        let mut outgoing = self.outgoing();
        let caught_up = outgoing.behind && outgoing.bytes.is_empty();
        outgoing.behind &= !caught_up;
        caught_up
    }

    pub(crate) fn hang_up(&self) {
        self.outgoing().over = true;
        self.wake.notify_one();
    }

    fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a message, or leaves it to the task of this connection if it cannot be written at once.
    fn send(&self, outgoing: &mut Outgoing, what: &ToClient) {
        if outgoing.over {
            return;
        }
        let idle = outgoing.bytes.is_empty();
        if let Err(error) = frame::put_if_it_fits(self.version, what, &mut outgoing.bytes) {
            // A frame that is too long would end the connection at the other end, and nobody would know why.
            frame::put(self.version, &instead_of(what, &error), &mut outgoing.bytes);
        }
        if idle {
            self.write(outgoing);
        }
        outgoing.over |= outgoing.bytes.len() > MOST_UNREAD;
        // If something waited before, the task waits for the socket already.
        if outgoing.over || idle && !outgoing.bytes.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Writes what the socket takes.
    fn write(&self, outgoing: &mut Outgoing) {
        while !outgoing.bytes.is_empty() && !outgoing.over {
            match self.stream.try_write(&outgoing.bytes) {
                Ok(written) => outgoing.written(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => outgoing.over = true,
            }
        }
    }

    /// How many bytes wait to be written; `None` if the connection is to end.
    fn unread(&self) -> Option<usize> {
        let outgoing = self.outgoing();
        (!outgoing.over).then_some(outgoing.bytes.len())
    }
}

/// What to say instead of something that does not fit into a frame.
fn instead_of(what: &ToClient, error: &FrameError) -> ToClient {
    let why = || format!("the answer does not fit into a frame ({error}): ask for less at once");
    match what {
        ToClient::Told { number, .. } => {
            ToClient::Told { number: *number, what: protocol::Told::NotDone(why()) }
        }
        ToClient::Done { number, .. } => {
            ToClient::Done { number: *number, result: Err(Refusal::NotAgreed(why())) }
        }
        // Everything else is much shorter; a watcher at least learns that there was something.
        _ => ToClient::Missed(1),
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
    let Ok(version) = timeout(GREETING_LIMIT, greet(&mut stream, &mut incoming, me, &shared.log)).await
    else {
        shared.log.bad_greeting(stream.peer_addr().ok(), &"nothing was said for too long");
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
async fn greet(
    stream: &mut TcpStream,
    incoming: &mut Incoming,
    me: Identity,
    log: &Log,
) -> io::Result<Option<u8>> {
    let hello = loop {
        match incoming.next::<Hello>(GREETING) {
            Ok(Some(hello)) => break hello,
            Ok(None) => {}
            Err(error) => {
                log.bad_greeting(stream.peer_addr().ok(), &error);
                return Ok(None);
            }
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
        let unread = loop {
            let Some(unread) = link.unread() else { return Ok(()) };
            if unread > MOST_UNANSWERED {
                break unread;
            }
            let Some(said) = incoming.next(link.version).map_err(io::Error::other)? else { break unread };
            shared.happen(|turn| turn.member.hear(connection, said, turn.around, turn.now, turn.effects));
        };
        if link.has_caught_up() {
            shared.happen(|turn| turn.member.keeps_up(connection, true, turn.effects));
        }
        let takes_in = unread <= MOST_UNANSWERED;
        tokio::select! {
            ready = link.stream.readable(), if takes_in => ready?,
            ready = link.stream.writable(), if unread > 0 => ready?,
            () = link.wake.notified() => {}
        }
        link.write(&mut link.outgoing());
        if takes_in {
            let buffer = incoming.buffer();
            buffer.reserve(READ_BYTES);
            match link.stream.try_read_buf(buffer) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        // A client that never stops talking shall not keep this thread to itself.
        tokio::task::consume_budget().await;
    }
}
