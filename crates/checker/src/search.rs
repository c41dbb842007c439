//! Breadth-first search over all states, so that the first violation found is one of the nearest.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};

use algorithms::properties::Terms;
use algorithms::{Census, Property, SettingError, Violation};
use sync::IgnorePoison;

use crate::goal::Goal;
use crate::job::{Job, Progress, Stopped, Watch};
use crate::liveness::{Log, stuck_state};
use crate::model::Model;
use crate::orbits::Orbits;
use crate::parts::{Link, Parts};
use crate::path;
use crate::row::{Row, RowBuffer, RowLayout};
use crate::store::{Batch, StateId, Store};

mod frontier;

use frontier::{Found, Frontier, WORTH_WAKING};

/// The result of a search.
pub(crate) struct SearchResult {
    pub(crate) states: u64,
    pub(crate) represented: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u32,
    pub(crate) bytes: u64,
    /// Why not everything was explored, if that is not because of the violation.
    pub(crate) stopped: Option<Stopped>,
    pub(crate) notes: u64,
    pub(crate) most_inside: u32,
    pub(crate) longest_queue: u32,
    /// The violation, if any, and the path to it.
    pub(crate) violation: Option<(Violation, Path)>,
    /// The path to the goal, if there is one and it was reached.
    pub(crate) reached: Option<Path>,
}

/// The path to a violation: the states from the start, and the violating link if the violation is not in a
/// state.
pub(crate) struct Path {
    pub(crate) states: Vec<RowBuffer>,
    pub(crate) last: Option<Link>,
}

/// A violation, or a state with which the search reaches its goal, whose path is not known yet.
struct Candidate {
    /// `None` if the goal is reached.
    violation: Option<Violation>,
    state: StateId,
    last: Option<Link>,
}

/// One thread's part of the search.
struct Worker<'a> {
    /// Each has its own, from 0.
    number: usize,
    parts: Parts<'a>,
    /// With symmetry.
    orbits: Option<Orbits<'a>>,
    store: &'a Store,
    terms: Terms,
    /// What the search looks for instead of violations, if anything.
    goal: Option<Goal>,
    census: Census,
    /// The states of the next level.
    found: Found,
    /// The successors of the states visited since the last update of the store.
    batch: Batch,
    /// For each of those states: its id, whether all clients are served in it, and where its successors end
    /// in the batch.
    ends: Vec<(StateId, bool, usize)>,
    /// The indices in the batch of successors by a cancellation, which progress must not depend on.
    cancelled: Vec<usize>,
    log: Log,
    /// How many bytes the log and the states of the next level take, as counted in [`Level::bytes`].
    counted: u64,
    /// How many states the visited ones stand for.
    represented: u64,
    transitions: u64,
    notes: u64,
    most_inside: u32,
    longest_queue: u32,
    by_state: Option<Candidate>,
    by_link: Option<Candidate>,
}

