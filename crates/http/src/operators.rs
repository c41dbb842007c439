//! For operators: definitions, members, status, health.

use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use service::protocol::{Order, Question, QuestionAnswer};

use crate::Door;
use crate::caller::Caller;
use crate::cluster;
use crate::options::{DefineOptions, Options};
use crate::problem::Problem;
use crate::sessions::{self, KeptAlive, OpenOptions, Opened};
use crate::shape::{NamedDefinition, milliseconds};
use crate::talk::{ask, order};
use crate::target::Named;

/// `PUT /v1/definitions/NAME`: defines a name, or changes its number of slots.
pub(crate) async fn define(
    State(door): State<Door>,
    Named(name): Named,
    caller: Caller,
    Options(options): Options<DefineOptions>,
) -> Result<Json<NamedDefinition>, Problem> {
    let definition = options.definition()?;
    let defined = Order::Define { name: name.as_str().into(), definition: Some(definition) };
    order(&door.host, caller.caller, defined).await?;
    Ok(Json(NamedDefinition { name, defined: definition.into() }))
}

/// `DELETE /v1/definitions/NAME`.
pub(crate) async fn undefine(
    State(door): State<Door>,
    Named(name): Named,
    caller: Caller,
) -> Result<StatusCode, Problem> {
    order(&door.host, caller.caller, Order::Define { name: name.into(), definition: None }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where a page of definitions begins.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    /// The `next` of the page before.
    after: Option<String>,
}

/// A page of definitions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Definitions {
    /// In the order of their names.
    definitions: Vec<NamedDefinition>,
    /// Where the next page begins, if there is more: pass it as `after`.
    next: Option<String>,
}

/// `GET /v1/definitions`: what names are defined as, a page of them.
pub(crate) async fn definitions(
    State(door): State<Door>,
    caller: Caller,
    Options(After { after }): Options<After>,
) -> Result<Json<Definitions>, Problem> {
    let question = Question::Definitions(after.map(Into::into));
    let QuestionAnswer::Definitions { definitions, next } = ask(&door.host, caller.caller, question).await?
    else {
        return Err(Problem::unavailable("the node answered another question"));
    };
    let definitions = definitions.into_iter();
    let definitions = definitions
        .map(|(name, definition)| NamedDefinition { name: name.to_string(), defined: definition.into() });
    Ok(Json(Definitions { definitions: definitions.collect(), next: next.map(|name| name.to_string()) }))
}

/// `POST /v1/sessions`.
pub(crate) async fn open_session(
    State(door): State<Door>,
    caller: Caller,
    Options(options): Options<OpenOptions>,
) -> Result<(StatusCode, Json<Opened>), Problem> {
    let opened = sessions::open(&door.host, &door.sessions, &caller, &options).await?;
    Ok((StatusCode::CREATED, Json(opened)))
}

/// `PUT /v1/sessions/SESSION`.
pub(crate) async fn keep_session(
    State(door): State<Door>,
    _: Caller,
    Named(session): Named,
) -> Result<Json<KeptAlive>, Problem> {
    let came = Instant::now();
    door.sessions.find(&door.host, &session)?.renew(&door.host, came).await.map(Json)
}

/// `DELETE /v1/sessions/SESSION`.
pub(crate) async fn close_session(
    State(door): State<Door>,
    _: Caller,
    Named(session): Named,
) -> Result<StatusCode, Problem> {
    door.sessions.find(&door.host, &session)?.close();
    Ok(StatusCode::NO_CONTENT)
}

/// The nodes of the cluster, as the node that was asked knows them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Members {
    /// The name of the cluster.
    cluster: String,
    /// The node that was asked.
    asked: u32,
    /// The number of the latest view of the members.
    view: u64,
    /// The number of the view that the node is in; 0: in none.
    in_view: u64,
    /// The node that leads the control plane, if one does.
    leader: Option<u32>,
    /// How long the lease of a node lasts.
    lease_ms: u64,
    /// How long the lease of the node that was asked still lasts; 0: it grants nothing.
    lease_left_ms: u64,
    /// The ids of nodes that were invited and have not come yet.
    invited: Vec<u32>,
    nodes: Vec<MemberNode>,
}

/// A node of the cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberNode {
    node: u32,
    /// Where other nodes reach it.
    peers: String,
    /// Where clients reach it, by the native protocol.
    clients: Option<String>,
    /// Rises with every start; null if it is not a member now.
    incarnation: Option<u64>,
    /// Whether it is a member now.
    member: bool,
    /// Whether it votes in the control plane.
    votes: bool,
}

