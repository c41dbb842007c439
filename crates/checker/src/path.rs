//! Turns a path through the numbered states into steps that any driver can take.

use std::sync::Mutex;

use algorithms::schedule::Envelope;
use algorithms::{Action, Algorithm, Step, World};
use sync::IgnorePoison;

use crate::job::Job;
use crate::model::{Cause, Model, Steps};
use crate::parts::{Link, Parts, is_silent};
use crate::search::Path;

/// The steps of a path.
pub(crate) fn steps<A: Algorithm>(model: &Mutex<Model<A>>, job: &Job, path: &Path) -> Vec<Step> {
    let causes = causes(model, job.case.setting.nodes as usize, path);
    let model = model.lock().ignore_poison();
    let mut world = World::<A>::new(&job.case.setting, job.case.faulty()).expect("the job was validated");
    let mut steps = Vec::new();
    for (node, cause, picks) in causes {
        let node = node as u32;
        let envelope = |envelope: u32| {
            // The search keeps no ages: any of equal messages will do, so the oldest is taken.
            let (from, message) = model.envelope(envelope);
            let channel = world.channels.get(&(from, node)).into_iter().flatten();
            let overtakes = channel.take_while(|other| *other != message).count();
            Envelope { from, to: node, overtakes }
        };
        let action = match cause {
            What::Cause(Cause::Request(client, groups)) => Action::Request { node, client, groups },
            What::Cause(Cause::Cancel(client)) => Action::Cancel { node, client },
            What::Cause(Cause::Exit(client)) => Action::Exit { node, client },
            What::Cause(Cause::Expire(timer)) => Action::Expire { node, timer },
            What::Cause(Cause::Crash) => Action::Crash { node },
            What::Cause(Cause::Restart) => Action::Restart { node },
            What::Deliver(number) => Action::Deliver(envelope(number)),
            What::Lose(number) => Action::Lose(envelope(number)),
            What::Duplicate(number) => Action::Duplicate(envelope(number)),
        };
        let step = Step { action, picks };
        world
            .take(&step)
            .unwrap_or_else(|error| panic!("the search took a step that is not possible: {step}: {error}"));
        steps.push(step);
    }
    steps
}

enum What {
    Cause(Cause),
    Deliver(u32),
    Lose(u32),
    Duplicate(u32),
}

/// The cause of each step, with its node and picks.
fn causes(model: &Mutex<dyn Steps>, nodes: usize, path: &Path) -> Vec<(usize, What, Vec<u32>)> {
    let mut parts = Parts::new(model, nodes);
    let mut causes = Vec::new();
    for (index, state) in path.states.iter().enumerate() {
        let link = match path.states.get(index + 1) {
            Some(wanted) => {
                let mut found = None;
                parts.expand(state, |link, next, _| {
                    if found.is_none() && next == wanted {
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
            Link::Move { node, index } | Link::GiveUp { node, index } => {
                let step = parts.slot(state[node]).moves(is_silent(state, nodes)).nth(index);
                let step = step.expect("a link leads to a move that is there");
                (node, What::Cause(step.cause), step.outcome.picks.to_vec())
            }
            Link::Deliver { node, envelope, index } => {
                let outcomes = parts.outcomes(state[node], envelope);
                (node, What::Deliver(envelope), outcomes[index].picks.to_vec())
            }
            // Traces have no clock: the order of the steps is all that a replay needs.
            Link::Tick => continue,
            Link::Lose { node, envelope } => (node, What::Lose(envelope), Vec::new()),
            Link::Duplicate { node, envelope } => (node, What::Duplicate(envelope), Vec::new()),
        });
    }
    causes
}
