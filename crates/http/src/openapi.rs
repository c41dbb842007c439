//! `GET /openapi.json`: the door as an OpenAPI 3.1 document, made from the types of its requests and answers.

mod operation;
mod operations;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::problem::{KINDS, Kind};
use crate::watch::{ClientEvent, GrantForced, Missed, OtherNode, SessionEnded, Watching};

/// The events of a watch, with what each says.
pub(crate) const EVENTS: [(&str, operation::Describe); 13] = [
    ("watching", SchemaGenerator::subschema_for::<Watching>),
    ("resumed", SchemaGenerator::subschema_for::<Watching>),
    ("missed", SchemaGenerator::subschema_for::<Missed>),
    ("node-silent", SchemaGenerator::subschema_for::<OtherNode>),
    ("node-watched", SchemaGenerator::subschema_for::<OtherNode>),
    ("waits", SchemaGenerator::subschema_for::<ClientEvent>),
    ("granted", SchemaGenerator::subschema_for::<ClientEvent>),
    ("released", SchemaGenerator::subschema_for::<ClientEvent>),
    ("gave-up", SchemaGenerator::subschema_for::<ClientEvent>),
    ("lost", SchemaGenerator::subschema_for::<ClientEvent>),
    ("taken-away", SchemaGenerator::subschema_for::<ClientEvent>),
    ("session-ended", SchemaGenerator::subschema_for::<SessionEnded>),
    ("force-released", SchemaGenerator::subschema_for::<GrantForced>),
];

/// Where the document keeps its schemas.
const SCHEMAS: &str = "/components/schemas";

const ABOUT: &str = "\
Locks, semaphores, read-write locks and rooms of a Tokenwood cluster, at one of its nodes. Every node has the same locks.

**A lock in two requests.** `POST /v1/locks/{name}/acquire?wait=30s` answers a grant, with a fence that the protected resource \
checks. `DELETE /v1/locks/{name}` with that grant releases it. A grant lasts for its `ttl` unless `PUT /v1/locks/{name}/renew` \
prolongs it. A program that holds several locks opens a session and keeps that alive instead.

**Names** have 1 to 255 bytes without control characters. They may have slashes, encoded as `%2F` or plain. The last part of a \
path is a verb only if it is not encoded: `/v1/locks/a/acquire` acquires `a`, and `/v1/locks/a%2Facquire` is the lock \
`a/acquire`.

**Options** are in the query, or in a JSON body (`Content-Type: application/json`), not in both. An option that this document \
does not name is refused.

**Who calls** is told by a client's certificate or by `Authorization: Bearer TOKEN`. A cluster without rights asks for neither.

**Errors** are problem details (RFC 9457), with a `type` for programs and a `hint` for people. A path that is not here answers \
404 with the type `not-found`; a method that does not fit answers 405 with the type `no-such-method` and the header `Allow`. \
429 and 503 have `Retry-After`.

**What may change.** Fields, options, events and types of problems may be added within `/v1`. Be ready for fields that you do \
not know.";

/// Terraform's methods cannot be methods of a document.
const TERRAFORM: &str = "\
Terraform's `http` backend takes its locks here, with the methods `LOCK` and `UNLOCK`, which OpenAPI 3.1 cannot express. The \
body is the info of Terraform, an object of at most 4 KiB. `LOCK` answers 200, or 423 with the info of the holder. `UNLOCK` \
answers 200; 409 with the info of the holder if its `ID` is another; 410 if Terraform does not hold the lock at this node. An \
`UNLOCK` without a body is forced. Every other method answers 405.";

/// `GET /openapi.json`.
pub(crate) async fn serve() -> impl IntoResponse {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());
    ([(CONTENT_TYPE, "application/json")], TEXT.as_str())
}

/// The schemas of what is read and of what is written: a field that may be left out of a request is always in an answer.
pub(crate) struct Schemas {
    pub(crate) requests: SchemaGenerator,
    pub(crate) answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Schemas {
        let settings =
            || SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS.into());
        Schemas {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// All that were named.
    fn all(mut self) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        all.extend(self.answers.take_definitions(true));
        if let Some(problem) = all.get_mut("Problem") {
            problem["description"] = format!("{}\n\n{}", "What went wrong (RFC 9457).", table(KINDS)).into();
        }
        all
    }
}

/// Types of problems, as a table.
fn table(kinds: &[Kind]) -> String {
    let row = |Kind(name, status, title, _): &Kind| format!("| {} | `{name}` | {title} |\n", status.as_u16());
    let rows: String = kinds.iter().map(row).collect();
    format!("| status | type, after `urn:tokenwood:problem:` | title |\n|---|---|---|\n{rows}")
}

/// The whole document.
pub(crate) fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in operations::all() {
        let (path, method) = (operation.path, operation.method.to_lowercase());
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[method] = operation.describe(&mut schemas);
    }
    let name = operation::name_parameter("The name of the state.");
    paths.insert(
        "/v1/terraform/{name}".into(),
        json!({ "summary": "Locks for Terraform", "description": TERRAFORM, "parameters": [name] }),
    );
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Tokenwood",
            "summary": "A lock service without a central server",
            "description": ABOUT,
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0 or MIT", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": [{ "url": "/", "description": "The node that served this document" }],
        "tags": operations::TAGS.map(|(name, description)| json!({ "name": name, "description": description })),
        "paths": paths,
        "components": {
            "schemas": schemas.all(),
            "headers": {
                "RetryAfter": {
                    "description": "Try again after this many seconds.",
                    "schema": { "type": "integer", "minimum": 0 },
                },
            },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token of `tokenwood auth`: 64 hexadecimal digits." },
                "certificate": { "type": "mutualTLS", "description": "A client's certificate, of `tokenwood certs client`." },
            },
        },
        "security": [{}, { "token": [] }, { "certificate": [] }],
    })
}
