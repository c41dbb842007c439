//! One thread that owns the sockets of a node's clients and peers.
//!
//! It waits until sockets are ready, visits the [`Source`] of each, and at the end of the round writes once to every
//! connection that something was queued for. Nothing here can wake itself: a socket that is not ready, or that its
//! source does not want to read from, costs nothing. A source does a bounded piece of work in a visit and asks for
//! another round if there is more, so none keeps the others waiting for long.
//!
//! Readiness is told once for each change (edges). A source therefore remembers that its socket may be readable until a
//! read finds it empty. A write that finds the socket full needs no such care: the next edge visits the source.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Interest, Poll, Token, Waker};
use tokio::sync::watch;

use crate::watchdog::{BEAT, Heart};

/// How many sockets are looked at in one round: what they cause is written at its end.
const MOST_EVENTS: usize = 256;
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// The waker's own; sources count from 0.
const WAKER: Token = Token(usize::MAX);

/// Why a source is visited: what its socket is ready for, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    /// There may be something to read, or the other end has closed.
    pub(crate) to_read: bool,
    /// The socket may take more, after it was full.
    pub(crate) to_write: bool,
    /// The other end has closed: the next reads end with an end of file or an error.
    pub(crate) closed: bool,
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
pub(crate) enum Next {
    /// To be visited when its socket is ready, or when it is due.
    Wait,
    /// To be visited in the next round: there is more to do.
    Again,
    /// To be closed.
    Over,
}

/// A socket, and what is done about it. Lives on the thread of the reactor.
pub(crate) trait Source: Send {
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
pub(crate) trait Outbound: Send + Sync {
    /// Writes what is queued, as far as the socket takes it.
    fn flush(&self);
}

/// Connections that something was queued for since they were last written to.
pub(crate) type Dirty = Vec<Arc<dyn Outbound>>;

/// What a source has in a visit.
pub(crate) struct Round<'a> {
    /// Where to read into.
    pub(crate) buffer: &'a mut [u8],
    /// What is to be written at the end of the round.
    pub(crate) dirty: &'a mut Dirty,
    /// Sources to adopt at the end of the round.
    pub(crate) newcomers: &'a mut Vec<Box<dyn Source>>,
    /// When the round began.
    pub(crate) now: Instant,
}

/// A source of this reactor. A later one may have the same number: a visit in vain does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceId(usize);

/// A running reactor. Clones are the same; it runs until [`Reactor::stop`].
#[derive(Clone)]
pub(crate) struct Reactor {
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
    /// Starts the thread. It beats this heart.
    pub(crate) fn start(heart: Option<Heart>) -> io::Result<Reactor> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let shared = Arc::new(Shared {
            waker,
            asleep: AtomicBool::new(false),
            orders: Mutex::default(),
            over: watch::Sender::new(false),
        });
        let loops = Loop {
            poll,
            shared: shared.clone(),
            heart,
            slots: Vec::new(),
            free: Vec::new(),
            clocks: Vec::new(),
            timers: BTreeSet::new(),
            again: Vec::new(),
            buffer: vec![0; READ_BYTES],
            dirty: Vec::new(),
            newcomers: Vec::new(),
        };
        thread::Builder::new().name("tokenwood-sockets".to_owned()).spawn(move || loops.run())?;
        Ok(Reactor { shared })
    }

    /// Has the reactor visit this source from now on.
    pub(crate) fn adopt(&self, source: Box<dyn Source>) {
        self.order(|orders| orders.adopt.push(source));
    }

    /// Has a source visited soon.
    pub(crate) fn visit(&self, source: SourceId) {
        self.order(|orders| orders.visit.push(source));
    }

    /// Ends the wait of the thread, if it waits: something is due earlier than it was.
    pub(crate) fn wake(&self) {
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            // It fails only if the process has no memory left; the wait is bounded all the same.
            _ = self.shared.waker.wake();
        }
    }

    /// Closes all sources and ends the thread. Comes back when that is done.
    pub(crate) async fn stop(&self) {
        self.order(|orders| orders.stop = true);
        self.ended().await;
    }

    /// Comes back when the thread has ended.
    pub(crate) async fn ended(&self) {
        _ = self.shared.over.subscribe().wait_for(|over| *over).await;
    }

    fn order(&self, order: impl FnOnce(&mut Orders)) {
        order(&mut self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake();
    }
}

/// The thread's own.
struct Loop {
    poll: Poll,
    shared: Arc<Shared>,
    heart: Option<Heart>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// The sources without a socket.
    clocks: Vec<usize>,
    /// When to visit which source; at most one entry for each.
    timers: BTreeSet<(Instant, usize)>,
    /// What to visit in the next round.
    again: Vec<usize>,
    buffer: Vec<u8>,
    dirty: Dirty,
    newcomers: Vec<Box<dyn Source>>,
}

struct Slot {
    source: Box<dyn Source>,
    /// Its entry among the timers. It may be earlier than the source is due: then the visit is in vain.
    planned: Option<Instant>,
    /// What it is ready for, if it is to be visited in this round.
    ready: Option<Ready>,
}

/// Runs when the thread ends, also by a panic: nobody shall wait for it in vain.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.over.send_replace(true);
    }
}

