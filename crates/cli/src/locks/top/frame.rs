//! What is shown at one moment: the nodes, the names and the waits of the whole cluster, and what is wrong.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use service::Definition;
use service::core::Held;

use super::model::{Model, Node};
use super::rates::Rate;
use crate::locks::holders::who;

/// So many of the longest waits are shown.
const MOST_WAITS: usize = 200;

/// What is shown.
#[derive(Clone, Default)]
pub(super) struct Frame {
    pub(super) at: Option<SystemTime>,
    pub(super) cluster: String,
    pub(super) epoch: Option<u64>,
    pub(super) leader: Option<u32>,
    pub(super) nodes: Vec<NodeRow>,
    /// In the order of names.
    pub(super) names: Vec<NameRow>,
    /// The longest first.
    pub(super) waits: Vec<WaitRow>,
    /// The node whose certificate ends first, and when.
    pub(super) certificate: Option<(u32, Duration)>,
    /// Whether a node that answered can grant.
    pub(super) grants: bool,
    /// What the cluster waits for, if a majority of the voters is not there.
    pub(super) waiting: Option<String>,
    /// What is wrong, missing or out of date.
    pub(super) troubles: Vec<String>,
    /// How long it takes to look at all names; unknown until that was done once.
    pub(super) round: Option<Duration>,
}

/// A node, and what it does.
#[derive(Clone, Default)]
pub(super) struct NodeRow {
    pub(super) id: u32,
    pub(super) endpoint: Option<String>,
    pub(super) leads: bool,
    /// Whether it is a member of the newest view.
    pub(super) member: bool,
    /// Since when it gives no answer, and why.
    pub(super) silent: Option<(Duration, String)>,
    /// What it answered.
    pub(super) told: Option<NodeFacts>,
}

/// What a node answered.
#[derive(Clone, Default)]
pub(super) struct NodeFacts {
    pub(super) lease_left: Duration,
    pub(super) epoch: u64,
    pub(super) sessions: u64,
    /// Unknown of a node of an older version.
    pub(super) holds: Option<u64>,
    pub(super) waits: Option<u64>,
    pub(super) names: u64,
    pub(super) grants: u64,
    pub(super) grants_per_second: Option<f64>,
    pub(super) sent_per_second: Option<f64>,
    /// Unknown of nodes that do not count them.
    pub(super) handoffs_local_per_second: Option<f64>,
    pub(super) handoffs_remote_per_second: Option<f64>,
    /// The members that it does not reach, and for how long.
    pub(super) unreachable: Vec<(u32, Duration)>,
    pub(super) certificate_left: Option<Duration>,
}

/// A name, at all nodes together.
#[derive(Clone)]
pub(super) struct NameRow {
    pub(super) name: Arc<str>,
    pub(super) definition: Definition,
    pub(super) grants_per_second: Option<f64>,
    /// For the order of names of which nothing better is known: grants by the time in which they were counted.
    hint: f64,
    pub(super) holders: u64,
    pub(super) waiters: u64,
    /// There are more clients than were counted.
    pub(super) more: bool,
    pub(super) longest_hold: Option<(u32, Held)>,
    pub(super) longest_wait: Option<Duration>,
}

/// A client that waits, and the client that has held longest what it waits for.
#[derive(Clone)]
pub(super) struct WaitRow {
    pub(super) name: Arc<str>,
    pub(super) node: u32,
    pub(super) waiter: Held,
    pub(super) holder: Option<(u32, Held)>,
}

impl NameRow {
    /// What the hottest names have most of.
    pub(super) fn heat(&self) -> f64 {
        self.grants_per_second.unwrap_or(self.hint)
    }
}

impl Frame {
    /// What is known now.
    pub(super) fn of(model: &Model, now: Instant) -> Frame {
        let newest = model.newest();
        let members: BTreeSet<u32> = newest
            .iter()
            .flat_map(|sample| &sample.cluster.nodes)
            .filter_map(|node| node.incarnation.map(|_| node.id))
            .collect();
        let leader = newest.and_then(|sample| sample.cluster.leader);
        let nodes = model.nodes.iter().map(|(id, node)| {
            let row = NodeRow { id: *id, leads: leader == Some(*id), ..node_row(node, now) };
            NodeRow { member: members.contains(id), ..row }
        });
        let nodes: Vec<NodeRow> = nodes.collect();
        let names = names(model, now);
        let waits = waits(model, &names, now);
        let left = |row: &NodeRow| Some((row.id, row.told.as_ref()?.certificate_left?));
        let certificate = nodes.iter().filter_map(left).min_by_key(|(_, left)| *left);
        let leased = |row: &NodeRow| row.told.as_ref().is_some_and(|told| !told.lease_left.is_zero());
        let answering = model.nodes.values().filter(|node| node.silent.is_none());
        let round = answering.map(|node| node.round_took).collect::<Option<Vec<_>>>();
        let mut frame = Frame {
            at: Some(SystemTime::now()),
            cluster: model.cluster.clone(),
            epoch: newest.map(|sample| sample.cluster.epoch),
            leader,
            grants: nodes.iter().any(leased),
            waiting: newest.and_then(|sample| sample.voters.waiting()),
            nodes,
            names,
            waits,
            certificate,
            troubles: Vec::new(),
            round: round.and_then(|rounds| rounds.into_iter().max()),
        };
        frame.troubles = super::troubles::of(&frame, model);
        frame
    }

