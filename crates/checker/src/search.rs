//! Breadth-first search over all states, so that the first violation found is one of the nearest.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use algorithms::properties::Terms;
use algorithms::{Census, Property, Violation};
use sync::IgnorePoison;

use crate::job::{Job, Progress};
use crate::liveness::{Log, stuck_state};
use crate::model::Steps;
use crate::parts::{Link, Parts};
use crate::store::{Batch, StateId, Store};

/// This many states are taken from the frontier at once.
const CHUNK: usize = 256;

/// The result of a search.
pub(crate) struct SearchResult {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u32,
    pub(crate) bytes: u64,
    pub(crate) cut: bool,
    pub(crate) notes: u64,
    pub(crate) most_inside: u32,
    pub(crate) longest_queue: u32,
    /// The violation, if any, and the path to it.
    pub(crate) violation: Option<(Violation, Path)>,
}

/// The path to a violation: the states from the start, and the violating link if the violation is not in a
/// state.
pub(crate) struct Path {
    pub(crate) states: Vec<Vec<u32>>,
    pub(crate) last: Option<Link>,
}

/// A violation whose path is not known yet.
struct Candidate {
    violation: Violation,
    state: StateId,
    last: Option<Link>,
}

/// One thread's part of the search.
struct Worker<'a> {
    parts: Parts<'a>,
    store: &'a Store,
    terms: Terms,
    census: Census,
    /// The states of the next level, each with its id in front.
    found: Vec<u32>,
    /// The successors of the states visited since the last update of the store.
    batch: Batch,
    /// For each of those states: its id, whether all clients are served in it, and where its successors end
    /// in the batch.
    ends: Vec<(StateId, bool, usize)>,
    /// The indices in the batch of successors by a cancellation, which progress must not depend on.
    given_up: Vec<usize>,
    log: Log,
    transitions: u64,
    notes: u64,
    most_inside: u32,
    longest_queue: u32,
    by_state: Option<Candidate>,
    by_link: Option<Candidate>,
}

impl<'a> Worker<'a> {
    fn new(steps: &'a Mutex<dyn Steps>, store: &'a Store, terms: Terms, job: &Job) -> Worker<'a> {
        Worker {
            parts: Parts::new(steps, job.case.setting.nodes as usize),
            store,
            terms,
            census: Census::new(job.case.setting.nodes, job.case.setting.groups),
            found: Vec::new(),
            batch: Batch::new(2 * job.case.setting.nodes as usize + 1),
            ends: Vec::new(),
            given_up: Vec::new(),
            log: Log::default(),
            transitions: 0,
            notes: 0,
            most_inside: 0,
            longest_queue: 0,
            by_state: None,
            by_link: None,
        }
    }

    /// Counts a state and checks the properties of its counts. Returns whether all clients have been served.
    fn inspect(&mut self, id: StateId, state: &[u32]) -> bool {
        let nodes = self.parts.nodes;
        let mut done = true;
        self.census.clear();
        for node in 0..nodes {
            let slot = self.parts.slot(state[node]);
            done &= slot.done;
            self.census.add(&slot.census);
            if state[nodes + node] != node as u32 {
                self.census.add(&self.parts.inbox(state[nodes + node]).census);
            }
        }
        self.most_inside = self.most_inside.max(self.census.inside);
        self.longest_queue = self.longest_queue.max(self.census.longest_queue);
        if let Some(property) = self.terms.violated(&self.census) {
            self.blame_state(id, property);
        }
        done
    }

    fn blame_state(&mut self, state: StateId, property: Property) {
        let detail = self.terms.detail(property, &self.census);
        self.by_state.get_or_insert(Candidate {
            violation: Violation { property, detail },
            state,
            last: None,
        });
    }

    /// Explores a state: checks it and computes its successors.
    fn visit(&mut self, id: StateId, state: &[u32]) {
        let done = self.inspect(id, state);
        let Worker { parts, terms, batch, given_up, transitions, notes, by_link, .. } = self;
        let mut can_go_on = false;
        parts.expand(state, |link, next, outcome| {
            *transitions += 1;
            can_go_on |= match link {
                Link::Lose { .. } | Link::Duplicate { .. } | Link::GiveUp { .. } => false,
                // A move that takes from the budget may or may not happen, so progress must not depend on it.
                Link::Move { .. } | Link::Deliver { .. } => next[next.len() - 1] == state[state.len() - 1],
                Link::Tick => next != state,
            };
            if let Some(outcome) = outcome {
                *notes |= outcome.notes;
                if let Some(violation) = outcome.violation.as_ref().filter(|it| terms.asks(it.property)) {
                    let violation = violation.clone();
                    by_link.get_or_insert(Candidate { violation, state: id, last: Some(link) });
                    return;
                }
            }
            if matches!(link, Link::GiveUp { .. }) {
                given_up.push(batch.len());
            }
            batch.add(next, id);
        });
        self.ends.push((id, done, self.batch.len()));
        let waits = self.census.waiting.iter().any(|&waits| waits > 0);
        if !can_go_on && waits && self.terms.asks(Property::NobodyLeftWaiting) {
            self.blame_state(id, Property::NobodyLeftWaiting);
        }
    }

    /// Puts the successors of the visited states into the store, and into the log.
    fn settle(&mut self) {
        let Worker { store, batch, ends, given_up, log, found, .. } = self;
        store.insert_all(batch, |next_id, next| {
            found.push(next_id);
            found.extend_from_slice(next);
        });
        let (mut start, mut gone) = (0, given_up.drain(..).peekable());
        for (id, done, end) in ends.drain(..) {
            let served = (start..end).filter(|place| gone.next_if_eq(place).is_none());
            log.add(id, done, served.map(|place| batch.ids()[place]));
            start = end;
        }
        batch.clear();
    }
}

