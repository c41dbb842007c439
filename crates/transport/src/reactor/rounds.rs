//! What a reactor does, round after round, on a thread of its own or in a task.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use sync::IgnorePoison;
use tokio::io::unix::AsyncFd;

use super::{Dirty, Heartbeat, Next, Orders, Ready, Round, Shared, Source, SourceId, WAKER};

/// How many sockets are looked at in one round: what they cause is written at its end.
const MOST_EVENTS: usize = 256;
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// So much time of a round goes to what takes long; what was begun by then is finished.
const LONG_WORK: Duration = Duration::from_millis(1);
/// A runtime's timer is set to no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// What a reactor does, round after round.
pub(super) struct Rounds {
    poll: Poll,
    shared: Arc<Shared>,
    heartbeat: Option<Heartbeat>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// The sources without a socket.
    clocks: Vec<usize>,
    /// When to visit which source; at most one entry for each.
    timers: BTreeSet<(Instant, usize)>,
    /// What is visited in this round; empty between two.
    visits: Vec<usize>,
    /// What to visit in the next round.
    again: Vec<usize>,
    /// Whose turn it is for something that takes long, in the order in which they came.
    later: VecDeque<usize>,
    buffer: Vec<u8>,
    dirty: Dirty,
    newcomers: Vec<Box<dyn Source>>,
    #[expect(dead_code, reason = "it is there to be dropped")]
    ending: Ending,
}

/// Whether there is another round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    Ends,
}

/// Sees to it that a timer fires by then. It may fire earlier: then a round is in vain.
fn set_earlier(timer: Pin<&mut tokio::time::Sleep>, until: Instant) {
    if timer.is_elapsed() || timer.deadline().into_std() > until {
        timer.reset(until.into());
    }
}

struct Slot {
    source: Box<dyn Source>,
    /// Its entry among the timers. It may be earlier than the source is due: then the visit is in vain.
    planned: Option<Instant>,
    /// What it is ready for, if it is to be visited in this round.
    ready: Option<Ready>,
    /// It waits for its turn for something that takes long.
    later: bool,
}

/// Runs when the thread or the task ends, also by a panic: no caller may wait for it in vain.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.over.send_replace(true);
    }
}

impl Rounds {
    pub(super) fn new(poll: Poll, shared: Arc<Shared>, heartbeat: Option<Heartbeat>) -> Rounds {
        Rounds {
            poll,
            ending: Ending(shared.clone()),
            shared,
            heartbeat,
            slots: Vec::new(),
            free: Vec::new(),
            clocks: Vec::new(),
            timers: BTreeSet::new(),
            visits: Vec::new(),
            again: Vec::new(),
            later: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
            dirty: Vec::new(),
            newcomers: Vec::new(),
        }
    }

    /// Waits in the operating system.
    pub(super) fn run_on_thread(mut self) {
        let mut events = Events::with_capacity(MOST_EVENTS);
        loop {
            let pause = self.pause();
            self.poll(&mut events, pause);
            if self.round(&events) == Goes::Ends {
                return self.close_all();
            }
        }
    }

