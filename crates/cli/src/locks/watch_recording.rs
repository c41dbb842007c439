//! What `tokenwood watch --record` writes: who holds and waits when it begins, the events of all nodes, and what changes in the
//! cluster, as its nodes say when they are asked each second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};
use service::protocol::{Cluster, ClusterNode};
use tokenwood::{Access, Admin, Event, Filter, Held, Listing, Seen};
use tokio::sync::watch;

use crate::locks::cluster::{Around, reason};
use crate::locks::list::{client_json, kind};
use crate::locks::watch::as_json;
use crate::terminal::recording::{Header, Recording};

/// How often a node is asked.
const EVERY: Duration = Duration::from_secs(1);
/// A node that takes longer to answer does not.
const LONGEST_ANSWER: Duration = Duration::from_secs(3);

/// What is known of a node.
#[derive(Default)]
struct Known {
    /// Its events are seen.
    is_watched: bool,
    /// It answered when it was asked last.
    answered: bool,
    /// That it does not answer is written.
    is_silent: bool,
    /// That it has no lease is written.
    has_lapsed: bool,
    /// That the view is without it is written.
    is_out: bool,
    incarnation: Option<u64>,
    /// What happened since its events are seen, until its list is there: the list may be older than that.
    news: Option<News>,
}

/// The requests and sessions that events told of.
#[derive(Default)]
struct News {
    requests: BTreeSet<(u64, u64)>,
    ended: BTreeSet<u64>,
}

impl News {
    fn add(&mut self, event: &Event) {
        match event {
            Event::Client { session, request, .. } => _ = self.requests.insert((session.number, *request)),
            Event::SessionEnded { session, .. } => _ = self.ended.insert(session.number),
            Event::ForceReleased(_) => {}
        }
    }

    /// Whether events say more of a client than the list.
    fn has(&self, client: &Held) -> bool {
        let session = client.session.number;
        self.ended.contains(&session) || self.requests.contains(&(session, client.request))
    }
}

/// A recording, and what it has said of the cluster.
pub(crate) struct Recorder {
    recording: Recording,
    begun: Instant,
    view: u64,
    leader: Option<u32>,
    nodes: BTreeMap<u32, Known>,
}

impl Recorder {
    /// Takes the file, before anything is asked.
    pub(crate) fn create(path: &Path) -> Result<Recorder> {
        let recording = Recording::create(path)?;
        Ok(Recorder { recording, begun: Instant::now(), view: 0, leader: None, nodes: BTreeMap::new() })
    }

    pub(crate) fn begin(&mut self, around: &Around, filter: &Filter) -> Result<()> {
        let cluster = &around.cluster;
        let members = cluster.nodes.iter().filter(|node| node.incarnation.is_some());
        let mut nodes: Vec<u32> = members.map(|node| node.id).chain([cluster.asked]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let is_filtered = !filter.names.is_empty() || !filter.prefixes.is_empty();
        self.begun = Instant::now();
        self.recording.begin(&Header {
            kind: "cluster",
            title: &format!("Cluster {}", cluster.name),
            command: None,
            nodes: &nodes,
            began_unix_seconds: SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|it| it.as_secs_f64()),
            names: is_filtered.then_some(&filter.names),
            prefixes: is_filtered.then_some(&filter.prefixes),
        })?;
        self.nodes = nodes.into_iter().map(|node| (node, Known::default())).collect();
        self.looked(cluster.asked, cluster)
    }

    fn add(&mut self, node: Option<u32>, event: &Value) -> Result<()> {
        self.recording.add(self.begun.elapsed(), node, event)
    }

    /// An event of a node.
    pub(crate) fn seen(&mut self, node: u32, seen: &Seen) -> Result<()> {
        let mut event = match seen {
            Seen::Missed(events) => json!({ "event": "missed", "count": events }),
            Seen::Event(event) => {
                let known = self.nodes.entry(node).or_default();
                known.news.iter_mut().for_each(|news| news.add(event));
                as_json(seen)
            }
        };
        // Each line has it.
        event.as_object_mut().and_then(|event| event.remove("node"));
        self.add(Some(node), &event)
    }

    /// The events of a node are seen from now on.
    pub(crate) fn watched(&mut self, node: u32) -> Result<()> {
        let known = self.nodes.entry(node).or_default();
        known.is_watched = true;
        known.news = Some(News::default());
        self.speaks(node)
    }

    /// Who holds and waits at a node whose events are seen.
    pub(crate) fn listed(&mut self, node: u32, listed: &Result<Vec<Listing>, String>) -> Result<()> {
        let news = self.nodes.entry(node).or_default().news.take().unwrap_or_default();
        let listings = match listed {
            Ok(listings) => listings,
            Err(why) => return self.add(Some(node), &json!({ "event": "not_listed", "why": why })),
        };
        let (mut holders, mut waiters) = (0, 0);
        for listing in listings {
            for client in listing.clients.iter().filter(|client| !news.has(client)) {
                *if client.granted.is_some() { &mut holders } else { &mut waiters } += 1;
                self.add(Some(node), &client_line(listing, client))?;
            }
        }
        self.add(Some(node), &json!({ "event": "listed", "holders": holders, "waiters": waiters }))
    }

    /// A node does not answer, or its events are not seen any more.
    pub(crate) fn silent(&mut self, node: u32, why: &str) -> Result<()> {
        let known = self.nodes.entry(node).or_default();
        known.answered = false;
        if std::mem::replace(&mut known.is_silent, true) {
            return Ok(());
        }
        self.add(Some(node), &json!({ "event": "no_answer", "why": why }))
    }

