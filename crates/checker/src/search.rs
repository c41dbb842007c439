//! Breadth first over all states, so that the first violation found is one of the nearest.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use algorithms::properties::Terms;
use algorithms::{Census, Property, Violation};

use crate::fast_hash::FastMap;
use crate::job::{Job, Progress};
use crate::liveness::{Log, stuck_state};
use crate::model::{InboxInfo, ONE_DUPLICATE, ONE_LOSS, Outcome, SlotInfo, Steps, affords};
use crate::store::{StateId, Store};

/// So many states are taken from the frontier at once.
const CHUNK: usize = 256;

/// What a search found.
pub(crate) struct SearchResult {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u32,
    pub(crate) bytes: u64,
    pub(crate) cut: bool,
    pub(crate) notes: u64,
    pub(crate) most_inside: u32,
    pub(crate) longest_queue: u32,
    pub(crate) ending: Ending,
}

/// How a search ended.
pub(crate) enum Ending {
    Exhausted,
    Cut,
    Violated { violation: Violation, path: Path },
}

/// The way to a violation: states from the start on, and the link that violates if it is not a state that does.
pub(crate) struct Path {
    pub(crate) states: Vec<Vec<u32>>,
    pub(crate) last: Option<Link>,
}

/// What leads from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// A move of a node, by its place in the list of moves.
    Move {
        node: usize,
        silent: bool,
        index: usize,
    },
    /// A delivery, by its place in the list of outcomes.
    Deliver {
        node: usize,
        envelope: u32,
        index: usize,
    },
    Lose {
        node: usize,
        envelope: u32,
    },
    Duplicate {
        node: usize,
        envelope: u32,
    },
    /// Time passes.
    Tick,
}

/// Told what leads to which state, and what the node did unless the network did it.
type Emit<'a> = dyn FnMut(Link, &[u32], Option<&Outcome>) + 'a;

/// What the parts do, as far as one thread has asked. Asking again costs no lock.
pub(crate) struct Parts<'a> {
    steps: &'a Mutex<dyn Steps>,
    nodes: usize,
    slots: Vec<Option<Arc<SlotInfo>>>,
    inboxes: Vec<Option<Arc<InboxInfo>>>,
    outcomes: FastMap<u64, Arc<[Outcome]>>,
    pushed: FastMap<u64, u32>,
    next: Vec<u32>,
}

fn kept<T>(list: &mut Vec<Option<Arc<T>>>, id: u32, ask: impl FnOnce() -> T) -> Arc<T> {
    let index = id as usize;
    if index >= list.len() {
        list.resize(index + 1, None);
    }
    list[index].get_or_insert_with(|| Arc::new(ask())).clone()
}

