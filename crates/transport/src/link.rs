//! One ordered link to one peer in one view, which delivers every payload exactly once however often the connection
//! below it breaks. A state machine: it sends nothing, reads no clock and cannot block.
//!
//! **The contract.** Payloads are numbered from 1. What was sent is kept until the peer has acknowledged it. For each
//! connection the driver
//!
//! 1. says in its hello what [`Link::hello`] answers, and passes what the peer's hello said to [`Link::connected`];
//! 2. writes what [`Link::take_frame`] gives, whole and in order, and [`Link::take_acknowledgement`] when
//!    [`Link::wants_ack`] and no payload has taken the acknowledgement along;
//! 3. passes every frame it reads to [`Link::received`] and delivers what that answers, in order, before the next;
//! 4. calls [`Link::disconnected`] when the connection is gone, and begins again with 1.
//!
//! A driver may go on reading from an old connection until it asks for the next hello: what arrives twice is
//! recognised. An error of [`Link::connected`] or [`Link::received`] changes nothing and means that the peer does not
//! keep to these rules: the connection has to be closed.

use std::collections::VecDeque;
use std::fmt;

#[cfg(test)]
mod tests;

/// So many payloads travel in one frame at most: the receiver takes them in all at once.
pub const MOST_PAYLOADS: usize = 64;

/// A batch of payloads, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The view it belongs to.
    pub epoch: u64,
    /// The number of the first payload; without payloads, the number that the next one will have.
    pub first: u64,
    /// The sender has received every payload up to this number.
    pub acknowledged: u64,
    /// The payloads, numbered from `first`.
    pub payloads: Vec<&'a [u8]>,
}

/// How much a link keeps at most for a peer that does not acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limits {
    /// So many payloads.
    pub payloads: usize,
    /// So many bytes. A link that keeps nothing takes any one payload.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { payloads: 1 << 16, bytes: 16 << 20 }
    }
}

/// One end of a link. See the [module page](self) for the contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    epoch: u64,
    limits: Limits,
    /// Sent and not acknowledged, the oldest first: its number is `acknowledged + 1`.
    kept: VecDeque<Vec<u8>>,
    kept_bytes: usize,
    /// The peer has received every payload up to this number.
    acknowledged: u64,
    /// On this connection, frames have carried (or the peer needs no) payloads up to this number.
    handed_out: u64,
    /// On any connection, frames have carried payloads up to this number.
    ever_handed_out: u64,
    /// Every payload up to this number has arrived here.
    received: u64,
    /// On this connection, the peer was told that everything up to this number has arrived.
    told: u64,
    /// The bytes of payloads that arrived and are not acknowledged yet.
    untold_bytes: usize,
    connected: bool,
}

/// Why a link does not take a payload: it keeps as much as it may already. Try again when the peer has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the link is full: the peer does not acknowledge")
    }
}

impl std::error::Error for Full {}

/// How a peer broke the rules of a link, or that it is ahead of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// A frame of a later view, which has to wait until we are there too. Not the peer's fault.
    LaterView {
        /// The frame's view.
        theirs: u64,
        /// The link's view.
        ours: u64,
    },
    /// Payloads are missing before this frame.
    Gap {
        /// The number that was to come.
        expected: u64,
        /// The number that came.
        first: u64,
    },
    /// The peer acknowledges what it was never sent.
    NeverSent {
        /// What it acknowledges.
        acknowledged: u64,
        /// The last that it was sent.
        sent: u64,
    },
    /// The peer no longer knows of payloads that it acknowledged: it is not the process it claims to be.
    Forgotten {
        /// What it says to have received.
        received: u64,
        /// What it had acknowledged.
        acknowledged: u64,
    },
    /// The numbers of the frame's payloads do not fit into 64 bits.
    Overflow,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::LaterView { theirs, ours } => write!(f, "a frame of view {theirs} in view {ours}"),
            LinkError::Gap { expected, first } => {
                write!(f, "payload {first} came instead of {expected}")
            }
            LinkError::NeverSent { acknowledged, sent } => {
                write!(f, "the peer acknowledged payload {acknowledged}, but {sent} was the last sent")
            }
            LinkError::Forgotten { received, acknowledged } => {
                write!(
                    f,
                    "the peer says it has received up to {received}, but it had acknowledged {acknowledged}"
                )
            }
            LinkError::Overflow => f.write_str("payload numbers beyond 64 bits"),
        }
    }
}

impl std::error::Error for LinkError {}

impl Link {
    /// A link of this view on which nothing has been sent, not connected.
    pub fn new(epoch: u64, limits: Limits) -> Link {
        Link {
            epoch,
            limits,
            kept: VecDeque::new(),
            kept_bytes: 0,
            acknowledged: 0,
            handed_out: 0,
            ever_handed_out: 0,
            received: 0,
            told: 0,
            untold_bytes: 0,
            connected: false,
        }
    }

