//! One peer: getting a connection to it again and again, and what runs while there is one.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use service::Identity;
use service::view::ViewMember;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::inlet::Inlet;
use super::outlet::{Outlet, Signals};
use super::stream::{self, Writer};
use super::trouble::Trouble;
use super::{Inbox, Notice, Timing};
use crate::handshake::{self, Local};
use crate::link::{Frame, LinkError};
use crate::wire::{self, Answer, Hello};

/// A peer, as its task and those who send to it share it.
pub(crate) struct Peer {
    pub(crate) member: ViewMember,
    pub(crate) outlet: Arc<Outlet>,
    pub(crate) arrivals: Arrivals,
}

/// Where the listener leaves a connection for the peer's task: only the newest counts.
#[derive(Default)]
pub(crate) struct Arrivals {
    newest: Mutex<Option<Arrival>>,
    some: Notify,
}

/// A connection over which a peer has said hello.
pub(crate) struct Arrival {
    pub(crate) inlet: Inlet,
    pub(crate) writer: Writer,
    pub(crate) version: u8,
    pub(crate) hello: Hello,
}

impl Arrivals {
    pub(crate) fn put(&self, arrival: Arrival) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrival);
        self.some.notify_one();
    }

    async fn take(&self) -> Arrival {
        loop {
            let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).take();
            match newest {
                Some(arrival) => return arrival,
                None => self.some.notified().await,
            }
        }
    }
}

/// Everything the task of a peer needs.
pub(crate) struct Caretaker<I> {
    pub(crate) peer: Arc<Peer>,
    pub(crate) local: Arc<Local>,
    pub(crate) timing: Timing,
    pub(crate) epochs: watch::Receiver<u64>,
    pub(crate) inbox: Arc<I>,
}

impl<I: Inbox> Caretaker<I> {
    /// Keeps a connection to the peer, for as long as the task is not aborted.
    pub(crate) async fn run(mut self) {
        let mut retry = Retry::new(&self.timing, self.local.me, self.identity());
        loop {
            let result = if handshake::calls(self.local.me, self.identity()) {
                self.call_and_serve(&mut retry).await
            } else {
                self.await_and_serve().await
            };
            if let Err(why) = result {
                self.inbox.notice(Notice::NoConnection { peer: self.identity(), why });
            }
            if handshake::calls(self.local.me, self.identity()) {
                sleep(retry.next()).await;
            }
        }
    }

    fn identity(&self) -> Identity {
        self.peer.member.identity
    }

    async fn call_and_serve(&mut self, retry: &mut Retry) -> Result<(), Trouble> {
        let called = timeout(self.timing.greeting, self.call()).await;
        let Arrival { inlet, writer, version, hello } = called.map_err(|_| Trouble::TimedOut)??;
        let outlet = self.peer.outlet.clone();
        let (number, signals, resent) = outlet.connect(writer, version, &hello, |_, _| Vec::new())?;
        let since = Instant::now();
        self.serve(inlet, version, number, signals, resent).await;
        // A connection that breaks at once is no better than none.
        if since.elapsed() >= self.timing.patience {
            retry.reset();
        }
        Ok(())
    }

    /// Calls the peer and reads its answer.
    async fn call(&self) -> Result<Arrival, Trouble> {
        let stream = TcpStream::connect(&*self.peer.member.address).await?;
        let (reader, mut writer) = stream::wrap(stream).await?;
        let (epoch, received) = self.peer.outlet.hello();
        let mut bytes = Vec::new();
        wire::put_hello(&self.local.hello(self.identity(), epoch, received), &mut bytes);
        writer.write_all(&bytes).await?;
        let mut inlet = Inlet::new(reader);
        let body = read_greeting(&mut inlet).await?;
        match wire::answer(&body)? {
            Answer::Welcome(hello) => {
                let version = self.local.judge_called(&hello, self.identity())?;
                Ok(Arrival { inlet, writer, version, hello })
            }
            Answer::Refused(refusal) => Err(refusal.into()),
        }
    }

    async fn await_and_serve(&mut self) -> Result<(), Trouble> {
        let Arrival { inlet, writer, version, hello } = self.peer.arrivals.take().await;
        let outlet = self.peer.outlet.clone();
        let welcome = |epoch, received| {
            let mut bytes = Vec::new();
            let hello = self.local.hello(self.identity(), epoch, received);
            wire::put_answer(&Answer::Welcome(hello), &mut bytes);
            bytes
        };
        let (number, signals, resent) = outlet.connect(writer, version, &hello, welcome)?;
        self.serve(inlet, version, number, signals, resent).await;
        Ok(())
    }

