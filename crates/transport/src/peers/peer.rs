//! One peer: how a connection to it comes about, and what the reactor does with it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Interest;
use random::Random;
use service::Identity;
use service::view::ViewMember;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::inlet::Inlet;
use super::outlet::{Acknowledged, Outlet};
use super::trouble::Trouble;
use super::{Inbox, Notice, Outbox, Timing};
use crate::handshake::Local;
use crate::link::LinkError;
use crate::reactor::{Next, Reactor, Ready, Round, Source, SourceId};
use crate::secure::{Encryption, Secured};
use crate::stream::Stream;
use crate::wire::{self, Answer, Hello};

/// How many payloads are delivered at once.
const PAYLOADS_AT_ONCE: usize = 16;
/// After this long the rest waits for the next round: all clients wait meanwhile.
const LONGEST_VISIT: Duration = Duration::from_millis(1);

/// A peer, as those who send to it and those who connect to it share it.
pub(crate) struct Peer {
    pub(crate) member: ViewMember,
    pub(crate) outlet: Arc<Outlet>,
    /// A connection to it is over.
    pub(crate) gone: Notify,
}

/// A connection over which a peer has said hello.
pub(crate) struct Arrival {
    pub(crate) stream: Secured,
    pub(crate) inlet: Inlet,
    pub(crate) version: u8,
    pub(crate) hello: Hello,
}

/// Which end called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// This node.
    Us,
    /// The peer: it waits for our hello.
    Them,
}

/// What the connections to all peers have in common.
pub(crate) struct Context {
    pub(crate) local: Local,
    pub(crate) timing: Timing,
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) reactor: Reactor,
    pub(crate) encryption: Encryption,
}

impl Context {
    /// Hands a connection to the reactor.
    pub(crate) fn hand_over(
        self: &Arc<Context>,
        arrival: Arrival,
        peer: Arc<Peer>,
        caller: Caller,
    ) -> io::Result<()> {
        let Arrival { stream, inlet, version, hello } = arrival;
        let stream = Arc::new(stream.into_stream()?);
        let now = Instant::now();
        let exchange = Exchange {
            context: self.clone(),
            peer,
            caller,
            stream,
            inlet,
            version,
            hello,
            standing: Standing::Begins,
            // What the handshake read ahead is no news of the socket.
            readable: true,
            closed: false,
            waits_for_view: false,
            ack_at: None,
            sign_at: now + self.timing.silence_limit / 3,
            heard: now,
        };
        self.reactor.adopt(Box::new(exchange));
        Ok(())
    }
}

/// Calls a peer again and again, for as long as the task is not aborted.
pub(crate) async fn keep_calling(peer: Arc<Peer>, context: Arc<Context>) {
    let identity = peer.member.identity;
    let mut retry = Retry::new(&context.timing, context.local.me, identity);
    loop {
        let called = timeout(context.timing.greeting, call(&peer, &context)).await;
        let called = called.map_err(|_| Trouble::TimedOut).and_then(|called| called);
        let since = Instant::now();
        match called.and_then(|arrival| Ok(context.hand_over(arrival, peer.clone(), Caller::Us)?)) {
            Ok(()) => peer.gone.notified().await,
            Err(why) => context.inbox.notice(Notice::NoConnection { peer: identity, why }),
        }
        // A connection that breaks at once is no better than none.
        if since.elapsed() >= context.timing.silence_limit {
            retry.reset();
        }
        sleep(retry.next()).await;
    }
}

/// Calls the peer and reads its answer.
async fn call(peer: &Peer, context: &Context) -> Result<Arrival, Trouble> {
    let (local, identity) = (&context.local, peer.member.identity);
    let address = &*peer.member.address;
    let mut stream = context.encryption.call(address, security::PEERS, Some(identity.id)).await?;
    let (epoch, received) = peer.outlet.hello();
    let mut bytes = Vec::new();
    wire::put_hello(&local.hello(identity, epoch, received), &mut bytes);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    let mut inlet = Inlet::new(&[]);
    let body = read_greeting(&mut stream, &mut inlet).await?;
    match wire::answer(&body)? {
        Answer::Welcome(hello) => {
            let version = local.judge_called(&hello, identity)?;
            Ok(Arrival { stream, inlet, version, hello })
        }
        Answer::Refused(refusal) => Err(refusal.into()),
    }
}

