//! `tokenwood locks` and `tokenwood status`: holders and waiters, and the state of the nodes.

use std::cmp::Reverse;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use service::core::{Held, Listing, Status};
use service::protocol::PeerStatus;
use service::{Definition, Want};
use tokenwood::label::Label;
use tokenwood::{Grant, NodeStatus};

use crate::locks::cluster::{Answered, Answers, Asking, Trouble};
use crate::locks::holders::{time_in_words, who};
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// All locks, for scripts.
#[derive(Serialize)]
struct Locks<'a> {
    locks: Vec<Value>,
    #[serde(flatten)]
    trouble: Trouble<'a>,
}

pub(crate) fn list(asking: &Asking) -> Result<u8> {
    let answers = asking.ask_all(|mut admin| async move { admin.list().await })?;
    if asking.format == Format::Json {
        let locks = listings(&answers.nodes).map(|(id, listing)| as_json(id, listing)).collect();
        json::say(Schema::Locks, &Locks { locks, trouble: answers.trouble() });
        return Ok(answers.note_trouble());
    }
    let clients = listings(&answers.nodes)
        .flat_map(|(id, listing)| listing.clients.iter().map(move |client| (id, listing, client)));
    let mut clients: Vec<(u32, &Listing, &Held)> = clients.collect();
    // Holders of a name before its waiters, and the first to come first.
    clients
        .sort_by_key(|(_, listing, client)| (&listing.name, client.granted.is_none(), Reverse(client.since)));
    if clients.is_empty() && answers.are_complete() {
        say!("No client holds or waits for a lock.");
    } else if !clients.is_empty() {
        let heading = ["name", "does", "slot", "fence", "for", "node", "who"].map(str::to_string).to_vec();
        let rows = clients.into_iter().map(|(id, listing, client)| row(id, listing, client));
        table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
    }
    Ok(answers.note_trouble())
}

/// What nodes told, with the id of each.
fn listings(answers: &[Answered<Vec<Listing>>]) -> impl Iterator<Item = (u32, &Listing)> {
    let told = answers.iter().filter_map(|answered| Some((answered.id, answered.answer.as_ref().ok()?)));
    told.flat_map(|(id, listings)| listings.iter().map(move |listing| (id, listing)))
}

/// What a name stands for, for scripts: the word for it, and how many slots it has.
pub(crate) fn kind(definition: Definition) -> (&'static str, u32) {
    match definition {
        Definition::Slots(1) => ("mutex", 1),
        Definition::Slots(slots) => ("semaphore", slots),
        Definition::RwLock => ("rwlock", 1),
        Definition::Room => ("room", 1),
    }
}

/// What a client does, for people.
pub(crate) fn state_of(client: &Held) -> String {
    let verb = if client.granted.is_some() { "holds" } else { "waits" };
    let verb = if client.revoked { "is being revoked" } else { verb };
    match (&client.want, client.want.group(client.granted.as_ref())) {
        (Want::Slot | Want::AnySlot, _) => verb.to_string(),
        (Want::Read, _) => format!("{verb} (reads)"),
        (Want::Write, _) => format!("{verb} (writes)"),
        (Want::AnyOf(_), Some(group)) => format!("{verb} (group {group})"),
        (Want::AnyOf(groups), None) => format!("{verb} (group {})", groups.join(" or ")),
    }
}

fn row(id: u32, listing: &Listing, client: &Held) -> Vec<String> {
    [listing.name.clone()].into_iter().chain(client_cells(id, client)).collect()
}

/// What there is to say about a client of this node.
pub(crate) fn client_cells(id: u32, client: &Held) -> [String; 6] {
    let (slot, fence) = match client.granted {
        Some(Grant { slot, fence, .. }) => (slot.to_string(), fence.to_string()),
        None => ("–".to_string(), "–".to_string()),
    };
    [state_of(client), slot, fence, time_in_words(client.since), id.to_string(), who(client)]
}

/// A client of this node, for scripts.
pub(crate) fn client_at(node: u32, client: &Held) -> Value {
    let mut value = client_json(client);
    value["node"] = json!(node);
    value
}

fn client_json(client: &Held) -> Value {
    let groups = match &client.want {
        Want::AnyOf(groups) => Some(groups),
        _ => None,
    };
    json!({
        "session": client.session.number,
        "request": client.request,
        "slot": client.granted.map(|grant| grant.slot),
        "fence": client.granted.map(|grant| grant.fence),
        "group": client.want.group(client.granted.as_ref()),
        "groups": groups,
        "shared": client.want == Want::Read,
        "seconds": client.since.as_secs_f64(),
        "expires_in_seconds": client.left.map(|left| left.as_secs_f64()),
        "revoked": client.revoked,
        "label": client.label.as_ref().map(label_json),
    })
}

