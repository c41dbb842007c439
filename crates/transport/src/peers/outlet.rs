//! The writing end: a peer's link, the connection below it if there is one, and which thread may write at the moment.
//!
//! A thread that sends writes into the socket right away, without waking another: that is the shortest way a message can
//! take. The reactor does so once at the end of its round. There is one pen for each connection. A thread that finds it
//! taken leaves its payload in the link; the thread that has it looks there again before it puts the pen back, so that many
//! senders share one write. When the socket is full, senders only queue until the reactor hears that it has room.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sync::IgnorePoison;

use super::trouble::Trouble;
use crate::link::{Frame, Full, Limits, Link, LinkError};
use crate::reactor::{Dirty, Outbound, SourceId};
use crate::stream::Stream;
use crate::wire::{self, Hello};

/// How many bytes of payloads go into one frame, unless a single one is longer.
const BATCH_BYTES: usize = 128 << 10;

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
    /// No connection is wanted any more.
    shut: bool,
    /// A thread is about to write what is queued.
    dirty: bool,
}

struct Connection {
    number: u64,
    version: u8,
    stream: Arc<Stream>,
    /// Where the reactor visits it.
    source: SourceId,
    /// Absent while a thread writes.
    pen: Option<Box<Pen>>,
    /// The socket was full: only the reactor writes, when it hears that there is room.
    full: bool,
    /// The reactor learnt that there is room while another thread had the pen.
    has_room: bool,
    /// A frame shall go out even if there is no payload for it.
    bare_frame_due: bool,
    /// Something was written since the last sign of life was due.
    wrote: bool,
}

#[derive(Default)]
struct Pen {
    bytes: Vec<u8>,
    written: usize,
    /// The stream has taken bytes that may not have gone out.
    unflushed: bool,
}

