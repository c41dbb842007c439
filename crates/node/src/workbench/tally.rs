//! What a run over sockets measured, and whether the visits to the critical section were allowed at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use algorithms::{Group, Kind, NodeId};
use serde::{Deserialize, Serialize};

/// What was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many messages of each kind were sent.
    pub messages: BTreeMap<String, u64>,
    /// How many words they had, by the accounting of the thesis.
    pub words: u64,
    /// Every visit to the critical section, by node.
    pub visits: Vec<Visit>,
    /// How long the run took.
    pub span: Duration,
    /// How many steps were replayed, and did again what they had done.
    pub replayed: u64,
    /// The first thing that went wrong.
    pub trouble: Option<String>,
}

/// One visit to the critical section. Times are since the beginning of 1970, so that those of several processes on one
/// machine can be compared.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Visit {
    /// Whose client.
    pub node: NodeId,
    /// In which group.
    pub group: Group,
    /// When it asked,
    pub asked: Duration,
    /// when it entered,
    pub entered: Duration,
    /// and when it began to leave; `None` if it is inside.
    pub left: Option<Duration>,
}

impl Tally {
    /// Adds what another node measured.
    pub fn add(&mut self, other: Tally) {
        for (kind, count) in other.messages {
            *self.messages.entry(kind).or_default() += count;
        }
        self.words += other.words;
        self.visits.extend(other.visits);
        self.trouble = self.trouble.take().or(other.trouble);
    }

    /// Messages of all kinds for each entry.
    pub fn messages_per_entry(&self) -> f64 {
        self.messages.values().sum::<u64>() as f64 / self.visits.len().max(1) as f64
    }

    /// The average time between asking and entering.
    pub fn mean_wait(&self) -> Duration {
        let waits: Duration = self.visits.iter().map(|visit| visit.entered - visit.asked).sum();
        waits / (self.visits.len().max(1) as u32)
    }

    /// Whether the clock agrees: never more than k inside, never two groups at once. Times are taken after entering
    /// and before leaving, so visits that overlap here really did.
    pub fn judge(&self, kind: Kind, tokens: u32) -> Result<(), String> {
        let mut moments: Vec<(Duration, bool, &Visit)> = Vec::new();
        for visit in &self.visits {
            moments.push((visit.entered, true, visit));
            moments.extend(visit.left.map(|left| (left, false, visit)));
        }
        // Who leaves at the very moment another enters was there with it or not: nobody knows, so nobody is blamed.
        moments.sort_by_key(|&(moment, enters, _)| (moment, enters));
        let mut inside: BTreeSet<(Group, NodeId)> = BTreeSet::new();
        for (_, enters, visit) in moments {
            let place = (visit.group, visit.node);
            if !enters {
                inside.remove(&place);
                continue;
            }
            inside.insert(place);
            let groups: BTreeSet<Group> = inside.iter().map(|&(group, _)| group).collect();
            let allowed = match kind {
                Kind::GroupMutex => groups.len() <= 1,
                Kind::Mutex | Kind::KMutex => inside.len() <= tokens as usize,
            };
            if !allowed {
                return Err(format!("inside at the same time (group, node): {inside:?}"));
            }
        }
        Ok(())
    }
}
