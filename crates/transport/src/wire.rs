//! The bytes between nodes: a length, then a body that begins with a version. `docs/wire.md` has the layout in words.
//!
//! Decoding never panics and allocates nothing for a length that a stranger only claims.

use std::fmt;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use service::Identity;
use service::frame;
pub use service::frame::{FrameError as WireError, LENGTH_BYTES, LONGEST_BODY, body_length, first_body};

use crate::link::Frame;

#[cfg(test)]
mod tests;

/// The longest body of a hello or its answer, which are read before it is known who sends them.
pub const LONGEST_GREETING: usize = 4096;

/// The longest payload: it fits into a frame of its own.
pub const LONGEST_PAYLOAD: usize = LONGEST_BODY - 64;

/// The longest name of a cluster, so that every hello fits.
pub const LONGEST_CLUSTER_NAME: usize = 255;

/// The protocol versions this program speaks.
pub const VERSIONS: Versions = Versions { lowest: 1, highest: 1 };

/// What every greeting begins with.
const MAGIC: [u8; 8] = frame::PEER_MAGIC;

/// In the place of the version in greetings: their layout is the same in all versions, or no version could be
/// agreed on.
const GREETING: u8 = 0;

/// A range of protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The lowest version.
    pub lowest: u8,
    /// The highest version.
    pub highest: u8,
}

impl Versions {
    /// The highest version in both ranges.
    pub fn common(self, other: Versions) -> Option<u8> {
        let highest = self.highest.min(other.highest);
        (highest >= self.lowest.max(other.lowest)).then_some(highest)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.lowest, self.highest)
    }
}

/// What both ends of a connection say first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the sender speaks.
    pub versions: Versions,
    /// The cluster it belongs to.
    pub cluster: String,
    /// The view it is in.
    pub epoch: u64,
    /// The sender.
    pub from: Identity,
    /// The node that it wants to talk to.
    pub to: Identity,
    /// In that view it has received every payload of the other up to this number.
    pub received: u64,
}

/// What the node that was called answers to a hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Its own hello: the connection stands.
    Welcome(Hello),
    /// It will not talk.
    Refused(HelloRefusal),
}

/// Why a node will not talk to one that says hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HelloRefusal {
    /// No version in common.
    Versions {
        /// What the caller speaks.
        caller: Versions,
        /// What the called node speaks.
        called: Versions,
    },
    /// Another cluster.
    Cluster {
        /// The caller's.
        caller: String,
        /// The called node's.
        called: String,
    },
    /// The caller wants another node, perhaps an earlier incarnation of this one.
    Mistaken {
        /// The node that was wanted.
        wanted: Identity,
        /// The node that answers.
        called: Identity,
    },
    /// The caller, or this incarnation of it, does not belong to the view of the called node.
    NotAMember {
        /// The caller.
        caller: Identity,
        /// The view.
        epoch: u64,
    },
    /// Of two nodes the one with the lower id calls, and this was the other.
    WrongDirection,
    /// The answer comes from another node than the one called.
    Impostor {
        /// The node that was called.
        wanted: Identity,
        /// The node that answered.
        answered: Identity,
    },
}

impl fmt::Display for HelloRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HelloRefusal::Versions { caller, called } => {
                write!(
                    f,
                    "no protocol version in common: the caller speaks {caller}, the called node {called}"
                )
            }
            HelloRefusal::Cluster { caller, called } => {
                write!(f, "the caller belongs to cluster '{caller}', the called node to '{called}'")
            }
            HelloRefusal::Mistaken { wanted, called } => {
                write!(f, "the caller wants {wanted}, but this is {called}")
            }
            HelloRefusal::NotAMember { caller, epoch } => {
                write!(f, "{caller} is not a member of view {epoch}")
            }
            HelloRefusal::WrongDirection => {
                f.write_str("of two nodes, the one with the lower id has to connect")
            }
            HelloRefusal::Impostor { wanted, answered } => {
                write!(f, "{answered} answered instead of {wanted}")
            }
        }
    }
}

impl std::error::Error for HelloRefusal {}

/// Appends a hello.
pub fn put_hello(hello: &Hello, bytes: &mut Vec<u8>) {
    frame::put(GREETING, &(MAGIC, hello), bytes);
}

/// Reads the body of a hello.
pub fn hello(body: &[u8]) -> Result<Hello, WireError> {
    greeting(body)
}

/// Appends an answer.
pub fn put_answer(answer: &Answer, bytes: &mut Vec<u8>) {
    frame::put(GREETING, &(MAGIC, answer), bytes);
}

/// Reads the body of an answer.
pub fn answer(body: &[u8]) -> Result<Answer, WireError> {
    greeting(body)
}

/// Appends a frame, in this version.
pub fn put_frame(version: u8, frame: &Frame<'_>, bytes: &mut Vec<u8>) {
    let payloads = Payloads(&frame.payloads);
    frame::put(version, &(frame.epoch, frame.first, frame.acknowledged, payloads), bytes);
}

/// Reads the body of a frame, in this version.
pub fn read_frame(version: u8, body: &[u8]) -> Result<Frame<'_>, WireError> {
    let (epoch, first, acknowledged, payloads) = frame::body(version, body)?;
    Ok(Frame { epoch, first, acknowledged, payloads })
}

fn greeting<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, WireError> {
    let (&version, body) = body.split_first().ok_or(WireError::Empty)?;
    if version != GREETING || !body.starts_with(&MAGIC) {
        return Err(WireError::NotTokenwood);
    }
    frame::whole(&body[MAGIC.len()..])
}

/// A list of byte strings, written as such: serde would write a list of lists, byte by byte, into the same bytes.
struct Payloads<'a>(&'a [&'a [u8]]);

impl Serialize for Payloads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for payload in self.0 {
            list.serialize_element(&Bytes(payload))?;
        }
        list.end()
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}