impl<'a> Worker<'a> {
    fn new(number: usize, model: &'a Model, store: &'a Store, terms: Terms, job: &Job) -> Worker<'a> {
        let layout = model.layout();
        Worker {
            number,
            parts: Parts::new(model, layout),
            orbits: Orbits::new(model, layout),
            store,
            terms,
            goal: None,
            census: Census::new(job.case.setting.nodes, job.case.setting.groups),
            found: Found::new(layout),
            batch: Batch::new(layout.width()),
            ends: Vec::new(),
            cancelled: Vec::new(),
            log: Log::default(),
            counted: 0,
            represented: 0,
            transitions: 0,
            notes: 0,
            most_inside: 0,
            longest_queue: 0,
            by_state: None,
            by_link: None,
        }
    }

    /// Counts a state and checks the properties of its counts. Returns whether all clients have been served.
    fn inspect(&mut self, id: StateId, row: Row<'_>) -> bool {
        let mut done = true;
        self.census.clear();
        for node in 0..self.parts.layout.nodes() {
            let info = self.parts.node(row.node(node));
            done &= info.done;
            if let Some(census) = &info.census {
                self.census.add(census);
            }
            if !row.is_inbox_empty(node)
                && let Some(census) = &self.parts.inbox(row.inbox(node)).census
            {
                self.census.add(census);
            }
        }
        self.census.all_added();
        self.most_inside = self.most_inside.max(self.census.inside);
        self.longest_queue = self.longest_queue.max(self.census.longest_queue);
        match &self.goal {
            Some(goal) => {
                if goal.is_reached(&self.census, row.is_silent()) {
                    self.by_state.get_or_insert(Candidate { violation: None, state: id, last: None });
                }
            }
            None => {
                if let Some(property) = self.terms.violated(&self.census) {
                    self.blame_state(id, property);
                }
            }
        }
        done
    }

    /// Whether there is no need to explore further.
    fn has_found(&self) -> bool {
        self.by_state.is_some() || self.goal.is_some() && self.by_link.is_some()
    }

    fn blame_state(&mut self, state: StateId, property: Property) {
        let detail = self.terms.detail(property, &self.census);
        self.by_state.get_or_insert(Candidate {
            violation: Some(Violation { property, detail }),
            state,
            last: None,
        });
    }

    /// Explores a state: checks it and computes its successors.
    fn visit(&mut self, id: StateId, row: Row<'_>) {
        self.represented += self.orbits.as_mut().map_or(1, |orbits| orbits.size(row));
        let done = self.inspect(id, row);
        let Worker { parts, orbits, terms, goal, batch, cancelled, transitions, notes, by_link, .. } = self;
        let mut can_go_on = false;
        parts.expand(row, |link, next, outcome| {
            *transitions += 1;
            can_go_on |= match link {
                Link::Lose { .. } | Link::Duplicate { .. } | Link::Cancel { .. } => false,
                // A move that takes from the budget may or may not happen, so progress must not depend on it.
                Link::Move { .. } | Link::Deliver { .. } => next.budget() == row.budget(),
                Link::Tick => next != row,
            };
            if let Some(outcome) = outcome {
                *notes |= outcome.notes;
                let wrong = outcome.violation.as_ref().filter(|it| terms.asks(it.property));
                if let (None, Some(violation)) = (&goal, wrong) {
                    let violation = Some(violation.clone());
                    by_link.get_or_insert(Candidate { violation, state: id, last: Some(link) });
                    return;
                }
                if goal.as_ref().is_some_and(|goal| goal.is_noted(outcome.notes)) {
                    by_link.get_or_insert(Candidate { violation: None, state: id, last: Some(link) });
                }
            }
            if matches!(link, Link::Cancel { .. }) {
                cancelled.push(batch.len());
            }
            let next = orbits.as_mut().map_or(next, |orbits| orbits.representative(next));
            batch.add(next.words(), id);
        });
        self.ends.push((id, done, self.batch.len()));
        let waits = self.census.waiting.iter().any(|&waits| waits > 0);
        let asked = self.goal.is_none() && self.terms.asks(Property::NobodyLeftWaiting);
        if !can_go_on && waits && asked {
            self.blame_state(id, Property::NobodyLeftWaiting);
        }
    }

    /// Puts the successors of the visited states into the store, and into the log.
    fn settle(&mut self) {
        let Worker { store, batch, ends, cancelled, log, found, .. } = self;
        store.insert_all(batch, |next_id, next| found.push(next_id, next));
        let (mut start, mut gone) = (0, cancelled.drain(..).peekable());
        for (id, done, end) in ends.drain(..) {
            let served = (start..end).filter(|place| gone.next_if_eq(place).is_none());
            log.add(id, done, served.map(|place| batch.ids()[place]));
            start = end;
        }
        batch.clear();
    }

    /// The states of the next level, and whether a link was found that violates a property. Those of the level after that go to
    /// `empty`.
    fn take_found(&mut self, all: &AtomicU64, empty: Found) -> (Found, bool) {
        let found = std::mem::replace(&mut self.found, empty);
        self.count_bytes(all);
        (found, self.by_link.is_some())
    }

    /// Counts what the log and the states of the next level take, and adds the difference.
    fn count_bytes(&mut self, all: &AtomicU64) {
        let bytes = self.log.bytes() + self.found.bytes();
        // A level that ends gives back what its states took.
        all.fetch_add(bytes.wrapping_sub(self.counted), Ordering::Relaxed);
        self.counted = bytes;
    }
}

/// The state that the threads of one level share.
struct Level<'a> {
    frontier: Frontier,
    states: &'a AtomicU64,
    /// What the logs and the states of the next level take.
    bytes: &'a AtomicU64,
    store: &'a Store,
    stop: AtomicBool,
    stopped: Mutex<Option<Stopped>>,
    layout: RowLayout,
    depth: u32,
    max_states: u64,
    watch: Watch<'a>,
}

