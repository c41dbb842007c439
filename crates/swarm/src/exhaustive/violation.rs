//! The properties that an exploration may find violated.

use std::fmt;

use service::member::Breach;

use super::judge::Given;
use crate::shrink::Panicked;

/// A violated property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// An assertion of a node failed, with this message.
    Panicked(String),
    /// A client is granted a slot that another one holds.
    HeldTwice {
        /// The client that is granted the slot, and the grant.
        granted: (usize, Given),
        /// The client that holds the slot, and its grant.
        held: (usize, Given),
    },
    /// A client is granted a slot with a fence that is not higher than the last one.
    FenceFalls {
        /// The client and its grant.
        granted: (usize, Given),
        /// The highest fence of the slot before.
        highest: u64,
    },
    /// The token of a slot is at two nodes in one view.
    TwoTokens {
        /// The slot.
        slot: u32,
        /// The view.
        epoch: u64,
    },
    /// A node disconnects a peer that did nothing wrong.
    Disconnects {
        /// The node.
        node: usize,
        /// The peer.
        peer: usize,
        /// The rule that the node says the peer broke.
        why: Breach,
    },
    /// A client is never served, although nothing more goes wrong.
    NeverServed(usize),
}

impl From<Panicked> for Violation {
    fn from(Panicked(message): Panicked) -> Violation {
        Violation::Panicked(message)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Panicked(message) => f.write_str(message),
            Violation::HeldTwice { granted: (client, given), held: (other, held) } => {
                write!(f, "client {client} is granted {given} while client {other} holds {held}")
            }
            Violation::FenceFalls { granted: (client, given), highest } => {
                write!(f, "client {client} is granted {given} after fence {highest}")
            }
            Violation::TwoTokens { slot, epoch } => {
                write!(f, "slot {slot} is at two nodes in view {epoch}")
            }
            Violation::Disconnects { node, peer, why } => {
                write!(f, "node {node} disconnects node {peer}: {why}")
            }
            Violation::NeverServed(client) => {
                write!(f, "client {client} waits for ever, if nothing more goes wrong")
            }
        }
    }
}
