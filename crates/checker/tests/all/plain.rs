//! The checker against the simplest search possible: whole systems in a set, moved step by step. Both must
//! find the same number of states, whatever faults are allowed, and with symmetry the states that are found must
//! stand for as many.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use algorithms::info::Clients;
use algorithms::node::Client;
use algorithms::schedule::{Envelope, Script};
use algorithms::{Action, Case, Erased, NodeId, Scope, Setting, World, registry};
use checker::{Finding, Job, Symmetry, Verdict, check, is_symmetric};

/// A system with its remaining requests and faults.
#[derive(Clone)]
struct Plain {
    world: World<Erased>,
    asked: Vec<u32>,
    fired: BTreeMap<(NodeId, usize), u32>,
    losses: u32,
    duplicates: u32,
    crashes: u32,
    early: u32,
}

/// Two hashes of a state: states themselves would take gigabytes at the larger sizes.
type Key = (u64, u64);

/// Which client of a node makes the next request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// The idle one with the lowest number, as in the checker.
    Lowest,
    /// Any idle one.
    Any,
}

/// How many states the plain search finds.
fn count(name: &str, scope: &Scope, asker: Asker) -> u64 {
    let system = registry::system(name, &Setting::of(scope, None)).unwrap();
    let reorder = Case::of(scope, None).reorders(system.info());
    let start = Plain {
        world: World::start(system, scope.allowance.conditions()),
        asked: vec![0; scope.nodes as usize],
        fired: BTreeMap::new(),
        losses: scope.allowance.losses,
        duplicates: scope.allowance.duplicates,
        crashes: scope.allowance.crashes,
        early: if scope.allowance.firings > 0 { scope.allowance.early } else { 0 },
    };
    let mut seen: HashSet<Key> = HashSet::from([start.key(reorder)]);
    let mut agenda = VecDeque::from([start]);
    while let Some(state) = agenda.pop_front() {
        for action in state.actions(scope, reorder, asker) {
            for next in state.take(action) {
                if seen.insert(next.key(reorder)) {
                    agenda.push_back(next);
                }
            }
        }
    }
    seen.len() as u64
}

/// What the checker finds.
fn explore(name: &str, scope: &Scope, symmetry: Symmetry) -> Finding {
    let finding = check(name, &Job { threads: 2, symmetry, ..Job::of(scope, None) }).unwrap();
    assert_eq!(finding.verdict(), Verdict::Holds, "{name}");
    finding
}

impl Plain {
    fn key(&self, reorder: bool) -> Key {
        let mut channels = self.world.channels.clone();
        if reorder {
            channels.values_mut().for_each(|messages| messages.sort());
        }
        let budgets = [self.losses, self.duplicates, self.crashes, self.early];
        let state = (&self.world.nodes, channels, &self.asked, &self.fired, budgets);
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, &state).hash(&mut hasher);
            hasher.finish()
        };
        (hash(1), hash(2))
    }

    fn actions(&self, scope: &Scope, reorder: bool, asker: Asker) -> Vec<Action> {
        let mut actions = Vec::new();
        let silent = self.world.channels.is_empty();
        for (id, node) in (0..).zip(&self.world.nodes) {
            if node.state.is_none() {
                actions.push(Action::Restart { node: id });
                continue;
            }
            if self.asked[id as usize] < scope.allowance.requests {
                let mut wanted = Case::of(scope, None).groups_wanted();
                if !scope.allowance.any_of
                    && self.world.info().clients == Clients::OneEach
                    && self.asked.iter().all(|&asked| asked == 0)
                {
                    // The checker knows that groups are interchangeable.
                    wanted.truncate(1);
                }
                let idle = (0..scope.allowance.clients).filter(|&client| node.client(client) == Client::Idle);
                for client in idle.take(if asker == Asker::Any { usize::MAX } else { 1 }) {
                    let requests = wanted.iter().map(|&groups| Action::Request { node: id, client, groups });
                    actions.extend(requests);
                }
            }
            for (client, doing) in node.clients() {
                if doing.is_inside() {
                    actions.push(Action::Exit { node: id, client });
                } else if doing.is_waiting() && scope.allowance.cancels {
                    actions.push(Action::Cancel { node: id, client });
                }
            }
            for &timer in &node.armed {
                let fired = self.fired.get(&(id, timer)).copied().unwrap_or(0);
                let early = fired < scope.allowance.firings && self.early > 0;
                if scope.allowance.firings > 0 && (silent || early) {
                    actions.push(Action::Expire { node: id, timer });
                }
            }
            if self.crashes > 0 {
                actions.push(Action::Crash { node: id });
            }
        }
        for (&(from, to), messages) in &self.world.channels {
            for overtakes in 0..if reorder { messages.len() } else { 1 } {
                let envelope = Envelope { from, to, overtakes };
                actions.push(Action::Deliver(envelope));
                actions.extend((self.losses > 0).then_some(Action::Lose(envelope)));
                actions.extend((self.duplicates > 0).then_some(Action::Duplicate(envelope)));
            }
        }
        actions
    }

    /// The successors by an action, for every combination of picks.
    fn take(&self, action: Action) -> Vec<Plain> {
        let mut script = Script::default();
        let mut all = Vec::new();
        loop {
            let mut next = self.clone();
            match action {
                Action::Request { node, .. } => next.asked[node as usize] += 1,
                Action::Expire { node, timer } if !self.world.channels.is_empty() => {
                    *next.fired.entry((node, timer)).or_default() += 1;
                    next.early -= 1;
                }
                Action::Lose(_) => next.losses -= 1,
                Action::Duplicate(_) => next.duplicates -= 1,
                Action::Crash { .. } => next.crashes -= 1,
                _ => {}
            }
            let happened = next.world.act(action, &mut script).unwrap();
            assert_eq!(happened.violation, None);
            all.push(next);
            if !script.advance() {
                return all;
            }
        }
    }
}

