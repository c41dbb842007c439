//! The measures of a run, from the end of the warm-up on.

use algorithms::{Group, NodeId};
use hdrhistogram::Histogram;

use crate::plan::Plan;
use crate::processor::ClientState;
use crate::summary::Estimate;
use crate::time::{NEVER, Ticks, units};

/// Waits are grouped into this many batches, so that a single run can estimate the error of its mean.
const BATCHES: u64 = 20;

/// The measures of one run.
#[derive(Clone, Debug)]
pub struct Measures {
    /// The number of entries.
    pub entries: u64,
    /// The waits, in ticks.
    pub waits: Histogram<u64>,
    /// The sum of the waits.
    pub waited: u128,
    /// The sum of the times from request to exit of those that left. These are not quite those that entered: some had
    /// entered before measuring began, and some are inside when it ends.
    pub responses: u128,
    /// The number of exits.
    pub exits: u64,
    /// Messages and words, by kind, in the order in which kinds first occurred.
    pub kinds: Vec<KindCount>,
    /// The longest wait of a client that has entered.
    pub longest_entered: Ticks,
    /// The longest wait of a client that has not.
    pub longest_unfinished: Ticks,
    /// From an exit with waiters to the entry it made possible: sum and number.
    pub handed_off: (u128, u64),
    /// From the exit of the last client inside, with waiters, to the next entry: sum and number.
    pub changed_over: (u128, u64),
    /// The most changes of the group during a wait, the one to its own group included.
    pub most_switches_waited: u64,
    /// How many entries were into another group than the previous one.
    pub switches: u64,
    /// The largest number of clients inside at once.
    pub most_inside: u32,
    /// The counts of each node.
    pub by_node: Vec<NodeCount>,
    /// The time when measuring began.
    pub began: Ticks,
    /// The time when measuring ended.
    pub ended: Ticks,
    /// The time of the last exit.
    pub last_exit: Ticks,
    /// The time when a message was last handled.
    pub last_message: Ticks,
    /// How many messages were lost, duplicated or delayed.
    pub tampered: u64,
    inside: u32,
    inside_time: u128,
    inside_since: Ticks,
    last_group: Option<Group>,
    batch_size: u64,
    batches: Vec<u128>,
    /// How many more waits belong to the last batch.
    left_in_batch: u64,
    /// How many clients may be inside at once.
    places: u32,
    /// Whether the clients inside share one place because they are in the same group.
    in_groups: bool,
    /// The times at which places with waiters became free, as long as they are.
    vacated: std::collections::VecDeque<Ticks>,
    waiting: u64,
    /// The time when the last client inside left while others waited, if none has entered since.
    emptied: Option<Ticks>,
    /// All changes of the group, warm-up included.
    pub(crate) all_switches: u64,
}

/// Messages of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// The kind.
    pub kind: &'static str,
    /// How many were sent.
    pub messages: u64,
    /// The number of their words.
    pub words: u64,
}

/// The counts of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCount {
    /// The number of its clients.
    pub clients: u32,
    /// The number of entries of its clients.
    pub entries: u64,
    /// The sum of their waits.
    pub waited: u128,
    /// The number of messages it sent.
    pub sent: u64,
}

impl Measures {
    pub(crate) fn new(plan: &Plan, entries: u64, in_groups: bool) -> Measures {
        let by_node = |node| NodeCount { clients: plan.clients.of(node), ..NodeCount::default() };
        Measures {
            entries: 0,
            waits: new_histogram(),
            waited: 0,
            responses: 0,
            exits: 0,
            kinds: Vec::new(),
            longest_entered: 0,
            longest_unfinished: 0,
            handed_off: (0, 0),
            changed_over: (0, 0),
            most_switches_waited: 0,
            switches: 0,
            most_inside: 0,
            by_node: (0..plan.setting.nodes).map(by_node).collect(),
            began: 0,
            ended: NEVER,
            last_exit: 0,
            last_message: 0,
            tampered: 0,
            inside: 0,
            inside_time: 0,
            inside_since: 0,
            last_group: None,
            batch_size: (entries / BATCHES).max(1),
            batches: Vec::new(),
            left_in_batch: 0,
            places: plan.setting.tokens,
            in_groups,
            vacated: Default::default(),
            waiting: 0,
            emptied: None,
            all_switches: 0,
        }
    }

