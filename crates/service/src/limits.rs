//! How much clients can make a node keep. Everything that a client can make a node remember has a bound, so that a node stays
//! below a known amount of memory and no client shuts out the others. `docs/service.md` has the arithmetic.
//!
//! "A client" is what has one address: the host part of where it connects from. Clients in this process count in the sums of
//! the node and have no bound of their own.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A session that lives longer than this without a keep-alive is a long one: nobody may be there to end it.
pub const LONG_LIFE: Duration = Duration::from_secs(600);

/// How much a node keeps for clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// So many clients are connected,
    pub connections: u64,
    /// and so many from one address.
    pub client_connections: u64,
    /// A client that lets so many bytes wait to be read is hung up on: it can connect again and ask.
    pub connection_unread: u64,
    /// If so many bytes wait to be read by all clients, those that read slowly are hung up on.
    pub unread: u64,
    /// So many sessions are open,
    pub sessions: u64,
    /// of one client,
    pub client_sessions: u64,
    /// and so many listen over one connection.
    pub connection_sessions: u64,
    /// So many sessions live longer than [`LONG_LIFE`],
    pub long_sessions: u64,
    /// of one client.
    pub client_long_sessions: u64,
    /// So many requests hold or wait. One that names groups counts as several: once more for each 256 bytes of them.
    pub requests: u64,
    /// So many of one client,
    pub client_requests: u64,
    /// and in one session.
    pub session_requests: u64,
    /// So many refusals are kept for clients that may not have heard them. Beyond that they are not kept.
    pub refusals: u64,
    /// So many for one client.
    pub client_refusals: u64,
    /// So many names are known when a client asks for another.
    pub names: u64,
    /// So many slots do semaphores have that clients ask for, beyond the first of each.
    pub slots: u64,
    /// So many for one client.
    pub client_slots: u64,
    /// So many names and prefixes can a watcher name.
    pub filter_names: u64,
    /// So many bytes do the names and prefixes of all watchers have.
    pub filter_bytes: u64,
    /// So many questions and orders may be on their way to the control plane,
    pub errands: u64,
    /// of one connection.
    pub connection_errands: u64,
    /// So many requests end in one call, at least one; the rest in the next.
    pub slice: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            client_connections: 9_000,
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
            errands: 256,
            connection_errands: 16,
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
    /// [`Limits::errands`].
    Errands,
    /// [`Limits::connection_errands`].
    ConnectionErrands,
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
    /// What to do about it.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Bound::Connections
            | Bound::Sessions
            | Bound::LongSessions
            | Bound::Requests
            | Bound::Names
            | Bound::Slots => "try another node, or later",
            Bound::ClientConnections => "use one connection for more, or close some",
            Bound::ClientSessions | Bound::ConnectionSessions => "use one session for more, or close some",
            Bound::ClientLongSessions => "use a shorter time to live, or release some",
            Bound::ClientRequests | Bound::SessionRequests => "release or cancel some first",
            Bound::Refusals | Bound::ClientRefusals => "ask anew",
            Bound::ClientSlots => "use fewer slots, or wait until others are forgotten",
            Bound::FilterNames | Bound::FilterBytes => "watch a prefix, or everything",
            Bound::Errands | Bound::ConnectionErrands => "wait for the answers to those",
            Bound::Definitions => "undefine some",
            Bound::Fences => "the next view has more",
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
            Bound::FilterNames => "the filter names too many names and prefixes",
            Bound::FilterBytes => "watchers of this node name too many bytes of names",
            Bound::Errands => "too many orders are on their way to the control plane",
            Bound::ConnectionErrands => "too many orders of this connection are on their way",
            Bound::Definitions => "too many names are defined",
            Bound::Fences => "this name has given out all fences of this view",
            Bound::Connections => "too many clients are connected to this node",
            Bound::ClientConnections => "too many clients of your address are connected to this node",
        })
    }
}
