//! The writing end: a peer's link, the connection below it if there is one, and who may write at the moment.
//!
//! Whoever sends writes into the socket right away, without waking anyone: that is the shortest way a message can take.
//! There is one pen for each connection. Who finds it taken leaves the payload in the link; the one who has it
//! looks there again before putting it back, so that many senders share one write. When the socket takes no more, the
//! pen goes to the connection's writer task, and senders only queue until the task has caught up.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use super::stream::Writer;
use super::trouble::Trouble;
use crate::link::{Frame, Full, Limits, Link, LinkError};
use crate::wire::{self, Hello};

/// How many bytes of payloads go into one frame, unless a single one is longer.
const BATCH_BYTES: usize = 128 << 10;

/// How often a sender writes for others before the writer task takes over.
const MOST_ROUNDS: u32 = 4;

/// A peer's link and the connection below it.
pub(crate) struct Outlet {
    state: Mutex<State>,
}

struct State {
    link: Link,
    limits: Limits,
    connection: Option<Connection>,
    /// The number of the last connection.
    connections: u64,
    /// When the last connection was lost, or when we began to want one.
    disconnected: Instant,
    /// Why the last connection was lost.
    trouble: Option<Trouble>,
}

struct Connection {
    number: u64,
    version: u8,
    signals: Arc<Signals>,
    /// Absent while someone writes.
    pen: Option<Box<Pen>>,
    /// The writer task has the pen, or is about to: nobody else takes it.
    congested: bool,
    /// A frame shall go out even if there is no payload for it.
    bare_frame_due: bool,
    /// The writer task knows that an acknowledgement is owed.
    ack_planned: bool,
    /// Something was written since the writer task last looked.
    wrote: bool,
}

/// How the tasks of a connection hear of each other.
#[derive(Default)]
pub(crate) struct Signals {
    /// The writer task has something to look at.
    pub(crate) wake: Notify,
    /// The connection is given up: the reader ends.
    pub(crate) broken: Notify,
    /// Something was read since the writer task last looked.
    pub(crate) heard: AtomicBool,
    /// The reader is not reading, because the node has not taken in what came before.
    pub(crate) occupied: AtomicBool,
}

struct Pen {
    writer: Writer,
    bytes: Vec<u8>,
    written: usize,
}

/// What the writer task sees when it looks.
pub(crate) struct Look {
    pub(crate) congested: bool,
    pub(crate) ack_planned: bool,
}

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scribe {
    Sender,
    WriterTask,
}

