//! What a session far away knows: its client, its connection and what waits for either.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use service::Refusal;
use service::client::{Client, News};
use service::frame;
use service::protocol::{ToClient, ToNode};
use tokio::sync::oneshot;

use super::Shared;
use crate::connection::{Broken, Reader, Writer};
use crate::waiters::Waiters;
use transport::clock;

/// The state of a session.
pub(super) struct State {
    pub(super) client: Client,
    pub(super) waiting: Waiters,
    /// Learns once whether the session is open.
    pub(super) opened: Option<oneshot::Sender<Result<(), Refusal>>>,
    /// The reading half of the connection, and the waker for its socket.
    pub(super) reader: Option<(Reader, Waker)>,
    /// How reading from this connection ended. The task of the session acts on it.
    pub(super) ended: Option<Ended>,
    /// The writing half of the connection, and the version that was agreed on.
    pub(super) writer: Option<(Arc<Writer>, u8)>,
    pub(super) outgoing: Vec<u8>,
    /// The connection has taken bytes that have not all gone out.
    pub(super) unflushed: bool,
    /// Several requests were answered at once. Their tasks run next, and one write carries what they ask for.
    pub(super) gathers: bool,
    /// The program has dropped the session.
    pub(super) closing: bool,
    /// The task of the session is gone, with its runtime: the session hears nothing any more.
    pub(super) deaf: bool,
}

/// How a conversation over one connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The connection is broken.
    Broken,
    /// The session is over.
    Over,
}

impl From<Broken> for Ended {
    fn from(_: Broken) -> Ended {
        Ended::Broken
    }
}

impl State {
    /// A session without a connection.
    pub(super) fn new(client: Client, opened: oneshot::Sender<Result<(), Refusal>>) -> State {
        State {
            client,
            waiting: Waiters::default(),
            opened: Some(opened),
            reader: None,
            ended: None,
            writer: None,
            outgoing: Vec::new(),
            unflushed: false,
            gathers: false,
            closing: false,
            deaf: false,
        }
    }

    /// Whether one request waits, and the session is there for nothing else: so what the node says concerns only that one.
    pub(super) fn is_all_for_one(&self) -> bool {
        self.waiting.is_one() && self.client.held().is_empty()
    }

    /// Whether the task of the session does not wait for room in the socket.
    pub(super) fn is_idle(&self) -> bool {
        self.gathers || self.outgoing.is_empty()
    }

    /// Puts something into the connection's buffer. Without a connection it is said when there is one.
    pub(super) fn say(&mut self, said: &ToNode) {
        if let Some((_, version)) = self.writer {
            frame::put(version, said, &mut self.outgoing);
        }
    }

    /// Writes what the socket takes.
    pub(super) fn write(&mut self) -> Result<(), Broken> {
        let Some((writer, _)) = &self.writer else { return Ok(()) };
        while !self.outgoing.is_empty() {
            match writer.try_write(&self.outgoing) {
                Ok(written) => _ = self.outgoing.drain(..written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return Err(Broken),
            }
        }
        self.unflushed = match writer.try_flush() {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(_) => return Err(Broken),
        };
        Ok(())
    }

    /// Whether the socket did not take everything.
    pub(super) fn has_more_to_write(&self) -> bool {
        self.unflushed || !self.outgoing.is_empty()
    }

    /// Reads and hears all that is there. After that the socket rings when there is more. Returns how many requests were
    /// answered.
    pub(super) fn listen(&mut self, shared: &Shared) -> usize {
        let mut answered = 0;
        if self.ended.is_none() {
            shared.bell.is_answered();
            self.ended = self.read_all(shared, &mut answered).err();
        }
        answered
    }

    fn read_all(&mut self, shared: &Shared, answered: &mut usize) -> Result<(), Ended> {
        loop {
            while let Some(heard) = self.next()? {
                *answered += usize::from(matches!(heard, ToClient::Reply(_)));
                self.hear(&heard, shared)?;
            }
            let Some((reader, bell)) = &mut self.reader else { return Ok(()) };
            match reader.poll_read(&mut Context::from_waker(bell)) {
                Poll::Pending => return Ok(()),
                Poll::Ready(read) => read?,
            }
        }
    }

    fn next(&mut self) -> Result<Option<ToClient>, Broken> {
        let Some((reader, _)) = &mut self.reader else { return Ok(None) };
        Ok(reader.next()?)
    }

    fn hear(&mut self, heard: &ToClient, shared: &Shared) -> Result<(), Ended> {
        match self.client.hear(heard, clock::now()) {
            Some(News::Granted(request, grant)) => self.waiting.answer(request, Ok(grant)),
            Some(News::Refused(request, refusal)) => self.waiting.answer(request, Err(refusal)),
            Some(News::Revoked(request)) => shared.lost.send_modify(|losses| losses.lose(request)),
            Some(News::Opened) => _ = self.opened.take().map(|opened| opened.send(Ok(()))),
            Some(News::NotOpened(refusal)) => {
                _ = self.opened.take().map(|opened| opened.send(Err(refusal)));
                return Err(Ended::Over);
            }
            Some(News::Lost) => return Err(Ended::Over),
            None => {}
        }
        Ok(())
    }
}
