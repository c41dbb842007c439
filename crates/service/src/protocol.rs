//! The messages between clients and nodes, whatever carries them. Variants are only ever added at the end, so
//! that nodes and clients of different versions understand what both know.
//!
//! A connection carries messages in order until it breaks. A session outlives its connections: after a break
//! a client repeats what may not have been heard (every request has a number, and none is carried out twice).
//! A release is not answered; the next promise on the same connection confirms it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auth::{AuditPage, Change, Rights, Vouched};
use crate::core::{Acquire, Cursor, Page, Reply, Status, Uses};
use crate::event::{Event, Filter, ForceReleased};
use crate::frame::CLIENT_MAGIC;
pub use crate::hello::Hello;
use crate::label::Label;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::session::{Promise, SessionId};
use crate::session_key::{SessionHandle, SessionKey};

/// The first bytes of every connection of a client.
pub const MAGIC: [u8; 8] = CLIENT_MAGIC;

/// The version of greetings: their layout is the same in all versions, or no version could be agreed on.
pub const GREETING: u8 = 0;

/// The versions of this protocol that this program speaks, the lowest and the highest.
pub const VERSIONS: (u8, u8) = (4, 4);

/// The answer of a node to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// All further frames are in this version.
    Version {
        /// The highest version that both speak.
        version: u8,
        /// The node that answers.
        node: u32,
        /// The incarnation of that node.
        incarnation: u64,
    },
    /// Client and node have no version in common. These are the node's.
    NoCommonVersion((u8, u8)),
    /// The node refuses the connection: it serves as many clients as it may.
    Refused(Refusal),
}

/// A frame from a client to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToNode {
    /// Opens a session.
    Open {
        /// How long the session lives without a keep-alive.
        ttl: Duration,
        /// Who the client is, as it says itself.
        label: Option<Label>,
    },
    /// Keeps a session alive. The node answers over the connection that this came over.
    KeepAlive {
        /// The session of the client.
        session: SessionHandle,
        /// The number of the keep-alive, higher than all before. The promise names it.
        sequence: u64,
        /// The client has received the replies to all requests up to this one: the node need not keep them.
        settled: u64,
    },
    /// Requests a grant.
    Acquire {
        /// The session of the client.
        session: SessionHandle,
        /// The request.
        ask: Acquire,
    },
    /// Cancels a request.
    Cancel {
        /// The session of the client.
        session: SessionHandle,
        /// The client's number for the request.
        request: u64,
    },
    /// Releases a grant.
    Release {
        /// The session of the client.
        session: SessionHandle,
        /// The number of the request that was granted.
        request: u64,
        /// The fence of the grant.
        fence: u64,
    },
    /// Ends a session with everything in it.
    Close {
        /// The session.
        session: SessionHandle,
    },
    /// Asks a question. [`ToClient::QuestionAnswer`] follows.
    Ask {
        /// The client's number for the question.
        number: u64,
        /// The question.
        question: Question,
    },
    /// Requests the events that the filter shows, over this connection, from now on.
    Watch(Filter),
    /// Orders a change. [`ToClient::OrderResult`] follows.
    Order {
        /// The client's number for the order.
        number: u64,
        /// The order.
        order: Order,
    },
}

/// A change that an operator orders.
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
        /// The new number of slots.
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
        /// Whether the slot is free without waiting until the holder's promise has certainly run out: that
        /// breaks exclusion.
        at_once: bool,
    },
    /// Changes rights. The cluster commits it.
    Rights(Change),
    /// Revokes a grant at the node that is asked, for a caller of another node. Only nodes of the cluster can order it. A node of
    /// before this order takes it for nonsense and hangs up.
    ForceReleaseFor {
        /// The caller, which needs the right.
        caller: Vouched,
        /// The name.
        name: Arc<str>,
        /// The slot.
        slot: u32,
        /// The fence.
        fence: u64,
        /// Whether the slot is free at once.
        at_once: bool,
    },
}

impl Order {
    /// The caller that it is for, if that is another than the one that says it.
    pub fn vouched(&self) -> Option<&Vouched> {
        match self {
            Order::ForceReleaseFor { caller, .. } => Some(caller),
            Order::Define { .. } | Order::Resize { .. } | Order::ForceRelease { .. } | Order::Rights(_) => {
                None
            }
        }
    }
}

/// The result of an order that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderDone {
    /// The cluster has committed the change.
    Agreed,
    /// The node has revoked these grants.
    ForceReleased(Vec<ForceReleased>),
}

/// A question of a client, or a change that an operator asks of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// The status of the node, and the members of its cluster.
    Status,
    /// Holders and waiters at this node: a page of the names that the filter shows.
    List {
        /// Which names.
        filter: Filter,
        /// Where the page before ended.
        after: Option<Cursor>,
    },
    /// What this node knows of a name.
    Inspect {
        /// The name.
        name: String,
        /// Where the page before ended.
        after: Option<Cursor>,
    },
    /// The nodes of the cluster, the leader, and the state of the node that is asked.
    Cluster,
    /// Invite a node, with an invitation that lasts this long.
    Invite(Duration),
    /// Forget a node that was stopped, for good.
    Remove(u32),
    /// Change the length of leases.
    Lease(Duration),
    /// What names are defined as: a page, after this name.
    Definitions(Option<Arc<str>>),
    /// Who votes, and whether a majority of them is there.
    Voters,
    /// The invitations that are open.
    Invitations,
    /// Withdraw the invitation for this node.
    Withdraw(u32),
    /// Who may do what, as far as this node has heard.
    Rights,
    /// Who did what at this node: a page, after the entry of this number.
    Audit(u64),
    /// What this node counts.
    Counters,
    /// How much names are used at this node: a page of those that the filter shows.
    Uses {
        /// Which names.
        filter: Filter,
        /// Where the page before ended.
        after: Option<Cursor>,
    },
}

