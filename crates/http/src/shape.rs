//! Names, definitions, holders and times as JSON.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use service::core::{Held, Listing, Turns};
use service::label::Label;
use service::{Definition, Want};

use crate::options::{Kind, Mode};

/// Whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What a name stands for: its kind, and the slots of a mutex or a semaphore.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Defined {
    /// A semaphore with one slot is a mutex.
    pub(crate) kind: Kind,
    /// How many clients may hold it at once; null for read-write locks and rooms.
    pub(crate) slots: Option<u32>,
}

impl From<Definition> for Defined {
    fn from(definition: Definition) -> Defined {
        let kind = match definition {
            Definition::Slots(1) => Kind::Mutex,
            Definition::Slots(_) => Kind::Semaphore,
            Definition::RwLock => Kind::Rwlock,
            Definition::Room => Kind::Room,
        };
        Defined { kind, slots: definition.slots() }
    }
}

/// A name, and what it is defined as.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NamedDefinition {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) defined: Defined,
}

/// Who a client is, as it says itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ClientLabel {
    /// All of it, for people.
    words: String,
    /// The user that its process runs as.
    user: String,
    /// Its machine. For a client of HTTP: the address that it called from.
    host: String,
    /// Its process id; 0 for a client of HTTP.
    process: u32,
    /// Its program. For a client of HTTP: its User-Agent.
    command: String,
    /// The `label` of its request or session.
    text: String,
}

impl From<&Label> for ClientLabel {
    fn from(label: &Label) -> ClientLabel {
        let Label { user, host, process, command, text } = label.clone();
        ClientLabel { words: label.to_string(), user, host, process, command, text }
    }
}

/// Whether a client holds a lock or waits for it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientState {
    Holds,
    Waits,
}

/// A client that holds or waits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Client {
    /// The node that keeps its session.
    node: u32,
    /// The number of its session at that node.
    session: u64,
    /// The number of its request in that session.
    request: u64,
    state: ClientState,
    /// For how long it has held, or waited.
    since_ms: u64,
    /// How long its session lives without another keep-alive; null for a client in the process of the node.
    left_ms: Option<u64>,
    label: Option<ClientLabel>,
    /// The slot that it holds; null while it waits.
    slot: Option<u32>,
    /// The fence of its grant; null while it waits.
    fence: Option<u64>,
    /// How it holds or wants a read-write lock.
    mode: Option<Mode>,
    /// The groups of a room that it wants: any of them.
    groups: Vec<String>,
    /// The group of a room that it holds, or the only one that it wants.
    group: Option<String>,
    /// An operator revoked the grant, and the client has not released it yet.
    revoked: bool,
}

impl From<&Held> for Client {
    fn from(held: &Held) -> Client {
        let (mode, groups) = match &held.want {
            Want::Slot | Want::AnySlot => (None, Vec::new()),
            Want::Read => (Some(Mode::Shared), Vec::new()),
            Want::Write => (Some(Mode::Exclusive), Vec::new()),
            Want::AnyOf(groups) => (None, groups.iter().map(ToString::to_string).collect()),
        };
        Client {
            node: held.session.node,
            session: held.session.number,
            request: held.request,
            state: if held.granted.is_some() { ClientState::Holds } else { ClientState::Waits },
            since_ms: milliseconds(held.since),
            left_ms: held.left.map(milliseconds),
            label: held.label.as_ref().map(ClientLabel::from),
            slot: held.granted.map(|grant| grant.slot),
            fence: held.granted.map(|grant| grant.fence),
            mode,
            groups,
            group: held.want.group(held.granted.as_ref()).map(str::to_string),
            revoked: held.revoked,
        }
    }
}

/// A name with the clients that hold it or wait for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Lock {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) defined: Defined,
    /// The node that is the home of the name: requests that find no token ask there.
    pub(crate) home: u32,
    /// First those that hold, the longest first; then those that wait, the next first, as far as the tokens tell.
    pub(crate) clients: Vec<Client>,
}

impl Lock {
    /// From the listings of one name, each with its node; there is at least one.
    pub(crate) fn of(listings: &[(u32, Listing)]) -> Lock {
        let (_, first) = &listings[0];
        let turns = Turns::of(listings.iter().map(|(node, listing)| (*node, listing)));
        let mut clients: Vec<&Held> = listings.iter().flat_map(|(_, listing)| &listing.clients).collect();
        clients.sort_by_key(|client| turns.turn(client));
        Lock {
            name: first.name.clone(),
            defined: first.definition.into(),
            home: first.home,
            clients: clients.into_iter().map(Client::from).collect(),
        }
    }
}
