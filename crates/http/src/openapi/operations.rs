//! All operations of the door, in the words of its users.

use serde_json::{Value, json};

use super::operation::{In, Operation};
use crate::cluster::Inspected;
use crate::grants::{GrantOptions, Granted, Left};
use crate::locks::{ForceOptions, Forced, Page};
use crate::operators::{After, Definitions, Members, Status, Verbose};
use crate::options::{AcquireOptions, DefineOptions, ListOptions, WatchOptions};
use crate::overview::Overview;
use crate::problem::{
    BAD_REQUEST, DEFINED, KEY_REUSED, Kind, LOST, NO_TOKEN, NOT_ALLOWED, NOT_FOUND, NOT_POSSIBLE, STALE,
    TAKEN, TIMED_OUT, TOO_LARGE, TOO_MANY, UNAVAILABLE, WRONG_BODY, WRONG_NODE,
};
use crate::sessions::{KeptAlive, OpenOptions, Opened};
use crate::shape::NamedDefinition;

/// The parts of the door.
pub(crate) const TAGS: [(&str, &str); 5] = [
    ("locks", "Acquire, renew, release and look."),
    ("sessions", "Hold several locks, and keep all of them alive with one request."),
    ("events", "See what happens as it happens."),
    ("operators", "Define names, revoke grants, see the members."),
    ("health", "Whether the node serves, and what it measures."),
];

/// What every request may be refused for that asks the member something.
const MEMBER: [&Kind; 4] = [&BAD_REQUEST, &NO_TOKEN, &NOT_ALLOWED, &UNAVAILABLE];
/// What a request with a body may be refused for.
const BODY: [&Kind; 2] = [&TOO_LARGE, &WRONG_BODY];

/// Every operation.
pub(crate) fn all() -> Vec<Operation> {
    [holding(), seeing(), sessions(), definitions(), health()].into_iter().flatten().collect()
}

fn key() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$" })
}

fn holding() -> Vec<Operation> {
    vec![
        Operation::new(
            ("POST", "/v1/locks/{name}/acquire"),
            ("acquireLock", "locks"),
            "Acquire a lock",
            "Answers when the lock is granted. Without `wait`, a lock that is taken is refused at once. With `wait`, the \
             request waits in the queue of the name; a client that hangs up leaves the queue at once. The grant is held for \
             `left_ms` from when the client sent the request, plus `waited_ms`: `deadline = sent + waited_ms + left_ms`, on a \
             clock that is never set.",
        )
        .of_name()
        .header(
            "Idempotency-Key",
            "Makes the request safe to send again: the same key never takes two grants. It stands for the name and for all \
             options but `wait`. The node that was asked remembers it until 60 s after the grant would have run out.",
            key(),
        )
        .takes::<AcquireOptions>(In::QueryOrBody)
        .answers::<Granted>(200, "The lock is granted.")
        .leads_to("renewGrant", "grant", None, "The grant can be renewed.")
        .leads_to("releaseLock", "grant", None, "The grant can be released.")
        .leads_to("inspectLock", "name", Some("name"), "The client holds the name now.")
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&NOT_POSSIBLE, &TIMED_OUT, &DEFINED, &STALE, &LOST, &WRONG_NODE, &KEY_REUSED, &TAKEN, &TOO_MANY]),
        Operation::new(
            ("PUT", "/v1/locks/{name}/renew"),
            ("renewGrant", "locks"),
            "Renew a grant",
            "Prolongs the grant by its ttl, or by that of its session. Ask the node that gave it.",
        )
        .of_name()
        .takes::<GrantOptions>(In::QueryOrBody)
        .answers::<Left>(200, "The grant is held on.")
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&LOST, &STALE, &WRONG_NODE]),
        Operation::new(
            ("DELETE", "/v1/locks/{name}"),
            ("releaseLock", "locks"),
            "Release a grant, or withdraw a request",
            "With a `grant`: releases it. With an `Idempotency-Key` and without a `grant`: withdraws the request that came with \
             the key, for clients that did not hear its answer. What the key took is released, what still waits is cancelled, \
             and a request with the key that comes later takes nothing. To withdraw twice does no harm. Ask the node that was \
             asked to acquire.",
        )
        .of_name()
        .header("Idempotency-Key", "The key of the request to withdraw. With a `grant`, it is not looked at.", key())
        .takes::<GrantOptions>(In::QueryOrBody)
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&NOT_FOUND, &STALE, &LOST, &WRONG_NODE, &KEY_REUSED]),
        Operation::new(
            ("POST", "/v1/locks/{name}/force"),
            ("forceRelease", "operators"),
            "Revoke a grant",
            "For operators: takes a slot from its holder. The holder learns of it with its next keep-alive, and the slot is free \
             when the holder must have stopped. Ask any node, and name that of the holder; `GET /v1/locks/{name}` has it. The \
             node of the holder decides whether the caller may, by the caller's token or certificate.",
        )
        .of_name()
        .takes::<ForceOptions>(In::QueryOrBody)
        .answers::<Forced>(200, "The grant is revoked.")
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&NOT_POSSIBLE, &NOT_FOUND, &STALE, &WRONG_NODE]),
    ]
}

