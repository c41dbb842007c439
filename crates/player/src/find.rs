//! Finds the shortest way to a state that a reader wants to see.

use std::ops::ControlFlow;

use algorithms::info::{Allowance, Pace};
use algorithms::{Case, Conditions, Property, Step};
use checker::{Job, Progress, Stopped, Symmetry, Wanted};
use serde::{Deserialize, Serialize};

use crate::limits::{Limits, MOST_SEARCHED};
use crate::refusal::{Refusal, RefusalKind};
use crate::run::Run;
use crate::setting::{Game, Setting};

/// A search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindRequest {
    /// What to play.
    #[serde(flatten)]
    pub setting: Setting,
    /// The steps so far.
    #[serde(default)]
    pub steps: Vec<String>,
    /// How many of the steps lead to the state from which the search begins; all of them if it is left out.
    #[serde(default)]
    pub at: Option<usize>,
    /// What to look for.
    pub goal: Goal,
    /// What may happen on the way.
    #[serde(default)]
    pub may: May,
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Goal {
    /// A violated property: this one, or any.
    Violation {
        /// The name of the property.
        #[serde(default)]
        property: Option<String>,
    },
    /// A step that makes this note, one of those that the catalogue lists.
    Note {
        /// The note.
        note: String,
    },
    /// So many clients wait at the same time.
    Waiting {
        /// How many.
        count: u32,
    },
    /// So many clients are inside at the same time.
    Inside {
        /// How many.
        count: u32,
    },
    /// A queue is so long.
    Queue {
        /// How long.
        count: u32,
    },
    /// No token is free.
    NoneFree,
    /// A token is lost.
    TokenLost,
    /// Every request is served, and nothing is under way.
    AllServed,
}

/// What may happen on the way, how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct May {
    /// How many requests each node makes at most.
    pub requests: u32,
    /// Whether waiting clients cancel.
    pub cancels: bool,
    /// Whether requests name several groups.
    pub any_of: bool,
    /// How many messages are lost.
    pub losses: u32,
    /// How many messages arrive twice.
    pub duplicates: u32,
    /// How often nodes crash.
    pub crashes: u32,
    /// How often each timer of each node expires while messages are under way; the default depends on the algorithm.
    pub firings: Option<u32>,
    /// The search stops at this many states.
    pub states: Option<u64>,
}

