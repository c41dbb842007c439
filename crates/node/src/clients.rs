//! Connections of clients.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use service::core::Out;
use service::frame::{self, FrameError, Incoming};
use service::protocol::{GREETING, Hello, ToClient, ToNode, Told, VERSIONS, Welcome};
use service::{Core, Refusal, SessionId, Time};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::host::{Shared, Sink, State};
use crate::identity::Identity;
use crate::orders::{self, Carried};

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
    /// Where the client is.
    by: String,
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
    /// So many events were left out since the client stopped keeping up.
    missed: u64,
}

impl Outgoing {
    /// So many bytes have been written. A watcher that has caught up learns what it missed.
    fn written(&mut self, bytes: usize, version: u8) {
        self.bytes.drain(..bytes);
        if self.bytes.is_empty() && self.missed > 0 {
            frame::put(version, &ToClient::Missed(std::mem::take(&mut self.missed)), &mut self.bytes);
        }
        if self.bytes.is_empty() && self.bytes.capacity() > MOST_UNANSWERED {
            // A long answer shall not cost its memory for as long as the connection lasts.
            self.bytes = Vec::new();
        }
    }
}

impl ClientLink {
    /// Tells the client something. Never waits.
    pub(crate) fn tell(&self, what: &ToClient) {
        self.send(&mut self.outgoing(), what);
    }

