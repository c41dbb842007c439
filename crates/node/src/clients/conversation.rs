//! The reading end of a client's connection: its greeting, and then its frames.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::Interest;
use service::auth::Caller;
use service::frame::{self, Incoming};
use service::member::ConnectionId;
use service::protocol::{GREETING, Hello, ToNode, VERSIONS, Welcome};

use super::places::Place;
use super::port::Origin;
use super::{ClientLink, MOST_UNANSWERED};
use crate::host::{Shared, Sink, Turn};
use transport::reactor::{Next, Outbound, Ready, Round, Source};
use transport::stream::Stream;

/// A client must have greeted within this time.
pub(super) const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// A greeting is shorter than this: its longest part is a token.
const LONGEST_GREETING: usize = 256;
/// Whatever a client has to say is shorter than this: a name, a filter, a cursor.
const LONGEST_FRAME: usize = 16 << 10;
/// How many frames are heard while the member is locked once: embedded clients wait for it.
const FRAMES_AT_ONCE: usize = 16;
/// The same for their effects: a frame may go to very many watchers.
const EFFECTS_AT_ONCE: usize = 256;
/// How much of a client's work is done in one visit, in frames: other clients wait for it.
const WORK_AT_ONCE: usize = 64;
/// So much of what comes of a frame counts as another frame.
const EFFECTS_OF_A_FRAME: usize = 4;

/// A client, as the reactor sees it.
pub(super) struct Conversation {
    shared: Arc<Shared>,
    link: Arc<ClientLink>,
    incoming: Incoming,
    /// What comes next, if it was looked at already: more came of the frames before than is done at once, or it is a question and
    /// it is not the client's turn.
    next: VecDeque<ToNode>,
    /// The socket may have something to read.
    readable: bool,
    /// The other end has closed its side: a short read is not the last one.
    closed: bool,
    stage: Stage,
    /// Where the client is, and what it has shown.
    origin: Origin,
    #[expect(dead_code, reason = "it is there to be dropped")]
    place: Place,
}

#[derive(Clone, Copy)]
enum Stage {
    /// It has to greet by then.
    Greets { until: Instant },
    /// It is known to the member.
    Speaks(ConnectionId),
}

/// Whether the answer to a frame may take long: listings do, and an order may end many requests.
fn takes_long(frame: &ToNode) -> bool {
    matches!(frame, ToNode::Ask { .. } | ToNode::Order { .. })
}

/// A connection that ends: by the client, by an error of its socket or by what it said.
struct Ends;

impl Conversation {
    pub(super) fn new(shared: &Arc<Shared>, stream: Stream, origin: Origin, place: Place) -> Conversation {
        Conversation {
            shared: shared.clone(),
            link: ClientLink::new(stream, Arc::downgrade(shared)),
            incoming: Incoming::default(),
            next: VecDeque::new(),
            // What a handshake read ahead is no news of the socket.
            readable: true,
            closed: false,
            stage: Stage::Greets { until: Instant::now() + GREETING_LIMIT },
            origin,
            place,
        }
    }

    fn work(&mut self, round: &mut Round<'_>) -> Result<Next, Ends> {
        self.read(round)?;
        if let Stage::Greets { until } = self.stage
            && !self.greet(round)?
        {
            if round.now < until {
                return Ok(self.next());
            }
            self.complain(&"the greeting took too long");
            return Err(Ends);
        }
        let Stage::Speaks(connection) = self.stage else { return Err(Ends) };
        let mut work = 0;
        while work < WORK_AT_ONCE && self.takes_in() {
            self.decode()?;
            let Some(first) = self.next.front() else { return Ok(self.next()) };
            if takes_long(first) && !std::mem::take(&mut round.long) {
                return Ok(Next::Later);
            }
            work += self.hear(connection, round);
        }
        // If the client lets too much wait, the socket is heard of when it has room; it may not be full yet.
        let waits = !self.takes_in() && self.link.is_full();
        Ok(if waits { Next::Wait } else { Next::Again })
    }

    /// Gives the member the next frames, as many as it hears at once. Returns how much work that was.
    fn hear(&mut self, connection: ConnectionId, round: &mut Round<'_>) -> usize {
        let next = &mut self.next;
        let work = self.shared.step_in(round.dirty, |Turn { member, environment, now, effects, .. }| {
            let mut heard = 0;
            while effects.len() < EFFECTS_AT_ONCE
                && let Some(frame) = next.pop_front_if(|frame| heard == 0 || !takes_long(frame))
            {
                heard += 1;
                // Whether the client keeps up is looked at before the next: the answer may be long.
                let long = takes_long(&frame);
                member.hear(connection, frame, *environment, *now, effects);
                if long {
                    break;
                }
            }
            heard + effects.len() / EFFECTS_OF_A_FRAME
        });
        if self.next.is_empty() {
            // Ten thousand clients that are quiet take no memory for it.
            self.next = VecDeque::new();
        }
        work
    }