impl Outlet {
    pub(crate) fn new(epoch: u64, limits: Limits) -> Outlet {
        let state = State {
            link: Link::new(epoch, limits),
            limits,
            connection: None,
            connections: 0,
            disconnected: Instant::now(),
            trouble: None,
        };
        Outlet { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can leave the state half changed, except by a bug that panics there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a payload without writing.
    pub(crate) fn queue(&self, payload: Vec<u8>) -> Result<(), Full> {
        self.lock().link.send(payload)
    }

    /// Queues a payload and writes, if nobody else does.
    pub(crate) fn send(&self, payload: Vec<u8>) -> Result<(), Full> {
        let mut state = self.lock();
        state.link.send(payload)?;
        self.write(state, Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
        Ok(())
    }

    /// Writes what is queued, if nobody else does.
    pub(crate) fn flush(&self) {
        self.write(self.lock(), Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
    }

    /// For how long there has been no connection; `None` if there is one.
    pub(crate) fn unreachable(&self) -> Option<Duration> {
        let state = self.lock();
        state.connection.is_none().then(|| state.disconnected.elapsed())
    }

    /// How many payloads are queued or not acknowledged.
    pub(crate) fn kept(&self) -> usize {
        self.lock().link.kept()
    }

    /// A new view: a new link, over the same connection if there is one. On both ends it counts from 1.
    pub(crate) fn enter(&self, epoch: u64) {
        let mut state = self.lock();
        state.link = Link::new(epoch, state.limits);
        if let Some(connection) = &mut state.connection {
            connection.ack_planned = false;
            state.link.connected(0).expect("a new link has nothing to contradict");
        }
    }

    /// The view and the number for our hello.
    pub(crate) fn hello(&self) -> (u64, u64) {
        let mut state = self.lock();
        (state.link.epoch(), state.link.hello())
    }

    /// A connection stands: the peer has said this hello. `greeting` are bytes that go out first; it is given the
    /// numbers for our hello. Answers the number of the connection and how many payloads are sent again.
    pub(crate) fn connect(
        &self,
        writer: Writer,
        version: u8,
        hello: &Hello,
        greeting: impl FnOnce(u64, u64) -> Vec<u8>,
    ) -> Result<(u64, Arc<Signals>, usize), LinkError> {
        let mut state = self.lock();
        state.disconnect(Trouble::Replaced);
        let bytes = greeting(state.link.epoch(), state.link.hello());
        let resent = match hello.epoch.cmp(&state.link.epoch()) {
            std::cmp::Ordering::Equal => state.link.connected(hello.received)?,
            // The peer is not here yet, so it has received nothing of this view.
            std::cmp::Ordering::Less => state.link.connected(0)?,
            // The peer is ahead and would drop what we send: the link waits for the next view.
            std::cmp::Ordering::Greater => 0,
        };
        state.connections += 1;
        let (number, signals) = (state.connections, Arc::new(Signals::default()));
        let pen = Some(Box::new(Pen { writer, bytes, written: 0 }));
        state.connection = Some(Connection {
            number,
            version,
            signals: signals.clone(),
            pen,
            congested: false,
            bare_frame_due: false,
            ack_planned: false,
            wrote: false,
        });
        self.write(state, Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
        Ok((number, signals, resent))
    }

    /// Gives up a connection, if it is still the current one.
    pub(crate) fn disconnect(&self, number: u64, trouble: Trouble) {
        let mut state = self.lock();
        if state.current(number).is_some() {
            state.disconnect(trouble);
        }
    }

    /// Gives up the current connection, whichever it is.
    pub(crate) fn disconnect_any(&self, trouble: Trouble) {
        self.lock().disconnect(trouble);
    }

    /// Why the last connection was given up.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// Takes in a frame: its view, and the payloads to deliver.
    pub(crate) fn received<'f, 'a>(&self, frame: &'f Frame<'a>) -> Result<&'f [&'a [u8]], LinkError> {
        self.lock().link.received(frame)
    }

    /// What was received has been delivered: sees to the acknowledgement, if no payload has taken it along.
    pub(crate) fn delivered(&self) {
        let mut state = self.lock();
        let (wanted, urgent) = (state.link.wants_ack(), state.link.wants_ack_now());
        let Some(connection) = &mut state.connection else { return };
        if urgent {
            connection.bare_frame_due = true;
            self.write(state, Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
        } else if wanted && !connection.ack_planned {
            connection.ack_planned = true;
            connection.signals.wake.notify_one();
        }
    }

    /// For the writer task: how things are, or `None` if the connection is over.
    pub(crate) fn look(&self, number: u64) -> Option<Look> {
        let mut state = self.lock();
        let connection = state.current(number)?;
        Some(Look { congested: connection.congested, ack_planned: connection.ack_planned })
    }

    /// For the writer task: the planned acknowledgement goes out, unless a payload has taken it along.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut state = self.lock();
        let wanted = state.link.wants_ack();
        let Some(connection) = state.current(number) else { return };
        connection.ack_planned = false;
        connection.bare_frame_due |= wanted;
        self.write(state, Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
    }

    /// For the writer task: a sign of life, unless something was written since the last time.
    pub(crate) fn sign_of_life(&self, number: u64) {
        let mut state = self.lock();
        let Some(connection) = state.current(number) else { return };
        connection.bare_frame_due |= !connection.wrote;
        connection.wrote = false;
        self.write(state, Scribe::Sender, &mut Context::from_waker(Waker::noop())).is_ready();
    }

    /// For the writer task: writes until everything is out.
    pub(crate) fn catch_up(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.write(self.lock(), Scribe::WriterTask, cx)
    }

    /// Writes until nothing is queued, if it is this scribe's turn. The lock is not held while the socket is written
    /// to, so that senders never wait for the operating system.
    fn write<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        scribe: Scribe,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        for round in 0.. {
            let State { link, connection: Some(connection), .. } = &mut *state else { break };
            if connection.congested != (scribe == Scribe::WriterTask) {
                break;
            }
            let Some(mut pen) = connection.pen.take() else { break };
            if pen.bytes.is_empty() && !connection.fill(link, &mut pen.bytes) {
                connection.congested = false;
                connection.pen = Some(pen);
                break;
            }
            if scribe == Scribe::Sender && round == MOST_ROUNDS {
                connection.pen = Some(pen);
                connection.hand_over();
                break;
            }
            let number = connection.number;
            drop(state);
            let progress = pen.write(cx);
            state = self.lock();
            let Some(connection) = state.current(number) else { break };
            connection.pen = Some(pen);
            match progress {
                Poll::Ready(Ok(())) => connection.wrote = true,
                Poll::Ready(Err(error)) => state.disconnect(Trouble::from(error)),
                Poll::Pending if scribe == Scribe::Sender => {
                    connection.hand_over();
                    break;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}

impl State {
    fn current(&mut self, number: u64) -> Option<&mut Connection> {
        self.connection.as_mut().filter(|connection| connection.number == number)
    }

    fn disconnect(&mut self, trouble: Trouble) {
        let Some(connection) = self.connection.take() else { return };
        self.link.disconnected();
        self.disconnected = Instant::now();
        self.trouble = Some(trouble);
        connection.signals.broken.notify_one();
        connection.signals.wake.notify_one();
    }
}

impl Connection {
    /// Puts the next frame into the bytes to write, if there is any.
    fn fill(&mut self, link: &mut Link, bytes: &mut Vec<u8>) -> bool {
        let bare_frame_due = std::mem::take(&mut self.bare_frame_due);
        if let Some(frame) = link.take_frame(BATCH_BYTES) {
            wire::put_frame(self.version, &frame, bytes);
            return true;
        }
        let frame = if bare_frame_due { link.take_acknowledgement() } else { None };
        if let Some(frame) = &frame {
            wire::put_frame(self.version, frame, bytes);
        }
        frame.is_some()
    }

    fn hand_over(&mut self) {
        self.congested = true;
        self.signals.wake.notify_one();
    }
}

impl Pen {
    /// Writes what is in the pen.
    fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.bytes.len() {
            let rest = &self.bytes[self.written..];
            match ready!(Pin::new(&mut self.writer).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
        self.written = 0;
        self.bytes.clear();
        self.bytes.shrink_to(2 * BATCH_BYTES);
        Poll::Ready(Ok(()))
    }
}

impl Signals {
    pub(crate) fn take_heard(&self) -> bool {
        self.heard.swap(false, Ordering::Relaxed) || self.occupied.load(Ordering::Relaxed)
    }
}
