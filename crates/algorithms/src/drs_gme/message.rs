//! The messages of DRS_GME.

use core::fmt;

use crate::algorithm::{Group, Groups};
use crate::census::Census;
use crate::drs_gme::{Durable, Holding, Location, Request, Token};

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are named after the text
pub enum Message {
    /// The sender requests any one of these groups.
    Request { number: u32, groups: Groups },
    /// The token, for the node at the head of its queue.
    Token { session: u32, token: Token },
    /// The receiver may enter as a follower of the sender.
    Start { group: Group, number: u32 },
    /// The sender has left, or never entered, with its request of this number.
    Complete { number: u32 },
    /// The sender has not heard that the receiver completed.
    IsComplete { group: Group, number: u32 },
    /// The sender has waited so long that its request or the token may be lost.
    GenToken { number: u32, groups: Groups, session: u32 },
    /// The sender has the token.
    Hint,
}

impl Message {
    pub(super) fn count(&self, census: &mut Census) {
        if let Message::Token { token, .. } = self {
            census.token_moving();
            census.queue_of(token.queue.iter().map(|ask| ask.node));
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "REQUEST",
            Message::Token { .. } => "TOKEN",
            Message::Start { .. } => "START",
            Message::Complete { .. } => "COMPLETE",
            Message::IsComplete { .. } => "IS_COMPLETE",
            Message::GenToken { .. } => "GEN_TOKEN",
            Message::Hint => "HINT",
        }
    }

    pub(super) fn words(&self) -> u32 {
        match self {
            Message::Request { groups, .. } => 4 + groups.len(),
            Message::Token { token, .. } => {
                let queue: u32 = token.queue.iter().map(|ask| 2 + ask.groups.len()).sum();
                4 + token.served.len() as u32 + queue
            }
            Message::Start { .. } | Message::IsComplete { .. } => 5,
            Message::Complete { .. } => 4,
            Message::GenToken { groups, .. } => 5 + groups.len(),
            Message::Hint => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request { number, groups } => write!(f, "REQUEST(#{number} for {groups})"),
            Message::Token { session, token } => write!(f, "TOKEN(session {session}, {token})"),
            Message::Start { group, number } => write!(f, "START(#{number} in {group})"),
            Message::Complete { number } => write!(f, "COMPLETE(#{number})"),
            Message::IsComplete { group, number } => write!(f, "IS_COMPLETE(#{number} in {group})"),
            Message::GenToken { number, groups, session } => {
                write!(f, "GEN_TOKEN(#{number} for {groups}, session {session})")
            }
            Message::Hint => f.write_str("HINT"),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("queue")?;
        for (index, Request { node, number, groups }) in self.queue.iter().enumerate() {
            write!(f, "{} {node}#{number} for {groups}", if index == 0 { "" } else { "," })?;
        }
        f.write_str("; granted")?;
        self.served.iter().try_for_each(|number| write!(f, " {number}"))
    }
}

/// On one line, as transcripts and traces show it.
impl fmt::Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Durable { number, session, location } = self;
        write!(f, "request #{number}, session {session}, ")?;
        match location {
            Location::Away(None) => f.write_str("no token"),
            Location::Away(Some(token)) => write!(f, "handed over: {token}"),
            Location::Here(Holding { token, open, followers, .. }) => {
                write!(f, "token here: {token}")?;
                if let Some(group) = open {
                    write!(f, "; group {group} open")?;
                }
                followers.iter().try_for_each(|(node, number)| write!(f, "; follower {node}#{number}"))
            }
        }
    }
}