/// Reads the body of a hello or an answer.
pub(crate) async fn read_greeting(stream: &mut Secured, inlet: &mut Inlet) -> Result<Vec<u8>, Trouble> {
    loop {
        if let Some(body) = inlet.body(wire::LONGEST_GREETING)? {
            let body = body.to_vec();
            inlet.consume_body(body.len());
            return Ok(body);
        }
        let read = stream.read(inlet.room(wire::LONGEST_GREETING)).await?;
        if read == 0 {
            return Err(Trouble::Closed);
        }
        inlet.filled(read);
    }
}

/// A connection to a peer, as the reactor sees it. Only the newest to each peer is read from: otherwise payloads could
/// overtake each other.
struct Exchange {
    context: Arc<Context>,
    peer: Arc<Peer>,
    caller: Caller,
    stream: Arc<Stream>,
    inlet: Inlet,
    version: u8,
    hello: Hello,
    standing: Standing,
    /// The socket may have something to read.
    readable: bool,
    /// The other end has closed its side: a short read is not the last one.
    closed: bool,
    /// The next frame belongs to a later view: nothing is read until this node has entered it.
    waits_for_view: bool,
    /// When an acknowledgement goes out, if no payload takes it along.
    ack_at: Option<Instant>,
    /// When the next sign of life is due.
    sign_at: Instant,
    /// When something was heard last.
    heard: Instant,
}

/// How much of what has come in was delivered.
enum Delivered {
    All,
    /// The next frame has to wait for a view.
    UpToView,
    /// The rest waits for the next round.
    Part,
}

enum Standing {
    /// The reactor has not adopted it yet.
    Begins,
    /// It has this number among the connections of the peer.
    Stands(u64),
    /// It did not come about.
    Failed,
}

impl Exchange {
    fn identity(&self) -> Identity {
        self.peer.member.identity
    }

    fn begin(&mut self, id: SourceId) {
        let (local, identity, caller) = (&self.context.local, self.identity(), self.caller);
        let greeting = |epoch, received| {
            let mut bytes = Vec::new();
            if caller == Caller::Them {
                let hello = local.hello(identity, epoch, received);
                wire::put_answer(&Answer::Welcome(hello), &mut bytes);
            }
            bytes
        };
        let stream = (self.stream.clone(), id);
        match self.peer.outlet.connect(stream, self.version, &self.hello, greeting) {
            Ok((number, resent)) => {
                self.standing = Standing::Stands(number);
                self.context.inbox.notice(Notice::Connected { peer: identity, resent });
            }
            Err(why) => {
                self.standing = Standing::Failed;
                self.context.inbox.notice(Notice::NoConnection { peer: identity, why });
            }
        }
    }

