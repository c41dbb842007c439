//! Follows all nodes of a cluster: one task asks each, and nodes that join are asked, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use service::protocol::ClusterNode;
use tokenwood::Access;
use tokio::sync::{mpsc, watch};

use super::asking::{Asker, Place, Sample, Wanted};
use super::frame::Frame;
use super::model::Model;
use crate::locks::cluster::{Around, around};
use crate::locks::endpoints::Endpoints;

/// Answers that wait to be looked at.
const ANSWERS: usize = 64;
/// Until all names were seen once, so many pages of them are asked for each time; and after that.
const PAGES: (usize, usize) = (4, 1);
/// So many names are asked for each time, of those that are granted most, and of those that are waited for most and longest.
const TRACKED: [usize; 3] = [64, 32, 32];
/// So many in all: nodes take no more than 256.
const MOST_TRACKED: usize = 200;

/// All that is needed to follow a cluster.
pub(super) struct Following {
    pub(super) model: Model,
    access: Access,
    every: Duration,
    /// Where each node is, and whether it is asked still: the task ends when its sender is gone.
    places: BTreeMap<u32, watch::Sender<Place>>,
    /// Where the first node was asked: better than what it advertises.
    worked: (u32, String),
    wanted: watch::Sender<Wanted>,
    answers: mpsc::Receiver<(u32, Result<Sample, String>)>,
    sender: mpsc::Sender<(u32, Result<Sample, String>)>,
}

impl Following {
    /// Begins with what the first node says that answers.
    pub(super) async fn begin(endpoints: &Endpoints, every: Duration, prefix: String) -> Result<Following> {
        let around: Around = around(endpoints).await?;
        let (sender, answers) = mpsc::channel(ANSWERS);
        let wanted = Wanted { prefix, pages: PAGES.0, ..Wanted::default() };
        let mut following = Following {
            model: Model::new(around.cluster.name.clone()),
            access: endpoints.access()?,
            every,
            places: BTreeMap::new(),
            worked: (around.cluster.asked, around.endpoint.clone()),
            wanted: watch::Sender::new(wanted),
            answers,
            sender,
        };
        following.ask_all_of(&around.nodes());
        Ok(following)
    }

    /// Waits for the next answer.
    pub(super) async fn next(&mut self) {
        // It has a sender itself, so there is always another.
        let Some((id, answer)) = self.answers.recv().await else { return };
        let nodes = answer.as_ref().map(|sample| sample.cluster.nodes.clone()).unwrap_or_default();
        let prefix = self.wanted.borrow().prefix.clone();
        match answer {
            // It was asked before the prefix changed.
            Ok(sample) if sample.prefix != prefix => {}
            answer => self.model.hear(id, answer),
        }
        if self.model.newest().is_some_and(|newest| newest.cluster.asked == id) {
            self.ask_all_of(&nodes);
        }
    }

    /// Whether each node has answered, or not in time.
    pub(super) fn has_heard_all(&self) -> bool {
        self.model.nodes.values().all(|node| node.answer.is_some() || node.silent.is_some())
    }

    /// Whether all names were seen, and every node that answers has answered twice, so that rates are known.
    pub(super) fn is_complete(&self) -> bool {
        let knows = |node: &super::model::Node| {
            node.silent.is_some() || node.rates.grants.is_some_and(|rate| rate.per_second.is_some())
        };
        self.has_heard_all() && self.model.has_seen_all() && self.model.nodes.values().all(knows)
    }

    /// These nodes belong to the cluster: the others are not asked any more.
    fn ask_all_of(&mut self, nodes: &[ClusterNode]) {
        if nodes.is_empty() {
            // A node that has just started has not heard of any.
            return;
        }
        for node in nodes {
            let known = self.places.get(&node.id).and_then(|place| place.borrow().endpoint.clone());
            let worked = (self.worked.0 == node.id).then(|| self.worked.1.clone());
            // A node that is no member may come back where it was.
            let endpoint = worked.or_else(|| node.clients.clone()).or(known);
            self.model.add(node.id, endpoint.clone());
            let place = Place { id: node.id, endpoint, cluster: self.model.cluster.clone() };
            match self.places.get(&node.id) {
                Some(before) => {
                    _ = before.send_if_modified(|before| {
                        let is_new = *before != place;
                        *before = place;
                        is_new
                    });
                }
                None => self.ask(place),
            }
        }
        let belongs = |id: &u32| nodes.iter().any(|node| node.id == *id);
        self.places.retain(|id, _| belongs(id));
        self.model.nodes.retain(|id, _| belongs(id));
    }

    fn ask(&mut self, place: Place) {
        let id = place.id;
        let (sender, receiver) = watch::channel(place);
        let asker = Asker::new(receiver, self.access.clone());
        tokio::spawn(asker.ask_every(self.every, self.wanted.subscribe(), self.sender.clone()));
        self.places.insert(id, sender);
    }

    /// From now on only names that begin so are asked for.
    pub(super) fn filter(&mut self, prefix: &str) {
        self.model.keep_only(prefix);
        let change = |wanted: &mut Wanted| {
            *wanted = Wanted { prefix: prefix.to_string(), pages: PAGES.0, ..wanted.clone() };
            wanted.tracked.retain(|name| name.starts_with(prefix));
        };
        self.wanted.send_modify(change);
    }

    /// From now on nodes tell everything about this name.
    pub(super) fn inspect(&mut self, name: Option<String>) {
        self.wanted.send_modify(|wanted| wanted.inspected = name);
    }

    /// Chooses what is asked for each time: what is on the screen, and what may soon be there.
    pub(super) fn track<'a>(&mut self, frame: &'a Frame, on_screen: impl Iterator<Item = &'a str>) {
        let mut tracked: BTreeSet<&str> = on_screen.take(MOST_TRACKED / 2).collect();
        let mut names: Vec<_> = frame.names.iter().collect();
        names.sort_by(|one, other| other.heat().total_cmp(&one.heat()));
        tracked.extend(names.iter().take(TRACKED[0]).map(|row| &*row.name));
        names.sort_by_key(|row| std::cmp::Reverse(row.waiters));
        tracked.extend(names.iter().take(TRACKED[1]).map(|row| &*row.name));
        tracked.extend(frame.waits.iter().take(TRACKED[2]).map(|row| &*row.name));
        let tracked: Vec<String> = tracked.into_iter().take(MOST_TRACKED).map(str::to_string).collect();
        let pages = if self.model.has_seen_all() { PAGES.1 } else { PAGES.0 };
        self.wanted.send_modify(|wanted| (wanted.tracked, wanted.pages) = (tracked, pages));
    }

    /// What is known now.
    pub(super) fn frame(&self) -> Frame {
        Frame::of(&self.model, Instant::now())
    }
}