    /// The view it belongs to.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether another payload would be refused.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= self.limits.payloads || self.kept_bytes >= self.limits.bytes
    }

    /// How many payloads are kept because they are not acknowledged.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// How many bytes those payloads have.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Queues a payload. Nothing that was taken is ever dropped while the view lasts.
    pub fn send(&mut self, payload: Vec<u8>) -> Result<(), Full> {
        let fits = self.kept_bytes.saturating_add(payload.len()) <= self.limits.bytes || self.kept.is_empty();
        if self.is_full() || !fits {
            return Err(Full);
        }
        self.kept_bytes += payload.len();
        self.kept.push_back(payload);
        Ok(())
    }

    /// What our hello on a new connection says: every payload up to this number has arrived.
    pub fn hello(&mut self) -> u64 {
        (self.told, self.untold_bytes) = (self.received, 0);
        self.received
    }

    /// A new connection stands, and the peer's hello says what it has received. What it has not is sent again;
    /// the answer is how many payloads that are.
    pub fn connected(&mut self, received_by_peer: u64) -> Result<usize, LinkError> {
        if received_by_peer < self.acknowledged {
            return Err(LinkError::Forgotten { received: received_by_peer, acknowledged: self.acknowledged });
        }
        self.acknowledge(received_by_peer)?;
        self.connected = true;
        self.handed_out = received_by_peer;
        Ok((self.ever_handed_out - received_by_peer) as usize)
    }

    /// The connection is gone.
    pub fn disconnected(&mut self) {
        self.connected = false;
    }

    /// Whether a connection stands.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Takes in a frame and answers which of its payloads are new: deliver them in order. Frames of earlier views
    /// and payloads that have arrived before are ignored.
    pub fn received<'f, 'a>(&mut self, frame: &'f Frame<'a>) -> Result<&'f [&'a [u8]], LinkError> {
        if frame.epoch < self.epoch {
            return Ok(&[]);
        }
        if frame.epoch > self.epoch {
            return Err(LinkError::LaterView { theirs: frame.epoch, ours: self.epoch });
        }
        let expected = self.received + 1;
        if frame.first > expected {
            return Err(LinkError::Gap { expected, first: frame.first });
        }
        let end = frame.first.checked_add(frame.payloads.len() as u64).ok_or(LinkError::Overflow)?;
        self.acknowledge(frame.acknowledged)?;
        if end <= expected {
            return Ok(&[]);
        }
        let new = &frame.payloads[(expected - frame.first) as usize..];
        self.received = end - 1;
        self.untold_bytes += new.iter().map(|payload| payload.len()).sum::<usize>();
        Ok(new)
    }

    /// The next batch of queued payloads, with an acknowledgement: as many as fit into this many bytes, but
    /// at least one, and not more than [`MOST_PAYLOADS`]. `None` if there are none, or no connection.
    pub fn take_frame(&mut self, most_bytes: usize) -> Option<Frame<'_>> {
        let from = (self.handed_out - self.acknowledged) as usize;
        if !self.connected || from >= self.kept.len() {
            return None;
        }
        let mut bytes = 0;
        let mut payloads = Vec::with_capacity((self.kept.len() - from).min(MOST_PAYLOADS));
        for payload in self.kept.range(from..) {
            bytes += payload.len() + Link::MOST_OVERHEAD;
            if bytes > most_bytes && !payloads.is_empty() || payloads.len() == MOST_PAYLOADS {
                break;
            }
            payloads.push(payload.as_slice());
        }
        let first = self.handed_out + 1;
        self.handed_out += payloads.len() as u64;
        self.ever_handed_out = self.ever_handed_out.max(self.handed_out);
        (self.told, self.untold_bytes) = (self.received, 0);
        Some(Frame { epoch: self.epoch, first, acknowledged: self.received, payloads })
    }

    /// Whether payloads have arrived that are not acknowledged yet.
    pub fn wants_ack(&self) -> bool {
        self.connected && self.received > self.told
    }

    /// Whether so much has arrived unacknowledged that the peer may soon be unable to send. Supposes that
    /// both ends have the same limits.
    pub fn wants_ack_now(&self) -> bool {
        let payloads = (self.received - self.told) as usize;
        self.wants_ack()
            && (payloads * 4 >= self.limits.payloads || self.untold_bytes * 4 >= self.limits.bytes)
    }

    /// A frame that carries only an acknowledgement. Harmless at any time, so it also serves as a sign of life.
    pub fn take_acknowledgement(&mut self) -> Option<Frame<'static>> {
        if !self.connected {
            return None;
        }
        (self.told, self.untold_bytes) = (self.received, 0);
        let first = self.handed_out + 1;
        Some(Frame { epoch: self.epoch, first, acknowledged: self.received, payloads: Vec::new() })
    }

    /// The peer has received everything up to this number: it need not be kept any longer.
    fn acknowledge(&mut self, up_to: u64) -> Result<(), LinkError> {
        if up_to > self.ever_handed_out {
            return Err(LinkError::NeverSent { acknowledged: up_to, sent: self.ever_handed_out });
        }
        while self.acknowledged < up_to {
            let payload =
                self.kept.pop_front().expect("what was handed out is kept until it is acknowledged");
            self.kept_bytes -= payload.len();
            self.acknowledged += 1;
        }
        // An acknowledgement of what an earlier connection carried: no need to send it again.
        self.handed_out = self.handed_out.max(self.acknowledged);
        if self.kept.is_empty() && self.kept.capacity() > 1024 {
            self.kept.shrink_to(64);
        }
        Ok(())
    }

    /// What a payload costs in a frame beside its own bytes, at most.
    const MOST_OVERHEAD: usize = 10;
}
