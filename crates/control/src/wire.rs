//! What nodes say to each other about consensus: a greeting, then questions and answers in frames, each with a number.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

use openraft::error::InstallSnapshotError;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use serde::{Deserialize, Serialize};
use service::Identity;
use service::frame::{self, FrameError, LENGTH_BYTES};
use service::leases::Renewal;
use service::registry::{Applied, Entry as Proposal, MemberEntry};
use tokio::io::{AsyncRead, AsyncReadExt};
use transport::Secured;

use crate::network::write;
use crate::types::Types;

/// The version of what follows the greeting.
pub(crate) const VERSION: u8 = 2;
/// The number of the cluster in the greeting of a node that belongs to none yet. It only asks what the called node knows of
/// it: the answer is always a refusal.
pub(crate) const NO_CLUSTER_YET: u64 = 0;
/// What every greeting begins with.
pub const MAGIC: [u8; 8] = frame::CONSENSUS_MAGIC;
/// The number of bytes at the start of a connection that say whether it is for the control plane.
pub const FIRST_BYTES: usize = LENGTH_BYTES + 1 + MAGIC.len();

/// Whether a connection that begins with these bytes is for the control plane; `None` if that takes more of them.
pub fn is_for_us(first: &[u8]) -> Option<bool> {
    let behind_length = first.get(LENGTH_BYTES..)?;
    let expected: Vec<u8> = std::iter::once(GREETING).chain(MAGIC).collect();
    let compared = behind_length.len().min(expected.len());
    if behind_length[..compared] != expected[..compared] {
        return Some(false);
    }
    (compared == expected.len()).then_some(true)
}

/// The longest greeting or answer to one, which are read before it is known who sends them.
pub(crate) const LONGEST_GREETING: usize = 4096;
/// In the place of the version in greetings, whose layout never changes.
const GREETING: u8 = 0;

/// The first frame of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version that the caller speaks.
    pub version: u8,
    /// The name of the caller's cluster.
    pub cluster: String,
    /// The number that the cluster was given when it was founded; 0 if the caller belongs to none yet.
    pub cluster_id: u64,
    /// The calling node.
    pub from: u32,
    /// The node that the caller wants.
    pub to: u32,
}

/// Why a caller is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallRefusal {
    /// The caller speaks another version.
    Version {
        /// The version of the called node.
        here: u8,
    },
    /// The caller belongs to another cluster.
    Cluster {
        /// The cluster of the called node.
        here: String,
    },
    /// The caller's cluster has the same name, but is another one.
    ClusterId,
    /// The caller wants another node.
    Mistaken {
        /// The id of the called node.
        here: u32,
    },
    /// The node cannot write to its data folder.
    Folder,
    /// To a caller without a cluster: the called node belongs to none yet either.
    NoCluster,
    /// To a caller without a cluster: the called node belongs to one.
    InCluster {
        /// A node with the caller's id has been a member of it: the caller has lost its folder, or uses the id of another.
        used: bool,
        /// The caller's id belongs to the cluster.
        known: bool,
    },
    /// The caller's certificate is not that of the node that it says it is.
    Identity,
}

impl fmt::Display for CallRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallRefusal::Version { here } => write!(f, "it speaks version {here} of consensus"),
            CallRefusal::Cluster { here } => write!(f, "it belongs to cluster '{here}'"),
            CallRefusal::ClusterId => f.write_str(
                "it belongs to another cluster of the same name (a node that lost its folder joins again: \
                 tokenwood members invite)",
            ),
            CallRefusal::Mistaken { here } => write!(f, "it is node {here}"),
            CallRefusal::Folder => f.write_str("it cannot write to its data folder"),
            CallRefusal::Identity => {
                f.write_str("your certificate is not that of the node that you say you are")
            }
            CallRefusal::NoCluster => f.write_str("it belongs to no cluster yet"),
            CallRefusal::InCluster { .. } => f.write_str("it belongs to a cluster already"),
        }
    }
}

/// A question of one node to another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<u64>),
    Snapshot(InstallSnapshotRequest<Types>),
    /// An entry that the leader is to propose. It must not depend on who leads.
    Propose(Proposal),
    /// A question to the node that is asked, which has to lead.
    Leader(ForLeader),
    /// A question that the node passes on to the leader, as far as it knows it.
    PassOn(ForLeader),
}

/// A request to the leader.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ForLeader {
    Renew(Renewal),
    Enter { id: u32, member: MemberEntry },
    Goodbye(Identity),
    Lasts(Duration),
    Invite { lasts: Duration },
    Join { id: u32, secret: u128, address: String },
    Remove { id: u32 },
    Withdraw { id: u32 },
}

