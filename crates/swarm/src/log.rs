//! The log of a run: what happened and when, as facts and in words. Writing it draws nothing and changes nothing.

use std::fmt;
use std::time::Duration;

use service::Time;

use crate::run::Run;
use crate::simulated_client::HeldGrant;

/// Something that happened in a run. Nodes and clients are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// When: nanoseconds of simulated time.
    pub at: Time,
    /// What.
    pub what: Happened,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The nodes agreed on a view.
    View {
        /// Its number.
        epoch: u64,
        /// Its members.
        members: Vec<usize>,
    },
    /// Something happened to a node, or it did something.
    Node(usize, NodeChange),
    /// Messages from some nodes to others are held back for a while.
    Apart {
        /// These.
        from: Vec<usize>,
        /// Those.
        to: Vec<usize>,
        /// In the other direction as well.
        both: bool,
        /// How long.
        lasts: Duration,
    },
    /// An operator defined a name.
    Defined {
        /// The name.
        name: String,
        /// As what.
        definition: String,
    },
    /// Something happened to a request of a client.
    Request {
        /// The client.
        client: usize,
        /// Its node.
        node: usize,
        /// The number of the request, within the session.
        request: u64,
        /// The number of the name.
        name: u32,
        /// What.
        change: RequestChange,
    },
    /// The session of a client is over, and with it all its requests.
    SessionOver {
        /// The client.
        client: usize,
        /// Its node.
        node: usize,
        /// Whether the client has vanished.
        vanished: bool,
    },
}

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// It enters this view.
    Enters(u64),
    /// It leads.
    Leads,
    /// It joins.
    Joins,
    /// It is told to leave.
    IsToLeave,
    /// It has left.
    Left,
    /// Its process dies.
    Dies,
    /// Its process runs again.
    ComesBack,
    /// It stands still for this long.
    StandsStill(Duration),
    /// It learns that it was excluded.
    Excluded,
    /// It has no lease any more, and grants nothing.
    NoLease,
    /// It has a lease.
    Leased,
    /// It does not reach the leader for a while, or (not `both`) hears it but is not heard.
    CutOff {
        /// In both directions.
        both: bool,
        /// How long.
        lasts: Duration,
    },
    /// It sends this node what no honest node sends.
    LiesTo(usize),
    /// An operator releases a grant here by force.
    Forces {
        /// The name.
        name: String,
        /// The slot.
        slot: u32,
        /// The fence.
        fence: u64,
    },
}

/// What can happen to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestChange {
    /// The client asks.
    Waits,
    /// The client learns that it holds.
    Granted(Held),
    /// The client releases it.
    Released(Held),
    /// The client learns that its grant was revoked.
    TakenAway(Held),
    /// The client learns that it does not get it.
    GaveUp(String),
}

/// A grant, as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The slot.
    pub slot: u32,
    /// The fence.
    pub fence: u64,
    /// The group of a room, or `readers` and `a writer`; empty for slots.
    pub group: String,
}

impl Held {
    fn of(grant: &HeldGrant) -> Held {
        Held { slot: grant.slot, fence: grant.fence, group: grant.group.clone() }
    }

    fn words(&self, name: u32) -> String {
        let Held { slot, fence, group } = self;
        match group.is_empty() {
            true => format!("slot {slot} of name {name} with fence {fence}"),
            false => format!("name {name} for {group} with fence {fence}"),
        }
    }
}

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at.0, self.what)
    }
}

