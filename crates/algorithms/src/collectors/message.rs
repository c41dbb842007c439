//! What nodes of a system with collectors send.

use alloc::vec::Vec;
use core::fmt;

use super::LocalGroup;
use crate::algorithm::NodeId;
use crate::census::Census;

/// Counts the global collectors: 1 for the first. 0 if the global collector never moves.
pub type Epoch = u32;

/// What nodes send. Messages to the global collector carry the newest epoch that their sender knows of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This node sends its request to its local collector.
    Request(NodeId),
    /// This group's collector sends a request to the global one.
    GroupRequest(LocalGroup, Epoch),
    /// This many tokens for the receiver's group.
    Grant(u32),
    /// A token with its queue, the receiver at the head.
    Token(Vec<NodeId>),
    /// A token whose queue is empty, for the local collector.
    Home,
    /// This many tokens for the global collector.
    Return(u32, Epoch),
    /// The receiver is the global collector of this epoch, with these free tokens and these waiting groups.
    Over {
        /// The epoch that begins.
        epoch: Epoch,
        /// The free tokens.
        available: u32,
        /// The waiting groups.
        asking: Vec<LocalGroup>,
    },
    /// This collector is the global one since this epoch.
    New(NodeId, Epoch),
}

impl Message {
    pub(super) fn count(&self, census: &mut Census) {
        match self {
            Message::Request(origin) => census.request_of(*origin),
            Message::GroupRequest(..) | Message::New(..) => {}
            Message::Grant(tokens) | Message::Return(tokens, _) | Message::Over { available: tokens, .. } => {
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
            Message::GroupRequest(..) => "GREQ",
            Message::Grant(_) => "GRANT",
            Message::Token(_) => "TOKEN",
            Message::Home => "HOME",
            Message::Return(..) => "RET",
            Message::Over { .. } => "OVER",
            Message::New(..) => "NEW",
        }
    }

    pub(super) fn words(&self) -> u32 {
        match self {
            Message::Request(_) | Message::Grant(_) => 4,
            Message::GroupRequest(_, epoch) | Message::Return(_, epoch) => 4 + u32::from(*epoch > 0),
            Message::Token(queue) => 3 + queue.len() as u32,
            Message::Home => 3,
            Message::Over { asking, .. } => 5 + asking.len() as u32,
            Message::New(..) => 5,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQ({origin})"),
            Message::GroupRequest(group, 0) => write!(f, "GREQ(group {group})"),
            Message::GroupRequest(group, epoch) => write!(f, "GREQ(group {group}, epoch {epoch})"),
            Message::Grant(tokens) => write!(f, "GRANT({tokens})"),
            Message::Token(queue) => {
                f.write_str("TOKEN(queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
            Message::Home => f.write_str("HOME"),
            Message::Return(tokens, 0) => write!(f, "RET({tokens})"),
            Message::Return(tokens, epoch) => write!(f, "RET({tokens}, epoch {epoch})"),
            Message::Over { epoch, available, asking } => {
                write!(f, "OVER(epoch {epoch}, {available} free, groups")?;
                asking.iter().try_for_each(|group| write!(f, " {group}"))?;
                f.write_str(")")
            }
            Message::New(global, epoch) => write!(f, "NEW(node {global}, epoch {epoch})"),
        }
    }
}
