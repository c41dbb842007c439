//! Errors as problem details (RFC 9457): every refusal of the service has one status and one type.

use axum::Json;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use service::Refusal;
use service::limits::Bound;

use crate::shape::{Client, Defined};

/// What went wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// What kind of problem it is.
    #[serde(rename = "type")]
    #[schemars(schema_with = "types")]
    kind: String,
    /// The kind of problem, for people.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What went wrong this time.
    detail: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    #[serde(flatten)]
    more: Box<More>,
    /// The methods that fit the path.
    #[serde(skip)]
    allow: Option<&'static str>,
}

/// More about a problem, where there is more.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct More {
    /// `taken` and `timed-out`: who holds the lock, the longest first, if the caller may read the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    holders: Option<Vec<Client>>,
    /// `taken` and `timed-out`: how many wait, if the caller may read the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// `wrong-node`: the node that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u32>,
    /// `defined-otherwise`: what the name is.
    #[serde(skip_serializing_if = "Option::is_none")]
    defined: Option<Defined>,
}

/// What the type of a problem begins with.
const URN: &str = "urn:tokenwood:problem:";

fn types(_: &mut SchemaGenerator) -> Schema {
    let all: Vec<String> = KINDS.iter().map(|kind| format!("{URN}{}", kind.0)).collect();
    json_schema!({ "type": "string", "format": "uri", "enum": all })
}

/// A kind of problem: its name, its status, its title, and what to do next.
pub(crate) struct Kind(
    pub(crate) &'static str,
    pub(crate) StatusCode,
    pub(crate) &'static str,
    pub(crate) Option<&'static str>,
);

macro_rules! kinds {
    ($($constant:ident $name:literal $status:ident $title:literal $hint:expr;)*) => {
        $(pub(crate) const $constant: Kind = Kind($name, StatusCode::$status, $title, $hint);)*
        /// All kinds of problems, for the documentation.
        pub(crate) const KINDS: &[Kind] = &[$($constant),*];
    };
}

kinds! {
    BAD_REQUEST "bad-request" BAD_REQUEST "the request cannot be understood" None;
    NOT_POSSIBLE "not-possible" BAD_REQUEST "this is not possible" None;
    NO_TOKEN "no-token" UNAUTHORIZED "a token is needed" Some("send 'Authorization: Bearer TOKEN', or a client certificate");
    NOT_ALLOWED "not-allowed" FORBIDDEN "this is not allowed" Some("'tokenwood auth why PRINCIPAL ACTION NAME' says which rule is missing");
    NOT_FOUND "not-found" NOT_FOUND "there is no such thing" None;
    NO_METHOD "no-such-method" METHOD_NOT_ALLOWED "the method does not fit the path" Some("/openapi.json has all paths and their methods");
    TIMED_OUT "timed-out" REQUEST_TIMEOUT "the lock was not free in time" Some("wait longer, or look who holds it");
    DEFINED "defined-otherwise" CONFLICT "the name is something else" Some("ask for what it is defined as");
    STALE "stale" CONFLICT "the grant is another one" Some("the fence belongs to another grant: use the newest answer");
    LOST "lost" GONE "the grant or the session is gone" Some("stop what the lock protects: it may be held by another client");
    KEY_REUSED "key-reused" UNPROCESSABLE_ENTITY "the Idempotency-Key belongs to another request" Some("use a new key for each request");
    TOO_LARGE "too-large" PAYLOAD_TOO_LARGE "the body is too large" None;
    WRONG_NODE "wrong-node" MISDIRECTED_REQUEST "another node keeps this" Some("send it to the node that gave the grant or the session");
    WRONG_BODY "wrong-content-type" UNSUPPORTED_MEDIA_TYPE "the body is no JSON" Some("send 'Content-Type: application/json'");
    TAKEN "taken" LOCKED "the lock is taken" Some("wait=30s waits for it");
    TOO_MANY "quota" TOO_MANY_REQUESTS "a quota is used up" Some("end something, or ask an operator for more");
    UNAVAILABLE "unavailable" SERVICE_UNAVAILABLE "the node cannot do this now" Some("try again, or another node");
}