fn listed(nodes: &[usize]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happened::View { epoch, members } if members.is_empty() => write!(f, "view {epoch} without nodes"),
            Happened::View { epoch, members } => write!(f, "view {epoch} with nodes {}", listed(members)),
            Happened::Node(node, change) => write!(f, "node {node} {change}"),
            Happened::Apart { from, to, both, lasts } => {
                let (from, to, lasts) = (listed(from), listed(to), lasts.as_nanos());
                let way = if *both { "and" } else { "to" };
                write!(f, "no message passes from nodes {from} {way} {to} for {lasts}")
            }
            Happened::Defined { name, definition } => write!(f, "{name} is defined as {definition}"),
            Happened::Request { client, name, request, change, .. } => match change {
                RequestChange::Waits => {
                    write!(f, "client {client} asks for name {name} by request {request}")
                }
                RequestChange::Granted(held) => write!(f, "client {client} holds {}", held.words(*name)),
                RequestChange::Released(held) => write!(f, "client {client} releases {}", held.words(*name)),
                RequestChange::TakenAway(held) => write!(f, "client {client} loses {}", held.words(*name)),
                RequestChange::GaveUp(why) => {
                    write!(f, "client {client} does not get name {name} by request {request}: {why}")
                }
            },
            Happened::SessionOver { client, vanished: true, .. } => write!(f, "client {client} vanishes"),
            Happened::SessionOver { client, .. } => write!(f, "the session of client {client} is over"),
        }
    }
}

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeChange::Enters(epoch) => write!(f, "enters view {epoch}"),
            NodeChange::Leads => write!(f, "leads"),
            NodeChange::Joins => write!(f, "joins"),
            NodeChange::IsToLeave => write!(f, "is to leave"),
            NodeChange::Left => write!(f, "has left"),
            NodeChange::Dies => write!(f, "dies"),
            NodeChange::ComesBack => write!(f, "comes back"),
            NodeChange::StandsStill(lasts) => write!(f, "stands still for {}", lasts.as_nanos()),
            NodeChange::Excluded => write!(f, "was excluded"),
            NodeChange::NoLease => write!(f, "has no lease"),
            NodeChange::Leased => write!(f, "has a lease"),
            NodeChange::CutOff { both: true, lasts } => {
                write!(f, "does not reach the leader for {}", lasts.as_nanos())
            }
            NodeChange::CutOff { lasts, .. } => {
                write!(f, "is not heard by the leader for {}", lasts.as_nanos())
            }
            NodeChange::LiesTo(other) => write!(f, "lies to node {other}"),
            NodeChange::Forces { name, slot, fence } => {
                write!(f, "releases slot {slot} of {name} with fence {fence} by force")
            }
        }
    }
}

impl Run {
    pub(crate) fn log(&mut self, what: Happened) {
        self.outcome.log.push(Logged { at: self.now, what });
    }

    pub(crate) fn log_node(&mut self, node: usize, change: NodeChange) {
        self.log(Happened::Node(node, change));
    }

    /// Logs what happened to a request, and whether it is open after that.
    pub(crate) fn log_request(&mut self, client: usize, request: u64, change: RequestChange) {
        let program = &mut self.clients[client];
        let (node, Some(&(name, _))) = (program.node, program.names.get(&request)) else { return };
        match change {
            RequestChange::Waits | RequestChange::Granted(_) => _ = program.open.insert(request),
            _ => _ = program.open.remove(&request),
        }
        self.log(Happened::Request { client, node, request, name, change });
    }

    /// What a client holds by a request.
    pub(crate) fn held(&self, client: usize, request: u64) -> Option<Held> {
        let program = &self.clients[client];
        let grant = program.client.held().get(&request)?;
        Some(Held::of(&HeldGrant::new(program.names.get(&request)?, *grant)))
    }

    /// Logs what has ended or begun by the passing of time alone: promises and leases.
    pub(crate) fn log_passing(&mut self) {
        for client in 0..self.clients.len() {
            let program = &self.clients[client];
            let (node, vanished) = (program.node, program.dead);
            if !program.open.is_empty() && !program.is_within_promise(self.now) {
                self.clients[client].open.clear();
                self.log(Happened::SessionOver { client, node, vanished });
            }
        }
        for node in 0..self.processes.len() {
            let (process, clock) = (&self.processes[node], self.node_clock(node));
            let Some(member) = &process.member else { continue };
            let leased = member.is_leased(clock);
            if leased != process.leased {
                self.processes[node].leased = leased;
                self.log_node(node, if leased { NodeChange::Leased } else { NodeChange::NoLease });
            }
        }
    }
}
