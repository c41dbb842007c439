//! Replays a run and answers with the states that were asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{MOST_STATES, MOST_STEPS};
use crate::refusal::{Refusal, RefusalKind};
use crate::rules::{self, Rule};
use crate::run::Run;
use crate::setting::{Game, Setting};
use crate::state::{State, state};

/// A run, and the states that are wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayRequest {
    /// What to play.
    #[serde(flatten)]
    pub setting: Setting,
    /// The steps, in order.
    #[serde(default)]
    pub steps: Vec<String>,
    /// The numbers of the wanted states; the last one if there are none. The state of number 0 is the start.
    #[serde(default)]
    pub want: Vec<Want>,
}

/// States that are wanted: one, or all from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Want {
    /// The state after this many steps.
    One(usize),
    /// The states from the first to the last, both included.
    Range(usize, usize),
}

/// The wanted states of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlayAnswer {
    /// What was played, with nothing left out.
    pub setting: Setting,
    /// The steps, each with everything that the algorithm picked; those that fit, if one does not.
    pub steps: Vec<String>,
    /// Why the run ends before the last step that was sent: that a step is not possible is an answer, too. The same steps
    /// under another rule are asked for to see how far they go.
    pub misfit: Option<Refusal>,
    /// The wanted states, in the order of their numbers.
    pub states: Vec<State>,
    /// The first violation of the run, if any: the number of steps that lead to it, and what it is.
    pub violated: Option<Violated>,
    /// The rules of the algorithm.
    pub rules: Vec<Rule>,
}

impl PlayAnswer {
    /// The answer about all steps that were sent; a refusal if one of them does not fit.
    pub fn whole(self) -> Result<PlayAnswer, Refusal> {
        match self.misfit {
            Some(refusal) => Err(refusal),
            None => Ok(self),
        }
    }
}

/// A violation in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violated {
    /// The number of steps that lead to it.
    pub at: usize,
    /// The property.
    pub property: &'static str,
    /// What was observed.
    pub detail: String,
}

/// Replays a run.
pub fn play(request: &PlayRequest) -> Result<PlayAnswer, Refusal> {
    let game = request.setting.accept()?;
    let wanted = wanted(&request.want, request.steps.len())?;
    let mut played = Played::start(&game, &wanted);
    let mut misfit = None;
    for step in &request.steps {
        match played.take(step) {
            Ok(()) => {}
            Err(refusal) if refusal.kind == RefusalKind::Impossible => {
                misfit = Some(refusal);
                break;
            }
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(PlayAnswer { misfit, ..played.answer() })
}

/// A run that keeps the wanted states.
pub(crate) struct Played<'a> {
    pub(crate) run: Run<'a>,
    wanted: Wanted<'a>,
    steps: Vec<String>,
    states: Vec<State>,
}

/// Which states to keep.
pub(crate) type Wanted<'a> = &'a (dyn Fn(usize) -> bool + 'a);

impl<'a> Played<'a> {
    pub(crate) fn start(game: &'a Game, wanted: Wanted<'a>) -> Played<'a> {
        let run = Run::start(game);
        let states = if wanted(0) { vec![state(&run, None)] } else { Vec::new() };
        Played { run, wanted, steps: Vec::new(), states }
    }

    pub(crate) fn take(&mut self, step: &str) -> Result<(), Refusal> {
        self.run.draws = (self.wanted)(self.run.at + 1);
        let happened = self.run.take_text(step)?;
        self.steps.push(happened.step.to_string());
        if self.run.draws {
            self.states.push(state(&self.run, Some(&happened)));
        }
        Ok(())
    }

    pub(crate) fn answer(self) -> PlayAnswer {
        let Run { game, violated, .. } = self.run;
        PlayAnswer {
            setting: game.setting.clone(),
            steps: self.steps,
            misfit: None,
            states: self.states,
            violated: violated.map(|(at, violation)| Violated {
                at,
                property: violation.property.name(),
                detail: violation.detail,
            }),
            rules: rules::with_defect(&game.setting.algorithm, game.setting.defect.as_deref()),
        }
    }
}

/// Which of the states of a run of so many steps are wanted.
fn wanted(want: &[Want], steps: usize) -> Result<impl Fn(usize) -> bool, Refusal> {
    if steps > MOST_STEPS {
        return Err(Refusal::bounds("steps", steps, MOST_STEPS));
    }
    let beyond = |number: usize| {
        let why = format!("the run has {steps} steps, and there is no state {number}");
        Refusal { fits: Some(steps), ..Refusal::new(RefusalKind::Bounds, why) }
    };
    // The ends of ranges that begin here, so that a million overlapping ranges cost no more than one.
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    let usual = [Want::One(steps)];
    for want in if want.is_empty() { &usual } else { want } {
        let (first, last) = match *want {
            Want::One(number) => (number, number),
            Want::Range(first, last) => (first, last),
        };
        if last > steps {
            return Err(beyond(last));
        }
        if first <= last {
            let end = ends.entry(first).or_insert(last);
            *end = last.max(*end);
        }
    }
    let mut keep = vec![false; steps + 1];
    let mut until = 0;
    for (number, keep) in keep.iter_mut().enumerate() {
        until = until.max(ends.get(&number).map_or(0, |&last| last + 1));
        *keep = number < until;
    }
    let count = keep.iter().filter(|&&keep| keep).count();
    if count > MOST_STATES {
        return Err(Refusal::bounds("states at once", count, MOST_STATES));
    }
    Ok(move |number: usize| keep.get(number).copied().unwrap_or(false))
}
