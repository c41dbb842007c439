//! `tokenwood watch`: the events at all nodes, as they happen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use service::protocol::Cluster;
use service::{SessionId, Want};
use tokenwood::label::Label;
use tokenwood::{Access, Admin, Change, Error, Event, Filter, Listing, Seen};
use tokio::sync::{mpsc, watch};

use crate::Ended;
use crate::locks::cluster::{around, reason};
use crate::locks::endpoints::{Endpoints, runtime};
use crate::locks::force;
use crate::locks::list::{kind, label_json};
use crate::locks::watch_recording::{Looker, Recorder};
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::signals::Signals;
use crate::terminal::table::count;

/// A node that does not answer is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);

/// Print each event at all nodes as it happens: waits, grants, releases, losses, requests given up, ends of sessions
///
/// Ctrl-C ends it. If this program does not keep up, it says how many events it missed. With --record, what it sees is also
/// written to a file, with what clients hold and wait for at the start, the views, the leaders, and the nodes that are out of
/// the view or do not answer; 'tokenwood trace FILE --open' shows it.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Only events of these names
    names: Vec<String>,
    /// Also events of names that begin with this
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// End after this many events
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Also record what happens in this file, which must not be there yet or be empty
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// A line for people, a line of JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    endpoints: Endpoints,
}

/// What the task that watches a node says.
enum Report {
    Watching,
    Seen(Seen),
    Silent(String),
    /// What the node knows of the cluster, or why it does not answer.
    Looked(Result<Cluster, String>),
    /// Who holds and waits there, or why it does not say.
    Listed(Result<Vec<Listing>, String>),
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    arguments.names.iter().try_for_each(|name| service::name::validate(name))?;
    runtime()?.block_on(watch_all(arguments))?;
    Ok(Ended::Well)
}

async fn watch_all(arguments: &Arguments) -> Result<()> {
    let mut signals = Signals::listen()?;
    let filter = Filter { names: arguments.names.clone(), prefixes: arguments.prefixes.clone() };
    let mut recorder = arguments.record.as_deref().map(Recorder::create).transpose()?;
    // Bounded: if this program does not keep up, the nodes notice.
    let (sender, mut heard) = mpsc::channel(1024);
    let access = arguments.endpoints.access()?;
    let found = around(&arguments.endpoints).await?;
    if let Some(recorder) = &mut recorder {
        recorder.begin(&found, &filter)?;
    }
    let mut followers =
        Followers { endpoints: BTreeMap::new(), view: 0, filter, access, lists: recorder.is_some(), sender };
    for member in found.members() {
        match member.endpoint {
            Some(endpoint) => followers.follow(member.id, endpoint),
            None => {
                let why = "its address for clients is not known yet".to_string();
                _ = followers.sender.send((member.id, Report::Silent(why))).await;
            }
        }
    }
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        let said = tokio::select! {
            said = heard.recv() => said,
            _ = signals.next() => break,
        };
        let Some((node, said)) = said else { break };
        if let Some(recorder) = &mut recorder {
            record(recorder, node, &said)?;
        }
        match said {
            Report::Looked(Ok(cluster)) => followers.learn(&cluster),
            Report::Looked(Err(_)) | Report::Listed(_) => {}
            Report::Watching => {
                note!("tokenwood: watching node {node}");
                show_json(arguments.format, node, json!({ "event": "watching" }));
            }
            Report::Silent(why) => {
                note!("tokenwood: node {node}: no answer: {why}");
                show_json(arguments.format, node, json!({ "event": "no_answer", "why": why }));
            }
            Report::Seen(seen) => {
                left -= u64::from(matches!(seen, Seen::Event(_)));
                show(arguments.format, node, &seen);
            }
        }
    }
    if let Some(recorder) = recorder {
        note!("tokenwood: recorded; this shows it: {}", recorder.end()?);
    }
    Ok(())
}

fn record(recorder: &mut Recorder, node: u32, said: &Report) -> Result<()> {
    match said {
        Report::Watching => recorder.watched(node),
        Report::Seen(seen) => recorder.seen(node, seen),
        Report::Silent(why) => recorder.unwatched(node, why),
        Report::Looked(Ok(cluster)) => recorder.looked(node, cluster),
        Report::Looked(Err(why)) => recorder.silent(node, why),
        Report::Listed(listed) => recorder.listed(node, listed),
    }
}