impl Level<'_> {
    fn work(&self, worker: &mut Worker<'_>) {
        while !self.stop.load(Ordering::Relaxed) {
            let Some((Found { ids, rows }, range)) = self.frontier.take(worker.number) else { return };
            let before = worker.found.ids.len();
            for index in range {
                worker.visit(ids[index], self.layout.row(rows.get(index)));
            }
            worker.settle();
            let new = (worker.found.ids.len() - before) as u64;
            let states = self.states.fetch_add(new, Ordering::Relaxed) + new;
            worker.count_bytes(self.bytes);
            let stopped = self.limit_reached(states);
            if stopped.is_some() {
                *self.stopped.lock().ignore_poison() = stopped;
            }
            if stopped.is_some() || worker.has_found() {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Why the search has to end here, if it has to.
    fn limit_reached(&self, states: u64) -> Option<Stopped> {
        // The check that the end is reachable takes a byte for each state.
        let bytes = self.store.bytes() + self.bytes.load(Ordering::Relaxed) + self.frontier.bytes() + states;
        let answer = (self.watch)(Progress { states, depth: self.depth, bytes });
        answer.break_value().or_else(|| (states >= self.max_states).then_some(Stopped::States))
    }
}

/// A thread that explores levels together with the thread that hands them out. Its worker is made and stays there:
/// what a thread writes at every state must not lie beside what another thread writes, in the same cache line.
struct Helper<'scope, 'a> {
    /// Levels to explore, each with an empty list for what is found later.
    levels: Sender<(Arc<Level<'a>>, Found)>,
    /// What it found in each level, and whether a link violates a property.
    found: Receiver<(Found, bool)>,
    thread: ScopedJoinHandle<'scope, Worker<'a>>,
}

impl<'scope, 'a: 'scope> Helper<'scope, 'a> {
    fn spawn<'env>(
        scope: &'scope Scope<'scope, 'env>,
        number: usize,
        worker: &'scope (impl Fn(usize) -> Worker<'a> + Sync),
    ) -> Helper<'scope, 'a> {
        let (levels, to_explore) = channel::<(Arc<Level<'a>>, Found)>();
        let (explored, found) = channel();
        let thread = scope.spawn(move || {
            let mut worker = worker(number);
            for (level, empty) in to_explore {
                level.work(&mut worker);
                let done = worker.take_found(level.bytes, empty);
                drop(level);
                // The receiver is gone only if its thread panics, and then it sends no more levels either.
                let _ = explored.send(done);
            }
            worker
        });
        Helper { levels, found, thread }
    }
}

/// Explores level after level. Returns the workers of all threads, the depth, and what stopped the search if
/// anything did.
fn explore<'a>(
    mut worker: Worker<'a>,
    helpers: Vec<Helper<'_, 'a>>,
    level: impl Fn(Vec<Found>, u32) -> Arc<Level<'a>>,
    first: Found,
) -> (Vec<Worker<'a>>, u32, Option<Stopped>) {
    let (mut frontier, mut depth, mut last_level) = (vec![first], 0, false);
    // Lists of explored levels are filled again: memory that was used before is at hand.
    let (mut explored, layout) = (Vec::<Found>::new(), worker.parts.layout);
    let stopped = loop {
        let level = level(frontier, depth);
        let is_worth_it = level.frontier.len() >= WORTH_WAKING * (1 + helpers.len());
        let helping = if is_worth_it { &helpers[..] } else { &[] };
        let mut empty = || explored.pop().unwrap_or_else(|| Found::new(layout));
        for helper in helping {
            helper.levels.send((level.clone(), empty())).expect(PANICKED);
        }
        level.work(&mut worker);
        let mut done = vec![worker.take_found(level.bytes, empty())];
        done.extend(helping.iter().map(|helper| helper.found.recv().expect(PANICKED)));
        // A violating link ends a path as long as those to the states of the next level. A violation in a
        // state (two clients inside, for example) tells a reader more, so that level is still inspected.
        let linked = done.iter().any(|(_, linked)| *linked);
        frontier = done.into_iter().map(|(found, _)| found).collect();
        if level.stop.load(Ordering::Relaxed) || last_level || frontier.iter().all(|part| part.ids.is_empty())
        {
            break level.stopped.lock().ignore_poison().take();
        }
        last_level |= linked;
        depth += 1;
        // The helpers have let go of it.
        explored.extend(Arc::into_inner(level).into_iter().flat_map(|level| level.frontier.emptied()));
    };
    let mut workers = vec![worker];
    for helper in helpers {
        drop(helper.levels);
        workers.push(helper.thread.join().expect(PANICKED));
    }
    (workers, depth, stopped)
}

/// A thread of the search ends early only if it panics, and has then said why.
const PANICKED: &str = "a thread of the search panicked";

