//! Replays the record of a run over sockets through the pure code: the same inputs and picks must have the
//! same effects.
//!
//! The records of all nodes are merged into one run of [`World`], in an order in which every message is sent
//! before it arrives. So the channels are checked too (each message arrived once, in order, and unchanged),
//! and so are the properties that every driver checks.

use std::collections::VecDeque;

use algorithms::schedule::Action;
use algorithms::{Algorithm, Effect, NodeId, Setting, Step, World};
use serde::{Deserialize, Serialize};

use super::Counts;

/// One step of a node, in a form that can be sent and that is the same for all algorithms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The step with its picks, in the notation of schedules.
    pub step: String,
    /// The message that arrived, if one did.
    pub message: Option<String>,
    /// The effects of the step, each in full.
    pub effects: Vec<String>,
}

impl Recorded {
    /// The record of a step.
    pub fn new<A: Algorithm>(step: &Step, message: Option<&A::Message>, effects: &[Effect<A>]) -> Recorded {
        Recorded {
            step: step.to_string(),
            message: message.map(|message| format!("{message:?}")),
            effects: effects.iter().map(|effect| format!("{effect:?}")).collect(),
        }
    }
}

/// Called with each replayed step and its effects, a line each.
pub type Watch<'a> = &'a mut dyn FnMut(&Step, Vec<String>);

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The number of steps.
    pub steps: u64,
    /// Entries and messages among them.
    pub counts: Counts,
}

/// Replays the records of all nodes, by their ids. The error is one line.
pub fn replay<A: Algorithm>(
    setting: &Setting,
    records: Vec<Vec<Recorded>>,
    mut watch: Option<Watch>,
) -> Result<Replayed, String> {
    let mut world = World::<A>::new(setting, false).map_err(|refusal| refusal.to_string())?;
    let mut records: Vec<VecDeque<Recorded>> = records.into_iter().map(VecDeque::from).collect();
    let (mut steps, mut delivered) = (0, 0);
    loop {
        let before = steps;
        for (node, record) in (0..).zip(&mut records) {
            while let Some(recorded) = record.front()
                && let Some(step) = again(&mut world, node, recorded, &mut watch)?
            {
                steps += 1;
                delivered += u64::from(matches!(step.action, Action::Deliver(_)));
                record.pop_front();
            }
        }
        if steps == before {
            break;
        }
    }
    if let Some(recorded) = records.iter().find_map(VecDeque::front) {
        return Err(format!("{}: arrived and was never sent", recorded.step));
    }
    if !world.channels.is_empty() {
        return Err(format!("never arrived: {:?}", world.channels));
    }
    match world.violated_at_end() {
        Some(violation) => Err(format!("at the end: {violation}")),
        None => {
            Ok(Replayed { steps, counts: Counts { entries: world.entries, sent: world.sent, delivered } })
        }
    }
}

/// Replays a step and compares. `None`, without any change, if the arriving message has not been sent yet.
fn again<A: Algorithm>(
    world: &mut World<A>,
    node: NodeId,
    recorded: &Recorded,
    watch: &mut Option<Watch>,
) -> Result<Option<Step>, String> {
    let step: Step = recorded.step.parse().map_err(|error| format!("{error}"))?;
    let message = match step.action {
        Action::Deliver(envelope) => {
            let channel = world.channels.get(&(envelope.from, envelope.to));
            let Some(message) = channel.and_then(|channel| channel.first()) else { return Ok(None) };
            Some(message.clone())
        }
        _ => None,
    };
    let happened = world.take(&step).map_err(|error| format!("{step}: {error}"))?;
    if happened.node != Some(node) {
        return Err(format!("{step}: no step of node {node}, which recorded it"));
    }
    let now = Recorded::new::<A>(&step, message.as_ref(), &happened.effects);
    if now.message != recorded.message {
        return Err(format!("{step}: {:?} was sent and {:?} arrived", now.message, recorded.message));
    }
    if now != *recorded {
        return Err(format!("{step}: it did {:?}, replayed it does {:?}", recorded.effects, now.effects));
    }
    if let Some(watch) = watch {
        watch(&step, happened.lines());
    }
    match happened.violation {
        Some(violation) => Err(format!("{step}: {violation}")),
        None => Ok(Some(step)),
    }
}
