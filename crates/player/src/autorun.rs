//! A run that goes on by itself: a seed decides every step, so that the same run goes on in the same way.

use algorithms::info::Timing;
use algorithms::schedule::Envelope;
use algorithms::{Action, Groups, Step};
use random::Random;
use serde::{Deserialize, Serialize};

use crate::can;
use crate::limits::MOST_STATES;
use crate::play::{PlayAnswer, Played};
use crate::refusal::Refusal;
use crate::run::Run;
use crate::setting::Setting;

/// A run that is to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutorunRequest {
    /// What to play. The seed decides how it goes on.
    #[serde(flatten)]
    pub setting: Setting,
    /// The steps so far.
    #[serde(default)]
    pub steps: Vec<String>,
    /// How many more steps to take.
    pub count: usize,
    /// Whether messages are lost and doubled and nodes crash now and then, as far as the algorithm bears that.
    #[serde(default)]
    pub faults: bool,
}

/// Goes on with a run by so many steps, and answers with the states that they lead to. It may end earlier: where
/// nothing is possible, or a property is violated.
pub fn autorun(request: &AutorunRequest) -> Result<PlayAnswer, Refusal> {
    if request.count > MOST_STATES {
        return Err(Refusal::bounds("steps at once", request.count, MOST_STATES));
    }
    let game = request.setting.accept()?;
    let before = request.steps.len();
    let wanted = |number: usize| number > before;
    let mut played = Played::start(&game, &wanted);
    for step in &request.steps {
        played.take(step)?;
    }
    for _ in 0..request.count {
        if played.run.violated.is_some() {
            break;
        }
        let Some(action) = next(&played.run, request.faults) else { break };
        played.take(&Step::from(action).to_string())?;
    }
    Ok(played.answer())
}

/// One in so many steps is a fault, where there are faults.
const FAULT_ONCE_IN: u64 = 25;

/// What happens next by itself; `None` if nothing can.
pub(crate) fn next(run: &Run<'_>, faults: bool) -> Option<Action> {
    // Each step has a stream of its own, so that a run that was played by hand goes on deterministically, too.
    let mut random = Random::stream(run.game.setting.seed, run.at as u64);
    let arrivals = can::arrivals(run);
    let nodes = can::of_nodes(run);
    if faults
        && random.once_in(FAULT_ONCE_IN)
        && let Some(fault) = fault(run, &nodes, &arrivals, &mut random)
    {
        return Some(fault);
    }
    if run.world.info().needs.timing == Timing::BoundedDelayConstantSections {
        return next_in_time(run, &nodes, &mut random);
    }
    let weight = |action: &Action| match action {
        Action::Request { groups, .. } => u64::from(groups.len() == 1),
        Action::Exit { .. } => 3,
        // A client is seldom in a hurry.
        Action::Cancel { .. } => u64::from(cancels_now(run, action)),
        // A timer is long: messages arrive before it expires.
        Action::Expire { .. } => u64::from(arrivals.is_empty()),
        Action::Restart { .. } => 2,
        _ => 0,
    };
    let mut weighed: Vec<(u64, Action)> = nodes.iter().map(|action| (weight(action), *action)).collect();
    // However many messages there are, clients move as well.
    let requests = run.world.nodes.len() as u64;
    weighed.extend(arrivals.iter().map(|&envelope| (1 + requests / 2, Action::Deliver(envelope))));
    let sum: u64 = weighed.iter().map(|(weight, _)| weight).sum();
    let mut left = if sum == 0 { return None } else { random.below(sum) };
    weighed.into_iter().find_map(|(weight, action)| {
        let chosen = left < weight;
        left = left.saturating_sub(weight);
        chosen.then_some(action)
    })
}

/// A waiting client may cancel in one of ten steps.
fn cancels_now(run: &Run<'_>, action: &Action) -> bool {
    let Action::Cancel { node, client } = action else { return false };
    (run.at as u64 + u64::from(*node) + u64::from(*client)).is_multiple_of(10)
}

/// The next step of an algorithm that relies on time: messages arrive in the order of sending, long before a section
/// ends, timers expire when no message is under way, and clients leave in the order in which they entered.
fn next_in_time(run: &Run<'_>, nodes: &[Action], random: &mut Random) -> Option<Action> {
    let oldest = run.letters.iter().min_by_key(|(_, letters)| letters.first().map(|letter| letter.id));
    if let Some((&(from, to), _)) = oldest {
        return Some(Action::Deliver(Envelope { from, to, overtakes: 0 }));
    }
    if let Some(timer) = nodes.iter().find(|action| matches!(action, Action::Expire { .. })) {
        return Some(*timer);
    }
    let exits = nodes.iter().filter(|action| matches!(action, Action::Exit { .. }));
    let first = exits.min_by_key(|action| run.entered_at(**action));
    let requests: Vec<&Action> = nodes
        .iter()
        .filter(|action| matches!(action, Action::Request { groups, .. } if *groups == Groups::one(0)))
        .collect();
    match first {
        Some(exit) if requests.is_empty() || random.percent(60) => Some(*exit),
        _ if requests.is_empty() => None,
        _ => Some(**random.choose(&requests)),
    }
}

/// A fault that the algorithm bears.
fn fault(run: &Run<'_>, nodes: &[Action], arrivals: &[Envelope], random: &mut Random) -> Option<Action> {
    let needs = run.world.info().needs;
    let mut faults = Vec::new();
    if needs.tolerates_crashes {
        let crash = |action: &&Action| matches!(action, Action::Crash { .. });
        faults.extend(nodes.iter().filter(crash).copied());
    }
    if needs.tolerates_loss {
        faults.extend(arrivals.iter().copied().map(Action::Lose));
    }
    if needs.tolerates_duplicates {
        faults.extend(arrivals.iter().copied().map(Action::Duplicate));
    }
    (!faults.is_empty()).then(|| *random.choose(&faults))
}