/// The tasks that watch nodes.
struct Followers {
    /// Where each node is; a task that watches one asks here before it connects.
    endpoints: BTreeMap<u32, watch::Sender<String>>,
    /// The newest view that a node told of.
    view: u64,
    filter: Filter,
    access: Access,
    /// Whether nodes are also asked who holds and waits.
    lists: bool,
    sender: mpsc::Sender<(u32, Report)>,
}

impl Followers {
    /// Watches a node, and asks it about the cluster each second.
    fn follow(&mut self, node: u32, endpoint: String) {
        let (told, at) = watch::channel(endpoint);
        self.endpoints.insert(node, told);
        let sender = self.sender.clone();
        let mut looker = Looker::new(node, at.clone(), self.access.clone());
        tokio::spawn(async move {
            while sender.send((node, Report::Looked(looker.look().await))).await.is_ok() {
                Looker::pause().await;
            }
        });
        let how = (self.filter.clone(), self.access.clone(), self.lists);
        tokio::spawn(follow((node, at), how, self.sender.clone()));
    }

    /// Watches nodes that joined since, and finds those that came back at another address.
    fn learn(&mut self, cluster: &Cluster) {
        // A node that is behind tells of old addresses.
        if cluster.epoch < self.view {
            return;
        }
        self.view = cluster.epoch;
        for node in cluster.nodes.iter().filter(|node| node.incarnation.is_some()) {
            let Some(now) = &node.clients else { continue };
            match self.endpoints.get(&node.id) {
                Some(known) => _ = known.send_if_modified(|at| now != &std::mem::replace(at, now.clone())),
                None => self.follow(node.id, now.clone()),
            }
        }
    }
}

/// Watches a node, again after each failure, until the receiver is gone.
async fn follow(
    (node, at): (u32, watch::Receiver<String>),
    (filter, access, lists): (Filter, Access, bool),
    sender: mpsc::Sender<(u32, Report)>,
) {
    let mut silent = false;
    loop {
        let endpoint = at.borrow().clone();
        let error = match watch_one((node, &endpoint, &access), &filter).await {
            Ok(admin) => {
                silent = false;
                _ = sender.send((node, Report::Watching)).await;
                // Only now: what changes after the list was made is among the events.
                let listing = lists.then(|| {
                    let (access, filter, sender) = (access.clone(), filter.clone(), sender.clone());
                    tokio::spawn(async move {
                        let listed = list_one((node, &endpoint, &access), filter).await.map_err(reason);
                        _ = sender.send((node, Report::Listed(listed))).await;
                    })
                });
                let error = pass_on(admin, node, &sender).await;
                listing.iter().for_each(|listing| listing.abort());
                error
            }
            Err(error) => error,
        };
        // It is noted once that it does not answer, not every second.
        if !silent && sender.send((node, Report::Silent(reason(error)))).await.is_err() {
            return;
        }
        silent = true;
        tokio::time::sleep(RETRY).await;
    }
}

async fn watch_one((node, endpoint, access): (u32, &str, &Access), filter: &Filter) -> Result<Admin, Error> {
    let mut admin = Admin::connect_to(node, endpoint, access).await?;
    admin.watch(filter.clone()).await?;
    Ok(admin)
}

/// Who holds and waits at a node. A connection that watches has no other use.
async fn list_one(
    (node, endpoint, access): (u32, &str, &Access),
    filter: Filter,
) -> Result<Vec<Listing>, Error> {
    Admin::connect_to(node, endpoint, access).await?.list_matching(filter).await
}

/// Passes on what happens until the connection breaks.
async fn pass_on(mut admin: Admin, id: u32, sender: &mpsc::Sender<(u32, Report)>) -> Error {
    loop {
        match admin.next().await {
            Ok(seen) => _ = sender.send((id, Report::Seen(seen))).await,
            Err(error) => return error,
        }
    }
}

fn show(format: Format, node: u32, seen: &Seen) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if format == Format::Json {
        return show_json(format, node, as_json(seen));
    }
    let clock = time.as_secs() % 86_400;
    let clock =
        format!("{:02}:{:02}:{:02}.{:03}", clock / 3600, clock / 60 % 60, clock % 60, time.subsec_millis());
    say!("{clock}  node {node}  {}", in_words(seen));
}

