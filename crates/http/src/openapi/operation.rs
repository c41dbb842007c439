//! One operation of the document: what it takes, and what it answers.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{EVENTS, Schemas};
use crate::problem::{Kind, Problem, TOO_MANY, UNAVAILABLE};

/// Makes the schema of a type.
pub(crate) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// An operation, as clients see it.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    tag: &'static str,
    summary: &'static str,
    description: &'static str,
    /// What the part of the path in braces is.
    named: Option<Value>,
    options: Option<Options>,
    headers: Vec<(&'static str, &'static str, Value)>,
    answer: Answer,
    /// What can be done with the answer: a name, an operation, and what of the answer it takes.
    links: Map<String, Value>,
    problems: Vec<&'static Kind>,
    is_public: bool,
}

/// What an operation takes: the schema itself, what names it, and where the options may be.
struct Options(Describe, Describe, In);

/// Where options may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum In {
    Query,
    QueryOrBody,
}

/// What an operation answers if all is well.
enum Answer {
    Nothing,
    Json(u16, &'static str, Describe),
    Text(&'static str, &'static str),
    /// Text, also if all is not well.
    Health(&'static str, &'static str),
    Events(&'static str),
    Document(&'static str),
}

impl Operation {
    /// An operation that answers nothing, and is not documented further yet.
    pub(crate) fn new(
        (method, path): (&'static str, &'static str),
        (id, tag): (&'static str, &'static str),
        summary: &'static str,
        description: &'static str,
    ) -> Operation {
        Operation {
            method,
            path,
            id,
            tag,
            summary,
            description,
            named: None,
            options: None,
            headers: Vec::new(),
            answer: Answer::Nothing,
            links: Map::new(),
            problems: Vec::new(),
            is_public: false,
        }
    }

    pub(crate) fn of_name(mut self) -> Operation {
        self.named =
            Some(name_parameter("The name of the lock. A slash in it may be written as it is, or as `%2F`."));
        self
    }

    pub(crate) fn of_session(mut self) -> Operation {
        self.named = Some(json!({
            "name": "session", "in": "path", "required": true,
            "description": "The `session` that `POST /v1/sessions` answered.",
            "schema": { "type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+\.[0-9a-f]{32}$" },
        }));
        self
    }

    pub(crate) fn takes<T: JsonSchema>(mut self, place: In) -> Operation {
        self.options = Some(Options(T::json_schema, SchemaGenerator::subschema_for::<T>, place));
        self
    }

    pub(crate) fn header(mut self, name: &'static str, means: &'static str, schema: Value) -> Operation {
        self.headers.push((name, means, schema));
        self
    }

    pub(crate) fn answers<T: JsonSchema>(mut self, status: u16, means: &'static str) -> Operation {
        self.answer = Answer::Json(status, means, SchemaGenerator::subschema_for::<T>);
        self
    }

    pub(crate) fn answers_text(mut self, kind: &'static str, means: &'static str) -> Operation {
        self.answer = Answer::Text(kind, means);
        self
    }

    pub(crate) fn answers_health(mut self, well: &'static str, unwell: &'static str) -> Operation {
        self.answer = Answer::Health(well, unwell);
        self
    }

    pub(crate) fn answers_events(mut self, means: &'static str) -> Operation {
        self.answer = Answer::Events(means);
        self
    }

    pub(crate) fn answers_document(mut self, means: &'static str) -> Operation {
        self.answer = Answer::Document(means);
        self
    }

    /// A part of the answer goes into the path, or else the body, of another operation.
    pub(crate) fn leads_to(
        mut self,
        operation: &str,
        part: &str,
        path: Option<&str>,
        means: &str,
    ) -> Operation {
        let value = format!("$response.body#/{part}");
        let mut link = json!({ "operationId": operation, "description": means });
        match path {
            Some(name) => link["parameters"] = json!({ name: value }),
            None => {
                link["parameters"] = json!({ "name": "$response.body#/name" });
                link["requestBody"] = json!({ part: value });
            }
        }
        self.links.insert(operation.to_string(), link);
        self
    }

    pub(crate) fn refuses(mut self, problems: &[&'static Kind]) -> Operation {
        self.problems.extend(problems);
        self
    }

    /// Callers need no rights, and are not asked who they are.
    pub(crate) fn public(mut self) -> Operation {
        self.is_public = true;
        self
    }

    /// The operation as the document has it.
    pub(crate) fn describe(self, schemas: &mut Schemas) -> Value {
        let mut facts = json!({
            "operationId": self.id, "tags": [self.tag], "summary": self.summary, "description": self.description,
        });
        let mut parameters: Vec<Value> = self.named.into_iter().collect();
        for (name, means, schema) in self.headers {
            parameters.push(json!({ "name": name, "in": "header", "description": means, "schema": schema }));
        }
        if let Some(Options(itself, named, place)) = self.options {
            parameters.extend(in_query(itself(&mut schemas.requests).as_value(), place));
            if place == In::QueryOrBody {
                facts["requestBody"] = json!({
                    "description": "The options, if they are not in the query.",
                    "content": { "application/json": { "schema": named(&mut schemas.requests) } },
                });
            }
        }
        if !parameters.is_empty() {
            facts["parameters"] = parameters.into();
        }
        let mut responses = self.answer.describe(schemas);
        if !self.links.is_empty() {
            responses.values_mut().for_each(|answer| answer["links"] = self.links.clone().into());
        }
        responses.extend(refusals(&self.problems, schemas));
        facts["responses"] = responses.into();
        if self.is_public {
            facts["security"] = json!([]);
        }
        facts
    }
}

/// The parameter that names a lock.
pub(crate) fn name_parameter(means: &str) -> Value {
    json!({
        "name": "name", "in": "path", "required": true, "description": means,
        "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$" },
        "examples": {
            "plain": { "value": "backup" },
            "slash": { "value": "team/gpu", "summary": "Encoded: team%2Fgpu" },
        },
    })
}

/// The properties of an object, as parameters of a query.
fn in_query(schema: &Value, place: In) -> Vec<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, property): (&String, &Value)| {
        let mut schema = property.clone();
        let means = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({ "name": name, "in": "query", "schema": as_text(schema) });
        if let Some(means) = means {
            parameter["description"] = means;
        }
        if required.contains(&name.as_str().into()) {
            match place {
                In::Query => parameter["required"] = true.into(),
                In::QueryOrBody => {
                    let means = parameter["description"].as_str().unwrap_or_default();
                    parameter["description"] = format!("{means} Needed, here or in the body.").trim().into();
                }
            }
        }
        parameter
    };
    properties.map(parameter).collect()
}

/// A schema for what a query can say: text has no null, and what may be one or many is a list.
fn as_text(mut schema: Value) -> Value {
    if let Some([first, _]) = schema["anyOf"].as_array().map(Vec::as_slice) {
        return first.clone();
    }
    let Some(types) = schema["type"].as_array().cloned() else { return schema };
    let is_list = types.contains(&"array".into());
    let first = if is_list { "array".into() } else { types[0].clone() };
    schema["type"] = first;
    if let Some(examples) = schema.get_mut("examples").and_then(Value::as_array_mut) {
        examples.retain(Value::is_string);
    }
    if schema["type"] == "string" {
        schema.as_object_mut().into_iter().for_each(|schema| _ = schema.remove("minimum"));
    }
    schema
}

impl Answer {
    fn describe(&self, schemas: &mut Schemas) -> Map<String, Value> {
        let text = |kind: &str, means: &str| json!({ "description": means, "content": { kind: { "schema": { "type": "string" } } } });
        let mut answers = Map::new();
        match self {
            Answer::Nothing => _ = answers.insert("204".into(), json!({ "description": "It is done." })),
            Answer::Json(status, means, describe) => {
                let schema = describe(&mut schemas.answers);
                let content = json!({ "application/json": { "schema": schema } });
                answers.insert(status.to_string(), json!({ "description": means, "content": content }));
            }
            Answer::Text(kind, means) => _ = answers.insert("200".into(), text(kind, means)),
            Answer::Health(well, unwell) => {
                answers.insert("200".into(), text("text/plain", well));
                answers.insert("503".into(), text("text/plain", unwell));
            }
            Answer::Document(means) => {
                let content = json!({ "application/json": { "schema": { "type": "object", "additionalProperties": true } } });
                answers.insert("200".into(), json!({ "description": means, "content": content }));
            }
            Answer::Events(means) => {
                let events = EVENTS.iter();
                let events =
                    events.map(|(name, describe)| (*name, describe(&mut schemas.answers).to_value()));
                let events: Vec<(&str, Value)> = events.collect();
                let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
                let event = json!({
                    "type": "object",
                    "description": "One event, as clients of server-sent events get it.",
                    "properties": {
                        "id": { "type": "string", "description": "For `Last-Event-ID`." },
                        "event": { "type": "string", "enum": names },
                        "data": { "type": "string", "description": "JSON, with the schema that `x-events` has for the event." },
                    },
                });
                let events: Map<String, Value> =
                    events.into_iter().map(|(name, schema)| (name.to_string(), schema)).collect();
                let content = json!({ "text/event-stream": { "schema": event, "x-events": events } });
                let answer = json!({ "description": means, "content": content });
                answers.insert("200".into(), answer);
            }
        }
        answers
    }
}

/// The refusals of an operation, by their status. The description of each names its types.
fn refusals(problems: &[&'static Kind], schemas: &mut Schemas) -> Map<String, Value> {
    let mut answers: Map<String, Value> = Map::new();
    for Kind(name, status, title, hint) in problems.iter().copied() {
        let schema = schemas.answers.subschema_for::<Problem>();
        let hint = hint.map_or(String::new(), |hint| format!(" ({hint})"));
        let line = format!("`{name}`: {title}{hint}");
        let answer = answers.entry(status.as_str()).or_insert_with(
            || json!({ "description": "", "content": { "application/problem+json": { "schema": schema } } }),
        );
        let before = answer["description"].as_str().unwrap_or_default();
        answer["description"] = if before.is_empty() { line } else { format!("{before}; {line}") }.into();
        if [TOO_MANY.1, UNAVAILABLE.1].contains(status) {
            answer["headers"] = json!({ "Retry-After": { "$ref": "#/components/headers/RetryAfter" } });
        }
    }
    answers
}
