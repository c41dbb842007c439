//! Events as they happen, by server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{self, KeepAlive, Sse};
use schemars::JsonSchema;
use serde::Serialize;
use service::event::{Change, Event, ForceReleased};
use service::protocol::{ToClient, ToNode};

use crate::Door;
use crate::caller::Caller;
use crate::elsewhere::{Elsewhere, Heard};
use crate::options::{Nodes, Options, WatchOptions};
use crate::problem::Problem;
use crate::shape::{ClientLabel, Defined, milliseconds};
use crate::streams::{Numbered, Owner, Stream, Streams};
use crate::talk::Talk;

/// A comment is sent this often, so that both ends notice when the other is gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// `GET /v1/watch`: what happens at this node, or at all of them, from now on, to the names that the caller may read.
pub(crate) async fn watch(
    State(door): State<Door>,
    caller: Caller,
    headers: axum::http::HeaderMap,
    Options(options): Options<WatchOptions>,
) -> Result<Sse<impl futures_core::Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let all = options.nodes == Some(Nodes::All);
    let owner = Owner { shown: caller.caller.shown.clone(), filter: options.filter(), all };
    let incarnation = door.host.status().incarnation;
    let last = headers.get(LAST_EVENT_ID).and_then(|last| last.to_str().ok());
    if let Some((stream, seen, after)) = last.and_then(|last| door.streams.resume(last, incarnation, &owner))
    {
        let begins = Some(Begins::Again { seen, gap: false });
        return Ok(respond(Connected::new(&door, stream, incarnation, begins, after)));
    }
    let mut talk = Talk::begin(&door.host, caller.caller.clone());
    talk.say(ToNode::Watch(options.filter()));
    let watching = talk.hear(|frame| match frame {
        ToClient::Watching => Some(Ok(())),
        ToClient::NotWatching(refusal) => Some(Err(refusal)),
        _ => None,
    });
    watching.await??;
    let begins = if headers.contains_key(LAST_EVENT_ID) {
        Begins::Again { seen: 0, gap: true }
    } else {
        Begins::First
    };
    let elsewhere = all.then(|| Elsewhere::watch(&door.host, caller, options.filter()));
    let stream = door.streams.begin(talk, elsewhere, owner);
    Ok(respond(Connected::new(&door, stream, incarnation, Some(begins), VecDeque::new())))
}

/// What a client that comes back has seen.
const LAST_EVENT_ID: &str = "last-event-id";

fn respond(connected: Connected) -> Sse<impl futures_core::Stream<Item = Result<sse::Event, Infallible>>> {
    Sse::new(events(connected)).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE))
}

/// How a connection begins.
enum Begins {
    First,
    /// The client was here before, and has seen this event; there may be others that it missed.
    Again {
        seen: u64,
        gap: bool,
    },
}

/// A connection of a watch. When it ends, the watch waits for its client to come back.
struct Connected {
    streams: Arc<Streams>,
    stream: Option<Stream>,
    incarnation: u64,
    /// What the client is told first, until it has been.
    begins: Option<Begins>,
    /// What it has not seen of what was written before.
    again: VecDeque<Numbered>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.streams.keep(stream);
        }
    }
}

impl Connected {
    fn new(
        door: &Door,
        stream: Stream,
        incarnation: u64,
        begins: Option<Begins>,
        again: VecDeque<Numbered>,
    ) -> Connected {
        Connected { streams: door.streams.clone(), stream: Some(stream), incarnation, begins, again }
    }

    /// The next event; `None` when the node has stopped.
    async fn next(&mut self) -> Option<sse::Event> {
        let stream = self.stream.as_mut()?;
        let incarnation = self.incarnation;
        let write = |stream: &Stream, (number, name, json): Numbered| {
            sse::Event::default().id(stream.event_id(incarnation, number)).event(name).data(&*json)
        };
        match self.begins.take() {
            Some(Begins::First) => {
                let (name, json) = said("watching", &Watching { incarnation, gap: false });
                let event = stream.number(name, json);
                return Some(write(stream, event));
            }
            // It has no number of its own: a client that comes back again goes on where it was.
            Some(Begins::Again { seen, gap }) => {
                let (name, json) = said("resumed", &Watching { incarnation, gap });
                return Some(write(stream, (seen, name, json.into())));
            }
            None => {}
        }
        if let Some(event) = self.again.pop_front() {
            return Some(write(stream, event));
        }
        loop {
            let elsewhere = async {
                match &mut stream.elsewhere {
                    Some(elsewhere) => elsewhere.next().await,
                    None => std::future::pending().await,
                }
            };
            let (name, json) = tokio::select! {
                here = stream.talk.heard.next() => match here? {
                    ToClient::Event(event) => describe(&event),
                    ToClient::Missed(events) => said("missed", &Missed { events }),
                    _ => continue,
                },
                heard = elsewhere => match heard? {
                    (_, Heard::Event(event)) => describe(&event),
                    (_, Heard::Missed(events)) => said("missed", &Missed { events }),
                    (node, Heard::Silent) => said("node-silent", &OtherNode { node }),
                    (node, Heard::Again) => said("node-watched", &OtherNode { node }),
                },
            };
            let event = stream.number(name, json);
            return Some(write(stream, event));
        }
    }
}