impl<'a> Parts<'a> {
    pub(crate) fn new(steps: &'a Mutex<dyn Steps>, nodes: usize) -> Parts<'a> {
        let (slots, inboxes, next) = (Vec::new(), Vec::new(), Vec::new());
        let (outcomes, pushed) = (FastMap::default(), FastMap::default());
        Parts { steps, nodes, slots, inboxes, outcomes, pushed, next }
    }

    pub(crate) fn slot(&mut self, id: u32) -> Arc<SlotInfo> {
        let steps = self.steps;
        kept(&mut self.slots, id, || steps.lock().unwrap_or_else(PoisonError::into_inner).slot(id))
    }

    pub(crate) fn inbox(&mut self, id: u32) -> Arc<InboxInfo> {
        let steps = self.steps;
        kept(&mut self.inboxes, id, || steps.lock().unwrap_or_else(PoisonError::into_inner).inbox(id))
    }

    pub(crate) fn outcomes(&mut self, slot: u32, envelope: u32) -> Arc<[Outcome]> {
        let steps = self.steps;
        let ask = || steps.lock().unwrap_or_else(PoisonError::into_inner).deliver(slot, envelope).into();
        self.outcomes.entry(u64::from(slot) << 32 | u64::from(envelope)).or_insert_with(ask).clone()
    }

    fn push(&mut self, inbox: u32, envelope: u32) -> u32 {
        let steps = self.steps;
        let ask = || steps.lock().unwrap_or_else(PoisonError::into_inner).push(inbox, envelope);
        *self.pushed.entry(u64::from(inbox) << 32 | u64::from(envelope)).or_insert_with(ask)
    }

    /// Sets `next` to what comes of an outcome at a node.
    fn apply(&mut self, state: &[u32], node: usize, outcome: &Outcome) {
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(state);
        next[node] = outcome.slot;
        for &(to, envelope) in &outcome.sends {
            let inbox = self.nodes + to as usize;
            next[inbox] = self.push(next[inbox], envelope);
        }
        self.next = next;
    }

    /// Calls `emit` with everything that can come next, and what it violates.
    pub(crate) fn expand(&mut self, state: &[u32], emit: &mut Emit<'_>) {
        let nodes = self.nodes;
        let budget = state[2 * nodes];
        let silent = (0..nodes).all(|node| state[nodes + node] == node as u32);
        for node in 0..nodes {
            let slot = self.slot(state[node]);
            let moves = slot.moves.iter().enumerate().map(|(index, step)| (false, index, step));
            let more = slot.when_silent.iter().enumerate().map(|(index, step)| (true, index, step));
            for (when_silent, index, step) in moves.chain(more) {
                if (when_silent && !silent) || (step.cost > 0 && !affords(budget, step.cost)) {
                    continue;
                }
                self.apply(state, node, &step.outcome);
                self.next[2 * nodes] -= step.cost;
                emit(Link::Move { node, silent: when_silent, index }, &self.next, Some(&step.outcome));
            }
            let inbox = self.inbox(state[nodes + node]);
            for &(envelope, rest) in &inbox.arrivals {
                let outcomes = self.outcomes(state[node], envelope);
                for (index, outcome) in outcomes.iter().enumerate() {
                    self.apply(state, node, outcome);
                    self.next[nodes + node] = rest;
                    emit(Link::Deliver { node, envelope, index }, &self.next, Some(outcome));
                }
                if affords(budget, ONE_LOSS) {
                    self.change_inbox(state, node, rest, ONE_LOSS);
                    emit(Link::Lose { node, envelope }, &self.next, None);
                }
                if affords(budget, ONE_DUPLICATE) {
                    let twice = self.push(state[nodes + node], envelope);
                    self.change_inbox(state, node, twice, ONE_DUPLICATE);
                    emit(Link::Duplicate { node, envelope }, &self.next, None);
                }
            }
        }
        if self.slot(state[0]).ticked.is_some() && self.tick(state) {
            emit(Link::Tick, &self.next, None);
        }
    }

    /// Sets `next` to what the state becomes when a tick passes, if it may.
    fn tick(&mut self, state: &[u32]) -> bool {
        let nodes = self.nodes;
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend((0..nodes).map_while(|node| self.slot(state[node]).ticked));
        next.extend((nodes..2 * nodes).map_while(|node| self.inbox(state[node]).ticked));
        next.push(state[2 * nodes]);
        self.next = next;
        self.next.len() == state.len()
    }

    fn change_inbox(&mut self, state: &[u32], node: usize, inbox: u32, cost: u32) {
        self.next.clear();
        self.next.extend_from_slice(state);
        self.next[self.nodes + node] = inbox;
        self.next[2 * self.nodes] -= cost;
    }
}

/// A violation, before the way to it is known.
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
    successors: Vec<u32>,
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
            successors: Vec::new(),
            log: Log::default(),
            transitions: 0,
            notes: 0,
            most_inside: 0,
            longest_queue: 0,
            by_state: None,
            by_link: None,
        }
    }

    /// Counts a state and checks the properties of its counts. Returns whether everybody has been served.
    fn inspect(&mut self, id: StateId, state: &[u32]) -> bool {
        let nodes = self.parts.nodes;
        let mut done = true;
        self.census.clear();
        for node in 0..nodes {
            let slot = self.parts.slot(state[node]);
            done &= slot.done;
            self.census.add(&slot.census);
            if state[nodes + node] != node as u32 {
                let inbox = self.parts.inbox(state[nodes + node]);
                self.census.add(&inbox.census);
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

    fn visit(&mut self, id: StateId, state: &[u32]) {
        let done = self.inspect(id, state);
        let Worker { parts, store, terms, found, successors, transitions, notes, by_link, .. } = self;
        successors.clear();
        let mut can_go_on = false;
        parts.expand(state, &mut |link, next, outcome| {
            *transitions += 1;
            can_go_on |= match link {
                Link::Lose { .. } | Link::Duplicate { .. } => false,
                Link::Tick => next != state,
                Link::Move { .. } | Link::Deliver { .. } => next[next.len() - 1] == state[state.len() - 1],
            };
            if let Some(outcome) = outcome {
                *notes |= outcome.notes;
                if let Some(violation) = outcome.violation.as_ref().filter(|it| terms.asks(it.property)) {
                    let violation = violation.clone();
                    by_link.get_or_insert(Candidate { violation, state: id, last: Some(link) });
                    return;
                }
            }
            let (next_id, new) = store.insert(next, id);
            successors.push(next_id);
            if new {
                found.push(next_id);
                found.extend_from_slice(next);
            }
        });
        self.log.add(id, done, &self.successors);
        let waits = self.census.waiting.iter().any(|&waits| waits > 0);
        if !can_go_on && waits && self.terms.asks(Property::NobodyLeftWaiting) {
            self.blame_state(id, Property::NobodyLeftWaiting);
        }
    }
}

/// What the threads of one level share.
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
            let new = ((worker.found.len() - before) / self.row) as u64;
            let states = self.states.fetch_add(new, Ordering::Relaxed) + new;
            if worker.by_state.is_some() || states >= self.max_states {
                self.stop.store(true, Ordering::Relaxed);
            }
            (self.progress)(Progress { states, depth: self.depth });
        }
    }
}

/// Searches until everything is explored, something is violated or there are too many states.
pub(crate) fn search(
    steps: &Mutex<dyn Steps>,
    job: &Job,
    terms: Terms,
    progress: &(dyn Fn(Progress) + Sync),
) -> SearchResult {
    let start = steps.lock().unwrap_or_else(PoisonError::into_inner).start();
    let row = start.len() + 1;
    let store = Store::new(start.len());
    let states = AtomicU64::new(1);
    let mut workers: Vec<Worker<'_>> =
        (0..job.threads.max(1)).map(|_| Worker::new(steps, &store, terms, job)).collect();
    let (root, _) = store.insert(&start, 0);
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
        // A link that violates ends a path as long as those to the states of the next level. What a state
        // violates (two inside, say) tells a reader more, so that level is still looked at.
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
    let ending = match candidate {
        Some(Candidate { violation, state, last }) => {
            Ending::Violated { violation, path: Path { states: way_to(store, root, state), last } }
        }
        None if cut => Ending::Cut,
        None => Ending::Exhausted,
    };
    SearchResult {
        states: store.len(),
        transitions: workers.iter().map(|worker| worker.transitions).sum(),
        depth,
        bytes: store.bytes() + logs.iter().map(|log| log.bytes()).sum::<u64>(),
        cut,
        notes: workers.iter().fold(0, |notes, worker| notes | worker.notes),
        most_inside: workers.iter().map(|worker| worker.most_inside).max().unwrap_or(0),
        longest_queue: workers.iter().map(|worker| worker.longest_queue).max().unwrap_or(0),
        ending,
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
