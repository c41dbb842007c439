//! Replays the record of a run over sockets through the pure code: the same inputs and picks must have the
//! same effects.
//!
//! The records of all nodes are merged into one run of [`World`], in an order in which every message is sent
//! before it arrives. So the channels are checked too (each message arrived once, in order, and unchanged),
//! and so are the properties that every driver checks.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use algorithms::erased::Message;
use algorithms::schedule::{Action, NotAStep};
use algorithms::world::StepError;
use algorithms::{Conditions, Effect, Erased, NodeId, Step, System, Violation, World};
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
    pub fn new(step: &Step, message: Option<&Message>, effects: &[Effect<Erased>]) -> Recorded {
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

/// Where a record differs from the replay, or cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// A recorded text is not a step.
    NotAStep(NotAStep),
    /// The step is not possible.
    Impossible(Step, StepError),
    /// The step violates a property.
    Violated(Step, Violation),
    /// The step was recorded by this node, and is the step of another one.
    OtherNode(Step, NodeId),
    /// The message that arrived is not the one that was sent.
    OtherMessage {
        /// The step.
        step: Step,
        /// The message that was sent.
        sent: Option<String>,
        /// The message that arrived.
        arrived: Option<String>,
    },
    /// The step has other effects than it had.
    OtherEffects {
        /// The step.
        step: Step,
        /// The effects that were recorded.
        recorded: Vec<String>,
        /// The effects in the replay.
        replayed: Vec<String>,
    },
    /// The message of this step arrived and was never sent.
    NeverSent(String),
    /// These messages, by (from, to), never arrived.
    NeverArrived(BTreeMap<(NodeId, NodeId), Vec<Message>>),
    /// A property is violated at the end.
    ViolatedAtEnd(Violation),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NotAStep(error) => write!(f, "{error}"),
            ReplayError::Impossible(step, error) => write!(f, "{step}: {error}"),
            ReplayError::Violated(step, violation) => write!(f, "{step}: {violation}"),
            ReplayError::OtherNode(step, node) => {
                write!(f, "{step}: no step of node {node}, which recorded it")
            }
            ReplayError::OtherMessage { step, sent, arrived } => {
                write!(f, "{step}: {sent:?} was sent and {arrived:?} arrived")
            }
            ReplayError::OtherEffects { step, recorded, replayed } => {
                write!(f, "{step}: it did {recorded:?}, replayed it does {replayed:?}")
            }
            ReplayError::NeverSent(step) => write!(f, "{step}: arrived and was never sent"),
            ReplayError::NeverArrived(messages) => write!(f, "never arrived: {messages:?}"),
            ReplayError::ViolatedAtEnd(violation) => write!(f, "at the end: {violation}"),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Replays the records of all nodes, by their ids.
pub fn replay(
    system: System<Erased>,
    records: Vec<Vec<Recorded>>,
    mut watch: Option<Watch>,
) -> Result<Replayed, ReplayError> {
    let mut world = World::start(system, Conditions::Reliable);
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
        return Err(ReplayError::NeverSent(recorded.step.clone()));
    }
    if !world.channels.is_empty() {
        return Err(ReplayError::NeverArrived(world.channels));
    }
    match world.violated_at_end() {
        Some(violation) => Err(ReplayError::ViolatedAtEnd(violation)),
        None => {
            Ok(Replayed { steps, counts: Counts { entries: world.entries, sent: world.sent, delivered } })
        }
    }
}

/// Replays a step and compares. `None`, without any change, if the arriving message has not been sent yet.
fn again(
    world: &mut World<Erased>,
    node: NodeId,
    recorded: &Recorded,
    watch: &mut Option<Watch>,
) -> Result<Option<Step>, ReplayError> {
    let step: Step = recorded.step.parse().map_err(ReplayError::NotAStep)?;
    let message = match step.action {
        Action::Deliver(envelope) => {
            let channel = world.channels.get(&(envelope.from, envelope.to));
            let Some(message) = channel.and_then(|channel| channel.first()) else { return Ok(None) };
            Some(message.clone())
        }
        _ => None,
    };
    let happened = world.take(&step).map_err(|error| ReplayError::Impossible(step.clone(), error))?;
    if happened.node != Some(node) {
        return Err(ReplayError::OtherNode(step, node));
    }
    let now = Recorded::new(&step, message.as_ref(), &happened.effects);
    if now.message != recorded.message {
        let (sent, arrived) = (now.message, recorded.message.clone());
        return Err(ReplayError::OtherMessage { step, sent, arrived });
    }
    if now != *recorded {
        let (recorded, replayed) = (recorded.effects.clone(), now.effects);
        return Err(ReplayError::OtherEffects { step, recorded, replayed });
    }
    if let Some(watch) = watch {
        watch(&step, happened.lines());
    }
    match happened.violation {
        Some(violation) => Err(ReplayError::Violated(step, violation)),
        None => Ok(Some(step)),
    }
}
