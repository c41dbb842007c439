//! What nodes of a system with collectors send.

use alloc::vec::Vec;
use core::fmt;

use super::LocalGroup;
use crate::algorithm::NodeId;
use crate::census::Census;

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This node sends its request to its local collector.
    Request(NodeId),
    /// This group's collector sends a request to the global one.
    GroupRequest(LocalGroup),
    /// This many tokens for the receiver's group.
    Grant(u32),
    /// A token with its queue, the receiver at the head.
    Token(Vec<NodeId>),
    /// A token whose queue is empty, for the local collector.
    Home,
    /// This many tokens for the global collector.
    Return(u32),
}

impl Message {
    pub(super) fn count(&self, census: &mut Census) {
        match self {
            Message::Request(origin) => census.request_of(*origin),
            Message::GroupRequest(_) => {}
            Message::Grant(tokens) | Message::Return(tokens) => {
                (0..*tokens).for_each(|_| census.token_moving());
            }
            Message::Token(queue) => {
                census.token_moving();
                census.queue_of(queue.iter().copied());
            }
            Message::Home => census.token_moving(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Message::Request(_) => "REQ",
            Message::GroupRequest(_) => "GREQ",
            Message::Grant(_) => "GRANT",
            Message::Token(_) => "TOKEN",
            Message::Home => "HOME",
            Message::Return(_) => "RET",
        }
    }

    pub(super) fn words(&self) -> u32 {
        match self {
            Message::Request(_) | Message::GroupRequest(_) | Message::Grant(_) | Message::Return(_) => 4,
            Message::Token(queue) => 3 + queue.len() as u32,
            Message::Home => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQ({origin})"),
            Message::GroupRequest(group) => write!(f, "GREQ(group {group})"),
            Message::Grant(tokens) => write!(f, "GRANT({tokens})"),
            Message::Token(queue) => {
                f.write_str("TOKEN(queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
            Message::Home => f.write_str("HOME"),
            Message::Return(tokens) => write!(f, "RET({tokens})"),
        }
    }
}