    /// Reads and writes until the connection is over. Only one connection at a time is read from, and what was read
    /// is delivered before the next one begins: otherwise payloads could overtake each other.
    async fn serve(&mut self, inlet: Inlet, version: u8, number: u64, signals: Arc<Signals>, resent: usize) {
        let peer = self.identity();
        self.inbox.notice(Notice::Connected { peer, resent });
        // Dropping the set ends the writer, also when this task is aborted.
        let mut writer = JoinSet::new();
        writer.spawn(keep_writing(self.peer.outlet.clone(), number, signals.clone(), self.timing.clone()));
        let outlet = self.peer.outlet.clone();
        if let Err(trouble) = self.keep_reading(inlet, version, &signals).await {
            outlet.disconnect(number, trouble);
        }
        writer.join_next().await;
        let why = outlet.trouble().unwrap_or(Trouble::Closed);
        self.inbox.notice(Notice::Disconnected { peer, why });
    }

    /// Reads and delivers until the connection is over. An error is why it is; `Ok` means that someone else gave it up.
    async fn keep_reading(
        &mut self,
        mut inlet: Inlet,
        version: u8,
        signals: &Signals,
    ) -> Result<(), Trouble> {
        loop {
            let mut any = false;
            while let Some(body) = inlet.body(wire::LONGEST_BODY)? {
                any = true;
                let length = body.len();
                let frame = wire::read_frame(version, body)?;
                signals.occupied.store(true, Ordering::Relaxed);
                let going_on = self.deliver(&frame, signals).await?;
                signals.occupied.store(false, Ordering::Relaxed);
                if !going_on {
                    return Ok(());
                }
                inlet.consume_body(length);
            }
            if any {
                self.inbox.delivered();
                self.peer.outlet.delivered();
            }
            let count = tokio::select! {
                biased;
                () = signals.broken.notified() => return Ok(()),
                count = inlet.fill(wire::LONGEST_BODY) => count?,
            };
            signals.heard.store(true, Ordering::Relaxed);
            if count == 0 {
                return Err(Trouble::Closed);
            }
        }
    }

    /// Delivers what is new in a frame; one of a later view waits until we are there. `false` if the connection was
    /// given up meanwhile.
    async fn deliver(&mut self, frame: &Frame<'_>, signals: &Signals) -> Result<bool, Trouble> {
        loop {
            self.epochs.mark_unchanged();
            match self.peer.outlet.received(frame) {
                Ok(new) => {
                    for payload in new {
                        self.inbox.received(self.identity().id, frame.epoch, payload).await;
                    }
                    return Ok(true);
                }
                Err(LinkError::LaterView { theirs, .. }) => {
                    self.inbox.notice(Notice::LaterView { peer: self.identity(), epoch: theirs });
                    tokio::select! {
                        () = signals.broken.notified() => return Ok(false),
                        changed = self.epochs.changed() => if changed.is_err() {
                            return Err(Trouble::Left);
                        },
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads the body of a hello or an answer.
pub(crate) async fn read_greeting(inlet: &mut Inlet) -> Result<Vec<u8>, Trouble> {
    loop {
        if let Some(body) = inlet.body(wire::LONGEST_GREETING)? {
            let body = body.to_vec();
            inlet.consume_body(body.len());
            return Ok(body);
        }
        if inlet.fill(wire::LONGEST_GREETING).await? == 0 {
            return Err(Trouble::Closed);
        }
    }
}

/// The writer task of a connection: writes when senders could not, acknowledges when nothing else did, gives signs of
/// life and misses those of the peer.
async fn keep_writing(outlet: Arc<Outlet>, number: u64, signals: Arc<Signals>, timing: Timing) {
    let sign_every = timing.patience / 3;
    let mut next_sign = Instant::now() + sign_every;
    let mut last_heard = Instant::now();
    let mut ack_at = None;
    while let Some(look) = outlet.look(number) {
        let now = Instant::now();
        if !look.ack_planned {
            ack_at = None;
        } else if *ack_at.get_or_insert(now + timing.acknowledge) <= now {
            outlet.acknowledge(number);
            ack_at = None;
        }
        if next_sign <= now {
            if signals.take_heard() {
                last_heard = now;
            } else if now - last_heard >= timing.patience {
                outlet.disconnect(number, Trouble::Silent);
                return;
            }
            outlet.sign_of_life(number);
            next_sign = now + sign_every;
        }
        let due = ack_at.map_or(next_sign, |at| next_sign.min(at));
        tokio::select! {
            () = signals.wake.notified() => {}
            () = poll_fn(|cx| outlet.catch_up(cx)), if look.congested => {}
            () = sleep_until(due) => {}
        }
    }
}

/// How long to wait before calling again: twice as long each time, and never in step with others.
struct Retry {
    first: Duration,
    longest: Duration,
    next: Duration,
    generator: Pcg32,
}

impl Retry {
    fn new(timing: &Timing, me: Identity, peer: Identity) -> Retry {
        let seed = me.incarnation ^ (u64::from(me.id) << 32 | u64::from(peer.id));
        let Timing { first_retry: first, longest_retry: longest, .. } = *timing;
        Retry { first, longest, next: first, generator: Pcg32::seed_from_u64(seed) }
    }

    fn reset(&mut self) {
        self.next = self.first;
    }

    /// Between a half and the whole of what it is by doubling.
    fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.longest);
        whole / 2 + whole.mul_f64(f64::from(self.generator.next_u32()) / f64::from(u32::MAX) / 2.0)
    }
}
