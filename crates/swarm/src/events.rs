//! The events of a run, and where they happen.

use service::member::{ConnectionId, LeaderReply};
use service::protocol::{ToClient, ToNode};
use service::registry::{Entry, Leadership};
use service::{PeerMessage, Time, leases};

use crate::nodes::FIRST;
use crate::simulated_client::SimulatedClient;

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Peer {
        from: usize,
        to: usize,
        message: PeerMessage,
    },
    /// From a client, over its connection of this number.
    FromClient {
        client: usize,
        connection: u32,
        said: ToNode,
    },
    Heard {
        client: usize,
        connection: u32,
        heard: ToClient,
    },
    /// A client acts.
    Act(usize),
    KeepAlive(usize),
    Release {
        client: usize,
        request: u64,
    },
    Cancel {
        client: usize,
        request: u64,
    },
    /// The process of a node, identified by the number of its start, asked to be woken when its clock shows
    /// this time.
    Wake(usize, u64, Time),
    /// A node notices that a connection has ended.
    HungUp {
        node: usize,
        started: u64,
        connection: ConnectionId,
    },
    Cut,
    /// A connection is slow for a while.
    Stall,
    Reconnect(usize),
    Die,
    /// A client is paused for a while.
    Nap,
    Crash,
    Pause,
    Part,
    /// Two nodes lose contact for good.
    Split,
    /// A new node joins.
    Join,
    /// A node is told to leave.
    Leave,
    Elect,
    /// An operator releases a grant by force.
    Force,
    /// An operator defines a name, with more slots or fewer.
    Define,
    /// An operator changes the length of leases.
    Lasts,
    /// A stranger sends invalid frames.
    Nonsense,
    /// A stranger guesses the numbers of sessions.
    Guess,
    /// A peer sends what no honest peer sends.
    Lie,
    /// A watcher reads, or stops reading for a while.
    Watch(usize),
    /// A node proposes an entry for an operator.
    Propose {
        node: usize,
        started: u64,
        order: (ConnectionId, u64),
        entry: Entry,
    },
    /// The control plane has carried out an operator's request.
    Arranged {
        node: usize,
        started: u64,
        order: (ConnectionId, u64),
    },
    Start(usize),
    /// An input for a leader.
    Lead {
        who: Leadership,
        input: leases::Input,
    },
    /// A leader's round reaches the others; their answers take this long.
    Majority {
        who: Leadership,
        batch: u64,
        after: u64,
    },
    /// A leader replies to a node, identified by the number of its start.
    Reply {
        node: usize,
        started: u64,
        reply: LeaderReply,
    },
    Tick,
    /// A node learns this state of the registry.
    Agreed {
        node: usize,
        number: usize,
    },
}

impl Event {
    /// The node where it happens, which may be paused.
    pub(crate) fn node(&self, clients: &[SimulatedClient]) -> Option<usize> {
        match self {
            Event::Peer { to, .. } => Some(*to),
            Event::FromClient { client, .. } => Some(clients[*client].node),
            Event::Wake(node, ..) | Event::HungUp { node, .. } | Event::Reply { node, .. } => Some(*node),
            Event::Agreed { node, .. } | Event::Propose { node, .. } | Event::Arranged { node, .. } => {
                Some(*node)
            }
            Event::Lead { who, .. } => Some((who.node - FIRST) as usize),
            _ => None,
        }
    }

    /// The client where it happens, which may be paused.
    pub(crate) fn client(&self) -> Option<usize> {
        match self {
            Event::Act(client) | Event::KeepAlive(client) | Event::Reconnect(client) => Some(*client),
            Event::Release { client, .. } | Event::Cancel { client, .. } | Event::Heard { client, .. } => {
                Some(*client)
            }
            _ => None,
        }
    }
}