    pub(crate) fn unwatched(&mut self, node: u32, why: &str) -> Result<()> {
        self.nodes.entry(node).or_default().is_watched = false;
        self.silent(node, why)
    }

    /// Writes that a node is back, once it answers and its events are seen.
    fn speaks(&mut self, node: u32) -> Result<()> {
        let known = self.nodes.entry(node).or_default();
        if !known.is_silent || !known.answered || !known.is_watched {
            return Ok(());
        }
        known.is_silent = false;
        self.add(Some(node), &json!({ "event": "answers" }))
    }

    /// What a node says of the cluster.
    pub(crate) fn looked(&mut self, node: u32, cluster: &Cluster) -> Result<()> {
        self.nodes.entry(node).or_default().answered = true;
        self.speaks(node)?;
        // What a node says that is behind is old.
        if cluster.epoch > self.view {
            self.viewed(cluster)?;
        }
        let lapsed = cluster.lease_left.is_zero();
        let known = self.nodes.entry(node).or_default();
        if std::mem::replace(&mut known.has_lapsed, lapsed) != lapsed {
            let event = if lapsed { "lease_lapsed" } else { "leased" };
            self.add(Some(node), &json!({ "event": event }))?;
        }
        // Each knows best whether it leads itself; one that others have replaced has no lease soon.
        if cluster.leader == Some(node) && !lapsed && self.leader != Some(node) {
            self.leader = Some(node);
            self.add(Some(node), &json!({ "event": "leads" }))?;
        }
        Ok(())
    }

    /// There is another view.
    fn viewed(&mut self, cluster: &Cluster) -> Result<()> {
        let is_first = self.view == 0;
        self.view = cluster.epoch;
        for node in &cluster.nodes {
            let is_new = !self.nodes.contains_key(&node.id);
            let known = self.nodes.entry(node.id).or_default();
            let was_out = std::mem::replace(&mut known.is_out, node.incarnation.is_none());
            let event = match node.incarnation {
                // A node that is to come for the first time is not out of anything.
                None if was_out || (is_new && !is_first) => continue,
                None => json!({ "event": "out_of_view", "view": cluster.epoch }),
                Some(incarnation) => {
                    let before = known.incarnation.replace(incarnation);
                    match (is_new, was_out || before.is_some_and(|before| before != incarnation)) {
                        (true, _) => json!({ "event": "joins" }),
                        (_, true) => {
                            json!({ "event": "comes_back", "view": cluster.epoch, "incarnation": incarnation })
                        }
                        (false, false) => continue,
                    }
                }
            };
            self.add(Some(node.id), &event)?;
        }
        let belongs = |id: u32| cluster.nodes.iter().any(|node| node.id == id);
        let gone: Vec<u32> = self.nodes.keys().copied().filter(|id| !belongs(*id)).collect();
        for node in gone.into_iter().filter(|_| !is_first) {
            self.nodes.remove(&node);
            self.add(Some(node), &json!({ "event": "removed" }))?;
        }
        let members: Vec<&ClusterNode> =
            cluster.nodes.iter().filter(|node| node.incarnation.is_some()).collect();
        let members: Vec<u32> = members.iter().map(|node| node.id).collect();
        self.add(None, &json!({ "event": "view", "view": cluster.epoch, "members": members }))
    }

    /// The recording is complete. Returns how to see it.
    pub(crate) fn end(mut self) -> Result<String> {
        self.add(None, &json!({ "event": "ends" }))?;
        Ok(self.recording.how_to_open())
    }
}

/// A client that holds or waits, as a line.
fn client_line(listing: &Listing, client: &Held) -> Value {
    let mut line = client_json(client);
    let (kind, slots) = kind(listing.definition);
    if let Some(line) = line.as_object_mut() {
        // They change before a reader could see them.
        line.retain(|field, _| !["expires_in_seconds", "revoked"].contains(&field.as_str()));
    }
    line["event"] = json!(if client.granted.is_some() { "holding" } else { "waiting" });
    line["name"] = json!(listing.name);
    line["kind"] = json!(kind);
    line["slots"] = json!(slots);
    line
}

/// Asks a node what it knows of the cluster, over a connection that it keeps.
pub(crate) struct Looker {
    node: u32,
    /// Where it is now.
    at: watch::Receiver<String>,
    access: Access,
    open: Option<Admin>,
}

impl Looker {
    pub(crate) fn new(node: u32, at: watch::Receiver<String>, access: Access) -> Looker {
        Looker { node, at, access, open: None }
    }

    /// What the node says, or why it does not answer.
    pub(crate) async fn look(&mut self) -> Result<Cluster, String> {
        let mut open = self.open.take();
        let asked = async {
            let admin = match &mut open {
                Some(admin) => admin,
                none => {
                    let endpoint = self.at.borrow().clone();
                    none.insert(Admin::connect_to(self.node, &endpoint, &self.access).await.map_err(reason)?)
                }
            };
            admin.cluster().await.map_err(reason)
        };
        let answer = tokio::time::timeout(LONGEST_ANSWER, asked).await;
        let cluster =
            answer.unwrap_or_else(|_| Err(format!("no answer within {} s", LONGEST_ANSWER.as_secs())))?;
        self.open = open;
        Ok(cluster)
    }

    /// Waits until it is time to look again.
    pub(crate) async fn pause() {
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests;
