//! What is known of the cluster: the latest answer of each node, and what can be concluded from all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use service::core::NameUse;
use service::protocol::Counters;

use super::asking::{Sample, Uses};
use super::rates::Rate;

/// So many names are kept of each node. What is beyond is said.
const MOST_NAMES: usize = 50_000;

/// What is known of the cluster.
pub(super) struct Model {
    pub(super) cluster: String,
    pub(super) nodes: BTreeMap<u32, Node>,
}

/// What is known of a node.
pub(super) struct Node {
    pub(super) endpoint: Option<String>,
    /// Its latest answer, and when that was.
    pub(super) answer: Option<Sample>,
    /// Since when it gives no answer, and why.
    pub(super) silent: Option<(Instant, String)>,
    pub(super) rates: Rates,
    pub(super) names: BTreeMap<Arc<str>, Used>,
    /// Whether there were more names than are kept.
    pub(super) too_many: bool,
    /// The number of this round through all names, when it began, and how long the last one took.
    round: u64,
    round_began: Instant,
    pub(super) round_took: Option<Duration>,
}

/// What a node does in a second.
#[derive(Default)]
pub(super) struct Rates {
    pub(super) grants: Option<Rate>,
    pub(super) sent: Option<Rate>,
    pub(super) handoffs_local: Option<Rate>,
    pub(super) handoffs_remote: Option<Rate>,
}

/// How much a name is used at a node.
pub(super) struct Used {
    pub(super) at: Instant,
    pub(super) told: NameUse,
    pub(super) grants: Rate,
    round: u64,
}

impl Model {
    pub(super) fn new(cluster: String) -> Model {
        Model { cluster, nodes: BTreeMap::new() }
    }

    /// A node is there to be asked.
    pub(super) fn add(&mut self, id: u32, endpoint: Option<String>) {
        self.nodes.entry(id).or_insert_with(Node::new).endpoint = endpoint;
    }

    /// A node has answered, or not.
    pub(super) fn hear(&mut self, id: u32, answer: Result<Sample, String>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        match answer {
            Ok(sample) => node.hear(sample),
            Err(why) => {
                let since = node.silent.take().map_or_else(Instant::now, |(since, _)| since);
                node.silent = Some((since, why));
                // What its clients do now is not known.
                node.names.clear();
                node.rates = Rates::default();
            }
        }
    }

    /// Forgets names that do not begin so.
    pub(super) fn keep_only(&mut self, prefix: &str) {
        for node in self.nodes.values_mut() {
            node.names.retain(|name, _| name.starts_with(prefix));
            (node.too_many, node.round_took, node.round_began) = (false, None, Instant::now());
        }
    }

    /// The nodes that have answered the last question, with what they said.
    pub(super) fn answers(&self) -> impl Iterator<Item = (u32, &Sample)> {
        let told = self.nodes.iter().filter(|(_, node)| node.silent.is_none());
        told.filter_map(|(id, node)| Some((*id, node.answer.as_ref()?)))
    }

    /// The newest view of the cluster that a node has told of.
    pub(super) fn newest(&self) -> Option<&Sample> {
        let answers = self.answers().map(|(_, sample)| sample);
        answers.max_by_key(|sample| (sample.voters.majority, sample.cluster.epoch, sample.at))
    }

    /// Whether all names were seen since the beginning, or since another prefix is asked for.
    pub(super) fn has_seen_all(&self) -> bool {
        self.nodes.values().filter(|node| node.silent.is_none()).all(|node| node.round_took.is_some())
    }
}

impl Node {
    fn new() -> Node {
        Node {
            endpoint: None,
            answer: None,
            silent: None,
            rates: Rates::default(),
            names: BTreeMap::new(),
            too_many: false,
            round: 0,
            round_began: Instant::now(),
            round_took: None,
        }
    }

    fn hear(&mut self, mut sample: Sample) {
        let is_another = self.answer.as_ref().is_none_or(|before| before.incarnation != sample.incarnation);
        if is_another {
            // It counts from the beginning.
            self.rates = Rates::default();
            self.names.clear();
        }
        if is_another || self.silent.is_some() {
            (self.round_took, self.round_began) = (None, sample.at);
        }
        let counts = sample.status.node.counts;
        let counted =
            |name: &str| sample.counters.as_ref().and_then(|counters: &Counters| counters.get(name));
        let at = sample.at;
        let grown = |rate: &mut Option<Rate>, count: Option<u64>| {
            *rate = count.map(|count| match *rate {
                Some(before) => before.then(count, at, None),
                None => Rate::first(count, at),
            });
        };
        grown(&mut self.rates.grants, Some(counts.grants));
        grown(&mut self.rates.sent, Some(counts.sent));
        grown(&mut self.rates.handoffs_local, counted("handoffs_local"));
        grown(&mut self.rates.handoffs_remote, counted("handoffs_remote"));
        self.learn(std::mem::take(&mut sample.uses), at);
        (self.silent, self.answer) = (None, Some(sample));
    }

    fn learn(&mut self, uses: Uses, at: Instant) {
        for name in &uses.tracked {
            if !uses.found.iter().any(|told| *told.name == **name) {
                self.names.remove(&**name);
            }
        }
        for told in uses.found {
            self.learn_of(told, at);
        }
        if uses.round_ends {
            let round = self.round;
            self.names.retain(|_, used| used.round == round);
            self.too_many = self.too_many && self.names.len() >= MOST_NAMES;
            (self.round, self.round_took) = (round + 1, Some(at.saturating_duration_since(self.round_began)));
            self.round_began = at;
        }
    }

    fn learn_of(&mut self, told: NameUse, at: Instant) {
        let round = self.round;
        if let Some(used) = self.names.get_mut(&told.name) {
            used.grants = used.grants.then(told.grants, at, Some(told.counted));
            (used.at, used.told, used.round) = (at, told, round);
        } else if self.names.len() < MOST_NAMES {
            let grants = Rate::first(told.grants, at);
            self.names.insert(told.name.clone(), Used { at, told, grants, round });
        } else {
            self.too_many = true;
        }
    }
}
