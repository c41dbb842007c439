//! One thread, or one task, that owns the sockets of a node's clients and peers.
//!
//! It waits until sockets are ready, visits the [`Source`] of each, and at the end of the round writes once
//! to every connection that something was queued for. Nothing here can wake itself: a socket that is not
//! ready, or that its source does not want to read from, costs nothing. A source does a bounded piece of work
//! in a visit and asks for another round if there is more, so none keeps the others waiting for long.
//!
//! Readiness is reported once for each change (edges). A source therefore remembers that its socket may be
//! readable until a read finds it empty. A write that finds the socket full needs no such care: the next edge
//! visits the source.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Interest, Poll, Token, Waker};
use sync::IgnorePoison;
use tokio::sync::watch;

mod rounds;
#[cfg(test)]
mod tests;

use rounds::Rounds;

/// The waker's own; sources count from 0.
const WAKER: Token = Token(usize::MAX);

/// Where the sockets of a node are read from and written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockets {
    /// On a thread of their own: the least work for each message. For a process that does nothing but to be a node.
    OwnThread,
    /// In a task of the runtime, where a program also waits for its locks: a grant reaches it without a hop between threads.
    Runtime,
}

/// A sign of life that the reactor gives, so that a watchdog can notice a reactor that hangs.
pub struct Heartbeat {
    /// The longest time between two signs.
    pub every: Duration,
    /// Gives the sign. Must not block.
    pub beat: Box<dyn Fn() + Send>,
}

/// Why a source is visited: what its socket is ready for, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ready {
    /// There may be something to read, or the other end has closed.
    pub to_read: bool,
    /// The socket may take more, after it was full.
    pub to_write: bool,
    /// The other end has closed: the next reads end with an end of file or an error.
    pub closed: bool,
}

impl Ready {
    fn of(event: &Event) -> Ready {
        let closed = event.is_read_closed() || event.is_error();
        Ready { to_read: event.is_readable() || closed, to_write: event.is_writable(), closed }
    }

    fn add(&mut self, more: Ready) {
        self.to_read |= more.to_read;
        self.to_write |= more.to_write;
        self.closed |= more.closed;
    }
}

/// What a source wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To be visited when its socket is ready, or when it is due.
    Wait,
    /// To be visited in the next round: there is more to do.
    Again,
    /// To be visited when it is its turn for something that takes long, see [`Round::long`].
    Later,
    /// To be closed.
    Over,
}

/// A socket, and what is done about it. Lives with the reactor.
pub trait Source: Send {
    /// The socket to wait for, and what for; asked once. A source without one is only visited when it is due. The socket is
    /// forgotten when the operating system closes it.
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)>;

    /// Where it will be visited from now on.
    fn adopted(&mut self, id: SourceId) {
        let _ = id;
    }

    /// Does a bounded piece of work, without waiting.
    fn visit(&mut self, ready: Ready, round: &mut Round<'_>) -> Next;

    /// When to visit it, ready or not. Asked after each visit; a source without a socket is asked before each wait.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// It is over: asked for by itself, or because the reactor stops.
    fn close(self: Box<Self>, round: &mut Round<'_>);
}

/// What bytes are queued in until they are written.
pub trait Outbound: Send + Sync {
    /// Writes what is queued, as far as the socket takes it.
    fn flush(&self);
}

/// Connections that something was queued for since they were last written to.
pub type Dirty = Vec<Arc<dyn Outbound>>;

/// What a source has in a visit.
pub struct Round<'a> {
    /// Where to read into.
    pub buffer: &'a mut [u8],
    /// What is to be written at the end of the round.
    pub dirty: &'a mut Dirty,
    /// Sources to adopt at the end of the round.
    pub newcomers: &'a mut Vec<Box<dyn Source>>,
    /// When the round began.
    pub now: Instant,
    /// It is this source's turn for one thing that takes long. However many sources want to do such things, a round has time
    /// for few of them, after everything else.
    pub long: bool,
}

/// A source of this reactor. A later one may have the same number: a visit in vain does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(usize);

/// A running reactor. Clones are the same; it runs until [`Reactor::stop`].
#[derive(Clone)]
pub struct Reactor {
    shared: Arc<Shared>,
}

struct Shared {
    waker: Waker,
    /// The thread waits, or is about to look for the last time whether it has to.
    asleep: AtomicBool,
    orders: Mutex<Orders>,
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct Orders {
    adopt: Vec<Box<dyn Source>>,
    visit: Vec<SourceId>,
    stop: bool,
}

impl Reactor {
    /// Starts the thread or the task; for a task this belongs into a tokio runtime. It gives this sign of life.
    pub fn start(sockets: Sockets, heartbeat: Option<Heartbeat>) -> io::Result<Reactor> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let shared = Arc::new(Shared {
            waker,
            asleep: AtomicBool::new(false),
            orders: Mutex::default(),
            over: watch::Sender::new(false),
        });
        let rounds = Rounds::new(poll, shared.clone(), heartbeat);
        match sockets {
            Sockets::OwnThread => {
                let named = thread::Builder::new().name("tokenwood-sockets".to_owned());
                named.spawn(move || rounds.run_on_thread())?;
            }
            Sockets::Runtime => _ = tokio::spawn(rounds.run_on_runtime()?),
        }
        Ok(Reactor { shared })
    }

    /// Has the reactor visit this source from now on.
    pub fn adopt(&self, source: Box<dyn Source>) {
        self.order(|orders| orders.adopt.push(source));
    }

    /// Has a source visited soon.
    pub fn visit(&self, source: SourceId) {
        self.order(|orders| orders.visit.push(source));
    }

    /// Ends the wait of the thread, if it waits: something is due earlier than it was.
    pub fn wake(&self) {
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            // It fails only if the process has no memory left; the wait is bounded all the same.
            _ = self.shared.waker.wake();
        }
    }

    /// Closes all sources and ends the thread. Comes back when that is done.
    pub async fn stop(&self) {
        self.order(|orders| orders.stop = true);
        self.ended().await;
    }

    /// Comes back when the thread has ended.
    pub async fn ended(&self) {
        _ = self.shared.over.subscribe().wait_for(|over| *over).await;
    }

    fn order(&self, order: impl FnOnce(&mut Orders)) {
        order(&mut self.shared.orders.lock().ignore_poison());
        self.wake();
    }
}
