//! How much clients can make a node keep. Everything that a client can make a node remember has a bound, so that a node stays
//! below a known amount of memory and no client shuts out the others. `docs/service.md` has the arithmetic.
//!
//! "A client" is what has one address: the host part of where it connects from. Clients in this process count in the sums of
//! the node and have no bound of their own.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A session with a longer ttl than this is a long one: there may be no client left to end it.
pub const LONG_TTL: Duration = Duration::from_secs(600);

/// How much a node keeps for clients: each field is a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Connections of clients.
    pub connections: u64,
    /// Connections from one address.
    pub client_connections: u64,
    /// A client that leaves this many bytes unread is disconnected: it can connect again and ask.
    pub connection_unread: u64,
    /// If all clients together leave this many bytes unread, those that read slowly are disconnected.
    pub unread: u64,
    /// Open sessions.
    pub sessions: u64,
    /// Open sessions of one client.
    pub client_sessions: u64,
    /// Sessions that listen over one connection.
    pub connection_sessions: u64,
    /// Sessions with a ttl longer than [`LONG_TTL`].
    pub long_sessions: u64,
    /// Such sessions of one client.
    pub client_long_sessions: u64,
    /// Requests that hold or wait. One that names groups counts as several: once more for each 256 bytes of
    /// them.
    pub requests: u64,
    /// Such requests of one client.
    pub client_requests: u64,
    /// Such requests of one session.
    pub session_requests: u64,
    /// Refusals that are kept for clients that may not have heard them. Further ones are not kept.
    pub refusals: u64,
    /// Such refusals for one client.
    pub client_refusals: u64,
    /// Names that the node knows when a client asks for another.
    pub names: u64,
    /// Slots of the semaphores that clients ask for, beyond the first of each.
    pub slots: u64,
    /// Such slots for one client.
    pub client_slots: u64,
    /// Names and prefixes in the filter of one watcher.
    pub filter_names: u64,
    /// Bytes of the names and prefixes of all watchers.
    pub filter_bytes: u64,
    /// Requests that wait for the control plane.
    pub control_calls: u64,
    /// Such requests of one connection.
    pub connection_control_calls: u64,
    /// Requests that end in one call, at least one; the rest end in later calls.
    pub slice: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 20_000,
            client_connections: 12_000,
            connection_unread: 4 << 20,
            unread: 256 << 20,
            sessions: 100_000,
            client_sessions: 25_000,
            connection_sessions: 1_024,
            long_sessions: 10_000,
            client_long_sessions: 1_000,
            requests: 1_000_000,
            client_requests: 250_000,
            session_requests: 100_000,
            refusals: 500_000,
            client_refusals: 125_000,
            names: 1_000_000,
            slots: 1 << 20,
            client_slots: 1 << 18,
            filter_names: 256,
            filter_bytes: 16 << 20,
            control_calls: 256,
            connection_control_calls: 16,
            slice: 256,
        }
    }
}

/// A bound that was reached. Variants are only ever added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Bound {
    /// [`Limits::sessions`].
    Sessions,
    /// [`Limits::client_sessions`].
    ClientSessions,
    /// [`Limits::connection_sessions`].
    ConnectionSessions,
    /// [`Limits::long_sessions`].
    LongSessions,
    /// [`Limits::client_long_sessions`].
    ClientLongSessions,
    /// [`Limits::requests`].
    Requests,
    /// [`Limits::client_requests`].
    ClientRequests,
    /// [`Limits::session_requests`].
    SessionRequests,
    /// [`Limits::refusals`].
    Refusals,
    /// [`Limits::client_refusals`].
    ClientRefusals,
    /// [`Limits::names`].
    Names,
    /// [`Limits::slots`].
    Slots,
    /// [`Limits::client_slots`].
    ClientSlots,
    /// [`Limits::filter_names`].
    FilterNames,
    /// [`Limits::filter_bytes`].
    FilterBytes,
    /// [`Limits::control_calls`].
    ControlCalls,
    /// [`Limits::connection_control_calls`].
    ConnectionControlCalls,
    /// [`crate::registry::MOST_DEFINITIONS`].
    Definitions,
    /// The fences of a slot in one view.
    Fences,
    /// [`Limits::connections`].
    Connections,
    /// [`Limits::client_connections`].
    ClientConnections,
}

