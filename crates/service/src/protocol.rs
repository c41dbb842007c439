//! The messages between clients and nodes, whatever carries them. Variants are only ever added at the end, so
//! that nodes and clients of different versions understand what both know.
//!
//! A connection carries messages in order until it breaks. A session outlives its connections: after a break
//! a client repeats what may not have been heard (every request has a number, and none is carried out twice).
//! A release is not answered; the next promise on the same connection confirms it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::{Acquire, Cursor, Page, Reply, Status};
use crate::event::{Event, Filter, ForceReleased};
use crate::frame::CLIENT_MAGIC;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::session::{Promise, SessionId};

/// What every connection of a client begins with.
pub const MAGIC: [u8; 8] = CLIENT_MAGIC;

/// The version of greetings: their layout is the same in all versions, or no version could be agreed on.
pub const GREETING: u8 = 0;

/// The versions of this protocol that this program speaks, the lowest and the highest.
pub const VERSIONS: (u8, u8) = (1, 1);

/// What a client says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// The lowest and the highest version that it speaks.
    pub versions: (u8, u8),
}

impl Hello {
    /// The hello of this program.
    pub const MINE: Hello = Hello { magic: MAGIC, versions: VERSIONS };

    /// The version to use with the sender of this.
    pub fn agreed(&self) -> Option<u8> {
        let highest = self.versions.1.min(VERSIONS.1);
        (self.magic == MAGIC && highest >= self.versions.0.max(VERSIONS.0)).then_some(highest)
    }
}

/// What a node says to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// From now on in this version.
    Version {
        /// The highest that both speak.
        version: u8,
        /// The node that answers.
        node: u32,
        /// Its incarnation.
        incarnation: u64,
    },
    /// There is no version in common; the node speaks these.
    NoCommonVersion((u8, u8)),
    /// The node serves as many clients as it may.
    Refused(Refusal),
}

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToNode {
    /// Opens a session with this ttl.
    Open {
        /// How long.
        ttl: Duration,
    },
    /// A keep-alive; it also tells the node over which connection to answer.
    KeepAlive {
        /// Whose session.
        session: SessionId,
        /// Counts upwards; the answer names it.
        sequence: u64,
        /// The client has heard the answers to all requests up to this one: they need not be kept for it.
        settled: u64,
    },
    /// Asks for something.
    Acquire {
        /// Whose session.
        session: SessionId,
        /// What for.
        ask: Acquire,
    },
    /// Gives up a request.
    Cancel {
        /// Whose session.
        session: SessionId,
        /// Its number.
        request: u64,
    },
    /// Leaves.
    Release {
        /// Whose session.
        session: SessionId,
        /// The number of the request that was granted.
        request: u64,
        /// Its fence.
        fence: u64,
    },
    /// Ends a session with everything in it.
    Close {
        /// Whose.
        session: SessionId,
    },
    /// Asks how things are; the answer names the number.
    Ask {
        /// The number.
        number: u64,
        /// About what.
        question: Question,
    },
    /// Asks for all events from now on over this connection, or for those that the filter shows.
    Watch(Filter),
    /// Wants something changed; the answer names the number.
    Order {
        /// The number.
        number: u64,
        /// What.
        order: Order,
    },
}

/// What an operator may want changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Defines a name, or removes its definition. The cluster commits it.
    Define {
        /// The name.
        name: Arc<str>,
        /// Its definition, or `None` to remove it.
        definition: Option<Definition>,
    },
    /// Changes the number of slots of a defined mutex or semaphore. The cluster commits it.
    Resize {
        /// The name.
        name: Arc<str>,
        /// How many.
        slots: u32,
    },
    /// Revokes a grant at the node that is asked.
    ForceRelease {
        /// The name.
        name: Arc<str>,
        /// The slot.
        slot: u32,
        /// The fence: a later holder has another.
        fence: u64,
        /// Without waiting until the holder's promise has certainly run out: that breaks exclusion.
        at_once: bool,
    },
}

/// The result of an order that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderDone {
    /// It is committed.
    Agreed,
    /// These grants are revoked.
    ForceReleased(Vec<ForceReleased>),
}