impl Problem {
    pub(crate) fn new(kind: &Kind, detail: impl Into<String>) -> Problem {
        let Kind(name, status, title, hint) = *kind;
        let (kind, detail, more) = (format!("{URN}{name}"), detail.into(), Box::default());
        Problem { kind, title, status: status.as_u16(), detail, hint, more, allow: None }
    }

    /// With who holds the lock, and how many wait.
    #[must_use]
    pub(crate) fn with_holders(mut self, holders: Vec<Client>, waiting: u64) -> Problem {
        (self.more.holders, self.more.waiting) = (Some(holders), Some(waiting));
        self
    }

    /// With the node that keeps what was asked for.
    #[must_use]
    pub(crate) fn with_node(mut self, node: u32) -> Problem {
        self.more.node = Some(node);
        self
    }

    /// The method does not fit the path; these do.
    pub(crate) fn no_method(detail: impl Into<String>, allow: &'static str) -> Problem {
        Problem { allow: Some(allow), ..Problem::new(&NO_METHOD, detail) }
    }

    /// Another page has asked, in the browser of a reader.
    pub(crate) fn foreign_page() -> Problem {
        let hint =
            Some("a page may ask only the node that served it; a proxy before the node has to pass Host on");
        Problem { hint, ..Problem::new(&NOT_ALLOWED, "a page of another place has sent this (Origin)") }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(&BAD_REQUEST, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Problem {
        Problem::new(&UNAVAILABLE, detail)
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The name of its kind.
    pub(crate) fn name(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, allow) = (self.status(), self.allow);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(allow) = allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

/// The kind of problem that a refusal is.
pub(crate) fn kind_of(refusal: &Refusal) -> &'static Kind {
    match refusal {
        Refusal::NameEmpty
        | Refusal::NameTooLong(_)
        | Refusal::NameNotPrintable
        | Refusal::Slots(_)
        | Refusal::NoGroup
        | Refusal::TooManyGroups(_)
        | Refusal::TimeToLive
        | Refusal::Lease(_)
        | Refusal::Invitation(_)
        | Refusal::Label
        | Refusal::Rights(_) => &NOT_POSSIBLE,
        Refusal::Contradicts { .. } | Refusal::WantsOther(_) | Refusal::DefinedAs { .. } => &DEFINED,
        Refusal::NotDefined | Refusal::NobodyHolds => &NOT_FOUND,
        Refusal::NotFree => &TAKEN,
        Refusal::TimedOut => &TIMED_OUT,
        Refusal::Cancelled | Refusal::NoSuchSession | Refusal::NotHeld | Refusal::ForceReleased => &LOST,
        Refusal::RequestUsed(_) | Refusal::StaleFence { .. } => &STALE,
        Refusal::NotAllowed(what) if what.principal.is_empty() => &NO_TOKEN,
        Refusal::NotAllowed(_) => &NOT_ALLOWED,
        Refusal::Quota(_) => &TOO_MANY,
        Refusal::Bound { bound: Bound::FilterNames | Bound::FilterBytes, .. } => &NOT_POSSIBLE,
        Refusal::TooManyRequests(_)
        | Refusal::TooManySessions(_)
        | Refusal::NoLease
        | Refusal::Overloaded
        | Refusal::Leaving
        | Refusal::NotAgreed(_)
        | Refusal::Bound { .. } => &UNAVAILABLE,
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let mut problem = Problem::new(kind_of(&refusal), refusal.to_string());
        match refusal {
            Refusal::Contradicts { defined, .. }
            | Refusal::WantsOther(defined)
            | Refusal::DefinedAs { defined, .. } => problem.more.defined = Some(defined.into()),
            _ => {}
        }
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_kind_of_problem_with_its_status() {
        let page = include_str!("../../../docs/http.md");
        for Kind(name, status, title, _) in KINDS {
            let row = format!("| {} | `{name}` | {title} |", status.as_u16());
            assert!(page.contains(&row), "docs/http.md has no row {row}");
        }
    }
}
