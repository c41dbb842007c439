//! The checker against the simplest search possible: whole systems in a set, moved step by step. Both must
//! find the same number of states, whatever faults are allowed.

use std::collections::{BTreeMap, HashSet, VecDeque};

use algorithms::erased::Message;
use algorithms::info::Clients;
use algorithms::node::Node;
use algorithms::schedule::{Envelope, Script};
use algorithms::{Action, Case, Erased, NodeId, Scope, Setting, World, registry};
use checker::{Job, Verdict, check};

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

type Key = (
    Vec<Node<Erased>>,
    BTreeMap<(NodeId, NodeId), Vec<Message>>,
    Vec<u32>,
    BTreeMap<(NodeId, usize), u32>,
    [u32; 4],
);

/// How many states the plain search finds, and how many the checker.
fn count(name: &str, scope: &Scope) -> (u64, u64) {
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
        for action in state.actions(scope, reorder) {
            for next in state.take(action) {
                if seen.insert(next.key(reorder)) {
                    agenda.push_back(next);
                }
            }
        }
    }
    let finding = check(name, &Job { threads: 2, ..Job::of(scope, None) }, &|_| {}).unwrap();
    assert_eq!(finding.verdict(), Verdict::Holds, "{name}");
    (seen.len() as u64, finding.states)
}

impl Plain {
    fn key(&self, reorder: bool) -> Key {
        let mut channels = self.world.channels.clone();
        if reorder {
            channels.values_mut().for_each(|messages| messages.sort());
        }
        let budgets = [self.losses, self.duplicates, self.crashes, self.early];
        (self.world.nodes.clone(), channels, self.asked.clone(), self.fired.clone(), budgets)
    }

    fn actions(&self, scope: &Scope, reorder: bool) -> Vec<Action> {
        let mut actions = Vec::new();
        let silent = self.world.channels.is_empty();
        for (id, node) in (0..).zip(&self.world.nodes) {
            if node.state.is_none() {
                actions.push(Action::Restart { node: id });
                continue;
            }
            let client = node.idle_client();
            if client < scope.allowance.clients && self.asked[id as usize] < scope.allowance.requests {
                let mut wanted = Case::of(scope, None).groups_wanted();
                if !scope.allowance.any_of
                    && self.world.info().clients == Clients::OneEach
                    && self.asked.iter().all(|&asked| asked == 0)
                {
                    // The checker knows that groups are interchangeable.
                    wanted.truncate(1);
                }
                actions.extend(wanted.into_iter().map(|groups| Action::Request { node: id, client, groups }));
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
    let (plain, fast) = count(name, scope);
    assert_eq!(plain, fast, "{name} {scope:?}");
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