/// What a client may want to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// The status of the node, and the members of its cluster.
    Status,
    /// Holders and waiters at this node: a page, after the one that ended here.
    List(Option<Cursor>),
    /// What this node knows of a name.
    Inspect {
        /// The name.
        name: String,
        /// Where the page before ended.
        after: Option<Cursor>,
    },
    /// The nodes of the cluster, the leader, and the state of the node that is asked.
    Cluster,
    /// Invite a node; the invitation lasts this long.
    Invite(Duration),
    /// Forget a node that was stopped, for good.
    Remove(u32),
    /// Change how long leases last.
    Lease(Duration),
    /// What names are defined as: a page, after this name.
    Definitions(Option<Arc<str>>),
}

/// The nodes of the cluster, as far as the node that is asked knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The name of the cluster.
    pub name: String,
    /// The node that answers.
    pub asked: u32,
    /// The number of the latest view.
    pub epoch: u64,
    /// The number of the view that this node is in; 0 if it is in none.
    pub in_view: u64,
    /// How long leases last.
    pub lease: Duration,
    /// How much is left of this node's lease.
    pub lease_left: Duration,
    /// The leader.
    pub leader: Option<u32>,
    /// The ids of nodes that were invited and have not come yet.
    pub invited: Vec<u32>,
    /// All nodes that belong to it, by id.
    pub nodes: Vec<ClusterNode>,
}

/// A node that belongs to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNode {
    /// Its id.
    pub id: u32,
    /// Where its peers reach it.
    pub address: String,
    /// Where clients reach it, if it is a member now.
    pub clients: Option<String>,
    /// Its incarnation, if it is a member now.
    pub incarnation: Option<u64>,
    /// Whether it votes.
    pub votes: bool,
}

/// What a node says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToClient {
    /// A session is open, with its first promise.
    Opened {
        /// Its id.
        session: SessionId,
        /// How long the client may hold its grants, counted from when it asked.
        promise: Promise,
    },
    /// A session could not be opened.
    NotOpened(Refusal),
    /// An answer to a keep-alive.
    Promise {
        /// Whose session.
        session: SessionId,
        /// For how long.
        promise: Promise,
    },
    /// A session is not there (any more): what it held is lost.
    SessionGone {
        /// Which one.
        session: SessionId,
    },
    /// The reply to a request.
    Reply(Reply),
    /// A release was refused, and changed nothing.
    NotReleased {
        /// Whose session.
        session: SessionId,
        /// The number of the request.
        request: u64,
        /// Why.
        refusal: Refusal,
    },
    /// The answer to a question.
    QuestionAnswer {
        /// The number of the question.
        number: u64,
        /// The answer.
        answer: QuestionAnswer,
    },
    /// The client receives events from now on.
    Watching,
    /// An event.
    Event(Event),
    /// This many events were dropped, because the client did not keep up.
    Missed(u64),
    /// The result of an order.
    OrderResult {
        /// The number of the order.
        number: u64,
        /// What was done, or why nothing was.
        result: Result<OrderDone, Refusal>,
    },
    /// The client does not receive events, for this reason.
    NotWatching(Refusal),
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionAnswer {
    /// How the node is doing.
    Status {
        /// The node itself.
        node: Status,
        /// All members of its cluster, in the order of ids.
        members: Vec<PeerStatus>,
    },
    /// Holders and waiters at this node.
    List(Page),
    /// What this node knows of a name.
    Inspect {
        /// The node it is at home at.
        home: u32,
        /// Its state at this node: empty, if no client uses it here.
        page: Page,
    },
    /// The nodes of the cluster.
    Cluster(Cluster),
    /// What the node that was invited has to be started with.
    Invited(String),
    /// It is done.
    Done,
    /// It was not done, and why.
    NotDone(String),
    /// What names are defined as, as far as this node has heard, in the order of names.
    Definitions {
        /// A page of them.
        definitions: Vec<(Arc<str>, Definition)>,
        /// The name after which the next page begins; `None` if there is no more.
        next: Option<Arc<str>>,
    },
}

/// A member of the cluster, as the node sees it that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its id.
    pub id: u32,
    /// Where clients reach it, as `host:port`; unknown until the two nodes have been connected once.
    pub endpoint: Option<String>,
    /// For how long the two nodes have not been connected; `None` if they are, or are the same.
    pub unreachable: Option<Duration>,
}
