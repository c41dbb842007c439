//! What nodes send to each other about a room, and the effects of a step.

use alloc::vec::Vec;
use core::fmt;

use super::mode::{AnyOf, Mode};
use crate::Bounds;
use crate::algorithm::{ClientId, NodeId, Timer, Wait};
use crate::census::Census;

/// A node's request, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry<M> {
    /// The requesting node.
    pub node: NodeId,
    /// Counts the requests of that node.
    pub number: u64,
    /// The mode of its oldest client; `None` if no client waits and the node wants only the token.
    pub mode: Option<M>,
    /// The last opening that the node knew of when that client arrived; 0 if it knew of none.
    pub since: u64,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(
        serialize = "M: serde::Serialize, M::Group: serde::Serialize",
        deserialize = "M: serde::Deserialize<'de>, M::Group: serde::Deserialize<'de>"
    ))
)]
pub enum Message<M: Mode> {
    /// A request on its way to the token.
    Request(Entry<M>),
    /// The token, for the node at the head of its queue.
    Token {
        /// The waiting requests, the next one first.
        queue: Vec<Entry<M>>,
        /// Rises with every opening and every hand-off.
        counter: u64,
    },
    /// The receiver's request of this number is granted: its clients may enter, and it follows the sender.
    Start {
        /// The group that is open.
        group: M::Group,
        /// The number of the granted request.
        number: u64,
        /// The fence of the opening.
        fence: u64,
        /// A request waits for the end of this opening, so the receiver may not admit further clients.
        closed: bool,
    },
    /// The sender's clients have left, or none entered.
    Complete {
        /// The number of the sender's last granted request.
        number: u64,
    },
    /// A request waits for the end of this opening, so the receiver may not admit further clients.
    Close {
        /// The fence of the opening.
        fence: u64,
    },
    /// The sender has the token and does not use it.
    Idle,
    /// The sender no longer needs its pointer to the token.
    Forget,
    /// The sender, which is the home, has the token.
    Inform {
        /// The counter of the token.
        counter: u64,
    },
    /// All clients of the sender that were inside by an opening of an earlier view have left.
    Left,
}

/// The effects of a step, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<M: Mode> {
    /// Send a message to another node.
    Send {
        /// The receiver.
        to: NodeId,
        /// The message.
        message: Message<M>,
    },
    /// A local client enters.
    Enter {
        /// The client.
        client: ClientId,
        /// The group that is open.
        group: M::Group,
        /// The fence of the opening.
        fence: u64,
    },
    /// Start a timer, or restart it.
    Arm(Timer, Wait),
    /// Something worth counting happened.
    Note(&'static str),
    /// Something happened that the rules rule out.
    Never(&'static str),
}

impl<M: Mode> Message<M> {
    /// Whether all numbers in the message are within the bounds.
    pub fn is_within(&self, bounds: &Bounds) -> bool {
        let entry = |entry: &Entry<M>| {
            bounds.node(entry.node) && entry.number < Bounds::CLOCK && bounds.counter(entry.since)
        };
        match self {
            Message::Request(it) => entry(it),
            Message::Token { queue, counter } => bounds.counter(*counter) && queue.iter().all(entry),
            Message::Start { number, fence, .. } => *number < Bounds::CLOCK && bounds.counter(*fence),
            Message::Complete { number } => *number < Bounds::CLOCK,
            Message::Close { fence: counter } | Message::Inform { counter } => bounds.counter(*counter),
            _ => true,
        }
    }

    /// The modes that it carries.
    pub fn modes(&self) -> impl Iterator<Item = &M> {
        let entries = match self {
            Message::Request(entry) => core::slice::from_ref(entry),
            Message::Token { queue, .. } => queue,
            _ => &[],
        };
        entries.iter().filter_map(|entry| entry.mode.as_ref())
    }

    pub(super) fn count(&self, to: NodeId, census: &mut Census) {
        match self {
            Message::Request(entry) => census.request_of(entry.node),
            Message::Token { queue, .. } => {
                census.token_moving();
                census.queue_of(queue.iter().map(|entry| entry.node));
            }
            // The answer to a request counts as the request.
            Message::Start { .. } => census.request_of(to),
            Message::Complete { .. }
            | Message::Close { .. }
            | Message::Idle
            | Message::Forget
            | Message::Inform { .. }
            | Message::Left => {}
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Message::Request(_) => "REQUEST",
            Message::Token { .. } => "TOKEN",
            Message::Start { .. } => "START",
            Message::Complete { .. } => "COMPLETE",
            Message::Close { .. } => "CLOSE",
            Message::Idle => "IDLE",
            Message::Forget => "FORGET",
            Message::Inform { .. } => "INFORM",
            Message::Left => "LEFT",
        }
    }
}

impl Message<AnyOf> {
    pub(super) fn words(&self) -> u32 {
        match self {
            Message::Request(entry) => 3 + entry.words(),
            Message::Token { queue, .. } => 4 + queue.iter().map(Entry::words).sum::<u32>(),
            Message::Start { .. } => 7,
            Message::Complete { .. } | Message::Close { .. } | Message::Inform { .. } => 4,
            Message::Idle | Message::Forget | Message::Left => 3,
        }
    }
}

impl Entry<AnyOf> {
    fn words(&self) -> u32 {
        3 + self.mode.as_ref().map_or(0, AnyOf::len)
    }
}

impl<M: Mode> fmt::Display for Entry<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.number)?;
        match &self.mode {
            Some(mode) => write!(f, " for {mode}"),
            None => f.write_str(" for anything"),
        }
    }
}

impl<M: Mode> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(entry) => write!(f, "REQUEST({entry})"),
            Message::Token { queue, counter } => {
                write!(f, "TOKEN({counter}, queue")?;
                for (index, entry) in queue.iter().enumerate() {
                    write!(f, "{} {entry}", if index == 0 { "" } else { "," })?;
                }
                f.write_str(")")
            }
            Message::Start { group, number, fence, closed } => {
                let closed = if *closed { ", closed" } else { "" };
                write!(f, "START(#{number} in {group}, fence {fence}{closed})")
            }
            Message::Complete { number } => write!(f, "COMPLETE(#{number})"),
            Message::Close { fence } => write!(f, "CLOSE(fence {fence})"),
            Message::Idle => f.write_str("IDLE"),
            Message::Forget => f.write_str("FORGET"),
            Message::Left => f.write_str("LEFT"),
            Message::Inform { counter } => write!(f, "INFORM({counter})"),
        }
    }
}
