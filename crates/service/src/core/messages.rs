//! The inputs of a core from clients and other nodes, and its effects.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::grant::Grant;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::resource::ResourceMessage;
use crate::session::SessionId;
use crate::view::MemberIndex;
use crate::want::Want;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// The client's number for this request, higher than all before in its session.
    pub request: u64,
    /// The name of the resource.
    pub name: Arc<str>,
    /// What the resource is.
    pub definition: Definition,
    /// What the client wants of it.
    pub want: Want,
    /// How long the request waits.
    pub timeout: Timeout,
}

/// How long a request waits for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timeout {
    /// The request does not wait for a release.
    Try,
    /// The request times out after this long.
    After(Duration),
    /// The request waits until it is granted or cancelled.
    Never,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The session that sent the request.
    pub session: SessionId,
    /// The client's number for the request.
    pub request: u64,
    /// The outcome of the request.
    pub outcome: RequestOutcome,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestOutcome {
    /// The client holds this grant.
    Granted(Grant),
    /// The client holds nothing, and does not wait either.
    Refused(Refusal),
    /// An operator revoked what the client holds. The node keeps it until the client releases it.
    Revoked,
}

/// A message from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerMessage {
    /// The view that the message belongs to.
    pub epoch: u64,
    /// The message itself.
    pub content: PeerContent,
}

/// The content of a message between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerContent {
    /// A message about one resource.
    Resource {
        /// The name of the resource.
        name: Arc<str>,
        /// What the sender takes the resource for.
        definition: Definition,
        /// The message about it.
        message: ResourceMessage,
    },
    /// The sender has reported everything that it has of resources at home at the receiver.
    EndMark,
}

/// The effects of an input on a core. A driver carries them out.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Messages to peers, in order.
    pub messages: Vec<(MemberIndex, PeerMessage)>,
    /// Replies to requests of sessions.
    pub replies: Vec<Reply>,
    /// Sessions that have ended; there are no more replies for them.
    pub ended: Vec<SessionId>,
    /// Members whose messages contradict what this node knows, and how: they changed nothing.
    pub contradictions: Vec<(MemberIndex, &'static str)>,
    /// Events, for watchers: a driver without watchers leaves `None` here.
    pub events: Option<Vec<Event>>,
}

impl Effects {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let Effects { messages, replies, ended, contradictions, events } = self;
        messages.is_empty()
            && replies.is_empty()
            && ended.is_empty()
            && contradictions.is_empty()
            && events.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Grants.
    pub grants: u64,
    /// Messages to peers.
    pub sent: u64,
    /// Messages from peers.
    pub received: u64,
    /// Messages of another view, thrown away.
    pub of_other_views: u64,
    /// Sessions that expired.
    pub sessions_ended: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Idle names that were forgotten.
    pub forgotten: u64,
    /// Frames about a session with a key that is not its own.
    pub wrong_keys: u64,
}