    /// Drops everything but the current state: measuring begins.
    pub(crate) fn begin(&mut self, now: Ticks) {
        self.entries = 0;
        self.waits.reset();
        (self.waited, self.responses, self.exits, self.switches, self.tampered) = (0, 0, 0, 0, 0);
        self.kinds.clear();
        (self.longest_entered, self.longest_unfinished) = (0, 0);
        (self.handed_off, self.changed_over, self.most_switches_waited) = ((0, 0), (0, 0), 0);
        self.most_inside = self.inside;
        for count in &mut self.by_node {
            *count = NodeCount { clients: count.clients, ..NodeCount::default() };
        }
        self.batches.clear();
        self.left_in_batch = 0;
        (self.began, self.inside_since, self.inside_time) = (now, now, 0);
    }

    pub(crate) fn asked(&mut self) {
        self.waiting += 1;
    }

    /// A waiter is gone, because its node has crashed.
    pub(crate) fn waiter_lost(&mut self) {
        self.waiting -= 1;
        // No client enters for an exit that only this client waited for.
        self.vacated.truncate(self.waiting as usize);
    }

    /// A client inside is gone, because its node has crashed.
    pub(crate) fn holder_lost(&mut self, now: Ticks) {
        self.vacated.truncate(self.waiting as usize);
        self.change_inside(now, |inside| inside - 1);
    }

    #[inline]
    pub(crate) fn sent(&mut self, from: NodeId, kind: &'static str, words: u32) {
        self.by_node[from as usize].sent += 1;
        // The same kind is nearly always the same string in memory.
        let known = self.kinds.iter_mut().find(|count| std::ptr::eq(count.kind, kind));
        let count = match known {
            Some(count) => count,
            None => self.count_of(kind),
        };
        count.messages += 1;
        count.words += u64::from(words);
    }

    #[cold]
    #[inline(never)]
    fn count_of(&mut self, kind: &'static str) -> &mut KindCount {
        let known = self.kinds.iter().position(|count| count.kind == kind);
        let index = known.unwrap_or_else(|| {
            self.kinds.push(KindCount { kind, messages: 0, words: 0 });
            self.kinds.len() - 1
        });
        &mut self.kinds[index]
    }

    #[inline(always)]
    pub(crate) fn entered(&mut self, node: NodeId, group: Group, client: &ClientState, now: Ticks) {
        let wait = now - client.asked_at;
        self.waiting = self.waiting.saturating_sub(1);
        self.entries += 1;
        self.waits.record(wait).expect("a histogram that resizes itself takes every value");
        self.waited += u128::from(wait);
        let count = &mut self.by_node[node as usize];
        count.entries += 1;
        count.waited += u128::from(wait);
        self.longest_entered = self.longest_entered.max(wait);
        self.add_to_batch(wait);
        if self.last_group.is_some_and(|last| last != group) {
            self.switches += 1;
            self.all_switches += 1;
        }
        self.last_group = Some(group);
        let switches = self.all_switches - client.switches;
        self.most_switches_waited = self.most_switches_waited.max(switches);
        if let Some(emptied) = self.emptied.take()
            && wait > 0
        {
            self.changed_over.0 += u128::from(now - emptied);
            self.changed_over.1 += 1;
        }
        self.change_inside(now, |inside| inside + 1);
        self.most_inside = self.most_inside.max(self.inside);
        self.hand_off(wait, now);
    }

    #[inline(always)]
    fn add_to_batch(&mut self, wait: Ticks) {
        if self.left_in_batch == 0 {
            self.batches.push(0);
            self.left_in_batch = self.batch_size;
        }
        self.left_in_batch -= 1;
        if let Some(sum) = self.batches.last_mut() {
            *sum += u128::from(wait);
        }
    }

    #[inline]
    pub(crate) fn left(&mut self, since_asked: Ticks, now: Ticks) {
        self.exits += 1;
        self.last_exit = now;
        self.responses += u128::from(since_asked);
        self.change_inside(now, |inside| inside.saturating_sub(1));
        self.emptied = (self.inside == 0 && self.waiting > 0).then_some(now);
        // Places that became free unnoticed, because there were no waiters then, count from now on.
        while (self.vacated.len() as u64) < self.free_places().min(self.waiting) {
            self.vacated.push_back(now);
        }
    }

