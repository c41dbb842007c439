//! What nodes send.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{NodeId, TokenId};
use crate::census::Census;

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    /// The sender's Lamport clock; 0 without forgetting.
    pub clock: u64,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Body {
    /// A node requests a token.
    Request {
        /// The requesting node.
        origin: NodeId,
        /// The requested token.
        token: TokenId,
        /// Whether it was at the head of a queue before, and goes to the head again.
        front: bool,
    },
    /// A token with its queue, the receiver at the head.
    Token {
        /// The token.
        token: TokenId,
        /// How often the token has moved and clients have entered by it.
        version: u64,
        /// Its queue.
        queue: Vec<Entry>,
        /// How many tokens there are, as far as the sender knows.
        size: Size,
    },
    /// A waiter at the sender waits for a busy token.
    Hungry,
    /// A token is idle.
    Idle {
        /// The idle token and its holder.
        ticket: Ticket,
        /// Whether the holder says so; if not, a node returns a ticket that it did not need.
        new: bool,
    },
    /// The receiver may move one waiting request to an idle token.
    Offer {
        /// The idle token and its holder.
        ticket: Ticket,
    },
    /// A request moves to an idle token at the receiver.
    Move {
        /// The requesting node.
        origin: NodeId,
        /// The requested token, and the node that turned the request aside.
        via: Via,
        /// The idle token.
        token: TokenId,
    },
    /// The sender is inactive and wants its pointers to lead home.
    Forget {
        /// The tokens whose pointers do not.
        tokens: Vec<TokenId>,
    },
    /// The sender, which is the home, has these tokens.
    Inform {
        /// The tokens.
        tokens: Vec<TokenId>,
    },
    /// The receiver's request is over: the token that it waited for is retiring.
    Gone {
        /// The requested token, and the next node on the path to it.
        via: Via,
        /// How many tokens there are, as far as the sender knows.
        size: Size,
    },
    /// The number of tokens has changed.
    Resized {
        /// The new number.
        size: Size,
    },
    /// Few nodes request this token: the receiver may prefer it from now on.
    Invite {
        /// The token.
        token: TokenId,
    },
}

/// How many tokens there are. Only the home changes the number, with a higher stamp each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Size {
    /// Higher than the stamp of any earlier number, earlier views included; 0 if the home has not announced
    /// any.
    pub stamp: u64,
    /// The number of tokens.
    pub tokens: u32,
}

/// An entry in a token's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The waiting node.
    pub node: NodeId,
    /// Where the request was turned aside; `None` if it asked for this token.
    pub via: Option<Via>,
}

/// Where a request left the forest of the token that it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Via {
    /// The token that it asked for.
    pub token: TokenId,
    /// The node that turned it aside: the path to that token leads through it.
    pub node: NodeId,
}

/// States that a token is, or was, idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// The token.
    pub token: TokenId,
    /// Its holder.
    pub holder: NodeId,
    /// Its version at the time.
    pub version: u64,
}

impl Entry {
    pub(super) fn nodes(&mut self) -> impl Iterator<Item = &mut NodeId> {
        [&mut self.node].into_iter().chain(self.via.as_mut().map(|via| &mut via.node))
    }
}

impl Body {
    /// The nodes that it names.
    pub(super) fn nodes(&mut self) -> Vec<&mut NodeId> {
        match self {
            Body::Request { origin, .. } => vec![origin],
            Body::Move { origin, via, .. } => vec![origin, &mut via.node],
            Body::Token { queue, .. } => queue.iter_mut().flat_map(Entry::nodes).collect(),
            Body::Idle { ticket, .. } | Body::Offer { ticket } => vec![&mut ticket.holder],
            Body::Gone { via, .. } => vec![&mut via.node],
            Body::Hungry
            | Body::Forget { .. }
            | Body::Inform { .. }
            | Body::Resized { .. }
            | Body::Invite { .. } => Vec::new(),
        }
    }

    pub(super) fn count(&self, to: NodeId, census: &mut Census) {
        match self {
            Body::Request { origin, .. } | Body::Move { origin, .. } => census.request_of(*origin),
            Body::Token { token, queue, .. } => {
                census.token_of_slot_moving(*token);
                queue.iter().for_each(|entry| census.request_of(entry.node));
            }
            Body::Gone { .. } => census.request_of(to),
            _ => {}
        }
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Body::Request { .. } => "REQUEST",
            Body::Token { .. } => "TOKEN",
            Body::Hungry => "HUNGRY",
            Body::Idle { .. } => "IDLE",
            Body::Offer { .. } => "OFFER",
            Body::Move { .. } => "MOVE",
            Body::Forget { .. } => "FORGET",
            Body::Inform { .. } => "INFORM",
            Body::Gone { .. } => "GONE",
            Body::Resized { .. } => "RESIZED",
            Body::Invite { .. } => "INVITE",
        }
    }

    pub(super) fn words(&self) -> u32 {
        match self {
            Body::Request { .. } => 5,
            Body::Token { queue, .. } => {
                5 + queue.iter().map(|entry| if entry.via.is_some() { 3 } else { 1 }).sum::<u32>()
            }
            Body::Hungry => 3,
            Body::Invite { .. } => 4,
            Body::Idle { .. } | Body::Offer { .. } => 6,
            Body::Move { .. } => 7,
            Body::Forget { tokens } | Body::Inform { tokens } => 3 + tokens.len() as u32,
            Body::Gone { .. } => 7,
            Body::Resized { .. } => 5,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            Body::Request { origin, token, front } => {
                write!(f, "REQUEST({origin} asks for token {token}{})", if *front { ", again" } else { "" })
            }
            Body::Token { token, queue, .. } => {
                write!(f, "TOKEN({token}, queue")?;
                queue.iter().try_for_each(|entry| write!(f, " {entry}"))?;
                f.write_str(")")
            }
            Body::Hungry => f.write_str("HUNGRY"),
            Body::Idle { ticket, new } => {
                write!(f, "IDLE({ticket}{})", if *new { "" } else { ", not needed" })
            }
            Body::Offer { ticket } => write!(f, "OFFER({ticket})"),
            Body::Move { origin, via, token } => write!(f, "MOVE({origin} {via} to token {token})"),
            Body::Forget { tokens } => write!(f, "FORGET({})", List(tokens)),
            Body::Inform { tokens } => write!(f, "INFORM({})", List(tokens)),
            Body::Gone { via, size } => write!(f, "GONE({via}, there are {size})"),
            Body::Resized { size } => write!(f, "RESIZED({size})"),
            Body::Invite { token } => write!(f, "INVITE(token {token})"),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.node)?;
        if let Some(via) = self.via { write!(f, " {via}") } else { Ok(()) }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for {} via {}", self.token, self.node)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {} at {}", self.token, self.holder)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} token{}", self.tokens, if self.tokens == 1 { "" } else { "s" })
    }
}

struct List<'a>(&'a [TokenId]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "token" } else { "tokens" })?;
        self.0.iter().try_for_each(|token| write!(f, " {token}"))
    }
}