impl Default for May {
    fn default() -> May {
        May {
            requests: 1,
            cancels: false,
            any_of: false,
            losses: 0,
            duplicates: 0,
            crashes: 0,
            firings: None,
            states: None,
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FindProgress {
    /// States found.
    pub states: u64,
    /// Steps from where it began.
    pub depth: u32,
    /// The memory that it takes, in bytes.
    pub bytes: u64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum FindAnswer {
    /// It was found.
    Found {
        /// The steps that lead there from the state where the search began, as few as possible.
        steps: Vec<String>,
        /// The violated property, if one was looked for.
        property: Option<&'static str>,
        /// What was observed of it.
        detail: Option<String>,
        /// States explored.
        states: u64,
        /// How deep the search went.
        depth: u32,
    },
    /// There is no such way with what may happen.
    Exhausted {
        /// States explored.
        states: u64,
        /// How deep the search went.
        depth: u32,
    },
    /// The search ended before it knew.
    Stopped {
        /// Why: `states`, `memory` or `interrupt`.
        why: &'static str,
        /// The same in words, with the bound and what to do.
        message: String,
        /// States explored.
        states: u64,
        /// How deep the search went.
        depth: u32,
    },
}

/// Called now and then while a search runs, from any of its threads; may end it.
pub type FindWatch<'a> = &'a (dyn Fn(FindProgress) -> ControlFlow<()> + Sync);

/// Looks for the shortest way from a state of a run, on so many threads.
pub fn find(
    request: &FindRequest,
    threads: usize,
    limits: Limits,
    watch: FindWatch<'_>,
) -> Result<FindAnswer, Refusal> {
    let game = request.setting.accept()?;
    let from = prefix(&game, request)?;
    let (wanted, only) = wanted(&request.goal)?;
    let max_states = request.may.states.unwrap_or(MOST_SEARCHED).min(MOST_SEARCHED);
    let job = Job {
        case: Case { setting: game.system.setting().clone(), allowance: allowance(&game, &request.may) },
        only,
        max_states,
        threads: threads.clamp(1, 64),
        symmetry: Symmetry::Off,
    };
    let watch = |Progress { states, depth, bytes }: Progress| {
        if watch(FindProgress { states, depth, bytes }).is_break() {
            return ControlFlow::Break(Stopped::Interrupt);
        }
        if bytes > limits.search_bytes {
            ControlFlow::Break(Stopped::Memory)
        } else {
            ControlFlow::Continue(())
        }
    };
    let faulty =
        game.conditions == Conditions::Faulty || job.case.allowance.conditions() == Conditions::Faulty;
    let conditions = if faulty { Conditions::Faulty } else { Conditions::Reliable };
    let way = checker::find(&request.setting.algorithm, &job, &from, conditions, wanted, &watch)?;
    let (states, depth) = (way.states, way.depth);
    Ok(match (way.steps, way.stopped) {
        (Some(steps), _) => FindAnswer::Found {
            steps: steps.iter().map(ToString::to_string).collect(),
            property: way.violation.as_ref().map(|violation| violation.property.name()),
            detail: way.violation.map(|violation| violation.detail),
            states,
            depth,
        },
        (None, Some(stopped)) => {
            let message = why(stopped, max_states, limits);
            FindAnswer::Stopped { why: stopped.name(), message, states, depth }
        }
        (None, None) => FindAnswer::Exhausted { states, depth },
    })
}

/// Why a search ended, and what a reader can do about it.
fn why(stopped: Stopped, states: u64, limits: Limits) -> String {
    match stopped {
        Stopped::States => format!("the search has reached its bound of {states} states"),
        Stopped::Memory => {
            let (bytes, unit) = match limits.search_bytes >> 20 {
                mib if mib % 1024 == 0 => (mib / 1024, "GiB"),
                mib => (mib, "MiB"),
            };
            format!("the search has used up its memory of {bytes} {unit}: {}", limits.more_memory)
        }
        Stopped::Interrupt => "the search was stopped".to_string(),
    }
}

/// The steps that lead to the state where the search begins, with everything that the algorithm picked.
fn prefix(game: &Game, request: &FindRequest) -> Result<Vec<Step>, Refusal> {
    let at = request.at.unwrap_or(request.steps.len());
    if at > request.steps.len() {
        let why = format!("the run has {} steps, and there is no state {at}", request.steps.len());
        return Err(Refusal { fits: Some(request.steps.len()), ..Refusal::new(RefusalKind::Bounds, why) });
    }
    let mut run = Run::start(game);
    run.draws = false;
    request.steps[..at].iter().map(|step| run.take_text(step).map(|happened| happened.step)).collect()
}

fn wanted(goal: &Goal) -> Result<(Wanted, Option<Property>), Refusal> {
    let only = match goal {
        Goal::Violation { property: Some(name) } => {
            let unknown = || {
                let name: String = name.chars().take(40).collect();
                Refusal::new(RefusalKind::Setting, format!("there is no property '{name}'"))
            };
            Some(Property::named(name).ok_or_else(unknown)?)
        }
        _ => None,
    };
    let wanted = match goal {
        Goal::Violation { .. } => Wanted::Violation,
        Goal::Note { note } => Wanted::Note(note.clone()),
        Goal::Waiting { count } => Wanted::Waiting(*count),
        Goal::Inside { count } => Wanted::Inside(*count),
        Goal::Queue { count } => Wanted::Queue(*count),
        Goal::NoneFree => Wanted::NoneFree,
        Goal::TokenLost => Wanted::TokenLost,
        Goal::AllServed => Wanted::AllServed,
    };
    Ok((wanted, only))
}

fn allowance(game: &Game, may: &May) -> Allowance {
    let info = game.system.info();
    let faults = may.losses + may.duplicates + may.crashes > 0;
    let timers = !info.timers.is_empty() && (info.relies_on_timers() || faults);
    Allowance {
        clients: game.clients,
        cancels: may.cancels,
        any_of: may.any_of,
        reorder: Some(!game.fifo),
        losses: may.losses,
        duplicates: may.duplicates,
        crashes: may.crashes,
        firings: may.firings.unwrap_or(u32::from(timers)),
        pace: info.relies_on_pace().then_some(Pace { delay: 1, section: 1 }),
        ..Allowance::new(may.requests)
    }
}