    fn next(&self) -> Next {
        if self.readable && self.takes_in() { Next::Again } else { Next::Wait }
    }

    /// Whether anything is taken in of this client at the moment.
    fn takes_in(&self) -> bool {
        self.link.unread() <= MOST_UNANSWERED
    }

    /// Reads once, if there may be something to read.
    fn read(&mut self, round: &mut Round<'_>) -> Result<(), Ends> {
        // What was read before comes first, and is bounded by one read.
        let has_more = !self.next.is_empty() || self.incoming.has_whole_frame(LONGEST_FRAME);
        if !self.readable || !self.takes_in() || has_more {
            return Ok(());
        }
        match self.link.stream.read(round.buffer) {
            Ok(0) => return Err(Ends),
            Ok(read) => {
                self.incoming.extend(&round.buffer[..read]);
                // A short read has emptied the socket, unless its end follows.
                self.readable = read == round.buffer.len() || self.closed;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // What was encrypted was changed on its way, or recorded elsewhere.
                if error.kind() == io::ErrorKind::InvalidData {
                    self.complain(&error);
                }
                return Err(Ends);
            }
        }
        Ok(())
    }

    /// Looks at the next frames, as many as the member hears at once.
    fn decode(&mut self) -> Result<(), Ends> {
        let version = self.link.version.load(Ordering::Relaxed);
        while self.next.len() < FRAMES_AT_ONCE && !self.next.back().is_some_and(takes_long) {
            match self.incoming.next_within(version, LONGEST_FRAME) {
                Ok(Some(frame)) => self.next.push_back(frame),
                Ok(None) => break,
                Err(error) => {
                    self.complain(&error);
                    return Err(Ends);
                }
            }
        }
        Ok(())
    }

    /// The client says something that none of ours says: the log and the audit have it.
    fn complain(&self, why: &dyn std::fmt::Display) {
        if let Stage::Greets { .. } = self.stage {
            self.shared.log.bad_greeting(self.origin.address, why);
        }
        self.shared.client_turned_away(self.origin.to_string(), self.origin.identity.as_ref(), why);
    }

    /// Greets, once the client has. Returns whether it has.
    fn greet(&mut self, round: &mut Round<'_>) -> Result<bool, Ends> {
        let hello = match self.incoming.next_within::<Hello>(GREETING, LONGEST_GREETING) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.complain(&error);
                return Err(Ends);
            }
        };
        let me = self.shared.identity();
        let version = hello.agreed();
        let welcome = match version {
            Some(version) => Welcome::Version { version, node: me.id, incarnation: me.incarnation },
            None => Welcome::NoCommonVersion(VERSIONS),
        };
        let mut bytes = Vec::new();
        frame::put(GREETING, &welcome, &mut bytes);
        self.link.greet(&bytes, &self.shared);
        let Some(version) = version else {
            self.link.flush();
            return Err(Ends);
        };
        self.link.version.store(version, Ordering::Relaxed);
        let caller = Caller::new(self.origin.to_string(), &self.origin.evidence(hello.token));
        let connection = self.shared.step_in(round.dirty, |turn| {
            let connection = turn.member.connected(caller);
            turn.sinks.insert(connection, Sink::Far(self.link.clone()));
            connection
        });
        // It is set here and nowhere else.
        _ = self.link.connection.set(connection);
        self.stage = Stage::Speaks(connection);
        tracing::debug!(target: "node", node = me.id, "let in as a client: {}", self.origin);
        self.link.flush();
        Ok(true)
    }
}

impl Source for Conversation {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        // Nothing else has the link before the greeting.
        let link = Arc::get_mut(&mut self.link)?;
        Some((link.stream.source(), Interest::READABLE | Interest::WRITABLE))
    }

    fn visit(&mut self, ready: Ready, round: &mut Round<'_>) -> Next {
        self.readable |= ready.to_read;
        self.closed |= ready.closed;
        if ready.to_write && (self.link.unread() > 0 || self.link.is_full()) {
            self.link.has_room();
        }
        // The socket takes nothing more. A read would find its end, but is not tried while the client has much to read.
        if self.link.is_over() {
            return Next::Over;
        }
        self.work(round).unwrap_or(Next::Over)
    }

    fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Greets { until } => Some(until),
            Stage::Speaks(_) => None,
        }
    }

    fn close(self: Box<Self>, round: &mut Round<'_>) {
        self.link.hang_up();
        let Stage::Speaks(connection) = self.stage else { return };
        self.shared.step_in(round.dirty, |turn| {
            turn.sinks.remove(&connection);
            turn.member.disconnected(connection, turn.now, turn.effects);
        });
    }
}
