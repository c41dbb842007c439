//! Connections of clients: what waits to be written to each. Their reading ends are in `clients/`.
//!
//! Frames for a client are queued while the member is locked, and written after it is free: by the reactor at the end of
//! its round, or by the thread of an embedded client or a task that caused them. One thread writes at a time; a thread that
//! finds another at it leaves its bytes in the queue, where the other one looks again.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use service::Refusal;
use service::frame::{self, FrameError};
use service::limits::Limits;
use service::member::ConnectionId;
use service::protocol::{self, ToClient};

use crate::host::Shared;
use sync::IgnorePoison;
use transport::reactor::Outbound;
use transport::stream::Stream;

mod conversation;
mod places;
mod port;

pub use places::Place;
pub(crate) use places::Places;
pub(crate) use port::ClientPort;
pub use port::evidence;

/// A watcher that leaves this much unread is told how many events it missed instead.
const MOST_UNWATCHED: usize = 256 << 10;
/// From a client that lets so much wait to be read nothing more is taken in: every question costs an answer.
const MOST_UNANSWERED: usize = 256 << 10;
/// A buffer that is empty and larger than this is given back: a long answer shall not cost its memory for as long as the
/// connection lasts.
const USUAL_BYTES: usize = 16 << 10;

/// The way to a client far away.
pub(crate) struct ClientLink {
    stream: Stream,
    /// The version that both ends agreed on; 0 before the greeting.
    version: AtomicU8,
    connection: OnceLock<ConnectionId>,
    shared: Weak<Shared>,
    /// What is to be written. Locked while the member is.
    queue: Mutex<Queue>,
    /// What is being written. Never waited for by a thread that has locked the member or the queue.
    pen: Mutex<Pen>,
    /// How many bytes wait in the queue and in the pen.
    unread: AtomicUsize,
    /// The socket was full at the last write: the reactor goes on when it has room.
    full: AtomicBool,
    over: AtomicBool,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// A thread is about to write what is queued.
    dirty: bool,
    /// The member knows that the client has much to read.
    behind: bool,
}

#[derive(Default)]
struct Pen {
    bytes: Vec<u8>,
    written: usize,
    /// The stream has taken bytes that may not have gone out.
    unflushed: bool,
}

/// The result of queueing a frame for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The connection has to be written to, and no other thread is about to.
    pub(crate) to_flush: bool,
    /// The client has much to read already: the member has to know.
    pub(crate) behind: bool,
}

impl ClientLink {
    fn new(stream: Stream, shared: Weak<Shared>) -> Arc<ClientLink> {
        Arc::new(ClientLink {
            stream,
            version: AtomicU8::new(0),
            connection: OnceLock::new(),
            shared,
            queue: Mutex::default(),
            pen: Mutex::default(),
            unread: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            over: AtomicBool::new(false),
        })
    }

    /// Queues a frame. Never waits for the socket.
    pub(crate) fn tell(&self, what: &ToClient, shared: &Shared) -> Queued {
        if self.is_over() {
            return Queued { to_flush: false, behind: false };
        }
        let version = self.version.load(Ordering::Relaxed);
        let mut queue = self.queue();
        let before = queue.bytes.len();
        if let Err(error) = frame::put_if_it_fits(version, what, &mut queue.bytes) {
            // A frame that is too long would end the connection at the other end, without a reason.
            frame::put(version, &instead_of(what, &error), &mut queue.bytes);
        }
        let unread = self.queued(queue.bytes.len() - before, shared);
        let Limits { connection_unread, unread: unread_in_all, .. } = shared.limits;
        let in_all = shared.unread.load(Ordering::Relaxed);
        if unread as u64 > connection_unread || unread > MOST_UNANSWERED && in_all as u64 > unread_in_all {
            self.hang_up();
            shared.hung_up.fetch_add(1, Ordering::Relaxed);
        }
        let behind = !queue.behind && unread > MOST_UNWATCHED;
        queue.behind |= behind;
        Queued { to_flush: !std::mem::replace(&mut queue.dirty, true), behind }
    }