impl Bound {
    /// The limit's name in a configuration; for what no configuration sets, one like it.
    pub const fn field(self) -> &'static str {
        match self {
            Bound::Sessions => "sessions",
            Bound::ClientSessions => "client_sessions",
            Bound::ConnectionSessions => "connection_sessions",
            Bound::LongSessions => "long_sessions",
            Bound::ClientLongSessions => "client_long_sessions",
            Bound::Requests => "requests",
            Bound::ClientRequests => "client_requests",
            Bound::SessionRequests => "session_requests",
            Bound::Refusals => "refusals",
            Bound::ClientRefusals => "client_refusals",
            Bound::Names => "names",
            Bound::Slots => "slots",
            Bound::ClientSlots => "client_slots",
            Bound::FilterNames => "filter_names",
            Bound::FilterBytes => "filter_bytes",
            Bound::ControlCalls => "control_calls",
            Bound::ConnectionControlCalls => "connection_control_calls",
            Bound::Definitions => "definitions",
            Bound::Fences => "fences",
            Bound::Connections => "connections",
            Bound::ClientConnections => "client_connections",
        }
    }

    /// What to do about it.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Bound::Connections
            | Bound::Sessions
            | Bound::LongSessions
            | Bound::Requests
            | Bound::Names
            | Bound::Slots => "try another node, or later",
            Bound::ClientConnections => "share a connection, or close some",
            Bound::ClientSessions | Bound::ConnectionSessions => "share a session, or close some",
            Bound::ClientLongSessions => "use a shorter ttl, or release some",
            Bound::ClientRequests | Bound::SessionRequests => "release or cancel some first",
            Bound::Refusals | Bound::ClientRefusals => "send the request again",
            Bound::ClientSlots => "use fewer slots, or wait until others are forgotten",
            Bound::FilterNames | Bound::FilterBytes => "watch a prefix, or everything",
            Bound::ControlCalls | Bound::ConnectionControlCalls => "wait for their answers",
            Bound::Definitions => "undefine some",
            Bound::Fences => "wait for the next view",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Sessions => "too many sessions are open at this node",
            Bound::ClientSessions => "too many sessions of your address are open at this node",
            Bound::ConnectionSessions => "too many sessions use this connection",
            Bound::LongSessions => "too many sessions of this node live longer than 10 minutes",
            Bound::ClientLongSessions => "too many sessions of your address live longer than 10 minutes",
            Bound::Requests => "too many requests hold or wait at this node",
            Bound::ClientRequests => "too many requests of your address hold or wait at this node",
            Bound::SessionRequests => "too many requests of this session hold or wait",
            Bound::Refusals | Bound::ClientRefusals => "too many refusals are kept",
            Bound::Names => "too many names are in use at this node",
            Bound::Slots => "semaphores at this node have too many slots",
            Bound::ClientSlots => "semaphores that your address uses have too many slots",
            Bound::FilterNames => "the filter has too many names and prefixes",
            Bound::FilterBytes => "the names and prefixes of all watchers of this node have too many bytes",
            Bound::ControlCalls => "too many requests wait for the control plane",
            Bound::ConnectionControlCalls => {
                "too many requests of this connection wait for the control plane"
            }
            Bound::Definitions => "too many names are defined",
            Bound::Fences => "this name has used all its fences of this view",
            Bound::Connections => "too many clients are connected to this node",
            Bound::ClientConnections => "too many clients of your address are connected to this node",
        })
    }
}