/// Whether what was received has been acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// It has, or is about to be.
    Yes,
    /// A payload may take the acknowledgement along.
    NotYet,
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
            shut: false,
            dirty: false,
        };
        Outlet { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can leave the state half changed, except by a bug that panics there.
        self.state.lock().ignore_poison()
    }

    /// Queues a payload without writing.
    pub(crate) fn queue(&self, payload: Vec<u8>) -> Result<(), Full> {
        self.lock().link.send(payload)
    }

    /// Queues a payload that goes out when `dirty` is flushed. Returns how many are kept.
    pub(crate) fn queue_in(self: &Arc<Outlet>, payload: Vec<u8>, dirty: &mut Dirty) -> Result<usize, Full> {
        let mut state = self.lock();
        state.link.send(payload)?;
        if !std::mem::replace(&mut state.dirty, true) {
            dirty.push(self.clone());
        }
        Ok(state.link.kept())
    }

    /// Queues a payload and writes, if no other thread does.
    pub(crate) fn send(&self, payload: Vec<u8>) -> Result<(), Full> {
        let mut state = self.lock();
        state.link.send(payload)?;
        self.write(state);
        Ok(())
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

    /// A new view: a new link, over the same connection if there is one. On both ends it counts from 1. Returns where the
    /// reactor visits the connection: frames of this view may wait there.
    pub(crate) fn enter(&self, epoch: u64) -> Option<SourceId> {
        let mut state = self.lock();
        state.link = Link::new(epoch, state.limits);
        let source = state.connection.as_ref()?.source;
        state.link.connected(0).expect("a new link has nothing to contradict");
        Some(source)
    }

    /// The view and the number for our hello.
    pub(crate) fn hello(&self) -> (u64, u64) {
        let mut state = self.lock();
        (state.link.epoch(), state.link.hello())
    }

    /// A connection stands: the peer has said this hello. `greeting` makes bytes that go out first; it is given the
    /// numbers for our hello. Returns the number of the connection and how many payloads are sent again.
    pub(crate) fn connect(
        &self,
        (stream, source): (Arc<Stream>, SourceId),
        version: u8,
        hello: &Hello,
        greeting: impl FnOnce(u64, u64) -> Vec<u8>,
    ) -> Result<(u64, usize), Trouble> {
        let mut state = self.lock();
        if state.shut {
            return Err(Trouble::Left);
        }
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
        let number = state.connections;
        state.connection = Some(Connection {
            number,
            version,
            stream,
            source,
            pen: Some(Box::new(Pen { bytes, ..Pen::default() })),
            full: false,
            has_room: false,
            bare_frame_due: false,
            wrote: false,
        });
        self.write(state);
        Ok((number, resent))
    }

    /// Gives up a connection, if it is still the current one.
    pub(crate) fn disconnect(&self, number: u64, trouble: Trouble) {
        let mut state = self.lock();
        if state.current(number).is_some() {
            state.disconnect(trouble);
        }
    }

    /// Gives up the current connection, if there is one; there will be no other.
    pub(crate) fn shut(&self, trouble: Trouble) {
        let mut state = self.lock();
        state.shut = true;
        state.disconnect(trouble);
    }

    /// Whether no connection is wanted any more.
    pub(crate) fn is_shut(&self) -> bool {
        self.lock().shut
    }

    /// Whether this is the current connection.
    pub(crate) fn is_current(&self, number: u64) -> bool {
        self.lock().current(number).is_some()
    }

    /// Why the last connection was given up.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// Takes in a frame: its view, and the payloads to deliver.
    pub(crate) fn received<'f, 'a>(&self, frame: &'f Frame<'a>) -> Result<&'f [&'a [u8]], LinkError> {
        self.lock().link.received(frame)
    }

    /// What was received has been delivered: sees to the acknowledgement if it is urgent.
    pub(crate) fn delivered(self: &Arc<Outlet>, dirty: &mut Dirty) -> Acknowledged {
        let mut state = self.lock();
        if !state.link.wants_ack() {
            return Acknowledged::Yes;
        }
        if !state.link.wants_ack_now() {
            return Acknowledged::NotYet;
        }
        self.owe_frame(&mut state, dirty);
        Acknowledged::Yes
    }

    /// It is time for an acknowledgement, unless a payload has taken it along.
    pub(crate) fn acknowledge(self: &Arc<Outlet>, dirty: &mut Dirty) {
        let mut state = self.lock();
        if state.link.wants_ack() {
            self.owe_frame(&mut state, dirty);
        }
    }

    /// It is time for a sign of life, unless something was written since the last time.
    pub(crate) fn sign_of_life(self: &Arc<Outlet>, number: u64, dirty: &mut Dirty) {
        let mut state = self.lock();
        let Some(connection) = state.current(number) else { return };
        if !std::mem::take(&mut connection.wrote) {
            self.owe_frame(&mut state, dirty);
        }
    }

    /// A frame goes out when `dirty` is flushed, even if there is no payload for it.
    fn owe_frame(self: &Arc<Outlet>, state: &mut State, dirty: &mut Dirty) {
        let Some(connection) = &mut state.connection else { return };
        connection.bare_frame_due = true;
        if !std::mem::replace(&mut state.dirty, true) {
            dirty.push(self.clone());
        }
    }

    /// The reactor hears that the socket has room.
    pub(crate) fn has_room(&self, number: u64) {
        let mut state = self.lock();
        let Some(connection) = state.current(number) else { return };
        match connection.pen {
            Some(_) if connection.full => {
                connection.full = false;
                self.write(state);
            }
            Some(_) => {}
            // It may be about to find the socket full, as it was a moment ago.
            None => connection.has_room = true,
        }
    }

    /// Writes until nothing is queued or the socket is full, unless another thread does. The lock is not held while the
    /// socket is written to, so that senders never wait for the operating system.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        loop {
            let State { link, connection: Some(connection), .. } = &mut *state else { return };
            if connection.full {
                return;
            }
            let Some(mut pen) = connection.pen.take() else { return };
            if pen.is_empty() && !connection.fill(link, &mut pen.bytes) {
                connection.pen = Some(pen);
                return;
            }
            connection.has_room = false;
            let (number, stream) = (connection.number, connection.stream.clone());
            drop(state);
            let progress = pen.write(&stream);
            state = self.lock();
            let Some(connection) = state.current(number) else { return };
            connection.pen = Some(pen);
            match progress {
                Ok(true) => connection.wrote = true,
                Ok(false) => connection.full = !connection.has_room,
                Err(error) => state.disconnect(Trouble::from(error)),
            }
        }
    }
}

impl Outbound for Outlet {
    fn flush(&self) {
        let mut state = self.lock();
        state.dirty = false;
        self.write(state);
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
        connection.stream.shutdown();
    }
}

impl Connection {
    /// Puts the next frames into the bytes to write, if there is any.
    fn fill(&mut self, link: &mut Link, bytes: &mut Vec<u8>) -> bool {
        let bare_frame_due = std::mem::take(&mut self.bare_frame_due);
        let mut filled = false;
        while bytes.len() < BATCH_BYTES
            && let Some(frame) = link.take_frame(BATCH_BYTES - bytes.len())
        {
            wire::put_frame(self.version, &frame, bytes);
            filled = true;
        }
        if filled {
            return true;
        }
        let frame = if bare_frame_due { link.take_acknowledgement() } else { None };
        if let Some(frame) = &frame {
            wire::put_frame(self.version, frame, bytes);
        }
        frame.is_some()
    }
}

impl Pen {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.unflushed
    }

    /// Writes what is in the pen. `false` if the socket is full.
    fn write(&mut self, stream: &Stream) -> io::Result<bool> {
        while self.written < self.bytes.len() {
            match stream.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    self.unflushed = stream.is_encrypted();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.unflushed {
            match stream.flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                flushed => flushed?,
            }
            self.unflushed = false;
        }
        self.written = 0;
        self.bytes.clear();
        self.bytes.shrink_to(2 * BATCH_BYTES);
        Ok(true)
    }
}