    /// Queues bytes that go out before any frame.
    fn greet(&self, bytes: &[u8], shared: &Shared) {
        self.queue().bytes.extend_from_slice(bytes);
        self.queued(bytes.len(), shared);
    }

    fn queued(&self, bytes: usize, shared: &Shared) -> usize {
        shared.unread.fetch_add(bytes, Ordering::Relaxed);
        self.unread.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Ends the connection. The reactor sees that at the socket.
    pub(crate) fn hang_up(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.stream.shutdown();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// Whether nothing can be written before the reactor hears from the socket.
    fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }

    /// The socket has room again: writes, after any thread that is at it. Only the reactor waits here, for the length of a
    /// write that does not block; otherwise its only news of the room could get lost.
    fn has_room(&self) {
        let pen = self.pen.lock().ignore_poison();
        self.write_all(pen);
    }

    /// Writes until nothing is queued or the socket is full.
    fn write_all<'a>(&'a self, mut pen: MutexGuard<'a, Pen>) {
        loop {
            let goes_on = self.write(&mut pen);
            drop(pen);
            // What another thread queued while this one had the pen is this one's to write.
            if !goes_on || self.queue().bytes.is_empty() {
                break;
            }
            let Some(again) = self.pen.try_lock().ignore_poison() else { return };
            pen = again;
        }
        self.note_catching_up();
    }

    /// Writes what is in the pen and in the queue. `false` if the socket is full, or the connection is over.
    fn write(&self, pen: &mut Pen) -> bool {
        loop {
            if pen.written == pen.bytes.len() {
                pen.written = 0;
                pen.bytes.clear();
                if pen.bytes.capacity() > USUAL_BYTES {
                    pen.bytes = Vec::new();
                }
                let mut queue = self.queue();
                queue.dirty = false;
                std::mem::swap(&mut pen.bytes, &mut queue.bytes);
            }
            if pen.bytes.is_empty() && !pen.unflushed {
                return true;
            }
            let left = &pen.bytes[pen.written..];
            let written =
                if left.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(left) };
            match written {
                Ok(written) => {
                    self.full.store(false, Ordering::SeqCst);
                    pen.unflushed = written > 0 && self.stream.is_encrypted();
                    pen.written += written;
                    self.unread.fetch_sub(written, Ordering::Relaxed);
                    self.shared.upgrade().map(|shared| shared.unread.fetch_sub(written, Ordering::Relaxed));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.full.store(true, Ordering::SeqCst);
                    return false;
                }
                Err(_) => {
                    self.hang_up();
                    return false;
                }
            }
        }
    }

    /// Tells the member if a client that was behind has read everything.
    fn note_catching_up(&self) {
        let caught_up = {
            let mut queue = self.queue();
            queue.behind && self.unread() == 0 && std::mem::take(&mut queue.behind)
        };
        if let (true, Some(connection), Some(shared)) =
            (caught_up, self.connection.get(), self.shared.upgrade())
        {
            shared.with_member(|turn| turn.member.client_caught_up(*connection, turn.effects));
        }
    }
}

impl Outbound for ClientLink {
    fn flush(&self) {
        // A thread that has the pen looks at the queue again.
        if let Some(pen) = self.pen.try_lock().ignore_poison() {
            self.write_all(pen);
        }
    }
}

impl Drop for ClientLink {
    fn drop(&mut self) {
        let unread = self.unread();
        self.shared.upgrade().map(|shared| shared.unread.fetch_sub(unread, Ordering::Relaxed));
    }
}

/// What to say instead of something that does not fit into a frame.
fn instead_of(what: &ToClient, error: &FrameError) -> ToClient {
    let why = || format!("the answer does not fit into a frame ({error}): ask for less at once");
    match what {
        ToClient::QuestionAnswer { number, .. } => {
            ToClient::QuestionAnswer { number: *number, answer: protocol::QuestionAnswer::NotDone(why()) }
        }
        ToClient::OrderResult { number, .. } => {
            ToClient::OrderResult { number: *number, result: Err(Refusal::NotAgreed(why())) }
        }
        // Everything else is much shorter; a watcher at least learns that there was something.
        _ => ToClient::Missed(1),
    }
}
