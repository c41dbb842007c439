//! Every run of a small cluster, in every order: messages, views, clients, crashes, lapsed leases, and nodes
//! that are excluded and join again. The nodes are those of production and time is abstract. A view may
//! exclude only nodes that are dead or whose lease has lapsed: that leases guarantee this is shown elsewhere.
//!
//! The search is breadth first over states, so that the first violation is one of the nearest. From a sample
//! of states (chosen by their hashes) it also checks that every waiter is served if nothing more goes wrong.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use service::Defect;

use crate::plan::{AdjustError, pairs};
use crate::shrink::guarded;

mod action;
mod judge;
mod violation;
mod world;

use action::Action;
pub use judge::Given;
pub use violation::Violation;
use world::World;

/// The size of an exploration.
#[derive(Clone, Debug)]
pub struct Size {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of slots of the one resource.
    pub slots: u32,
    /// Instead of slots: a room with this many groups.
    pub groups: u32,
    /// The number of clients of each node.
    pub clients: usize,
    /// The number of clients that make requests at all, those of the first nodes first.
    pub askers: usize,
    /// How many requests each of them makes.
    pub rounds: u32,
    /// How many times a node crashes, or its lease lapses.
    pub failures: u32,
    /// How many times a timer expires, or a node forgets an unused resource.
    pub timers: u32,
    /// In one of this many states the search checks that every waiter is served; 0 for none.
    pub sample: u64,
    /// The search stops after this many states.
    pub most_states: u64,
    /// A defect to enable, to show that the rule is needed.
    pub defect: Option<Defect>,
}

impl Default for Size {
    fn default() -> Size {
        Size {
            nodes: 2,
            slots: 1,
            groups: 0,
            clients: 1,
            askers: usize::MAX,
            rounds: 1,
            failures: 1,
            timers: 0,
            sample: 16,
            most_states: 1_000_000,
            defect: None,
        }
    }
}

impl Size {
    /// The names that can be set.
    pub const KEYS: [&str; 10] = [
        "nodes",
        "slots",
        "groups",
        "clients",
        "askers",
        "rounds",
        "failures",
        "timers",
        "sample",
        "most-states",
    ];

    /// Sets several values, as on the command line: `nodes=3,failures=2`.
    pub fn adjust(&mut self, with: &str) -> Result<(), AdjustError> {
        for (key, value) in pairs(with)? {
            let count = u32::try_from(value).unwrap_or(u32::MAX);
            match key {
                "nodes" => self.nodes = count.clamp(1, 5) as usize,
                "slots" => self.slots = count.max(1),
                "groups" => self.groups = count,
                "clients" => self.clients = count as usize,
                "askers" => self.askers = count as usize,
                "rounds" => self.rounds = count,
                "failures" => self.failures = count,
                "timers" => self.timers = count,
                "sample" => self.sample = value,
                "most-states" => self.most_states = value,
                _ => return Err(AdjustError::NoSuchName { name: key.to_owned(), names: &Size::KEYS }),
            }
        }
        Ok(())
    }

    /// A size at which the exploration shows the effect of a defect; `None` if that takes clocks, a control
    /// plane or remote clients, which only the swarm has.
    pub fn that_shows(defect: Defect) -> Option<Size> {
        let two = Size { rounds: 2, ..Size::default() };
        let three = Size { nodes: 3, ..Size::default() };
        let size = match defect {
            Defect::NoFloor => Size { timers: 2, ..two },
            Defect::ExcludesOnSuspicion | Defect::RestartReplaces | Defect::MintsEarly => two,
            Defect::EndBeforeReport | Defect::FramesWithoutView | Defect::ViewsBackwards => two,
            Defect::FenceWithoutView | Defect::OldQueuesKept => two,
            Defect::QuorumOfEnds | Defect::OldEndCounts => three,
            Defect::RoomMadeEmpty | Defect::CaptainKeepsFollowers | Defect::CompletesToCaptain => {
                Size { groups: 2, ..three }
            }
            Defect::OpenRoomNewFence => Size { groups: 1, ..three },
            _ => return None,
        };
        Some(Size { defect: Some(defect), ..size })
    }
}

/// The result of an exploration, so far or in the end.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// The number of distinct states.
    pub states: u64,
    /// The number of transitions.
    pub steps: u64,
    /// The distance of the farthest state from the start, in steps.
    pub depth: u32,
    /// The number of states from which the search checked that every waiter is served.
    pub sampled: u64,
    /// The number of grants, over all steps.
    pub grants: u64,
    /// The highest epoch.
    pub views: u64,
    /// Whether the whole state space was explored.
    pub complete: bool,
    /// The violation, and the steps that lead to it.
    pub violation: Option<(Violation, Vec<String>)>,
}

/// A reached state, with its predecessor.
struct Reached {
    from: u32,
    by: Action,
}

/// Explores the state space. `watch` is called after each state that was explored, and may end the search.
pub fn explore(size: &Size, mut watch: impl FnMut(&Explored) -> ControlFlow<()>) -> Explored {
    let mut found = Explored::default();
    let start = World::new(size);
    let mut known = BTreeSet::from([start.fingerprint()]);
    let mut reached: Vec<Reached> = Vec::new();
    let mut frontier = vec![(u32::MAX, start)];
    found.states = 1;
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for (number, world) in frontier.drain(..) {
            for action in world.actions() {
                found.steps += 1;
                let mut after = world.clone();
                let outcome = guarded(|| after.step(action)).unwrap_or_else(|panicked| Err(panicked.into()));
                found.grants += after.granted;
                found.views = found.views.max(after.epoch());
                let print = after.fingerprint();
                let is_new = outcome.is_ok() && known.insert(print);
                let looked_at = is_new && size.sample > 0 && print.is_multiple_of(size.sample);
                found.sampled += u64::from(looked_at);
                let outcome = match looked_at {
                    true => guarded(|| after.clone().drain()).unwrap_or_else(|panicked| Err(panicked.into())),
                    false => outcome,
                };
                if let Err(violation) = outcome {
                    let mut way = way_to(&reached, number);
                    way.push(action.to_string());
                    found.violation = Some((violation, way));
                    return found;
                }
                if is_new {
                    found.states += 1;
                    next.push((reached.len() as u32, after));
                    reached.push(Reached { from: number, by: action });
                }
            }
            if found.states >= size.most_states || watch(&found).is_break() {
                return found;
            }
        }
        found.depth += u32::from(!next.is_empty());
        frontier = next;
    }
    found.complete = true;
    found
}

fn way_to(reached: &[Reached], mut number: u32) -> Vec<String> {
    let mut way = Vec::new();
    while let Some(state) = reached.get(number as usize) {
        way.push(state.by.to_string());
        number = state.from;
    }
    way.reverse();
    way
}