impl Loop {
    fn run(mut self) {
        let _ending = Ending(self.shared.clone());
        let (mut events, mut visits) = (Events::with_capacity(MOST_EVENTS), Vec::new());
        loop {
            self.wait(&mut events);
            let now = Instant::now();
            std::mem::swap(&mut self.again, &mut visits);
            for event in events.iter().filter(|event| event.token() != WAKER) {
                self.mark(event.token().0, Ready::of(event), &mut visits);
            }
            while let Some(&(due, index)) = self.timers.first().filter(|(due, _)| *due <= now) {
                self.timers.remove(&(due, index));
                self.slots[index].as_mut().expect("a source that is gone has no timer").planned = None;
                self.mark(index, Ready::default(), &mut visits);
            }
            let stop = self.take_orders(&mut visits);
            for index in visits.drain(..) {
                self.visit(index, now);
            }
            self.finish_round();
            if stop {
                return self.close_all();
            }
        }
    }

    /// Waits for sockets, orders or the earliest timer.
    fn wait(&mut self, events: &mut Events) {
        // In this order: what is ordered or planned after the last look finds the thread asleep, and wakes it.
        self.shared.asleep.store(true, Ordering::SeqCst);
        let ordered = {
            let orders = self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner);
            !orders.adopt.is_empty() || !orders.visit.is_empty() || orders.stop
        };
        let timeout = if ordered || !self.again.is_empty() { Some(Duration::ZERO) } else { self.until_due() };
        let timeout = match &self.heart {
            None => timeout,
            Some(heart) => {
                heart.beat();
                Some(timeout.map_or(BEAT, |timeout| timeout.min(BEAT)))
            }
        };
        let waited = self.poll.poll(events, timeout);
        self.shared.asleep.store(false, Ordering::SeqCst);
        match waited {
            Ok(()) => {}
            // A signal. The events of the round before are still there, and not to be seen twice.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => panic!("the sockets of this node cannot be waited for: {error}"),
        }
    }

    fn until_due(&mut self) -> Option<Duration> {
        for place in 0..self.clocks.len() {
            self.plan(self.clocks[place]);
        }
        let due = self.timers.first().map(|(due, _)| *due)?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Marks a source to be visited in this round.
    fn mark(&mut self, index: usize, ready: Ready, visits: &mut Vec<usize>) {
        let Some(Some(slot)) = self.slots.get_mut(index) else { return };
        if slot.ready.is_none() {
            visits.push(index);
        }
        slot.ready.get_or_insert_default().add(ready);
    }

    /// Does what was ordered. Returns whether the reactor is to stop.
    fn take_orders(&mut self, visits: &mut Vec<usize>) -> bool {
        let Orders { adopt, visit, stop } =
            std::mem::take(&mut *self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner));
        for SourceId(index) in visit {
            self.mark(index, Ready::default(), visits);
        }
        adopt.into_iter().for_each(|source| self.adopt(source));
        stop
    }

    fn adopt(&mut self, mut source: Box<dyn Source>) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        match source.socket() {
            Some((socket, interest)) => {
                if self.poll.registry().register(socket, Token(index), interest).is_err() {
                    // The operating system has no room for it.
                    self.free.push(index);
                    return source.close(&mut self.round(Instant::now()));
                }
            }
            None => self.clocks.push(index),
        }
        source.adopted(SourceId(index));
        // What came before it was registered raises no edge.
        let ready = Ready { to_read: true, ..Ready::default() };
        self.slots[index] = Some(Slot { source, planned: None, ready: Some(ready) });
        self.again.push(index);
    }

    fn round(&mut self, now: Instant) -> Round<'_> {
        Round { buffer: &mut self.buffer, dirty: &mut self.dirty, newcomers: &mut self.newcomers, now }
    }

    fn visit(&mut self, index: usize, now: Instant) {
        let Loop { slots, buffer, dirty, newcomers, again, .. } = self;
        let Some(Some(slot)) = slots.get_mut(index) else { return };
        let ready = slot.ready.take().unwrap_or_default();
        match slot.source.visit(ready, &mut Round { buffer, dirty, newcomers, now }) {
            Next::Wait => self.plan(index),
            Next::Again => {
                slot.ready = Some(Ready::default());
                again.push(index);
            }
            Next::Over => self.close(index, now),
        }
    }

    /// Sees to it that a source is visited when it is due.
    fn plan(&mut self, index: usize) {
        let Some(Some(slot)) = self.slots.get_mut(index) else { return };
        let Some(due) = slot.source.due() else { return };
        if slot.planned.is_none_or(|planned| due < planned) {
            let before = slot.planned.replace(due);
            before.map(|before| self.timers.remove(&(before, index)));
            self.timers.insert((due, index));
        }
    }

    fn close(&mut self, index: usize, now: Instant) {
        let Some(slot) = self.slots[index].take() else { return };
        slot.planned.map(|planned| self.timers.remove(&(planned, index)));
        self.clocks.retain(|clock| *clock != index);
        self.free.push(index);
        slot.source.close(&mut self.round(now));
    }

    /// Writes what the round brought about.
    fn finish_round(&mut self) {
        self.dirty.drain(..).for_each(|outbound| outbound.flush());
        for source in std::mem::take(&mut self.newcomers) {
            self.adopt(source);
        }
    }

    fn close_all(mut self) {
        let now = Instant::now();
        for index in 0..self.slots.len() {
            self.close(index, now);
        }
        self.finish_round();
    }
}
