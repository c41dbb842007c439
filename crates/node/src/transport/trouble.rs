//! Why a connection did not come about, or ended.

use std::fmt;
use std::io;

use crate::link::LinkError;
use crate::wire::{HelloRefusal, WireError};

/// Why a connection did not come about, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The other end closed it.
    Closed,
    /// Nothing was heard for too long.
    Silent,
    /// The peer called again: the old connection is of no use to it.
    Replaced,
    /// The peer, or we, no longer belong.
    Left,
    /// Greetings took too long.
    TimedOut,
    /// Too many callers had not said who they are, and this one had waited longest.
    Evicted,
    /// So many connections are open, or wait to be greeted, that there is no room for this one.
    Crowded,
    /// One end will not talk to the other.
    Refused(HelloRefusal),
    /// The bytes make no sense.
    Wire(WireError),
    /// The peer breaks the rules of links.
    Link(LinkError),
    /// The peer breaks the rules of what payloads say.
    Breach(String),
    /// The operating system says no.
    Io(io::ErrorKind, String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Closed => f.write_str("the other end closed the connection"),
            Trouble::Silent => f.write_str("nothing was heard for too long"),
            Trouble::Replaced => f.write_str("the peer has called again"),
            Trouble::Left => f.write_str("no longer a member"),
            Trouble::TimedOut => f.write_str("greetings took too long"),
            Trouble::Evicted => f.write_str("it had to make room for other callers"),
            Trouble::Crowded => f.write_str("there are too many connections"),
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
        Trouble::Io(error.kind(), error.to_string())
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
