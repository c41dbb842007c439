//! What clients and other nodes say to a node's core, and what it wants done.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::grant::Grant;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::resource::Content;
use crate::session::SessionId;
use crate::view::Place;
use crate::wish::Want;

/// What a client asks for.
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
    /// The timeout: none at all (a try), this long, or for ever.
    pub patience: Patience,
}

/// How long a client wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Patience {
    /// Not at all.
    Try,
    /// So long.
    For(Duration),
    /// Until it is granted or cancelled.
    Forever,
}

/// An answer to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whose request.
    pub session: SessionId,
    /// The client's number for it.
    pub request: u64,
    /// What became of it.
    pub reply: Reply,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The client holds this.
    Granted(Grant),
    /// The client holds nothing, and does not wait either.
    Refused(Refusal),
    /// An operator revoked what the client holds. The node keeps it until the client releases it.
    Revoked,
}

/// What a node says to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerMessage {
    /// The view it belongs to.
    pub epoch: u64,
    /// What it says.
    pub said: Said,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// Something about a resource.
    About {
        /// The name of the resource.
        name: Arc<str>,
        /// What the sender takes the resource for.
        definition: Definition,
        /// What it says.
        content: Content,
    },
    /// The sender has reported everything that it has of resources at home at the receiver.
    End,
}

/// What a node wants done.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// Messages to peers, in order.
    pub messages: Vec<(Place, PeerMessage)>,
    /// Answers to sessions.
    pub answers: Vec<Answer>,
    /// Sessions that have ended; there are no more answers for them.
    pub ended: Vec<SessionId>,
    /// Members whose messages contradict what this node knows, and how: they changed nothing.
    pub contradictions: Vec<(Place, &'static str)>,
    /// Events, for watchers: a driver without watchers leaves `None` here.
    pub events: Option<Vec<Event>>,
}

impl Out {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let Out { messages, answers, ended, contradictions, events } = self;
        messages.is_empty()
            && answers.is_empty()
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
}