    /// The sum over all nodes that tell it; nothing if none does.
    pub(super) fn sum(&self, of: impl Fn(&NodeFacts) -> Option<f64>) -> Option<f64> {
        let told = self.nodes.iter().filter_map(|row| of(row.told.as_ref()?));
        told.fold(None, |sum, more| Some(sum.unwrap_or(0.0) + more))
    }
}

fn node_row(node: &Node, now: Instant) -> NodeRow {
    let silent = node.silent.as_ref();
    let silent = silent.map(|(since, why)| (now.saturating_duration_since(*since), why.clone()));
    let told = node.answer.as_ref().filter(|_| silent.is_none()).map(|sample| {
        let status = &sample.status.node;
        let waits = sample.counters.as_ref().map(|counters| counters.waiters);
        let per_second = |rate: Option<Rate>| rate.and_then(|rate| rate.per_second);
        let members = sample.status.members.iter();
        NodeFacts {
            lease_left: sample.cluster.lease_left,
            epoch: sample.cluster.in_view,
            sessions: status.sessions as u64,
            holds: waits.map(|waits| (status.requests as u64).saturating_sub(waits)),
            waits,
            names: status.resources as u64,
            grants: status.counts.grants,
            grants_per_second: per_second(node.rates.grants),
            sent_per_second: per_second(node.rates.sent),
            handoffs_local_per_second: per_second(node.rates.handoffs_local),
            handoffs_remote_per_second: per_second(node.rates.handoffs_remote),
            unreachable: members.filter_map(|member| Some((member.id, member.unreachable?))).collect(),
            certificate_left: sample.status.certificate_left,
        }
    });
    NodeRow { endpoint: node.endpoint.clone(), silent, told, ..NodeRow::default() }
}

/// All names, put together from all nodes.
fn names(model: &Model, now: Instant) -> Vec<NameRow> {
    let mut names: BTreeMap<&str, NameRow> = BTreeMap::new();
    for (id, node) in &model.nodes {
        for used in node.names.values() {
            let told = &used.told;
            let age = now.saturating_duration_since(used.at);
            let row = names.entry(&told.name).or_insert_with(|| NameRow {
                name: told.name.clone(),
                definition: told.definition,
                grants_per_second: None,
                hint: 0.0,
                holders: 0,
                waiters: 0,
                more: false,
                longest_hold: None,
                longest_wait: None,
            });
            row.hint += told.grants as f64 / told.counted.as_secs_f64().max(1.0);
            row.grants_per_second = match (row.grants_per_second, used.grants.per_second) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
            row.holders += told.holders;
            row.waiters += told.waiters;
            row.more |= told.more;
            row.longest_wait = row.longest_wait.max(told.longest_waits.first().map(|held| held.since + age));
            if let Some(held) = &told.longest_hold {
                let held = Held { since: held.since + age, ..held.clone() };
                if row.longest_hold.as_ref().is_none_or(|(_, longest)| longest.since < held.since) {
                    row.longest_hold = Some((*id, held));
                }
            }
        }
    }
    names.into_values().collect()
}

fn waits(model: &Model, names: &[NameRow], now: Instant) -> Vec<WaitRow> {
    let mut waits: Vec<(Duration, u32, &Arc<str>, &Held)> = Vec::new();
    for (id, node) in &model.nodes {
        for used in node.names.values() {
            let age = now.saturating_duration_since(used.at);
            let waiters = used.told.longest_waits.iter();
            waits.extend(waiters.map(|held| (held.since + age, *id, &used.told.name, held)));
        }
    }
    waits.sort_unstable_by_key(|(since, id, ..)| (Reverse(*since), *id));
    waits.truncate(MOST_WAITS);
    let holder = |name: &Arc<str>| {
        let found = names.binary_search_by(|row| row.name.cmp(name)).ok()?;
        names[found].longest_hold.clone()
    };
    let row = |(since, node, name, held): (Duration, u32, &Arc<str>, &Held)| WaitRow {
        name: name.clone(),
        node,
        waiter: Held { since, ..held.clone() },
        holder: holder(name),
    };
    waits.into_iter().map(row).collect()
}

/// Who a client of this node is, in a few words.
pub(super) fn client(node: u32, held: &Held) -> String {
    match held.label {
        Some(_) => who(held),
        None => format!("client {}/{} of node {node}", held.session.number, held.request),
    }
}