    /// Waits with the runtime, which waits for what this reactor waits with.
    pub(super) fn run_on_runtime(mut self) -> io::Result<impl Future<Output = ()> + Send> {
        let waits = self.poll.registry().as_fd().try_clone_to_owned()?;
        #[expect(
            unsafe_code,
            reason = "there is no safe way to register what is no socket; an owned descriptor stays open and the same"
        )]
        let ready = unsafe { AsyncFd::register_with_interest(waits, tokio::io::Interest::READABLE) }?;
        Ok(async move {
            let mut events = Events::with_capacity(MOST_EVENTS);
            let mut timer = Box::pin(tokio::time::sleep(Duration::ZERO));
            loop {
                let pause = self.pause();
                let mut found = None;
                if pause == Some(Duration::ZERO) {
                    // There is more to do; others of this runtime come first.
                    tokio::task::yield_now().await;
                } else {
                    let until = Instant::now() + pause.unwrap_or(LONGEST_PAUSE);
                    set_earlier(timer.as_mut(), until);
                    tokio::select! {
                        biased;
                        readable = ready.readable() => found = readable.ok(),
                        () = &mut timer => {}
                    }
                }
                self.poll(&mut events, Some(Duration::ZERO));
                if let Some(found) = found.as_mut().filter(|_| events.is_empty()) {
                    found.clear_ready();
                }
                if self.round(&events) == Goes::Ends {
                    return self.close_all();
                }
            }
        })
    }

    /// How long to wait at most before the next round; `None` for as long as it takes.
    fn pause(&mut self) -> Option<Duration> {
        // In this order: what is ordered or planned after the last look finds the reactor asleep, and wakes it.
        self.shared.asleep.store(true, Ordering::SeqCst);
        let ordered = {
            let orders = self.shared.orders.lock().ignore_poison();
            !orders.adopt.is_empty() || !orders.visit.is_empty() || orders.stop
        };
        let goes_on = ordered || !self.again.is_empty() || !self.later.is_empty();
        let pause = if goes_on { Some(Duration::ZERO) } else { self.until_due() };
        let Some(Heartbeat { every, beat }) = &self.heartbeat else { return pause };
        beat();
        Some(pause.map_or(*every, |pause| pause.min(*every)))
    }

    /// Learns which sockets are ready; waits at most this long for them.
    fn poll(&mut self, events: &mut Events, pause: Option<Duration>) {
        let polled = self.poll.poll(events, pause);
        self.shared.asleep.store(false, Ordering::SeqCst);
        match polled {
            Ok(()) => {}
            // A signal. The events of the round before are still there, and not to be seen twice.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => panic!("cannot wait for the sockets of this node: {error}"),
        }
    }

    /// Visits all sources that are ready, due or to be visited again.
    fn round(&mut self, events: &Events) -> Goes {
        let now = Instant::now();
        let mut visits = std::mem::take(&mut self.visits);
        visits.append(&mut self.again);
        for event in events.iter().filter(|event| event.token() != WAKER) {
            self.mark(event.token().0, Ready::of(event), &mut visits);
        }
        while let Some(&(due, index)) = self.timers.first().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, index));
            self.slots[index].as_mut().expect("a source that is gone has no timer").planned = None;
            self.mark(index, Ready::default(), &mut visits);
        }
        let goes = self.take_orders(&mut visits);
        for index in visits.drain(..) {
            self.visit(index, now, false);
        }
        self.visits = visits;
        self.do_long_work(now);
        self.finish_round();
        goes
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

    /// Does what was ordered.
    fn take_orders(&mut self, visits: &mut Vec<usize>) -> Goes {
        let Orders { adopt, visit, stop } = std::mem::take(&mut *self.shared.orders.lock().ignore_poison());
        for SourceId(index) in visit {
            self.mark(index, Ready::default(), visits);
        }
        adopt.into_iter().for_each(|source| self.adopt(source));
        if stop { Goes::Ends } else { Goes::On }
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
                    return source.close(&mut self.visiting(Instant::now()));
                }
            }
            None => self.clocks.push(index),
        }
        source.adopted(SourceId(index));
        // What came before it was registered raises no edge.
        let ready = Ready { to_read: true, ..Ready::default() };
        self.slots[index] = Some(Slot { source, planned: None, ready: Some(ready), later: false });
        self.again.push(index);
    }

    fn visiting(&mut self, now: Instant) -> Round<'_> {
        let Rounds { buffer, dirty, newcomers, .. } = self;
        Round { buffer, dirty, newcomers, now, long: false }
    }

    /// Lets those whose turn it is do what takes long, for as long as a round has time for it.
    fn do_long_work(&mut self, now: Instant) {
        if self.later.is_empty() {
            return;
        }
        let begun = Instant::now();
        while let Some(index) = self.later.pop_front() {
            // Another source may have its number by now.
            let Some(Some(slot)) = self.slots.get_mut(index) else { continue };
            if std::mem::take(&mut slot.later) {
                self.visit(index, now, true);
            }
            if begun.elapsed() >= LONG_WORK {
                break;
            }
        }
    }

    fn visit(&mut self, index: usize, now: Instant, long: bool) {
        let Rounds { slots, buffer, dirty, newcomers, again, later, .. } = self;
        let Some(Some(slot)) = slots.get_mut(index) else { return };
        // A source that is among those of the next round stays there.
        let ready = if long { Ready::default() } else { slot.ready.take().unwrap_or_default() };
        match slot.source.visit(ready, &mut Round { buffer, dirty, newcomers, now, long }) {
            Next::Wait => self.plan(index),
            Next::Later => {
                if !std::mem::replace(&mut slot.later, true) {
                    later.push_back(index);
                }
                self.plan(index);
            }
            Next::Again => {
                if slot.ready.is_none() {
                    again.push(index);
                }
                slot.ready.get_or_insert_default();
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
        slot.source.close(&mut self.visiting(now));
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