/// The nodes of the cluster, as far as the node that is asked knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The cluster's name.
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
    /// All nodes that belong to the cluster, by id.
    pub nodes: Vec<ClusterNode>,
}

/// A node that belongs to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNode {
    /// The node's id.
    pub id: u32,
    /// Where the node's peers reach it.
    pub address: String,
    /// Where clients reach the node, if it is a member now.
    pub clients: Option<String>,
    /// The node's incarnation, if it is a member now.
    pub incarnation: Option<u64>,
    /// Whether the node is a voter.
    pub votes: bool,
}

/// The voters, and whether a majority of them is there, as far as the node that is asked knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voters {
    /// Whether a majority is there.
    pub majority: bool,
    /// All voters, by id; before there is a cluster, those that it is to begin with.
    pub voters: Vec<Voter>,
}

/// A node that votes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voter {
    /// The node's id.
    pub id: u32,
    /// Where the node's peers reach it.
    pub address: String,
    /// Why the voter is missing, if it is. A node that follows a leader does not know which voters are.
    pub missing: Option<String>,
}

impl Voters {
    /// What the cluster waits for, if it does.
    pub fn waiting(&self) -> Option<String> {
        if self.majority || self.voters.is_empty() {
            return None;
        }
        let missing = |voter: &Voter| {
            let why = voter.missing.as_ref()?;
            Some(format!("node {} at {}: {why}", voter.id, voter.address))
        };
        let (all, missing) = (self.voters.len(), self.voters.iter().filter_map(missing).collect::<Vec<_>>());
        let there = all - missing.len();
        let list =
            if missing.is_empty() { String::new() } else { format!(" (missing {})", missing.join("; ")) };
        let what = if 2 * there > all { "a leader" } else { "a majority" };
        Some(format!("waiting for {what}: {there} of {all} voters{list}"))
    }
}

/// A frame from a node to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToClient {
    /// A session is open, with its first promise.
    Opened {
        /// The session.
        session: SessionId,
        /// The key of the session: every frame of the client about the session carries it.
        key: SessionKey,
        /// How long the client may hold its grants, counted from when it asked.
        promise: Promise,
    },
    /// The session was not opened, for this reason.
    NotOpened(Refusal),
    /// An answer to a keep-alive.
    Promise {
        /// The session of the client.
        session: SessionId,
        /// How long the client may hold its grants.
        promise: Promise,
    },
    /// The node does not know a session (any more): its grants are lost.
    SessionGone {
        /// The session.
        session: SessionId,
    },
    /// The reply to a request.
    Reply(Reply),
    /// A release was refused, and changed nothing.
    NotReleased {
        /// The session of the client.
        session: SessionId,
        /// The number of the request.
        request: u64,
        /// Why the release was refused.
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
    /// The node dropped this many events, because the client did not keep up.
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
    /// A keep-alive was refused: the session lives as long as was promised, and no longer.
    NotKept {
        /// The session.
        session: SessionId,
        /// Why.
        refusal: Refusal,
    },
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionAnswer {
    /// The state of the node and of its peers.
    Status {
        /// The state of the node.
        node: Status,
        /// All members of its cluster, in the order of ids.
        members: Vec<PeerStatus>,
        /// How long its certificate is still valid, if it has one.
        certificate_left: Option<Duration>,
    },
    /// Holders and waiters at this node.
    List(Page),
    /// What this node knows of a name.
    Inspect {
        /// The id of the home of the name.
        home: u32,
        /// The state of the name at this node: empty, if no client uses it here.
        page: Page,
    },
    /// The nodes of the cluster.
    Cluster(Cluster),
    /// The invitation, as the word that the invited node has to be started with.
    Invited(String),
    /// The control plane has done what was asked.
    Done,
    /// Nothing was done, for this reason.
    NotDone(String),
    /// What names are defined as, as far as this node has heard, in the order of names.
    Definitions {
        /// A page of them.
        definitions: Vec<(Arc<str>, Definition)>,
        /// The name after which the next page begins; `None` if there is no more.
        next: Option<Arc<str>>,
    },
    /// Who votes.
    Voters(Voters),
    /// The invitations that are open: for which id, and until when, in seconds since 1970 on the clock of the leader.
    Invitations(Vec<(u32, u64)>),
    /// The question is refused.
    Refused(Refusal),
    /// Who may do what. Of tokens it has the hashes.
    Rights(Box<Rights>),
    /// Who did what.
    Audit(AuditPage),
    /// What this node counts.
    Counters(Counters),
    /// How much names are used.
    Uses(Uses),
}

/// What a node counts. By name, so that a node can count more without another message: a client takes what it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests that wait now.
    pub waiters: u64,
    /// What it has counted since it started.
    pub counted: Vec<(String, u64)>,
}

impl Counters {
    /// The name under which granted requests are counted that waited at most so many nanoseconds and longer than the bound
    /// before it in [`TIMES`](crate::metrics::TIMES); `None`: longer than all bounds.
    pub fn waits_up_to(bound: Option<u64>) -> String {
        bound.map_or_else(|| "waits_longer".into(), |nanoseconds| format!("waits_up_to_{nanoseconds}_ns"))
    }

    /// What was counted under this name, if the node counts that.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counted.iter().find(|(counted, _)| counted == name).map(|(_, count)| *count)
    }
}

/// A member of the cluster, as the node sees it that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The member's id.
    pub id: u32,
    /// Where clients reach the member, as `host:port`. Unknown until the two nodes have been connected once.
    pub endpoint: Option<String>,
    /// For how long the two nodes have not been connected; `None` if they are, or are the same.
    pub unreachable: Option<Duration>,
}
