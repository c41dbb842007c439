//! A client program of the service, with a clock of its own, and the grants it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use service::client::{Client, Grant};
use service::member::ConnectionId;
use service::{Defect, Time, Want};

use crate::clock::Clock;
use crate::run::TTL;

/// A client program of the service.
pub(crate) struct SimulatedClient {
    pub(crate) node: usize,
    pub(crate) clock: Clock,
    pub(crate) client: Client,
    pub(crate) dead: bool,
    /// The name of each request, and what it asks for.
    pub(crate) names: BTreeMap<u64, (u32, Want)>,
    /// The requests that the log shows as waiting or granted.
    pub(crate) open: BTreeSet<u64>,
    /// Its connection, if there is a working one.
    pub(crate) link: Option<Link>,
    /// The number of connections it has had.
    pub(crate) connections: u32,
}

/// A connection of a client to its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Counts the connections of the client.
    pub(crate) number: u32,
    /// The node's number for it.
    pub(crate) id: ConnectionId,
    /// The start of the node's process that the connection belongs to.
    pub(crate) started: u64,
}

impl SimulatedClient {
    pub(crate) fn new(node: usize, clock: Clock, defect: Option<Defect>) -> SimulatedClient {
        let (client, names) = (Client::new(TTL).with_defect(defect), BTreeMap::new());
        SimulatedClient {
            node,
            clock,
            client,
            dead: false,
            names,
            open: BTreeSet::new(),
            link: None,
            connections: 0,
        }
    }

    /// The number of its connection, if that works.
    pub(crate) fn works(&self) -> Option<u32> {
        self.link.map(|link| link.number)
    }

    pub(crate) fn is_connected_by(&self, number: u32) -> bool {
        self.works() == Some(number)
    }
}

/// A grant as its client sees it.
#[derive(Clone)]
pub(crate) struct HeldGrant {
    pub(crate) name: u32,
    pub(crate) slot: u32,
    pub(crate) fence: u64,
    /// Its group, for a room or a read-write lock.
    pub(crate) group: String,
    pub(crate) alone: bool,
}

impl HeldGrant {
    pub(crate) fn new((name, want): &(u32, Want), grant: Grant) -> HeldGrant {
        let group = match want {
            Want::Slot | Want::AnySlot => String::new(),
            Want::Read => "readers".to_string(),
            Want::Write => "a writer".to_string(),
            Want::AnyOf(groups) => groups[grant.group as usize].to_string(),
        };
        HeldGrant { name: *name, slot: grant.slot, fence: grant.fence, group, alone: *want == Want::Write }
    }
}

impl fmt::Display for HeldGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeldGrant { name, slot, fence, group, .. } = self;
        if group.is_empty() {
            return write!(f, "slot {slot} of name {name} with fence {fence}");
        }
        write!(f, "name {name} for {group} with fence {fence}")
    }
}

/// Several grants in a sentence.
pub(crate) fn listed(grants: &[HeldGrant]) -> String {
    grants.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl HeldGrant {
    /// Whether both grants may be held at once: in the same group, by the same opening.
    pub(crate) fn shares(&self, other: &HeldGrant) -> bool {
        self.group == other.group && self.fence == other.fence && !self.alone && !other.alone
    }
}

impl SimulatedClient {
    pub(crate) fn clock(&self, truth: Time) -> Time {
        self.clock.at(truth)
    }

    pub(crate) fn is_within_promise(&self, truth: Time) -> bool {
        !self.dead && self.client.is_within_promise(self.clock(truth))
    }

    pub(crate) fn held_grants(&self, truth: Time) -> impl Iterator<Item = HeldGrant> {
        let believes = self.is_within_promise(truth);
        let held = self.client.held().iter().filter(move |_| believes);
        held.map(|(request, grant)| HeldGrant::new(&self.names[request], *grant))
    }
}
