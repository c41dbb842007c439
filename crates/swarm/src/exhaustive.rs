//! Everything that can happen to a small cluster, in every order: messages, views, what clients do, crashes, leases that run
//! out, nodes that are left out and come back. The nodes are those of production; time is abstract, and what decides on
//! views may leave out only who is dead or whose lease has run out: that leases guarantee this is shown elsewhere.
//!
//! The search is breadth first over states, so that the first violation is one of the nearest. From some states (a sample,
//! by their hashes) it also looks whether everybody who waits is served if nothing more goes wrong.

use std::collections::BTreeSet;

use service::Defect;

use crate::outcome::guarded;
use crate::plan::pairs;

mod act;
mod judge;
mod world;

use act::Act;
use world::World;

/// What is explored.
#[derive(Clone, Debug)]
pub struct Size {
    /// How many nodes.
    pub nodes: usize,
    /// How many slots the one resource has.
    pub slots: u32,
    /// Instead of slots: a room with so many groups.
    pub groups: u32,
    /// How many clients each node has,
    pub clients: usize,
    /// how many of them ask at all, those of the first nodes first,
    pub askers: usize,
    /// and how many times each.
    pub rounds: u32,
    /// How many times a node dies, or its lease runs out.
    pub failures: u32,
    /// How many times a timer runs out, or a node forgets what nobody uses.
    pub timers: u32,
    /// It is looked at one in so many states whether everybody is served in the end; 0 for none.
    pub sample: u64,
    /// The search is given up after so many states.
    pub most_states: u64,
    /// A rule to leave out, to see that it is needed.
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
    /// What can be set by name.
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

    /// Sets several things, as they are typed: `nodes=3,failures=2`.
    pub fn adjust(&mut self, with: &str) -> Result<(), String> {
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
                _ => return Err(format!("there is no '{key}': use {}", Size::KEYS.join(", "))),
            }
        }
        Ok(())
    }

    /// A size at which the exploration shows what comes of a defect; `None` if that takes clocks, control planes or clients
    /// far away, which only the swarm has.
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

/// What an exploration has found so far, or in the end.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps from one to another.
    pub steps: u64,
    /// How many steps the farthest of them is from the start.
    pub depth: u32,
    /// From so many of them it was looked at whether everybody is served.
    pub sampled: u64,
    /// So many clients were let in, over all steps.
    pub grants: u64,
    /// The highest number of a view.
    pub views: u64,
    /// Nothing is left to explore.
    pub complete: bool,
    /// What is wrong, and what led there.
    pub wrong: Option<(String, Vec<String>)>,
}

/// A state that was reached, for the way back.
struct Reached {
    from: u32,
    by: Act,
}

/// Explores. `progress` is told after each step further from the start.
pub fn explore(size: &Size, mut progress: impl FnMut(&Explored)) -> Explored {
    let mut found = Explored::default();
    let start = World::new(size);
    let mut known = BTreeSet::from([start.fingerprint()]);
    let mut reached: Vec<Reached> = Vec::new();
    let mut frontier = vec![(u32::MAX, start)];
    found.states = 1;
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for (number, world) in frontier.drain(..) {
            for act in world.acts() {
                found.steps += 1;
                let mut after = world.clone();
                let outcome = guarded(|| after.act(act)).and_then(|outcome| outcome);
                found.grants += after.granted;
                found.views = found.views.max(after.epoch());
                let print = after.fingerprint();
                let is_new = outcome.is_ok() && known.insert(print);
                let looked_at = is_new && size.sample > 0 && print.is_multiple_of(size.sample);
                found.sampled += u64::from(looked_at);
                let outcome = match looked_at {
                    true => guarded(|| after.clone().drain()).and_then(|outcome| outcome),
                    false => outcome,
                };
                if let Err(wrong) = outcome {
                    let mut way = way_to(&reached, number);
                    way.push(act.to_string());
                    found.wrong = Some((wrong, way));
                    return found;
                }
                if is_new {
                    found.states += 1;
                    next.push((reached.len() as u32, after));
                    reached.push(Reached { from: number, by: act });
                }
            }
            if found.states >= size.most_states {
                return found;
            }
        }
        found.depth += u32::from(!next.is_empty());
        frontier = next;
        progress(&found);
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