    /// Delivers what is whole, and reads once. An error is why the connection is over.
    fn work(&mut self, round: &mut Round<'_>) -> Result<Next, Trouble> {
        let until = Instant::now() + LONGEST_VISIT;
        match self.deliver_until(until, round)? {
            Delivered::All if self.readable => {}
            Delivered::All | Delivered::UpToView => return Ok(Next::Wait),
            Delivered::Part => return Ok(Next::Again),
        }
        let room = self.inlet.room(wire::LONGEST_BODY);
        let asked = room.len();
        match self.stream.read(room) {
            Ok(0) => return Err(Trouble::Closed),
            Ok(read) => {
                self.inlet.filled(read);
                self.heard = round.now;
                // A short read has emptied the socket, unless its end follows.
                self.readable = read == asked || self.closed;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(match self.deliver_until(until, round)? {
            Delivered::All if self.readable => Next::Again,
            Delivered::All | Delivered::UpToView => Next::Wait,
            Delivered::Part => Next::Again,
        })
    }

    /// Delivers what has come in, but begins with nothing after this time.
    fn deliver_until(&mut self, until: Instant, round: &mut Round<'_>) -> Result<Delivered, Trouble> {
        let (mut any, mut all) = (false, Delivered::All);
        while let Some(body) = self.inlet.body(wire::LONGEST_BODY)? {
            if any && Instant::now() >= until {
                all = Delivered::Part;
                break;
            }
            let length = body.len();
            let frame = wire::read_frame(self.version, body)?;
            let new = match self.peer.outlet.received(&frame) {
                Ok(new) => new,
                Err(LinkError::LaterView { theirs, .. }) => {
                    if !std::mem::replace(&mut self.waits_for_view, true) {
                        let peer = self.identity();
                        self.context.inbox.notice(Notice::LaterView { peer, epoch: theirs });
                    }
                    return Ok(Delivered::UpToView);
                }
                Err(error) => return Err(error.into()),
            };
            for payloads in new.chunks(PAYLOADS_AT_ONCE) {
                let outbox = &mut Outbox(round.dirty);
                self.context.inbox.received(self.identity().id, frame.epoch, payloads, outbox);
            }
            self.waits_for_view = false;
            self.inlet.consume_body(length);
            any = true;
        }
        if any && self.peer.outlet.delivered(round.dirty) == Acknowledged::NotYet && self.ack_at.is_none() {
            self.ack_at = Some(round.now + self.context.timing.acknowledge);
        }
        Ok(all)
    }

    /// Acknowledges, gives a sign of life and misses those of the peer, if it is time to.
    fn keep_time(&mut self, number: u64, round: &mut Round<'_>) -> Result<(), Trouble> {
        if self.ack_at.take_if(|at| *at <= round.now).is_some() {
            self.peer.outlet.acknowledge(round.dirty);
        }
        if self.sign_at <= round.now {
            // What waits for a view is not read, and says nothing about the peer.
            let silent = round.now.saturating_duration_since(self.heard);
            if silent >= self.context.timing.silence_limit && !self.waits_for_view && !self.readable {
                return Err(Trouble::Silent);
            }
            self.peer.outlet.sign_of_life(number, round.dirty);
            self.sign_at = round.now + self.context.timing.silence_limit / 3;
        }
        Ok(())
    }
}

impl Source for Exchange {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        // Nothing else has the stream before the connection stands.
        let stream = Arc::get_mut(&mut self.stream)?;
        Some((stream.source(), Interest::READABLE | Interest::WRITABLE))
    }

    fn adopted(&mut self, id: SourceId) {
        self.begin(id);
    }

    fn visit(&mut self, ready: Ready, round: &mut Round<'_>) -> Next {
        let Standing::Stands(number) = self.standing else { return Next::Over };
        if !self.peer.outlet.is_current(number) {
            return Next::Over;
        }
        self.readable |= ready.to_read;
        self.closed |= ready.closed;
        if ready.to_write {
            self.peer.outlet.has_room(number);
        }
        let worked = self.work(round).and_then(|next| self.keep_time(number, round).map(|()| next));
        worked.unwrap_or_else(|trouble| {
            self.peer.outlet.disconnect(number, trouble);
            Next::Over
        })
    }

    fn due(&self) -> Option<Instant> {
        Some(self.ack_at.map_or(self.sign_at, |at| self.sign_at.min(at)))
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {
        if let Standing::Stands(number) = self.standing {
            self.peer.outlet.disconnect(number, Trouble::Left);
            let why = self.peer.outlet.trouble().unwrap_or(Trouble::Closed);
            self.context.inbox.notice(Notice::Disconnected { peer: self.identity(), why });
        }
        self.peer.gone.notify_one();
    }
}

/// How long to wait before calling again: twice as long each time, and never in step with others.
struct Retry {
    first: Duration,
    longest: Duration,
    next: Duration,
    random: Random,
}

impl Retry {
    fn new(timing: &Timing, me: Identity, peer: Identity) -> Retry {
        let seed = me.incarnation ^ (u64::from(me.id) << 32 | u64::from(peer.id));
        let Timing { first_retry: first, longest_retry: longest, .. } = *timing;
        Retry { first, longest, next: first, random: Random::new(seed) }
    }

    fn reset(&mut self) {
        self.next = self.first;
    }

    /// Between a half and the whole of what it is by doubling.
    fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.longest);
        whole / 2 + whole.mul_f64(self.random.fraction() / 2.0)
    }
}