/// Who a client is, as it says itself; without what it does not say.
pub(crate) fn label_json(label: &Label) -> Value {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_string());
    json!({
        "user": text(&label.user),
        "host": text(&label.host),
        "pid": (label.process != 0).then_some(label.process),
        "command": text(&label.command),
        "text": text(&label.text),
    })
}

fn as_json(id: u32, listing: &Listing) -> Value {
    let (kind, slots) = kind(listing.definition);
    json!({
        "name": listing.name,
        "kind": kind,
        "slots": slots,
        "node": id,
        "home": listing.home,
        "slots_here": listing.slots.iter().map(|(slot, _)| slot).collect::<Vec<_>>(),
        "clients": listing.clients.iter().map(|client| client_at(id, client)).collect::<Vec<_>>(),
    })
}

pub(crate) fn status(asking: &Asking) -> Result<u8> {
    let answers = asking.ask_all(|mut admin| async move { admin.status().await })?;
    if asking.format == Format::Json {
        let nodes = answers.nodes.iter().map(status_json).collect();
        let away = away(&answers);
        json::say(Schema::Status, &Nodes { nodes, away, trouble: answers.trouble() });
        return Ok(answers.note_trouble());
    }
    let heading =
        ["node", "endpoint", "state", "sessions", "hold or wait", "names", "grants", "sent", "received"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    for answered in &answers.nodes {
        let mut row = vec![answered.id.to_string(), answered.place().to_string()];
        match &answered.answer {
            Ok(NodeStatus { node, members }) => {
                row.extend(status_cells(node, members, answered.has_lapsed()));
            }
            Err(why) => row.push(format!("no answer: {why}")),
        }
        rows.push(row);
    }
    let away = away(&answers);
    rows.extend(
        away.iter().map(|id| vec![id.to_string(), "–".to_string(), "away: not a member".to_string()]),
    );
    rows[1..].sort_by_key(|row| row[0].parse::<u32>().ok());
    table::print(&rows);
    Ok(answers.note_trouble())
}

/// The nodes that belong to the cluster and are no members now.
fn away(answers: &Answers<NodeStatus>) -> Vec<u32> {
    let asked = |id: u32| answers.nodes.iter().any(|answered| answered.id == id);
    answers.around.nodes().iter().map(|node| node.id).filter(|id| !asked(*id)).collect()
}

/// The state of all nodes, for scripts.
#[derive(Serialize)]
struct Nodes<'a> {
    nodes: Vec<Value>,
    away: Vec<u32>,
    #[serde(flatten)]
    trouble: Trouble<'a>,
}

fn status_json(answered: &Answered<NodeStatus>) -> Value {
    let told = answered.answer.as_ref().ok();
    json!({
        "node": answered.id,
        "endpoint": answered.endpoint,
        "lease_left_seconds": answered.lease.map(|left| left.as_secs_f64()),
        "status": told.map(|told| &told.node),
        "members": told.map(|told| told.members.iter().map(member_json).collect::<Vec<_>>()),
        "error": answered.answer.as_ref().err(),
    })
}

fn member_json(member: &PeerStatus) -> Value {
    let seconds = member.unreachable.map(|unreachable| unreachable.as_secs_f64());
    json!({ "node": member.id, "endpoint": member.endpoint, "unreachable_seconds": seconds })
}

fn status_cells(status: &Status, members: &[PeerStatus], lapsed: bool) -> Vec<String> {
    let counts = status.counts;
    let numbers = [
        status.sessions as u64,
        status.requests as u64,
        status.resources as u64,
        counts.grants,
        counts.sent,
        counts.received,
    ];
    let missed: Vec<String> = members
        .iter()
        .filter_map(|member| Some(format!("{} for {:.0} s", member.id, member.unreachable?.as_secs_f64())))
        .collect();
    let state = match (lapsed, missed.is_empty()) {
        (true, _) => "no lease: grants nothing".to_string(),
        (false, true) => "reaches all".to_string(),
        (false, false) => format!("cannot reach {}", missed.join(", ")),
    };
    [state].into_iter().chain(numbers.map(table::grouped)).collect()
}