    /// Tells a client that watches of an event, unless it has much to read already. Never waits.
    pub(crate) fn tell_if_it_keeps_up(&self, event: &ToClient) {
        let mut outgoing = self.outgoing();
        if outgoing.missed > 0 || outgoing.bytes.len() > MOST_UNWATCHED {
            outgoing.missed += 1;
            return;
        }
        self.send(&mut outgoing, event);
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
                Ok(written) => outgoing.written(written, self.version),
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
        ToClient::Told { number, .. } => ToClient::Told { number: *number, what: Told::NotDone(why()) },
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
    let me = shared.lock().life.me;
    let Ok(version) = timeout(GREETING_LIMIT, greet(&mut stream, &mut incoming, me)).await else {
        return Ok(());
    };
    let Some(version) = version? else { return Ok(()) };
    let by = stream.peer_addr()?.to_string();
    let link = Arc::new(ClientLink { stream, by, version, outgoing: Mutex::default(), wake: Notify::new() });
    let result = converse(&link, &mut incoming, shared).await;
    // Its sessions live on; they just have nobody to talk to until the client comes back.
    let mut state = shared.lock();
    state.sinks.retain(|_, sink| !matches!(sink, Sink::Far(other) if Arc::ptr_eq(other, &link)));
    state.unwatch(&link);
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

async fn converse(link: &Arc<ClientLink>, incoming: &mut Incoming, shared: &Arc<Shared>) -> io::Result<()> {
    loop {
        let unread = loop {
            let Some(unread) = link.unread() else { return Ok(()) };
            if unread > MOST_UNANSWERED {
                break unread;
            }
            let Some(said) = incoming.next(link.version).map_err(io::Error::other)? else { break unread };
            heard(said, link, shared);
        };
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

/// A client says something.
fn heard(said: ToNode, link: &Arc<ClientLink>, shared: &Arc<Shared>) {
    let reply = shared.happen(|state, now| {
        if let ToNode::Watch(filter) = &said {
            state.watch(link, filter.clone());
        }
        if let Some(session) = session_of(&said) {
            state.listens(session, link);
        }
        shared.mind_the_load(state);
        let reply = match said {
            ToNode::Ask { number, question } => {
                let what = shared.answer(&question, state, now);
                if what.is_none() {
                    let (shared, link) = (shared.clone(), link.clone());
                    tokio::spawn(async move {
                        let what = shared.arrange(question).await;
                        link.tell(&ToClient::Told { number, what });
                    });
                }
                what.map(|what| ToClient::Told { number, what })
            }
            ToNode::Order { number, order } => {
                let (core, out) = state.core_and_out();
                match orders::carry_out(&order, (&link.by, shared.log), core, now, out) {
                    Ok(Carried::Done(done)) => Some(ToClient::Done { number, result: Ok(done) }),
                    Err(refusal) => Some(ToClient::Done { number, result: Err(refusal) }),
                    Ok(Carried::ToBeAgreedOn(entry)) => {
                        let (shared, link) = (shared.clone(), link.clone());
                        tokio::spawn(async move {
                            let result = orders::agree(&shared, entry).await;
                            link.tell(&ToClient::Done { number, result });
                        });
                        None
                    }
                }
            }
            said => {
                let (core, out) = state.core_and_out();
                act(said, core, now, out)
            }
        };
        if let Some(ToClient::Opened { session, .. }) = &reply {
            state.listens(*session, link);
        }
        reply
    });
    if let Some(reply) = reply {
        link.tell(&reply);
    }
}

fn session_of(said: &ToNode) -> Option<SessionId> {
    match said {
        ToNode::KeepAlive { session, .. } | ToNode::Acquire { session, .. } => Some(*session),
        _ => None,
    }
}

fn act(said: ToNode, core: &mut Core, now: Time, out: &mut Out) -> Option<ToClient> {
    match said {
        ToNode::Open { ttl } => Some(match core.open(Some(ttl), now) {
            Ok((session, promise)) => ToClient::Opened { session, promise },
            Err(refusal) => ToClient::NotOpened(refusal),
        }),
        ToNode::KeepAlive { session, sequence, settled } => {
            match core.keep_alive(session, sequence, settled, now, out) {
                Ok(promise) => Some(ToClient::Promise { session, promise }),
                // A node that can promise nothing does not answer: the client may still believe what it was promised.
                Err(Refusal::NoLease | Refusal::Leaving) => None,
                Err(_) => Some(ToClient::SessionGone { session }),
            }
        }
        ToNode::Acquire { session, ask } => {
            let unknown = core.acquire(session, &ask, now, out).is_err();
            unknown.then_some(ToClient::SessionGone { session })
        }
        ToNode::Cancel { session, request } => {
            // A session that is gone has nothing to give up.
            _ = core.cancel(session, request, now, out);
            None
        }
        ToNode::Release { session, request, fence } => {
            let refusal = core.release(session, request, fence, now, out).err()?;
            Some(ToClient::NotReleased { session, request, refusal })
        }
        ToNode::Close { session } => {
            _ = core.close(session, now, out);
            None
        }
        // The connection it came over has been noted.
        ToNode::Watch(_) => Some(ToClient::Watching),
        // Answered where more is known than the core knows.
        ToNode::Ask { .. } | ToNode::Order { .. } => None,
    }
}

impl State {
    /// From now on the answers of this session go over this connection.
    fn listens(&mut self, session: SessionId, link: &Arc<ClientLink>) {
        if self.core.knows(session) {
            self.sinks.insert(session.number, Sink::Far(link.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_refused_and_the_connection_goes_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (by, version) = (String::new(), VERSIONS.1);
        let link = ClientLink { stream, by, version, outgoing: Mutex::default(), wake: Notify::new() };
        let long = "x".repeat(frame::LONGEST_BODY);
        link.tell(&ToClient::Told { number: 1, what: Told::Invited(long.clone()) });
        let result = Err(Refusal::NotAgreed(long));
        link.tell(&ToClient::Done { number: 2, result });
        link.tell(&ToClient::Told { number: 3, what: Told::Done });
        let mut incoming = Incoming::default();
        for expected in 1..=3 {
            let told = loop {
                match incoming.next(version).unwrap() {
                    Some(told) => break told,
                    None => assert_ne!(client.read_buf(incoming.buffer()).await.unwrap(), 0),
                }
            };
            match (expected, told) {
                (1, ToClient::Told { number: 1, what: Told::NotDone(why) })
                | (2, ToClient::Done { number: 2, result: Err(Refusal::NotAgreed(why)) }) => {
                    assert!(why.contains("does not fit"), "{why}");
                }
                (3, ToClient::Told { number: 3, what: Told::Done }) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
    }
}