/// Prints a line for scripts, if that is the format.
fn show_json(format: Format, node: u32, mut event: Value) {
    if format == Format::Json {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event["node"] = json!(node);
        event["unix_seconds"] = json!(time.as_secs_f64());
        json::say(Schema::Watch, &event);
    }
}

fn in_words(seen: &Seen) -> String {
    match seen {
        Seen::Missed(events) => format!("missed {}: this program did not keep up", count(*events, "event")),
        Seen::Event(Event::SessionEnded { session, ran_out, label }) => {
            let what = if *ran_out { "expired" } else { "closed" };
            format!("session {}{} {what}", session.number, of(label.as_deref()))
        }
        Seen::Event(Event::ForceReleased(released)) => released.to_string(),
        Seen::Event(Event::Client { session, request, name, want, change, label, .. }) => {
            let (what, details) = match change {
                Change::Waits => ("waits", wish(want)),
                Change::Granted(grant) => ("granted", format!("{}{}", by(grant), group(want, Some(grant)))),
                Change::Released(grant) => ("released", by(grant)),
                Change::Lost(grant) => ("lost", format!("{}: its session expired", by(grant))),
                Change::GaveUp(refusal) => ("gave up", refusal.to_string()),
                Change::TakenAway(grant) => ("lost", format!("{}: released by force", by(grant))),
            };
            let client = format!("{}/{request}", session.number);
            let client = format!("client {client}{}", of(label.as_deref()));
            format!("{what:8}  {name}  {client}  {details}").trim_end().to_string()
        }
    }
}

/// Who a client is, if it says so.
fn of(label: Option<&Label>) -> String {
    label.map_or_else(String::new, |label| format!(" of {label}"))
}

fn by(grant: &tokenwood::Grant) -> String {
    format!("slot {}, fence {}", grant.slot, grant.fence)
}

fn wish(want: &Want) -> String {
    match want {
        Want::Slot | Want::AnySlot => String::new(),
        Want::Read => "to read".to_string(),
        Want::Write => "to write".to_string(),
        Want::AnyOf(groups) => format!("for group {}", groups.join(" or ")),
    }
}

/// The group that was granted, for people.
fn group(want: &Want, grant: Option<&tokenwood::Grant>) -> String {
    match (want.group(grant), want) {
        (Some(group), _) => format!(", group {group}"),
        (None, Want::Read) => ", to read".to_string(),
        (None, Want::Write) => ", to write".to_string(),
        (None, _) => String::new(),
    }
}

/// An event for scripts.
pub(crate) fn as_json(seen: &Seen) -> Value {
    match seen {
        Seen::Missed(events) => json!({ "event": "missed", "events": events }),
        Seen::Event(Event::SessionEnded { session, ran_out, label }) => json!({
            "event": "session_ended",
            "session": session.number,
            "ran_out": ran_out,
            "label": label.as_deref().map(label_json),
        }),
        Seen::Event(Event::ForceReleased(released)) => {
            let mut value = force::as_json(released);
            value["event"] = json!("force_released");
            value
        }
        Seen::Event(Event::Client {
            session: SessionId { number, .. },
            request,
            name,
            definition,
            want,
            change,
            label,
        }) => {
            let (event, grant) = match change {
                Change::Waits => ("waits", None),
                Change::Granted(grant) => ("granted", Some(grant)),
                Change::Released(grant) => ("released", Some(grant)),
                Change::Lost(grant) => ("lost", Some(grant)),
                Change::GaveUp(_) => ("gave_up", None),
                Change::TakenAway(grant) => ("taken_away", Some(grant)),
            };
            let groups = match want {
                Want::AnyOf(groups) => Some(groups),
                _ => None,
            };
            let (kind, slots) = kind(*definition);
            let why = match change {
                Change::GaveUp(refusal) => Some(refusal.to_string()),
                _ => None,
            };
            json!({
                "event": event,
                "name": name,
                "kind": kind,
                "slots": slots,
                "session": number,
                "request": request,
                "slot": grant.map(|grant| grant.slot),
                "fence": grant.map(|grant| grant.fence),
                "group": want.group(grant),
                "groups": groups,
                "shared": *want == Want::Read,
                "label": label.as_deref().map(label_json),
                "why": why,
            })
        }
    }
}