    /// An entry takes a place. Only an entry after a wait measures a hand-off; a client that enters at once
    /// takes the place that was vacated last.
    #[inline]
    fn hand_off(&mut self, wait: Ticks, now: Ticks) {
        if wait > 0
            && let Some(vacated) = self.vacated.pop_front()
        {
            self.handed_off.0 += u128::from(now - vacated);
            self.handed_off.1 += 1;
        }
        let free = self.free_places() as usize;
        self.vacated.truncate(free);
    }

    #[inline]
    fn free_places(&self) -> u64 {
        if self.in_groups {
            u64::from(self.inside == 0)
        } else {
            u64::from(self.places.saturating_sub(self.inside))
        }
    }

    #[inline]
    fn change_inside(&mut self, now: Ticks, change: impl FnOnce(u32) -> u32) {
        self.inside_time += u128::from(self.inside) * u128::from(now - self.inside_since);
        self.inside_since = now;
        self.inside = change(self.inside);
    }

    pub(crate) fn end(&mut self, now: Ticks) {
        self.change_inside(now, |inside| inside);
        self.ended = now;
    }

    pub(crate) fn still_waits(&mut self, wait: Ticks) {
        self.longest_unfinished = self.longest_unfinished.max(wait);
    }

    /// The longest wait, unfinished ones included.
    pub fn longest_wait(&self) -> Ticks {
        self.longest_entered.max(self.longest_unfinished)
    }

    /// From the beginning to the last exit or the last message, whichever is later: for a single round, the
    /// time until everything is back in its place.
    pub fn settled(&self) -> f64 {
        units(self.last_exit.max(self.last_message).saturating_sub(self.began))
    }

    /// The number of messages sent.
    pub fn messages(&self) -> u64 {
        self.kinds.iter().map(|count| count.messages).sum()
    }

    /// The number of their words.
    pub fn words(&self) -> u64 {
        self.kinds.iter().map(|count| count.words).sum()
    }

    /// The mean wait, in units.
    pub fn mean_wait(&self) -> f64 {
        ratio(self.waited as f64 / crate::time::UNIT, self.entries as f64)
    }

    /// The mean wait from this run alone, by the means of batches.
    pub(crate) fn batches(&self) -> Estimate {
        let full = (self.entries / self.batch_size) as usize;
        let means: Vec<f64> = self.batches[..full.min(self.batches.len())]
            .iter()
            .map(|sum| *sum as f64 / crate::time::UNIT / self.batch_size as f64)
            .collect();
        Estimate::of(&means)
    }

    /// Messages for each entry.
    pub fn messages_per_entry(&self) -> f64 {
        ratio(self.messages() as f64, self.entries as f64)
    }

    /// Words in each message.
    pub fn words_per_message(&self) -> f64 {
        ratio(self.words() as f64, self.messages() as f64)
    }

    /// The mean time from an exit with waiters to the entry it made possible.
    pub fn sync_delay(&self) -> f64 {
        ratio(self.handed_off.0 as f64 / crate::time::UNIT, self.handed_off.1 as f64)
    }

    /// The mean time from the exit of the last client inside, with waiters, to the next entry.
    pub fn changeover(&self) -> f64 {
        ratio(self.changed_over.0 as f64 / crate::time::UNIT, self.changed_over.1 as f64)
    }

    /// The mean time from request to exit.
    pub fn response(&self) -> f64 {
        ratio(self.responses as f64 / crate::time::UNIT, self.exits as f64)
    }

    /// Entries per unit of time.
    pub fn throughput(&self) -> f64 {
        ratio(self.entries as f64, units(self.ended - self.began))
    }

    /// The number of clients inside, averaged over time.
    pub fn concurrency(&self) -> f64 {
        ratio(self.inside_time as f64, (self.ended - self.began) as f64)
    }

    /// Jain's index over the entries of all clients, as if those of one node had equal shares: 1 if all clients have the
    /// same, 1/n if the client of one of n nodes has them all.
    pub fn fairness(&self) -> f64 {
        let sum = |of: fn(&NodeCount) -> f64| self.by_node.iter().map(of).sum::<f64>();
        let entries = sum(|node| node.entries as f64);
        let squares = sum(|node| (node.entries as f64).powi(2) / f64::from(node.clients));
        ratio(entries * entries, squares * sum(|node| node.clients.into()))
    }
}

/// An empty histogram of waits, with three significant digits.
pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are allowed")
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