/// `GET /v1/members`.
pub(crate) async fn members(State(door): State<Door>, caller: Caller) -> Result<Json<Members>, Problem> {
    let cluster = cluster::members(&door.host, &caller).await?;
    let nodes = cluster.nodes.into_iter().map(|node| MemberNode {
        node: node.id,
        peers: node.address,
        clients: node.clients,
        incarnation: node.incarnation,
        member: node.incarnation.is_some(),
        votes: node.votes,
    });
    Ok(Json(Members {
        nodes: nodes.collect(),
        cluster: cluster.name,
        asked: cluster.asked,
        view: cluster.epoch,
        in_view: cluster.in_view,
        leader: cluster.leader,
        lease_ms: milliseconds(cluster.lease),
        lease_left_ms: milliseconds(cluster.lease_left),
        invited: cluster.invited,
    }))
}

/// How a node is doing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Status {
    node: u32,
    /// Rises with every start of the node.
    incarnation: u64,
    /// The number of its view of the members.
    view: u64,
    /// Open sessions.
    sessions: u64,
    /// Requests that hold or wait.
    requests: u64,
    /// Names that it keeps.
    names: u64,
    counts: Counts,
    /// How long its certificate is still valid, if it has one.
    certificate_left_ms: Option<u64>,
    members: Vec<Reached>,
}

/// What a node counted since its start.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counts {
    grants: u64,
    /// Messages to other nodes.
    sent: u64,
    /// Messages from other nodes.
    received: u64,
    /// Messages of another view, discarded.
    of_other_views: u64,
    /// Sessions that ran out.
    sessions_ended: u64,
    /// Requests that were refused.
    refused: u64,
    /// Names that it no longer keeps.
    forgotten: u64,
    /// Frames that named a session with a key that is not its own.
    wrong_keys: u64,
}

impl From<service::core::Counts> for Counts {
    fn from(counts: service::core::Counts) -> Counts {
        Counts {
            grants: counts.grants,
            sent: counts.sent,
            received: counts.received,
            of_other_views: counts.of_other_views,
            sessions_ended: counts.sessions_ended,
            refused: counts.refused,
            forgotten: counts.forgotten,
            wrong_keys: counts.wrong_keys,
        }
    }
}

/// A member, as the node that was asked reaches it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reached {
    node: u32,
    /// Where clients reach it, by the native protocol.
    clients: Option<String>,
    /// For how long there has been no connection; null: there is one.
    unreachable_ms: Option<u64>,
}

/// `GET /v1/status`: how this node is doing.
pub(crate) async fn status(State(door): State<Door>, caller: Caller) -> Result<Json<Status>, Problem> {
    let answer = ask(&door.host, caller.caller, Question::Status).await?;
    let QuestionAnswer::Status { node, members, certificate_left } = answer else {
        return Err(Problem::unavailable("the node answered another question"));
    };
    let members = members.into_iter().map(|member| Reached {
        node: member.id,
        clients: member.endpoint,
        unreachable_ms: member.unreachable.map(milliseconds),
    });
    Ok(Json(Status {
        node: node.node,
        incarnation: node.incarnation,
        view: node.epoch,
        sessions: node.sessions as u64,
        requests: node.requests as u64,
        names: node.resources as u64,
        counts: node.counts.into(),
        certificate_left_ms: certificate_left.map(milliseconds),
        members: members.collect(),
    }))
}

/// `GET /livez`: the process answers.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the node serves: it has a lease, reaches all members, and its disk writes.
pub(crate) async fn readyz(State(door): State<Door>, Options(options): Options<Verbose>) -> Response {
    let checks = door.host.readiness();
    let ready = checks.iter().all(|(_, problem)| problem.is_none());
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut text = String::new();
    if options.verbose.is_some() || !ready {
        for (name, problem) in &checks {
            match problem {
                None => text += &format!("[+] {name} ok\n"),
                Some(why) => text += &format!("[-] {name} failed: {why}\n"),
            }
        }
    }
    text += if ready { "ok\n" } else { "not ready\n" };
    (status, text).into_response()
}

/// Whether each check is shown.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verbose {
    /// Show each check. Any value will do, also none.
    verbose: Option<String>,
}