fn compare(name: &str, scope: &Scope) {
    let (plain, fast) = (count(name, scope, Asker::Lowest), explore(name, scope, Symmetry::Off));
    assert_eq!(plain, fast.states, "{name} {scope:?}");
}

/// With symmetry of clients, it does not matter which idle client makes the next request.
fn compare_represented(name: &str, scope: &Scope) {
    let plain = count(name, scope, Asker::Any);
    for symmetry in [Symmetry::Clients, Symmetry::On] {
        let fast = explore(name, scope, symmetry);
        assert_eq!(plain, fast.represented, "{name} {scope:?} {}", symmetry.name());
    }
}

#[test]
fn in_order() {
    compare("bulgannawar-vaidya", &Scope::new(3, 2, 2));
    compare("bulgannawar-vaidya", &Scope::new(3, 2, 1).with(&[("inform", "1")]));
    compare("naimi-trehel", &Scope::new(3, 1, 2).fifo());
}

#[test]
fn out_of_order() {
    compare("bulgannawar-vaidya", &Scope::new(3, 1, 2));
    compare("naimi-trehel", &Scope::new(3, 1, 3));
    compare("collectors", &Scope::new(4, 2, 1));
}

#[test]
fn with_losses_duplicates_crashes_and_timers() {
    let two = Scope::new(2, 1, 1).groups(2);
    compare("drs-gme", &two.losses(1).firings(1, 2));
    compare("drs-gme", &two.fifo().crashes(1).firings(2, 2));
    compare("drs-gme", &two.duplicates(1));
    compare("drs-gme", &Scope::new(3, 1, 1).groups(2).any_of());
    compare("collectors", &Scope::new(3, 2, 1).firings(1, 2).with(&[("share", "collect")]));
}

#[test]
fn with_several_clients_that_cancel() {
    compare("forest", &Scope::new(2, 1, 2).clients(2));
    compare("forest", &Scope::new(2, 2, 2).clients(2).firings(1, 1));
    compare("forest", &Scope::new(3, 1, 1).clients(1).with(&[("forget", "yes")]).firings(1, 1));
    compare("rooms", &Scope::new(2, 1, 2).groups(2).clients(2).any_of());
    let forgetting = Scope::new(2, 1, 2).with(&[("exclusive", "1"), ("forget", "yes")]);
    compare("rooms", &forgetting.clients(2).firings(1, 1));
}

/// More states than this take too long for every run of the tests.
const QUICK: u64 = 60_000;

/// `TOKENWOOD_ALL_SCOPES=1 cargo test -p tokenwood-checker --test all plain` counts the large ones too.
#[test]
fn with_symmetry_of_clients_the_states_stand_for_all_that_any_client_can_cause() {
    let most = if std::env::var_os("TOKENWOOD_ALL_SCOPES").is_some() { u64::MAX } else { QUICK };
    let mut compared = 0;
    for info in registry::ALL {
        for scope in info.suite {
            let has_clients = is_symmetric(info.name, &Case::of(scope, None), Symmetry::Clients).unwrap();
            if has_clients && explore(info.name, scope, Symmetry::On).represented <= most {
                compare_represented(info.name, scope);
                compared += 1;
            }
        }
    }
    assert!(compared >= 5, "{compared} are too few to show anything");
    compare_represented("forest", &Scope::new(1, 2, 3).clients(3));
    compare_represented("forest", &Scope::new(2, 1, 3).clients(3));
    compare_represented("rooms", &Scope::new(1, 1, 3).groups(2).clients(3));
}
