//! What a request says, in its query or in its body.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use futures_util::StreamExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use service::core::Timeout;
use service::event::Filter;
use service::{Definition, Want, duration};

use crate::eager::within;
use crate::problem::{Problem, TOO_LARGE, WRONG_BODY};

/// A body has to be there in this time.
const LONGEST_BODY: Duration = Duration::from_secs(5);

/// A length of time: `"30s"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub(crate) Duration);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        let text = match Value::deserialize(from)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            other => {
                return Err(D::Error::custom(format!(
                    "{other} is not a length of time: write \"30s\" or 30"
                )));
            }
        };
        duration(&text).map(Length).map_err(D::Error::custom)
    }
}

impl JsonSchema for Length {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "pattern": r"^[0-9]{1,9}(\.[0-9]{1,3})?$|^([0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|min|h|d))+$",
            "minimum": 0,
            "examples": ["30s", "1h30m", "500ms", 10],
        })
    }
}

/// One text, or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a group, or a list of groups")]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl JsonSchema for OneOrMore {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OneOrMore".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}

/// What kind of lock it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Mutex,
    Semaphore,
    Rwlock,
    Room,
}

/// How a read-write lock is held: `shared` with other readers, or `exclusive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// How to acquire.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcquireOptions {
    /// How long to wait: `30s`, `1h30m`, or seconds. Without it, a lock that is taken is refused at once.
    pub(crate) wait: Option<Length>,
    /// How long the grant is held without a renewal: 500 ms to 24 h; 60 s if it is not said. A session has its own.
    pub(crate) ttl: Option<Length>,
    /// It follows from the others: `slots` says semaphore, `mode` says rwlock, `group` says room, nothing says mutex.
    kind: Option<Kind>,
    /// How many clients may hold the semaphore at once.
    #[schemars(range(min = 1, max = 65_536))]
    slots: Option<u32>,
    mode: Option<Mode>,
    /// The group in a room. Several: any of them will do, and the answer says which it is.
    group: Option<OneOrMore>,
    /// Anything that helps people to know the client again. A session has its own.
    #[schemars(length(max = 128))]
    pub(crate) label: Option<String>,
    /// The session to hold it in, from `POST /v1/sessions`. Without one, the grant has a session of its own.
    pub(crate) session: Option<String>,
}

impl AcquireOptions {
    /// A mutex that is tried once, and held for this long.
    pub(crate) fn mutex(ttl: Duration, label: String) -> AcquireOptions {
        AcquireOptions { ttl: Some(Length(ttl)), label: Some(label), ..AcquireOptions::default() }
    }

    /// What the name is to be, and what of it is wanted.
    pub(crate) fn wanted(&self) -> Result<(Definition, Want), Problem> {
        let groups: Vec<Arc<str>> = match &self.group {
            None => Vec::new(),
            Some(OneOrMore::One(group)) => vec![group.as_str().into()],
            Some(OneOrMore::More(groups)) => groups.iter().map(|group| group.as_str().into()).collect(),
        };
        let kind = match (self.kind, self.slots, self.mode, &self.group) {
            (Some(kind), ..) => kind,
            (None, Some(_), None, None) => Kind::Semaphore,
            (None, None, Some(_), None) => Kind::Rwlock,
            (None, None, None, Some(_)) => Kind::Room,
            (None, None, None, None) => Kind::Mutex,
            (None, ..) => return Err(mixed()),
        };
        match (kind, self.slots, self.mode, &self.group) {
            (Kind::Mutex, None | Some(1), None, None) => Ok((Definition::MUTEX, Want::AnySlot)),
            (Kind::Semaphore, Some(slots), None, None) => Ok((Definition::Slots(slots), Want::Slot)),
            (Kind::Semaphore, None, None, None) => Ok((Definition::MUTEX, Want::AnySlot)),
            (Kind::Rwlock, None, Some(Mode::Shared), None) => Ok((Definition::RwLock, Want::Read)),
            (Kind::Rwlock, None, Some(Mode::Exclusive) | None, None) => Ok((Definition::RwLock, Want::Write)),
            (Kind::Room, None, None, Some(_)) => Ok((Definition::Room, Want::AnyOf(groups.into()))),
            (Kind::Room, None, None, None) => {
                Err(Problem::bad_request("a room needs 'group': one, or a list of which any will do"))
            }
            _ => Err(mixed()),
        }
    }

    /// The same request with another wait.
    pub(crate) fn with_wait(&self, wait: Option<Duration>) -> AcquireOptions {
        AcquireOptions { wait: wait.map(Length), ..self.clone() }
    }

    pub(crate) fn timeout(&self) -> Timeout {
        match self.wait {
            None | Some(Length(Duration::ZERO)) => Timeout::Try,
            Some(Length(wait)) => Timeout::After(wait),
        }
    }
}

fn mixed() -> Problem {
    Problem::bad_request(
        "'slots' is for semaphores, 'mode' for read-write locks and 'group' for rooms: these do not go together",
    )
}

/// What a name is to be defined as.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefineOptions {
    kind: Kind,
    /// How many clients may hold it at once. A semaphore needs it; a mutex has one; the others have none.
    #[schemars(range(min = 1, max = 65_536))]
    slots: Option<u32>,
}

