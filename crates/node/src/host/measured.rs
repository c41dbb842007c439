//! What a node knows of itself, for other doors and for those who watch over it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use service::metrics::Histogram;
use service::{NodeId, Refusal};
use transport::{Encryption, clock};

use super::Host;
use crate::clients::Place;

/// What a node has measured, and how it is doing.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How many there are of what.
    pub status: service::core::Status,
    /// How long clients waited and held.
    pub metrics: service::metrics::Metrics,
    /// Requests that wait.
    pub waiting: usize,
    /// How long the lease of the node lasts.
    pub lease_left: Duration,
    /// Members without a connection.
    pub unreachable: usize,
    /// The newest term of consensus.
    pub term: u64,
    /// Whether the node leads.
    pub leads: bool,
    /// When its certificate, or a CA that it trusts, ends.
    pub certificate_ends: Option<SystemTime>,
    /// Bytes that wait to be read by clients.
    pub unread: usize,
    /// Clients that left so much unread that they were disconnected.
    pub hung_up: u64,
    /// Connections of clients, of all protocols.
    pub connections: u64,
    /// Clients that found no place, by the bound that was reached.
    pub no_place: BTreeMap<&'static str, u64>,
    /// How often a connection to a peer was made.
    pub links_made: u64,
    /// Payloads that were sent again to a peer, because a connection broke.
    pub resent: u64,
    /// Lines of the log that were left out, because strangers caused too many.
    pub lines_left_out: u64,
    /// How late the loops of the node are, by their names.
    pub lag: [(&'static str, Histogram); 2],
}

impl Host {
    /// The number of this node.
    pub fn id(&self) -> u32 {
        self.shared.id
    }

    /// Where clients reach this node.
    pub fn clients(&self) -> &str {
        &self.shared.clients
    }

    /// Whether connections are encrypted.
    pub fn encryption(&self) -> &Encryption {
        &self.shared.encryption
    }

    /// Takes a place for a client of another protocol, which counts like one of this node's own.
    pub fn take_place(&self, address: SocketAddr) -> Result<Place, Refusal> {
        self.shared.places.take((Some(address.ip()), None))
    }

    /// What the node has measured, and how it is doing.
    pub fn measured(&self) -> Measured {
        let shared = &self.shared;
        let credentials = shared.encryption.credentials();
        let lag = [("sockets", &shared.lag.sockets), ("runtime", &shared.lag.runtime)];
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let state = shared.lock();
        let (core, now) = (state.member.core(), clock::now());
        let certificate_ends = credentials.map(|credentials| credentials.expires().at);
        Measured {
            status: core.status(),
            metrics: core.metrics().clone(),
            waiting: core.waiters(),
            lease_left: core.lease().until() - now,
            unreachable: state.links.peers.unreachable().len(),
            term: shared.control.term(),
            leads: shared.control.leadership().borrow().is_some(),
            certificate_ends,
            unread: shared.unread.load(Ordering::Relaxed),
            hung_up: count(&shared.hung_up),
            connections: shared.places.count(),
            no_place: shared.places.refused(),
            links_made: count(&shared.links_made),
            resent: count(&shared.resent),
            lines_left_out: shared.log.left_out(),
            lag: lag.map(|(name, lag)| (name, lag.measured())),
        }
    }

    /// What the node needs to serve, each with what is wrong with it, if anything is.
    pub fn readiness(&self) -> [(&'static str, Option<String>); 3] {
        let leased = self.shared.lock().member.is_leased(clock::now());
        let unreachable: Vec<String> = self.unreachable().keys().map(ToString::to_string).collect();
        let missing =
            (!unreachable.is_empty()).then(|| format!("no connection to node {}", unreachable.join(", ")));
        [
            ("lease", (!leased).then(|| "this node has no lease, and grants nothing".to_string())),
            ("members", missing),
            ("disk", self.shared.control.failure()),
        ]
    }

    /// How the node is doing.
    pub fn status(&self) -> service::core::Status {
        self.shared.status()
    }

    /// The peers without a connection, and for how long that has been so.
    pub fn unreachable(&self) -> BTreeMap<NodeId, Duration> {
        self.shared.lock().links.peers.unreachable()
    }
}