/// Searches until everything is explored, a property is violated (or the goal reached, if there is one) or a limit is
/// reached.
pub(crate) fn search(
    model: &Model,
    job: &Job,
    terms: Terms,
    goal: Option<&Goal>,
    watch: Watch<'_>,
) -> Result<SearchResult, SettingError> {
    let (start, layout) = (model.start(), model.layout());
    let store = Store::new(layout.width());
    let root = store.insert(start.as_row().words(), 0);
    let mut first = Found::new(layout);
    first.push(root, start.as_row().words());
    let (states, bytes) = (AtomicU64::new(1), AtomicU64::new(0));
    let level = |frontier: Vec<Found>, depth| Level {
        states: &states,
        bytes: &bytes,
        frontier: Frontier::new(frontier),
        store: &store,
        stop: AtomicBool::new(false),
        stopped: Mutex::new(None),
        layout,
        depth,
        max_states: job.max_states,
        watch,
    };
    let worker = |number| Worker { goal: goal.cloned(), ..Worker::new(number, model, &store, terms, job) };
    let (mut workers, depth, stopped) = std::thread::scope(|scope| {
        let helpers: Vec<Helper<'_, '_>> =
            (1..job.threads).map(|number| Helper::spawn(scope, number, &worker)).collect();
        explore(worker(0), helpers, |frontier, depth| Arc::new(level(frontier, depth)), first)
    });
    if let Some(broken) = model.broken_symmetry() {
        return Err(SettingError(broken.to_string()));
    }
    let result = finish(
        &store,
        root,
        &mut workers,
        depth,
        stopped,
        terms.asks(Property::EndReachable) && goal.is_none(),
    );
    let violation = result.violation.map(|found| with_real_names(worker(0), found));
    free_all(workers);
    Ok(SearchResult { violation, ..result })
}

/// Frees what the threads of a search kept, each in a thread of its own: with millions of states that takes as long as
/// exploring some of them.
fn free_all(workers: Vec<Worker<'_>>) {
    std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(move || drop(worker));
        }
    });
}

/// With symmetry, the states of a path are renamed, each in its own way. This is the run in which nodes keep
/// their numbers, with the violation as it shows there.
fn with_real_names(mut worker: Worker<'_>, (violation, path): (Violation, Path)) -> (Violation, Path) {
    let Worker { parts, orbits: Some(orbits), .. } = &mut worker else { return (violation, path) };
    let states = path::real_states(parts, orbits, &path.states);
    if let Some(last) = states.last() {
        worker.visit(0, last.as_row());
    }
    match worker.by_state.or(worker.by_link) {
        Some(Candidate { violation: Some(violation), last, .. }) => (violation, Path { states, last }),
        _ => (violation, Path { states, last: None }),
    }
}

fn finish(
    store: &Store,
    root: StateId,
    workers: &mut [Worker<'_>],
    depth: u32,
    stopped: Option<Stopped>,
    wants_an_end: bool,
) -> SearchResult {
    let layout = workers[0].parts.layout;
    let way_to = |state| way_to(store, layout, root, state);
    let by_state = workers.iter_mut().find_map(|worker| worker.by_state.take());
    // After a violating link one more level is inspected, in which another thread may have found its first one.
    let by_link = workers.iter_mut().filter_map(|worker| worker.by_link.take());
    let mut candidate = by_state.or_else(|| by_link.min_by_key(|found| way_to(found.state).len()));
    let logs: Vec<&Log> = workers.iter().map(|worker| &worker.log).collect();
    if candidate.is_none() && stopped.is_none() && wants_an_end {
        candidate = stuck_state(store, &logs, |state| way_to(state).len()).map(|state| Candidate {
            violation: Some(Violation::new(
                Property::EndReachable,
                "from here on no run leads to a state in which everybody has been served".to_string(),
            )),
            state,
            last: None,
        });
    }
    let (mut violation, mut reached) = (None, None);
    if let Some(Candidate { violation: violated, state, last }) = candidate {
        let path = Path { states: way_to(state), last };
        match violated {
            Some(violated) => violation = Some((violated, path)),
            None => reached = Some(path),
        }
    }
    SearchResult {
        states: store.len(),
        represented: workers.iter().map(|worker| worker.represented).sum(),
        transitions: workers.iter().map(|worker| worker.transitions).sum(),
        depth,
        bytes: store.bytes() + logs.iter().map(|log| log.bytes()).sum::<u64>(),
        stopped,
        notes: workers.iter().fold(0, |notes, worker| notes | worker.notes),
        most_inside: workers.iter().map(|worker| worker.most_inside).max().unwrap_or(0),
        longest_queue: workers.iter().map(|worker| worker.longest_queue).max().unwrap_or(0),
        violation,
        reached,
    }
}

/// The states from the start to this one.
fn way_to(store: &Store, layout: RowLayout, root: StateId, state: StateId) -> Vec<RowBuffer> {
    let mut states = Vec::new();
    let mut at = state;
    loop {
        let (words, parent) = store.get(at);
        let mut row = layout.zeroes();
        row.copy(layout.row(&words));
        states.push(row);
        if at == root {
            break;
        }
        at = parent;
    }
    states.reverse();
    states
}
