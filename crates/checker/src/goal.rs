//! The shortest way from any state to one in which something holds.

use algorithms::info::Tokens;
use algorithms::properties::Terms;
use algorithms::{Census, Conditions, Info, SettingError, Step, System, Violation, World, registry};

use crate::job::{Job, Stopped, Watch};
use crate::model::Model;
use crate::{path, search};

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A violated property: the one that the job names, or any.
    Violation,
    /// A step that makes this note, one of [`Info::sometimes`].
    Note(String),
    /// At least this many clients wait at the same time.
    Waiting(u32),
    /// At least this many clients are inside at the same time.
    Inside(u32),
    /// A queue of at least this length.
    Queue(u32),
    /// Every token is used by a client or under way; where there are no tokens, no other client may enter.
    NoneFree,
    /// There are fewer tokens than there should be.
    TokenLost,
    /// No client waits or is inside, and no message is under way.
    AllServed,
}

/// What a search looks for, with the numbers that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    wanted: Wanted,
    /// The bit of the note.
    note: u64,
    /// How many tokens there should be; `None` if there are none.
    tokens: Option<u32>,
    /// How many clients may be inside.
    allowed: u32,
}

impl Goal {
    fn new(wanted: Wanted, info: &Info, tokens: u32) -> Result<Goal, SettingError> {
        let position = match &wanted {
            Wanted::Note(note) => {
                let position = info.sometimes.iter().position(|known| known == note);
                let unknown = || SettingError(format!("{} never notes '{note}'", info.name));
                Some(position.ok_or_else(unknown)?)
            }
            _ => None,
        };
        let there = match info.tokens {
            Tokens::None => None,
            Tokens::One => Some(1),
            Tokens::PerSlot => Some(tokens),
        };
        if wanted == Wanted::TokenLost && there.is_none() {
            return Err(SettingError(format!("{} has no tokens that could be lost", info.name)));
        }
        Ok(Goal { wanted, note: position.map_or(0, |bit| 1 << bit), tokens: there, allowed: tokens })
    }

    /// Whether a state with these counts is what the search looks for.
    pub(crate) fn is_reached(&self, census: &Census, silent: bool) -> bool {
        let waiting: u32 = census.waiting.iter().sum();
        match self.wanted {
            Wanted::Violation | Wanted::Note(_) => false,
            Wanted::Waiting(number) => waiting >= number,
            Wanted::Inside(number) => census.inside >= number,
            Wanted::Queue(length) => census.longest_queue >= length,
            Wanted::NoneFree if self.tokens.is_none() => census.inside >= self.allowed,
            Wanted::NoneFree => census.tokens_held <= census.inside,
            Wanted::TokenLost => {
                self.tokens.is_some_and(|tokens| census.tokens_held + census.tokens_moving < tokens)
            }
            Wanted::AllServed => waiting == 0 && census.inside == 0 && silent,
        }
    }

    /// Whether a step with these notes is what the search looks for.
    pub(crate) fn is_noted(&self, notes: u64) -> bool {
        notes & self.note != 0
    }
}

/// The result of [`find`].
#[derive(Clone, Debug)]
pub struct Way {
    /// The number of distinct states that were explored.
    pub states: u64,
    /// How many steps deep the search went.
    pub depth: u32,
    /// The steps from the state in which the search began, if what was wanted was found. They are as few as possible.
    pub steps: Option<Vec<Step>>,
    /// The violation, if that was wanted and found.
    pub violation: Option<Violation>,
    /// Why not everything was explored, if nothing was found.
    pub stopped: Option<Stopped>,
}

/// Looks for the shortest way to what is wanted, from the state after these steps. Each client may make as many requests
/// from there as the job allows, and the network may do as much. Properties are those under these conditions: the steps
/// may have lost something.
pub fn find(
    name: &str,
    job: &Job,
    from: &[Step],
    conditions: Conditions,
    wanted: Wanted,
    watch: Watch<'_>,
) -> Result<Way, SettingError> {
    let begins_later = !from.is_empty();
    job.validate_from(registry::info(name)?, begins_later)?;
    let system: System<_> = registry::system(name, &job.case.setting)?;
    job.refuse_without_pace(system.info())?;
    if begins_later && job.case.allowance.pace.is_some() {
        let why = "a state does not tell how long messages have been under way";
        return Err(SettingError(format!("where time is modelled, a search begins at the start: {why}")));
    }
    let tokens = job.case.setting.tokens;
    let mut world = World::start(system.clone(), conditions);
    for (number, step) in (1..).zip(from) {
        let impossible = |error| SettingError(format!("step {number}, {step}: {error}"));
        world.take(step).map_err(impossible)?;
    }
    let terms = Terms::new(system.info(), tokens, conditions);
    let terms = job.only.map_or(terms, |property| terms.only(property));
    let goal = match wanted {
        Wanted::Violation => None,
        wanted => Some(Goal::new(wanted, system.info(), tokens)?),
    };
    let mut model = Model::new(system, &job.case);
    if begins_later {
        model.begin_in(world.clone());
    }
    let result = search::search(&model, job, terms, goal.as_ref(), watch)?;
    let (violation, path) = match result.violation {
        Some((violation, path)) => (Some(violation), Some(path)),
        None => (None, result.reached),
    };
    let steps = path.map(|path| path::steps(&model, world, &path));
    let stopped = result.stopped.filter(|_| steps.is_none());
    Ok(Way { states: result.states, depth: result.depth, steps, violation, stopped })
}
