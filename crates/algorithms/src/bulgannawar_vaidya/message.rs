//! What nodes send.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{NodeId, TokenId};

/// An entry in a token's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The waiting node.
    pub node: NodeId,
    /// The node that turned the request into one for this token; `None` if it asked for this token.
    pub tag: Option<NodeId>,
}

impl Entry {
    pub(super) fn nodes(&mut self) -> impl Iterator<Item = &mut NodeId> {
        [&mut self.node].into_iter().chain(&mut self.tag)
    }
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are named after the text
pub enum Message {
    /// A node requests a token.
    Request { origin: NodeId, token: TokenId, clock: u32 },
    /// A token with its queue, the receiver at the head.
    Token { token: TokenId, queue: Vec<Entry>, clock: u32 },
    /// The sender holds this token.
    Inform { token: TokenId, clock: u32 },
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request { origin, token, .. } => write!(f, "REQUEST({origin} asks for token {token})"),
            Message::Token { token, queue, .. } => {
                write!(f, "TOKEN({token}, queue")?;
                for Entry { node, tag } in queue {
                    match tag {
                        None => write!(f, " {node}")?,
                        Some(via) => write!(f, " {node} via {via}")?,
                    }
                }
                f.write_str(")")
            }
            Message::Inform { token, .. } => write!(f, "INFORM(token {token})"),
        }
    }
}
