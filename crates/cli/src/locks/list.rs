//! `tokenwood locks` and `tokenwood status`: holders and waiters, and the state of the nodes.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use service::core::{Held, Listing, Turns};
use service::protocol::PeerStatus;
use service::{Definition, Want};
use tokenwood::label::Label;
use tokenwood::{Filter, Grant, NodeStatus};
use tokio::time::timeout;

use crate::daemon::encryption::CERTIFICATE_ENDS_SOON;
use crate::locks::cluster::{Answered, Answers, Asking, Trouble};
use crate::locks::endpoints::{duration, runtime};
use crate::locks::holders::{time_in_words, who};
use crate::terminal::format::Format;
use crate::terminal::output::{self, note, say};
use crate::terminal::schema::Schema;
use crate::terminal::signals::Signals;
use crate::terminal::{json, table};

/// All locks, for scripts.
#[derive(Serialize)]
struct Locks<'a> {
    locks: Vec<Value>,
    #[serde(flatten)]
    trouble: Trouble<'a>,
}

/// List who holds and who waits, at all nodes, for all locks or for some
///
/// Exit code 69: a node gave no answer, so that the list may lack something, or the cluster grants nothing.
#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only these locks
    names: Vec<String>,
    /// Also locks whose names begin with this
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// List again whenever something has changed, until Ctrl-C; how often to look [default: 1s]
    #[arg(long, value_name = "EVERY", num_args = 0..=1, default_missing_value = "1s", value_parser = pause, require_equals = true)]
    watch: Option<Duration>,
    #[command(flatten)]
    asking: Asking,
}

/// Nodes are not asked more often than this.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Reads how often nodes are asked.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    let pause = duration(text)?;
    if pause < SHORTEST_PAUSE { Err("look at most ten times a second: 100ms".to_string()) } else { Ok(pause) }
}

/// Takes the terminal's whole screen for what follows.
const CLEAR_SCREEN: &str = "\u{1b}[H\u{1b}[2J";

pub(crate) fn list(arguments: &ListArguments) -> Result<u8> {
    arguments.names.iter().try_for_each(|name| service::name::validate(name))?;
    let Some(every) = arguments.watch else {
        let answers = arguments.ask()?;
        arguments.show(&answers, &rows(&answers));
        return Ok(answers.note_trouble());
    };
    let runtime = runtime()?;
    let mut signals = runtime.block_on(async { Signals::listen() })?;
    let mut shown = None;
    loop {
        match arguments.ask() {
            Ok(answers) => {
                let rows = rows(&answers);
                // How long it has been so always changes.
                let facts: Vec<_> = rows.iter().map(|row| [&row[..AGE], &row[AGE + 1..]].concat()).collect();
                let is_screen = arguments.asking.format == Format::Table && stdout().is_terminal();
                if is_screen {
                    output::print(format_args!("{CLEAR_SCREEN}"));
                }
                if is_screen || shown.replace(facts.clone()) != Some(facts) {
                    arguments.show(&answers, &rows);
                    answers.note_trouble();
                }
            }
            Err(error) => note!("tokenwood: {error:#}"),
        }
        if runtime.block_on(async { timeout(every, signals.next()).await.is_ok() }) {
            return Ok(0);
        }
    }
}

/// The column of a table that says for how long it has been so.
const AGE: usize = 4;

impl ListArguments {
    fn ask(&self) -> Result<Answers<Vec<Listing>>> {
        let filter = Filter { names: self.names.clone(), prefixes: self.prefixes.clone() };
        self.asking.ask_all(move |mut admin| {
            let filter = filter.clone();
            async move { admin.list_matching(filter).await }
        })
    }

    fn show(&self, answers: &Answers<Vec<Listing>>, rows: &[Vec<String>]) {
        if self.asking.format == Format::Json {
            let locks = listings(&answers.nodes).map(|(id, listing)| as_json(id, listing)).collect();
            json::say(Schema::Locks, &Locks { locks, trouble: answers.trouble() });
        } else if rows.is_empty() && answers.are_complete() {
            let which =
                if self.names.is_empty() && self.prefixes.is_empty() { "a lock" } else { "these locks" };
            say!("No client holds or waits for {which}.");
        } else if !rows.is_empty() {
            let heading =
                ["name", "does", "slot", "fence", "for", "node", "who"].map(str::to_string).to_vec();
            table::print(&[&[heading], rows].concat());
        }
    }
}

/// A row for each client: holders of a name before its waiters, and these in the order of their turns.
fn rows(answers: &Answers<Vec<Listing>>) -> Vec<Vec<String>> {
    let clients = listings(&answers.nodes)
        .flat_map(|(id, listing)| listing.clients.iter().map(move |client| (id, listing, client)));
    let mut clients: Vec<(u32, &Listing, &Held)> = clients.collect();
    let mut names: BTreeMap<&str, Vec<(u32, &Listing)>> = BTreeMap::new();
    listings(&answers.nodes)
        .for_each(|(id, listing)| names.entry(&listing.name).or_default().push((id, listing)));
    let turns: BTreeMap<&str, Turns> =
        names.into_iter().map(|(name, listings)| (name, Turns::of(listings))).collect();
    clients.sort_by_key(|(_, listing, client)| (&listing.name, turns[&*listing.name].turn(client)));
    clients.into_iter().map(|(id, listing, client)| row(id, listing, client)).collect()
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

/// A client, for scripts.
pub(crate) fn client_json(client: &Held) -> Value {
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
            Ok(status) => row.extend(status_cells(status, answered.has_lapsed())),
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
        "certificate_left_seconds": told.and_then(|told| told.certificate_left).map(|left| left.as_secs_f64()),
        "error": answered.answer.as_ref().err(),
    })
}

fn member_json(member: &PeerStatus) -> Value {
    let seconds = member.unreachable.map(|unreachable| unreachable.as_secs_f64());
    json!({ "node": member.id, "endpoint": member.endpoint, "unreachable_seconds": seconds })
}

fn status_cells(status: &NodeStatus, lapsed: bool) -> Vec<String> {
    let NodeStatus { node: status, members, certificate_left } = status;
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
    let mut state = match (lapsed, missed.is_empty()) {
        (true, _) => "no lease: grants nothing".to_string(),
        (false, true) => "reaches all".to_string(),
        (false, false) => format!("cannot reach {}", missed.join(", ")),
    };
    match certificate_left.filter(|left| *left < CERTIFICATE_ENDS_SOON) {
        Some(Duration::ZERO) => state += "; its certificate has ended",
        Some(left) => state += &format!("; its certificate ends in {}", time_in_words(left)),
        None => {}
    }
    [state].into_iter().chain(numbers.map(table::grouped)).collect()
}