fn events(connected: Connected) -> impl futures_core::Stream<Item = Result<sse::Event, Infallible>> {
    futures_util::stream::unfold(connected, |mut connected| async move {
        let event = connected.next().await;
        if event.is_none() {
            // There is nothing to come back to.
            connected.stream = None;
        }
        Some((Ok(event?), connected))
    })
}

/// The first event of a watch.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Watching {
    /// Rises with every start of the node.
    incarnation: u64,
    /// The client was here before, and may have missed events.
    gap: bool,
}

/// The client did not keep up.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Missed {
    /// How many events it missed.
    events: u64,
}

/// The events of another node do not come any more, or come again: those in between are missing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OtherNode {
    node: u32,
}

/// Something happened to a request of a client.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClientEvent {
    name: String,
    #[serde(flatten)]
    defined: Defined,
    /// The node that keeps the client's session.
    node: u32,
    /// The number of the session at that node.
    session: u64,
    /// The number of the request in that session.
    request: u64,
    label: Option<ClientLabel>,
    /// The slot of the grant that it is about.
    slot: Option<u32>,
    /// The fence of the grant that it is about.
    fence: Option<u64>,
    /// The group, in a room.
    group: Option<String>,
}

/// A session is over, with everything in it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionEnded {
    node: u32,
    /// Nothing kept it alive; otherwise its client closed it.
    ran_out: bool,
    label: Option<ClientLabel>,
}

/// An operator revoked a grant.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GrantForced {
    name: String,
    slot: u32,
    fence: u64,
    /// Where it came from, and the node that spoke for the operator, if one did.
    by: String,
    /// The slot was free at once, although its holder may not have known.
    at_once: bool,
    /// When the slot is free at the latest.
    free_in_ms: u64,
    label: Option<ClientLabel>,
}

/// What is said under this name.
fn said(name: &'static str, facts: &impl Serialize) -> (&'static str, String) {
    // These types have nothing that JSON cannot say.
    (name, serde_json::to_string(facts).unwrap_or_default())
}

/// An event of the member, as its name and its JSON.
fn describe(event: &Event) -> (&'static str, String) {
    match event {
        Event::Client { session, request, name, definition, want, change, label } => {
            let (what, grant) = match change {
                Change::Waits => ("waits", None),
                Change::Granted(grant) => ("granted", Some(grant)),
                Change::Released(grant) => ("released", Some(grant)),
                Change::GaveUp(_) => ("gave-up", None),
                Change::Lost(grant) => ("lost", Some(grant)),
                Change::TakenAway(grant) => ("taken-away", Some(grant)),
            };
            let facts = ClientEvent {
                name: name.to_string(),
                defined: (*definition).into(),
                node: session.node,
                session: session.number,
                request: *request,
                label: label.as_deref().map(ClientLabel::from),
                slot: grant.map(|grant| grant.slot),
                fence: grant.map(|grant| grant.fence),
                group: want.group(grant).map(str::to_string),
            };
            said(what, &facts)
        }
        Event::SessionEnded { session, ran_out, label } => {
            let label = label.as_deref().map(ClientLabel::from);
            said("session-ended", &SessionEnded { node: session.node, ran_out: *ran_out, label })
        }
        Event::ForceReleased(ForceReleased { by, name, grant, ends_in, at_once, label, .. }) => {
            let facts = GrantForced {
                name: name.to_string(),
                slot: grant.slot,
                fence: grant.fence,
                by: by.to_string(),
                at_once: *at_once,
                free_in_ms: milliseconds(*ends_in),
                label: label.as_deref().map(ClientLabel::from),
            };
            said("force-released", &facts)
        }
    }
}