/// The answer to a [`Request`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    Append(AppendEntriesResponse<u64>),
    Vote {
        vote: VoteResponse<u64>,
        /// For how long the voter has supported no leader.
        quiet: Duration,
    },
    Snapshot(Result<InstallSnapshotResponse<u64>, InstallSnapshotError>),
    Proposed(Applied),
    /// The node that was asked does not lead.
    NotLeading(Option<u32>),
    /// The node cannot know whether the entry will commit.
    Unknown,
    /// The node cannot answer, for this reason.
    Failed(String),
    /// The lease lasts this long from when the renewal was sent; `None` if it is not renewed.
    Renewed {
        lasts: Option<Duration>,
    },
    /// The leader will carry out the request, or has.
    Noted,
    Invited {
        id: u32,
        secret: u128,
        cluster_id: u64,
        nodes: BTreeMap<u32, String>,
    },
    /// The leader refuses the request, for this reason.
    Refused(String),
}

impl Request {
    /// Whether a node may ask this: `known` if it belongs to the cluster, as far as the node that is asked knows. No node
    /// speaks for another, except that a member passes on what a newcomer asks of the leader.
    pub(crate) fn may_come_from(&self, node: u32, known: bool) -> bool {
        match self {
            Request::Append(_) | Request::Vote(_) | Request::Snapshot(_) | Request::Propose(_) => known,
            Request::PassOn(question) => question.asker() == Some(node),
            Request::Leader(question) => match question {
                ForLeader::Renew(_) | ForLeader::Goodbye(_) => question.asker() == Some(node),
                ForLeader::Enter { .. } | ForLeader::Join { .. } => known || question.asker() == Some(node),
                ForLeader::Lasts(_)
                | ForLeader::Invite { .. }
                | ForLeader::Remove { .. }
                | ForLeader::Withdraw { .. } => known,
            },
        }
    }
}

impl ForLeader {
    /// The node that asks for itself; `None` if any member may ask.
    fn asker(&self) -> Option<u32> {
        match self {
            ForLeader::Renew(renewal) => Some(renewal.identity.id),
            ForLeader::Goodbye(identity) => Some(identity.id),
            ForLeader::Enter { id, .. } | ForLeader::Join { id, .. } => Some(*id),
            _ => None,
        }
    }
}

pub(crate) fn encode<T: Serialize>(id: u64, content: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::put(VERSION, &(id, content), &mut bytes);
    bytes
}

/// Reads the greeting of a caller.
pub(crate) async fn read_hello(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Hello> {
    let body = read_greeting(stream).await?;
    Hello::decode(&body).map_err(io::Error::other)
}

/// Greets a node and reads what it answers: the mark of its folder, if it is willing.
pub(crate) async fn greet(stream: &mut Secured, hello: &Hello) -> io::Result<Result<u64, CallRefusal>> {
    write(stream, &hello.encode()).await?;
    let body = read_greeting(stream).await?;
    decode(&body).map_err(io::Error::other)
}

/// Answers a greeting.
pub(crate) async fn answer(stream: &mut Secured, answer: &Result<u64, CallRefusal>) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::put(GREETING, &(MAGIC, answer), &mut bytes);
    write(stream, &bytes).await
}

impl Hello {
    /// The frame that it travels in.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::put(GREETING, &(MAGIC, self), &mut bytes);
        bytes
    }

    /// Reads the body of a frame.
    pub fn decode(body: &[u8]) -> Result<Hello, FrameError> {
        decode(body)
    }
}

fn decode<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, FrameError> {
    match body.split_first() {
        Some((&GREETING, rest)) if rest.starts_with(&MAGIC) => frame::whole(&rest[MAGIC.len()..]),
        _ => Err(FrameError::NotTokenwood),
    }
}

async fn read_greeting(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length).await?;
    let length = frame::body_length(&length, LONGEST_GREETING).map_err(io::Error::other)?;
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello { version: 1, cluster: "c".to_owned(), cluster_id: 300, from: 1, to: 2 }
    }

    #[test]
    fn the_layout_of_greetings_stays_as_it_is() {
        let expected = b"\x10\0\0\0\0tokenwr\n\x01\x01c\xac\x02\x01\x02";
        assert_eq!(hello().encode(), expected);
        assert_eq!(Hello::decode(&expected[4..]), Ok(hello()));
    }

    #[test]
    fn the_first_bytes_tell_whom_a_call_is_for() {
        let call = hello().encode();
        for (bytes, expected) in [
            (&b""[..], None),
            (&call[..4], None),
            (&call[..12], None),
            (&call[..FIRST_BYTES], Some(true)),
            (b"\x10\0\0\0\0tokenwl\n", Some(false)),
            (b"GET / HTTP/1.1", Some(false)),
        ] {
            assert_eq!(is_for_us(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_a_greeting_is_an_error() {
        for body in [&b""[..], b"\0tokenwd\n\x01\x01c\xac\x02\x01\x02", b"\x01tokenwr\n", b"GET / HTTP/1.1"] {
            assert_eq!(Hello::decode(body), Err(FrameError::NotTokenwood));
        }
        assert!(matches!(Hello::decode(b"\0tokenwr\n\x01\xffc"), Err(FrameError::Malformed(_))));
    }
}