fn seeing() -> Vec<Operation> {
    vec![
        Operation::new(
            ("GET", "/v1/locks/{name}"),
            ("inspectLock", "locks"),
            "See who holds a lock and who waits for it",
            "Asks all nodes. Nodes that do not answer within 2 s are named.",
        )
        .of_name()
        .answers::<Inspected>(200, "The clients of the name.")
        .refuses(&MEMBER)
        .refuses(&[&NOT_POSSIBLE]),
        Operation::new(
            ("GET", "/v1/locks"),
            ("listLocks", "locks"),
            "List what is held and waited for",
            "At the node that is asked, or with `nodes=all` at all of them. An answer is a page: pass its `next` as `after` for \
             the page behind it, with the same other options.",
        )
        .takes::<ListOptions>(In::Query)
        .answers::<Page>(200, "A page of locks that the caller may read.")
        .refuses(&MEMBER)
        .refuses(&[&NOT_POSSIBLE]),
        Operation::new(
            ("GET", "/v1/watch"),
            ("watchLocks", "events"),
            "Watch what happens",
            "Server-sent events, for what happens at this node, or with `nodes=all` at all of them, from now on to the names that \
             the caller may read. The answer does not end. Each event has an `id`, a name and one line of JSON. A node keeps no events: a client that comes back \
             is told that there may be a gap.",
        )
        .header("Last-Event-ID", "The `id` of the last event that the client saw.", json!({ "type": "string" }))
        .takes::<WatchOptions>(In::Query)
        .answers_events("Events. `x-events` has the schema of the data of each.")
        .refuses(&MEMBER)
        .refuses(&[&NOT_POSSIBLE]),
    ]
}

fn sessions() -> Vec<Operation> {
    vec![
        Operation::new(
            ("POST", "/v1/sessions"),
            ("openSession", "sessions"),
            "Open a session",
            "Name the session in each acquire, and keep it alive before `certain_ms` is over. It ends with everything in it.",
        )
        .takes::<OpenOptions>(In::QueryOrBody)
        .answers::<Opened>(201, "The session is open.")
        .leads_to("keepSession", "session", Some("session"), "The session is to be kept alive.")
        .leads_to("closeSession", "session", Some("session"), "The session can be ended.")
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&NOT_POSSIBLE, &TOO_MANY]),
        Operation::new(
            ("PUT", "/v1/sessions/{session}"),
            ("keepSession", "sessions"),
            "Keep a session alive",
            "Everything in it is held on, but for the grants that were revoked. As long as a request of the session waits, the \
             node keeps it alive by itself.",
        )
        .of_session()
        .answers::<KeptAlive>(200, "The session lives on.")
        .refuses(&MEMBER)
        .refuses(&[&LOST, &WRONG_NODE]),
        Operation::new(
            ("DELETE", "/v1/sessions/{session}"),
            ("closeSession", "sessions"),
            "End a session",
            "Releases everything that it holds, and cancels what waits in it.",
        )
        .of_session()
        .refuses(&[&BAD_REQUEST, &NO_TOKEN, &LOST, &WRONG_NODE]),
    ]
}