/// The state that the threads of one level share.
struct Level<'a> {
    chunks: Vec<&'a [u32]>,
    next_chunk: AtomicUsize,
    states: &'a AtomicU64,
    stop: AtomicBool,
    row: usize,
    depth: u32,
    max_states: u64,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl Level<'_> {
    fn work(&self, worker: &mut Worker<'_>) {
        while !self.stop.load(Ordering::Relaxed) {
            let index = self.next_chunk.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(index) else { return };
            let before = worker.found.len();
            for row in chunk.chunks_exact(self.row) {
                worker.visit(row[0], &row[1..]);
            }
            worker.settle();
            let new = ((worker.found.len() - before) / self.row) as u64;
            let states = self.states.fetch_add(new, Ordering::Relaxed) + new;
            if worker.by_state.is_some() || states >= self.max_states {
                self.stop.store(true, Ordering::Relaxed);
            }
            (self.progress)(Progress { states, depth: self.depth });
        }
    }
}

/// Searches until everything is explored, a property is violated or there are too many states.
pub(crate) fn search(
    steps: &Mutex<dyn Steps>,
    job: &Job,
    terms: Terms,
    progress: &(dyn Fn(Progress) + Sync),
) -> SearchResult {
    let start = steps.lock().ignore_poison().start();
    let row = start.len() + 1;
    let store = Store::new(start.len());
    let states = AtomicU64::new(1);
    let mut workers: Vec<Worker<'_>> =
        (0..job.threads.max(1)).map(|_| Worker::new(steps, &store, terms, job)).collect();
    let root = store.insert(&start, 0);
    let mut frontier: Vec<Vec<u32>> = vec![std::iter::once(root).chain(start).collect()];
    let (mut depth, mut cut, mut last_level) = (0, false, false);
    loop {
        let chunks = frontier.iter().flat_map(|part| part.chunks(CHUNK * row)).collect();
        let level = Level {
            chunks,
            next_chunk: AtomicUsize::new(0),
            states: &states,
            stop: AtomicBool::new(false),
            row,
            depth,
            max_states: job.max_states,
            progress,
        };
        if level.chunks.len() < 2 * workers.len() {
            level.work(&mut workers[0]);
        } else {
            std::thread::scope(|scope| {
                for worker in &mut workers {
                    scope.spawn(|| level.work(worker));
                }
            });
        }
        cut |= level.stop.load(Ordering::Relaxed);
        frontier = workers.iter_mut().map(|worker| std::mem::take(&mut worker.found)).collect();
        // A violating link ends a path as long as those to the states of the next level. A violation in a
        // state (two clients inside, for example) tells a reader more, so that level is still inspected.
        let linked = workers.iter().any(|worker| worker.by_link.is_some());
        if cut || last_level || frontier.iter().all(Vec::is_empty) {
            break;
        }
        last_level = linked;
        depth += 1;
    }
    finish(&store, root, workers, depth, cut, &terms)
}

fn finish(
    store: &Store,
    root: StateId,
    mut workers: Vec<Worker<'_>>,
    depth: u32,
    cut: bool,
    terms: &Terms,
) -> SearchResult {
    let by_state = workers.iter_mut().find_map(|worker| worker.by_state.take());
    let mut candidate = by_state.or_else(|| workers.iter_mut().find_map(|worker| worker.by_link.take()));
    let logs: Vec<&Log> = workers.iter().map(|worker| &worker.log).collect();
    if candidate.is_none() && !cut && terms.asks(Property::EndReachable) {
        candidate =
            stuck_state(store, &logs, |state| way_to(store, root, state).len()).map(|state| Candidate {
                violation: Violation::new(
                    Property::EndReachable,
                    "from here on no run leads to a state in which everybody has been served".to_string(),
                ),
                state,
                last: None,
            });
    }
    let violation = candidate.map(|Candidate { violation, state, last }| {
        (violation, Path { states: way_to(store, root, state), last })
    });
    SearchResult {
        states: store.len(),
        transitions: workers.iter().map(|worker| worker.transitions).sum(),
        depth,
        bytes: store.bytes() + logs.iter().map(|log| log.bytes()).sum::<u64>(),
        cut,
        notes: workers.iter().fold(0, |notes, worker| notes | worker.notes),
        most_inside: workers.iter().map(|worker| worker.most_inside).max().unwrap_or(0),
        longest_queue: workers.iter().map(|worker| worker.longest_queue).max().unwrap_or(0),
        violation,
    }
}

/// The states from the start to this one.
fn way_to(store: &Store, root: StateId, state: StateId) -> Vec<Vec<u32>> {
    let mut states = Vec::new();
    let mut at = state;
    loop {
        let (words, parent) = store.get(at);
        states.push(words);
        if at == root {
            break;
        }
        at = parent;
    }
    states.reverse();
    states
}
