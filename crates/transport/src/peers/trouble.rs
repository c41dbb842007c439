//! Why a connection did not come about, or ended.

use std::fmt;
use std::io;

use crate::link::LinkError;
use crate::secure::FailedHandshake;
use crate::wire::{HelloRefusal, WireError};

/// Why a connection did not come about, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The other end closed it.
    Closed,
    /// Nothing was received for too long.
    Silent,
    /// The peer opened a new connection: the old one is of no use to it.
    Replaced,
    /// The peer, or this node, is no longer a member.
    Left,
    /// The greeting took too long.
    TimedOut,
    /// Too many callers had not identified themselves, and this one had waited longest.
    Evicted,
    /// So many connections are open, or wait for their greeting, that there is no room for this one.
    Crowded,
    /// The certificate of the caller is not that of the node that it says it is.
    OtherIdentity {
        /// The node that it says it is.
        says: u32,
    },
    /// The caller did not say in its handshake what it wants.
    NoProtocol,
    /// The handshake failed.
    Handshake(FailedHandshake),
    /// One end refuses to talk to the other.
    Refused(HelloRefusal),
    /// The bytes are malformed.
    Wire(WireError),
    /// The peer breaks the rules of links.
    Link(LinkError),
    /// The peer breaks the rules for payloads.
    Breach(String),
    /// An error of the operating system.
    Io(io::ErrorKind, String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Closed => f.write_str("the other end closed the connection"),
            Trouble::Silent => f.write_str("the peer was silent for too long"),
            Trouble::Replaced => f.write_str("the peer has opened a new connection"),
            Trouble::Left => f.write_str("no longer a member"),
            Trouble::TimedOut => f.write_str("the greeting took too long"),
            Trouble::Evicted => f.write_str("closed to make room for other callers"),
            Trouble::Crowded => f.write_str("too many connections are open"),
            Trouble::OtherIdentity { says } => {
                write!(f, "it says that it is node {says}, and its certificate does not")
            }
            Trouble::NoProtocol => f.write_str("the handshake does not say what the connection is for"),
            Trouble::Handshake(failed) => failed.fmt(f),
            Trouble::Refused(refusal) => write!(f, "refused: {refusal}"),
            Trouble::Wire(error) => error.fmt(f),
            Trouble::Link(error) => error.fmt(f),
            Trouble::Breach(why) => f.write_str(why),
            Trouble::Io(_, message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match FailedHandshake::of(&error) {
            Some(failed) => Trouble::Handshake(failed.clone()),
            None => Trouble::Io(error.kind(), error.to_string()),
        }
    }
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Trouble {
        Trouble::Wire(error)
    }
}

impl From<LinkError> for Trouble {
    fn from(error: LinkError) -> Trouble {
        Trouble::Link(error)
    }
}

impl From<HelloRefusal> for Trouble {
    fn from(refusal: HelloRefusal) -> Trouble {
        Trouble::Refused(refusal)
    }
}
