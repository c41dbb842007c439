//! The report of a node: holders, waiters, and what it keeps.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::state::Request;
use super::{Core, Counts};
use crate::grant::Grant;
use crate::label::Label;
use crate::name::Definition;
use crate::session::SessionId;
use crate::time::Time;
use crate::view::MemberIndex;
use crate::want::Want;

/// At most this many pointers of a name are told: of a node that knows a semaphore of many slots, all would lead to its home.
pub const POINTERS: usize = 256;

/// A client that holds or waits here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The session of the client.
    pub session: SessionId,
    /// The client's number for the request.
    pub request: u64,
    /// The grant that the client holds; `None` while it waits.
    pub granted: Option<Grant>,
    /// What the client wants.
    pub want: Want,
    /// For how long the client has held, or waited.
    pub since: Duration,
    /// Who the client is, as it says itself.
    pub label: Option<Label>,
    /// How long its session lives without another keep-alive; `None` for clients in the process of the node.
    pub left: Option<Duration>,
    /// The grant was revoked, and the client has not released it yet.
    pub revoked: bool,
}

/// A resource as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The name of the resource.
    pub name: String,
    /// What the resource is.
    pub definition: Definition,
    /// The id of its home.
    pub home: u32,
    /// The slots whose tokens are here, each with the nodes that wait for it, in their order.
    pub slots: Vec<(u32, Vec<u32>)>,
    /// For the slots whose tokens are elsewhere, the node to which this node would send a request: the first [`POINTERS`], by
    /// slot. None for a slot that this node waits for; none at all in lists of many names.
    pub pointers: Vec<(u32, u32)>,
    /// The clients that hold or wait here: first those that hold, then the others, in the order in which they came.
    pub clients: Vec<Held>,
}

/// How a node is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The id of this node.
    pub node: u32,
    /// The incarnation of this node.
    pub incarnation: u64,
    /// The epoch of the view that this node is in.
    pub epoch: u64,
    /// How many members the view has.
    pub members: u32,
    /// Sessions that are open.
    pub sessions: usize,
    /// Clients that hold or wait.
    pub requests: usize,
    /// Names that are kept.
    pub resources: usize,
    /// Counts since the start.
    pub counts: Counts,
}

impl Core {
    /// How this node is doing.
    pub fn status(&self) -> Status {
        Status {
            node: self.config.id,
            incarnation: self.config.incarnation,
            epoch: self.membership.epoch(),
            members: self.membership.nodes(),
            sessions: self.sessions.len(),
            requests: self.requests.len(),
            resources: self.names.len(),
            counts: self.counts,
        }
    }

    /// The tokens that are here: the name, what it stands for, and the slot.
    pub fn tokens(&self) -> impl Iterator<Item = (&Arc<str>, Definition, u32)> {
        self.names.iter().flat_map(|(_, resource)| {
            let slots = resource.slots_here().into_iter();
            slots.map(|(slot, _)| (resource.name(), resource.definition(), slot))
        })
    }

    /// The node that a name is at home at.
    pub fn home(&self, name: &str) -> u32 {
        let view = self.membership.view();
        view.id(view.home(name))
    }

    /// All resources that this node remembers.
    pub fn everything(&self) -> Vec<Listing> {
        let numbers = self.names.iter().map(|(number, _)| number);
        numbers.filter_map(|number| self.listing(number)).collect()
    }

    /// The pointers of a resource: see [`Listing::pointers`].
    pub(super) fn pointers(&self, number: u32) -> Vec<(u32, u32)> {
        let view = self.membership.view();
        // As with queues: until the resource is brought into this view, its pointers are about the one before.
        let resource = self.names.get(number).filter(|_| !self.names.is_behind(number));
        let pointers = resource.map(|resource| resource.pointers(self.membership.position(), POINTERS));
        pointers.into_iter().flatten().map(|(slot, node)| (slot, view.id(node))).collect()
    }

    /// A resource without its clients and pointers: pages add those.
    pub(super) fn listing(&self, number: u32) -> Option<Listing> {
        let resource = self.names.get(number)?;
        let view = self.membership.view();
        // Indices in queues are those of the view before until the resource is brought into this one.
        let behind = self.names.is_behind(number);
        let ids = |nodes: &[MemberIndex]| if behind { Vec::new() } else { view.ids(nodes) };
        let slots = resource.slots_here().into_iter();
        Some(Listing {
            name: resource.name().to_string(),
            definition: resource.definition(),
            home: view.id(view.home(resource.name())),
            slots: slots.map(|(slot, nodes)| (slot, ids(&nodes))).collect(),
            pointers: Vec::new(),
            clients: Vec::new(),
        })
    }

    pub(super) fn held(&self, request: &Request, now: Time) -> Held {
        let session = self.sessions.get(request.session);
        Held {
            session: self.sessions.id(request.session),
            request: request.number,
            granted: request.granted,
            want: request.want.clone(),
            since: now - request.since,
            label: self.sessions.label(request.session),
            left: session.and_then(|session| session.left(now)),
            revoked: request.revoked.is_some(),
        }
    }
}
