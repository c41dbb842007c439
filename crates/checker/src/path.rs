//! Turns a path through the numbered states into steps that any driver can take.

use algorithms::schedule::Envelope;
use algorithms::{Action, Erased, Step, World};

use crate::model::{Cause, Model};
use crate::orbits::Orbits;
use crate::parts::{Link, Parts};
use crate::row::RowBuffer;
use crate::search::Path;

/// The steps of a path that begins in the state of this world.
pub(crate) fn steps(model: &Model, mut world: World<Erased>, path: &Path) -> Vec<Step> {
    let causes = causes(model, path);
    let mut steps = Vec::new();
    for (node, cause, picks) in causes {
        let node = node as u32;
        let envelope = |envelope: u32| {
            // The search keeps no ages: any of equal messages will do, so the oldest is taken.
            let sent = model.envelope(envelope);
            let channel = world.channels.get(&(sent.from, node)).into_iter().flatten();
            let overtakes = channel.take_while(|other| **other != sent.message).count();
            Envelope { from: sent.from, to: node, overtakes }
        };
        let action = match cause {
            StepCause::Cause(Cause::Request(client, groups)) => Action::Request { node, client, groups },
            StepCause::Cause(Cause::Cancel(client)) => Action::Cancel { node, client },
            StepCause::Cause(Cause::Exit(client)) => Action::Exit { node, client },
            StepCause::Cause(Cause::Expire(timer)) => Action::Expire { node, timer },
            StepCause::Cause(Cause::Crash) => Action::Crash { node },
            StepCause::Cause(Cause::Restart) => Action::Restart { node },
            StepCause::Deliver(number) => Action::Deliver(envelope(number)),
            StepCause::Lose(number) => Action::Lose(envelope(number)),
            StepCause::Duplicate(number) => Action::Duplicate(envelope(number)),
        };
        let step = Step { action, picks };
        world
            .take(&step)
            .unwrap_or_else(|error| panic!("the search took a step that is not possible: {step}: {error}"));
        steps.push(step);
    }
    steps
}

/// A run through states whose representatives these are. The first of them is the initial state, which has no
/// other renaming.
pub(crate) fn real_states(
    parts: &mut Parts<'_>,
    orbits: &mut Orbits<'_>,
    representatives: &[RowBuffer],
) -> Vec<RowBuffer> {
    let mut states: Vec<RowBuffer> = representatives.first().cloned().into_iter().collect();
    for wanted in representatives.iter().skip(1) {
        let mut found = None;
        let row = states[states.len() - 1].as_row();
        parts.expand(row, |_, next, _| {
            if found.is_none() && orbits.representative(next) == wanted.as_row() {
                let mut state = wanted.clone();
                state.copy(next);
                found = Some(state);
            }
        });
        states.push(found.expect("what a state can do, its renamings can do"));
    }
    states
}

/// The cause of a step.
enum StepCause {
    Cause(Cause),
    Deliver(u32),
    Lose(u32),
    Duplicate(u32),
}

/// The cause of each step, with its node and picks.
fn causes(model: &Model, path: &Path) -> Vec<(usize, StepCause, Vec<u32>)> {
    let layout = model.layout();
    let mut parts = Parts::new(model, layout);
    let mut causes = Vec::new();
    for (index, state) in path.states.iter().enumerate() {
        let row = state.as_row();
        let link = match path.states.get(index + 1) {
            Some(wanted) => {
                let mut found = None;
                parts.expand(row, |link, next, _| {
                    if found.is_none() && next == wanted.as_row() {
                        found = Some(link);
                    }
                });
                found.expect("each state of a path follows from the one before")
            }
            None => match path.last {
                Some(link) => link,
                None => break,
            },
        };
        causes.push(match link {
            Link::Move { node, index } | Link::Cancel { node, index } => {
                let step = parts.node(row.node(node)).moves(row.is_silent()).nth(index);
                let step = step.expect("a link leads to a move that is there");
                (node, StepCause::Cause(step.cause), step.outcome.picks.to_vec())
            }
            Link::Deliver { node, envelope, index } => {
                let outcomes = parts.outcomes(row.node(node), envelope);
                (node, StepCause::Deliver(envelope), outcomes[index].picks.to_vec())
            }
            // Traces have no clock: the order of the steps is all that a replay needs.
            Link::Tick => continue,
            Link::Lose { node, envelope } => (node, StepCause::Lose(envelope), Vec::new()),
            Link::Duplicate { node, envelope } => (node, StepCause::Duplicate(envelope), Vec::new()),
        });
    }
    causes
}