impl DefineOptions {
    pub(crate) fn definition(&self) -> Result<Definition, Problem> {
        match (self.kind, self.slots) {
            (Kind::Mutex, None | Some(1)) => Ok(Definition::MUTEX),
            (Kind::Semaphore, Some(slots)) => Ok(Definition::Slots(slots)),
            (Kind::Semaphore, None) => Err(Problem::bad_request("a semaphore needs 'slots'")),
            (Kind::Rwlock, None) => Ok(Definition::RwLock),
            (Kind::Room, None) => Ok(Definition::Room),
            (_, Some(_)) => Err(mixed()),
        }
    }
}

/// Which names a watch is about.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchOptions {
    /// This name. Several: all of them.
    name: Option<OneOrMore>,
    /// All names that begin with this. Several: with any of them.
    prefix: Option<OneOrMore>,
    /// `one`: what happens at the node that is asked, which is the answer without this option. `all`: what happens at all nodes.
    pub(crate) nodes: Option<Nodes>,
}

impl WatchOptions {
    pub(crate) fn filter(&self) -> Filter {
        filter(self.name.as_ref(), self.prefix.as_ref())
    }
}

/// Which names a listing is about.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListOptions {
    /// This name. Several: all of them.
    name: Option<OneOrMore>,
    /// All names that begin with this. Several: with any of them.
    prefix: Option<OneOrMore>,
    /// Only locks of this kind.
    pub(crate) kind: Option<Kind>,
    /// Only what is held by clients whose label has this text.
    pub(crate) holder: Option<String>,
    /// The `next` of the page before.
    pub(crate) after: Option<String>,
    /// `one`: what is at the node that is asked, which is the answer without this option. `all`: what is at all nodes.
    pub(crate) nodes: Option<Nodes>,
}

/// Which nodes a listing or a watch is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Nodes {
    One,
    All,
}

impl ListOptions {
    pub(crate) fn filter(&self) -> Filter {
        filter(self.name.as_ref(), self.prefix.as_ref())
    }
}

fn filter(names: Option<&OneOrMore>, prefixes: Option<&OneOrMore>) -> Filter {
    Filter { names: OneOrMore::list(names), prefixes: OneOrMore::list(prefixes) }
}

impl OneOrMore {
    fn list(this: Option<&OneOrMore>) -> Vec<String> {
        match this {
            None => Vec::new(),
            Some(OneOrMore::One(one)) => vec![one.clone()],
            Some(OneOrMore::More(more)) => more.clone(),
        }
    }
}

impl Kind {
    pub(crate) fn is_of(self, definition: Definition) -> bool {
        match definition {
            Definition::Slots(1) => matches!(self, Kind::Mutex | Kind::Semaphore),
            Definition::Slots(_) => self == Kind::Semaphore,
            Definition::RwLock => self == Kind::Rwlock,
            Definition::Room => self == Kind::Room,
        }
    }
}

/// Options from the query, or from a JSON body.
pub(crate) struct Options<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Options<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Options<T>, Problem> {
        let query = in_query(request.uri().query().unwrap_or_default())?;
        let json =
            request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().starts_with(b"application/json"));
        let body = body(request).await?;
        match (body.is_empty(), json) {
            (true, _) => serde_json::from_value(query.into())
                .map(Options)
                .map_err(|error| Problem::bad_request(error.to_string())),
            // curl sends this kind if it is not told another.
            (false, Some(true)) if query.is_empty() => in_body(&body).map(Options),
            (false, Some(true)) => {
                Err(Problem::bad_request("say it in the query or in the body, not in both"))
            }
            (false, _) => Err(Problem::new(&WRONG_BODY, "a body has to be a JSON object")),
        }
    }
}

/// What a body says.
fn in_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // A list would do for a struct, too.
    if !body.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<Value>(body).is_ok() {
        return Err(Problem::bad_request("the body is not a JSON object"));
    }
    serde_json::from_slice(body).map_err(|error| {
        Problem::bad_request(match error.is_data() {
            true => error.to_string(),
            false => format!("the body is not JSON: {error}"),
        })
    })
}

/// The largest body of a request.
const LARGEST_BODY: usize = 64 << 10;

/// The whole body of a request, if it is there in time and not too large.
pub(crate) async fn body(request: Request) -> Result<Vec<u8>, Problem> {
    let mut parts = request.into_body().into_data_stream();
    let whole = async {
        let mut whole = Vec::new();
        while let Some(part) = parts.next().await {
            let part = part.map_err(|_| Problem::bad_request("the body ended too early"))?;
            if whole.len() + part.len() > LARGEST_BODY {
                return Err(Problem::new(&TOO_LARGE, "a body has at most 64 KiB"));
            }
            whole.extend_from_slice(&part);
        }
        Ok(whole)
    };
    let whole = within(LONGEST_BODY, whole).await;
    whole.unwrap_or_else(|_| Err(Problem::bad_request("the body came too slowly")))
}

/// The fields of a query, as a JSON object would have them: numbers are numbers, and what is named more than once is a list.
fn in_query(query: &str) -> Result<Map<String, Value>, Problem> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|error| Problem::bad_request(format!("the query cannot be read: {error}")))?;
    let mut fields = Map::new();
    for (name, text) in pairs {
        let value = match text.parse::<u64>() {
            Ok(number) if ["slots", "fence", "slot", "node"].contains(&name.as_str()) => number.into(),
            _ if name == "at_once" && (text.is_empty() || text == "true") => true.into(),
            _ if name == "at_once" && text == "false" => false.into(),
            _ => Value::from(text),
        };
        match fields.get_mut(&name) {
            None => _ = fields.insert(name, value),
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = vec![first.take(), value].into(),
        }
    }
    Ok(fields)
}
