//! The measures of a run over sockets, and whether visits to the critical section overlapped only where
//! allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use algorithms::{Group, Kind, NodeId};
use serde::{Deserialize, Serialize};

use super::Error;

/// The measures of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The number of messages of each kind.
    pub messages: BTreeMap<String, u64>,
    /// The number of their words, by the accounting of the thesis.
    pub words: u64,
    /// Every visit to the critical section, by node.
    pub visits: Vec<Visit>,
    /// The sum of the times of all messages from being sent to being handled.
    pub travelled: Duration,
    /// How far the times of this node may be off those of others: zero on one machine.
    #[serde(default)]
    pub clock_error: Duration,
    /// The number of replayed steps that had the recorded effects.
    pub replayed: u64,
    /// The first failure.
    #[serde(rename = "trouble")]
    pub failure: Option<String>,
}

/// One visit to the critical section. Times are since the machine started, so that those of several processes
/// on it can be compared. Those of other machines are translated to the collector's clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Visit {
    /// The node of the client.
    pub node: NodeId,
    /// The group.
    pub group: Group,
    /// When the client made its request.
    pub asked: Duration,
    /// When the client entered.
    pub entered: Duration,
    /// When the client began to leave; `None` if it is inside.
    pub left: Option<Duration>,
}

impl Tally {
    /// Adds the measures of another node.
    pub fn add(&mut self, other: Tally) {
        for (kind, count) in other.messages {
            *self.messages.entry(kind).or_default() += count;
        }
        self.words += other.words;
        self.travelled += other.travelled;
        self.clock_error = self.clock_error.max(other.clock_error);
        self.visits.extend(other.visits);
        self.failure = self.failure.take().or(other.failure);
    }

    /// Messages of all kinds.
    pub fn sent(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Messages of all kinds for each entry.
    pub fn messages_per_entry(&self) -> f64 {
        self.sent() as f64 / self.visits.len().max(1) as f64
    }

    /// The average time from a message being sent to being handled.
    pub fn mean_travel(&self) -> Duration {
        self.travelled.div_f64(self.sent().max(1) as f64)
    }

    /// The average time inside.
    pub fn mean_section(&self) -> Duration {
        mean(self.visits.iter().filter_map(|visit| Some(visit.left?.saturating_sub(visit.entered))))
    }

    /// The average time between leaving and the next request; zero if there was none.
    pub fn mean_think(&self) -> Duration {
        let again = self.visits.windows(2).filter(|pair| pair[0].node == pair[1].node);
        mean(again.filter_map(|pair| Some(pair[1].asked.saturating_sub(pair[0].left?))))
    }

    /// The average time between request and entry.
    pub fn mean_wait(&self) -> Duration {
        mean(self.visits.iter().map(|visit| visit.entered.saturating_sub(visit.asked)))
    }

    /// Whether the clock agrees: never more than k inside, never two groups at once. Times are taken after
    /// entering and before leaving, so visits that overlap here really did. Where clocks differ, visits count
    /// only while they certainly lasted.
    pub fn judge(&self, kind: Kind, tokens: u32) -> Result<(), Error> {
        let mut moments: Vec<(Duration, bool, &Visit)> = Vec::new();
        for visit in &self.visits {
            let entered = visit.entered + self.clock_error;
            let left = visit.left.map(|left| left.saturating_sub(self.clock_error));
            if left.is_none_or(|left| left >= entered) {
                moments.push((entered, true, visit));
                moments.extend(left.map(|left| (left, false, visit)));
            }
        }
        // If a client leaves at the very moment another enters, the order is unknown, so it counts as
        // correct.
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
                return Err(Error::Overlap(inside));
            }
        }
        Ok(())
    }
}

fn mean(times: impl Iterator<Item = Duration>) -> Duration {
    let (count, sum) = times.fold((0, Duration::ZERO), |(count, sum), time| (count + 1, sum + time));
    sum / count.max(1)
}