fn definitions() -> Vec<Operation> {
    vec![
        Operation::new(
            ("GET", "/v1/definitions"),
            ("listDefinitions", "operators"),
            "List what names are defined as",
            "Names that no operator defined become what the first client asks for, for as long as any client uses them.",
        )
        .takes::<After>(In::Query)
        .answers::<Definitions>(200, "A page of definitions that the caller may read.")
        .refuses(&MEMBER),
        Operation::new(
            ("PUT", "/v1/definitions/{name}"),
            ("define", "operators"),
            "Define a name, or resize a semaphore",
            "The cluster commits it: a majority of the voters is needed.",
        )
        .of_name()
        .takes::<DefineOptions>(In::QueryOrBody)
        .answers::<NamedDefinition>(200, "The name is defined.")
        .leads_to("undefine", "name", Some("name"), "The definition can be removed.")
        .refuses(&MEMBER)
        .refuses(&BODY)
        .refuses(&[&NOT_POSSIBLE, &DEFINED, &TOO_MANY]),
        Operation::new(
            ("DELETE", "/v1/definitions/{name}"),
            ("undefine", "operators"),
            "Remove a definition",
            "Clients that hold the name hold it on.",
        )
        .of_name()
        .refuses(&MEMBER)
        .refuses(&[&NOT_POSSIBLE, &NOT_FOUND]),
        Operation::new(
            ("GET", "/v1/cluster"),
            ("showCluster", "operators"),
            "See how all nodes are doing",
            "Asks all nodes for their leases, counts and waits. Nodes that do not answer within 2 s are there without them.",
        )
        .answers::<Overview>(200, "All nodes.")
        .refuses(&MEMBER),
        Operation::new(
            ("GET", "/v1/members"),
            ("listMembers", "operators"),
            "See the nodes of the cluster",
            "As far as the node that is asked knows.",
        )
        .answers::<Members>(200, "The nodes.")
        .refuses(&MEMBER),
        Operation::new(
            ("GET", "/v1/status"),
            ("showStatus", "operators"),
            "See how the node is doing",
            "Its sessions, requests and counts, and which members it reaches.",
        )
        .answers::<Status>(200, "The status of the node that was asked.")
        .refuses(&MEMBER),
    ]
}

fn health() -> Vec<Operation> {
    vec![
        Operation::new(
            ("GET", "/metrics"),
            ("showMetrics", "health"),
            "What the node measures",
            "In the text format of Prometheus. A caller that may ask for the status may have it.",
        )
        .answers_text("text/plain; version=0.0.4", "The metrics.")
        .refuses(&MEMBER),
        Operation::new(
            ("GET", "/livez"),
            ("isLive", "health"),
            "Whether the process answers",
            "A node that does not answer this is to be started again.",
        )
        .answers_text("text/plain", "It does.")
        .public(),
        Operation::new(
            ("GET", "/readyz"),
            ("isReady", "health"),
            "Whether the node serves",
            "It has a lease, reaches all members, and its disk writes.",
        )
        .takes::<Verbose>(In::Query)
        .refuses(&[&BAD_REQUEST])
        .answers_health("The node serves.", "The node does not serve; each check has a line.")
        .public(),
        Operation::new(
            ("GET", "/openapi.json"),
            ("showDocument", "health"),
            "This document",
            "OpenAPI 3.1, made from the types of the requests and answers of this version.",
        )
        .answers_document("The document.")
        .public(),
    ]
}
