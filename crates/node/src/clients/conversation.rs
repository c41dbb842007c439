//! The reading end of a client's connection: its greeting, and then its frames.

use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::Interest;
use service::frame::{self, Incoming};
use service::member::ConnectionId;
use service::protocol::{GREETING, Hello, ToNode, VERSIONS, Welcome};

use super::port::Places;
use super::{ClientLink, MOST_UNANSWERED};
use crate::host::{Shared, Sink, Turn};
use crate::reactor::{Next, Outbound, Ready, Round, Source};

/// A client must have greeted after so long.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// A greeting is shorter than this.
const LONGEST_GREETING: usize = 64;
/// Whatever a client has to say is shorter than this: a name, a filter, a cursor.
const LONGEST_FRAME: usize = 16 << 10;
/// How many frames are heard while the member is locked once: embedded clients wait for it.
const FRAMES_AT_ONCE: usize = 16;
/// How much of a client's work is done in one visit, in frames: other clients wait for it.
const WORK_AT_ONCE: usize = 256;
/// What a question or an order counts for.
const WORK_OF_A_QUESTION: usize = 64;

/// A client, as the reactor sees it.
pub(super) struct Conversation {
    shared: Arc<Shared>,
    link: Arc<ClientLink>,
    incoming: Incoming,
    /// The socket may have something to read.
    readable: bool,
    /// The other end has closed its side: a short read is not the last one.
    closed: bool,
    stage: Stage,
    /// Where the client is.
    address: IpAddr,
    places: Arc<Places>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// It has to greet by then.
    Greets { until: Instant },
    /// It is known to the member.
    Speaks(ConnectionId),
}

/// A connection that ends: by the client, by an error of its socket or by what it said.
struct Ends;

impl Conversation {
    pub(super) fn new(
        shared: &Arc<Shared>,
        stream: mio::net::TcpStream,
        address: IpAddr,
        places: Arc<Places>,
    ) -> Conversation {
        Conversation {
            shared: shared.clone(),
            link: ClientLink::new(stream, Arc::downgrade(shared)),
            incoming: Incoming::default(),
            readable: false,
            closed: false,
            stage: Stage::Greets { until: Instant::now() + GREETING_LIMIT },
            address,
            places,
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
            self.complain(&"nothing was said for too long");
            return Err(Ends);
        }
        let Stage::Speaks(connection) = self.stage else { return Err(Ends) };
        let mut work = 0;
        while work < WORK_AT_ONCE && self.takes_in() {
            let frames = self.frames(&mut work)?;
            if frames.is_empty() {
                return Ok(self.next());
            }
            self.shared.happen_in(round.dirty, |Turn { member, around, now, effects, .. }| {
                for frame in frames {
                    member.hear(connection, frame, *around, *now, effects);
                }
            });
        }
        // If the client lets too much wait, the socket is heard of when it has room; it may not be full yet.
        let waits = !self.takes_in() && self.link.is_full();
        Ok(if waits { Next::Wait } else { Next::Again })
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
        if !self.readable || !self.takes_in() || self.incoming.has_whole_frame(LONGEST_FRAME) {
            return Ok(());
        }
        match (&self.link.stream).read(round.buffer) {
            Ok(0) => return Err(Ends),
            Ok(read) => {
                self.incoming.extend(&round.buffer[..read]);
                // A short read has emptied the socket, unless its end follows.
                self.readable = read == round.buffer.len() || self.closed;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Ends),
        }
        Ok(())
    }

    /// The next frames, as many as the member hears at once.
    fn frames(&mut self, work: &mut usize) -> Result<Vec<ToNode>, Ends> {
        let version = self.link.version.load(Ordering::Relaxed);
        let mut frames = Vec::new();
        while frames.len() < FRAMES_AT_ONCE {
            let Some(frame) = self.incoming.next_within(version, LONGEST_FRAME).map_err(|_| Ends)? else {
                break;
            };
            let asks = matches!(frame, ToNode::Ask { .. } | ToNode::Order { .. });
            *work += if asks { WORK_OF_A_QUESTION } else { 1 };
            frames.push(frame);
            if asks {
                // The answer may be long: whether the client keeps up is looked at before the next.
                break;
            }
        }
        Ok(frames)
    }

    /// Logs a greeting that is none of a client.
    fn complain(&self, why: &dyn std::fmt::Display) {
        self.shared.log.bad_greeting(self.link.stream.peer_addr().ok(), why);
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
        let client = self.link.stream.peer_addr().map_err(|_| Ends)?.to_string();
        let connection = self.shared.happen_in(round.dirty, |turn| {
            let connection = turn.member.connected(&client);
            turn.sinks.insert(connection, Sink::Far(self.link.clone()));
            connection
        });
        // It is set here and nowhere else.
        _ = self.link.connection.set(connection);
        self.stage = Stage::Speaks(connection);
        self.link.flush();
        Ok(true)
    }
}

impl Source for Conversation {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        // Nobody else has the link before the greeting.
        let link = Arc::get_mut(&mut self.link)?;
        Some((&mut link.stream, Interest::READABLE | Interest::WRITABLE))
    }

    fn visit(&mut self, ready: Ready, round: &mut Round<'_>) -> Next {
        self.readable |= ready.to_read;
        self.closed |= ready.closed;
        if ready.to_write && self.link.unread() > 0 {
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
        self.places.free(self.address);
        let Stage::Speaks(connection) = self.stage else { return };
        self.shared.happen_in(round.dirty, |turn| {
            turn.sinks.remove(&connection);
            turn.member.disconnected(connection, turn.now, turn.effects);
        });
    }
}
