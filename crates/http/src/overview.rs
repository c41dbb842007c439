//! `GET /v1/cluster`: all nodes at once, each with what it says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use node::Host;
use schemars::JsonSchema;
use serde::Serialize;
use service::core::Status;
use service::metrics::TIMES;
use service::protocol::{Counters, Question, QuestionAnswer};
use tokenwood::Admin;

use crate::Door;
use crate::caller::Caller;
use crate::cluster::{self, ask_others};
use crate::operators::Counts;
use crate::problem::Problem;
use crate::shape::milliseconds;
use crate::talk::ask;

/// All nodes of the cluster, each as it answers itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// The name of the cluster.
    cluster: String,
    /// The node that was asked, and asked the others.
    asked: u32,
    /// The number of the latest view of the members.
    view: u64,
    /// The node that leads the control plane, if one does.
    leader: Option<u32>,
    /// How long the lease of a node lasts.
    lease_ms: u64,
    /// By their numbers.
    nodes: Vec<OverviewNode>,
}

/// A node of the cluster, as it answers itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OverviewNode {
    node: u32,
    /// Where clients reach it, by the native protocol.
    clients: Option<String>,
    /// Rises with every start; null if it is not a member now.
    incarnation: Option<u64>,
    /// Whether it is a member now.
    member: bool,
    /// Whether it votes in the control plane.
    votes: bool,
    /// For how long the node that was asked has had no connection to it; null: there is one.
    unreachable_ms: Option<u64>,
    /// Whether it answered in time. If it did not, what follows is 0 or null.
    answered: bool,
    /// How long its lease still lasts; 0: it grants nothing.
    lease_left_ms: u64,
    /// Open sessions.
    sessions: u64,
    /// Requests that hold or wait.
    requests: u64,
    /// Requests that wait.
    waiters: u64,
    /// Names that it keeps.
    names: u64,
    counts: Option<Counts>,
    /// How long granted requests waited since its start, the shortest waits first.
    waits: Option<Vec<WaitBucket>>,
}

/// How many granted requests waited at most so long, and longer than the bucket before.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitBucket {
    /// The longest wait that counts here, in milliseconds; null: there is no longest.
    up_to_ms: Option<f64>,
    count: u64,
}

/// What a node says of itself.
struct Answered {
    status: Status,
    lease_left: Duration,
    counters: Counters,
}

/// `GET /v1/cluster`.
pub(crate) async fn overview(State(door): State<Door>, caller: Caller) -> Result<Json<Overview>, Problem> {
    let host = &door.host;
    let cluster = cluster::members(host, &caller).await?;
    let (here, unreachable) = told_here(host, &caller, cluster.lease_left).await?;
    let others = cluster.nodes.iter().filter(|node| node.id != host.id());
    let others = others.filter_map(|node| Some((node.id, node.clients.clone()?))).collect();
    let mut told = ask_others(host, &caller, others, |_, mut admin: Admin| async move {
        let (status, counters) = (admin.status().await?.node, admin.counters().await?);
        Ok(Answered { status, counters, lease_left: admin.cluster().await?.lease_left })
    })
    .await;
    told.insert(host.id(), Some(here));
    let nodes = cluster.nodes.into_iter().map(|node| {
        let told = told.remove(&node.id).flatten();
        let status = told.as_ref().map(|told| &told.status);
        let count = |of: fn(&Status) -> usize| status.map_or(0, |status| of(status) as u64);
        OverviewNode {
            node: node.id,
            clients: node.clients,
            incarnation: node.incarnation,
            member: node.incarnation.is_some(),
            votes: node.votes,
            unreachable_ms: unreachable.get(&node.id).copied().map(milliseconds),
            answered: told.is_some(),
            lease_left_ms: told.as_ref().map_or(0, |told| milliseconds(told.lease_left)),
            sessions: count(|status| status.sessions),
            requests: count(|status| status.requests),
            names: count(|status| status.resources),
            waiters: told.as_ref().map_or(0, |told| told.counters.waiters),
            counts: status.map(|status| status.counts.into()),
            waits: told.as_ref().and_then(|told| waits(&told.counters)),
        }
    });
    Ok(Json(Overview {
        nodes: nodes.collect(),
        cluster: cluster.name,
        asked: cluster.asked,
        view: cluster.epoch,
        leader: cluster.leader,
        lease_ms: milliseconds(cluster.lease),
    }))
}

/// What this node says of itself, and which members it does not reach.
async fn told_here(
    host: &Host,
    caller: &Caller,
    lease_left: Duration,
) -> Result<(Answered, BTreeMap<u32, Duration>), Problem> {
    let status = ask(host, caller.caller.clone(), Question::Status).await?;
    let counters = ask(host, caller.caller.clone(), Question::Counters).await?;
    let (QuestionAnswer::Status { node, members, .. }, QuestionAnswer::Counters(counters)) =
        (status, counters)
    else {
        return Err(Problem::unavailable("the node answered another question"));
    };
    let unreachable = members.into_iter().filter_map(|member| Some((member.id, member.unreachable?)));
    Ok((Answered { status: node, lease_left, counters }, unreachable.collect()))
}

/// How long requests waited, if the node counts that.
fn waits(counters: &Counters) -> Option<Vec<WaitBucket>> {
    let bounds = TIMES.bounds.iter().copied().map(Some).chain([None]);
    bounds
        .map(|bound| {
            let count = counters.get(&Counters::waits_up_to(bound))?;
            Some(WaitBucket { up_to_ms: bound.map(|nanoseconds| nanoseconds as f64 / 1e6), count })
        })
        .collect()
}
