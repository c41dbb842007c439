//! What can happen next in a run, and where.

use service::member::{ConnectionId, LeaderReply};
use service::protocol::{ToClient, ToNode};
use service::registry::{Entry, Leadership};
use service::{PeerMessage, Time, leases};

use crate::nodes::FIRST;
use crate::program::Program;

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Peer {
        from: usize,
        to: usize,
        message: PeerMessage,
    },
    /// From a client, over its connection of this number.
    Said {
        client: usize,
        connection: u32,
        said: ToNode,
    },
    Heard {
        client: usize,
        connection: u32,
        heard: ToClient,
    },
    /// A client does something.
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
    /// The process of a node that was started as this one wants to be woken, when its clock shows this.
    Wake(usize, u64, Time),
    /// A node notices that a connection is over.
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
    /// A client stands still for a while.
    Nap,
    Crash,
    Pause,
    Part,
    /// Two nodes do not reach each other any more.
    Split,
    /// A node joins that was never there.
    Join,
    /// A node is to leave.
    Leave,
    Elect,
    /// An operator releases something by force.
    Force,
    /// An operator defines a name, with more slots or fewer.
    Define,
    /// An operator changes how long leases last.
    Lasts,
    /// A stranger says things that make no sense.
    Nonsense,
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
    /// The control plane has seen to what an operator asked.
    Arranged {
        node: usize,
        started: u64,
        order: (ConnectionId, u64),
    },
    Start(usize),
    /// Something happens to a leader.
    Lead {
        who: Leadership,
        input: leases::Input,
    },
    /// A leader's round reaches the others; what they say takes so long.
    Majority {
        who: Leadership,
        batch: u64,
        after: u64,
    },
    /// A leader replies to a node, which was started as this one.
    Reply {
        node: usize,
        started: u64,
        reply: LeaderReply,
    },
    Tick,
    /// A node hears of this state of the registry.
    Agreed {
        node: usize,
        number: usize,
    },
}

impl Event {
    /// The node that it happens at, and that may stand still.
    pub(crate) fn node(&self, clients: &[Program]) -> Option<usize> {
        match self {
            Event::Peer { to, .. } => Some(*to),
            Event::Said { client, .. } => Some(clients[*client].node),
            Event::Wake(node, ..) | Event::HungUp { node, .. } | Event::Reply { node, .. } => Some(*node),
            Event::Agreed { node, .. } | Event::Propose { node, .. } | Event::Arranged { node, .. } => {
                Some(*node)
            }
            Event::Lead { who, .. } => Some((who.node - FIRST) as usize),
            _ => None,
        }
    }

    /// The client that it happens at, and that may stand still.
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
