//! All steps that are possible in a state.

use algorithms::info::{Clients, Needs, Order};
use algorithms::node::Client;
use algorithms::schedule::Envelope;
use algorithms::{Action, Effect, Erased, Groups, Kind, NodeId, Step};
use serde::Serialize;

use crate::limits::{MOST_LISTED, MOST_VARIANTS};
use crate::run::{Delivered, Run};
use crate::sentence::subject;

/// A step that is possible now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Can {
    /// The step, to be sent back as it is.
    pub step: String,
    /// What it is.
    pub text: String,
    /// Its kind.
    pub kind: CanKind,
    /// The node that it concerns.
    pub node: Option<NodeId>,
    /// The number of the message that it concerns.
    pub message: Option<u64>,
    /// Whether the algorithm claims to bear it. A step that it does not bear may break it.
    pub tolerated: bool,
    /// If the algorithm has a choice here: the effects of this one.
    pub does: Vec<String>,
}

/// What a possible step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // named after the actions
pub enum CanKind {
    Request,
    Exit,
    Cancel,
    Deliver,
    Lose,
    Duplicate,
    Expire,
    Crash,
    Restart,
}

impl CanKind {
    fn of(action: Action) -> CanKind {
        match action {
            Action::Request { .. } => CanKind::Request,
            Action::Cancel { .. } => CanKind::Cancel,
            Action::Exit { .. } => CanKind::Exit,
            Action::Deliver(_) => CanKind::Deliver,
            Action::Lose(_) => CanKind::Lose,
            Action::Duplicate(_) => CanKind::Duplicate,
            Action::Expire { .. } => CanKind::Expire,
            Action::Crash { .. } => CanKind::Crash,
            Action::Restart { .. } => CanKind::Restart,
        }
    }
}

/// Whether the algorithm claims to bear an action, with so many tokens.
pub(crate) fn is_tolerated(action: Action, needs: &Needs, tokens: u32) -> bool {
    match action {
        Action::Lose(_) => needs.tolerates_loss,
        Action::Duplicate(_) => needs.tolerates_duplicates,
        Action::Crash { .. } | Action::Restart { .. } => needs.tolerates_crashes,
        Action::Deliver(envelope) if envelope.overtakes > 0 => match needs.order {
            Order::Fifo => false,
            Order::FifoIfSeveral => tokens < 2,
            Order::Any => true,
        },
        _ => true,
    }
}

/// Every possible action of the clients, timers and nodes.
pub(crate) fn of_nodes(run: &Run<'_>) -> Vec<Action> {
    let info = run.world.info();
    let groups = run.world.setting().groups;
    let mut actions = Vec::new();
    for (node, state) in (0..).zip(&run.world.nodes) {
        if state.state.is_none() {
            actions.push(Action::Restart { node });
            continue;
        }
        // Idle clients differ in their numbers only, so the lowest one requests.
        let client = state.idle_client();
        if client < run.game.clients {
            let one = (0..groups).map(Groups::one);
            let any = (info.kind == Kind::GroupMutex && groups > 1).then(|| (0..groups).collect::<Groups>());
            actions.extend(one.chain(any).map(|groups| Action::Request { node, client, groups }));
        }
        for (client, is) in state.clients() {
            match is {
                Client::Inside { .. } => actions.push(Action::Exit { node, client }),
                Client::Waiting(_) if info.clients == Clients::Many => {
                    actions.push(Action::Cancel { node, client });
                }
                _ => {}
            }
        }
        actions.extend(state.armed.iter().map(|&timer| Action::Expire { node, timer }));
        actions.push(Action::Crash { node });
    }
    actions
}

/// The messages that can arrive next, the oldest links first.
pub(crate) fn arrivals(run: &Run<'_>) -> Vec<Envelope> {
    let nodes = run.world.nodes.len();
    let links = run.world.channels.iter().filter(|((_, to), _)| (*to as usize) < nodes);
    let next = |(&(from, to), messages): (&(NodeId, NodeId), &Vec<_>)| {
        let many = if run.game.fifo { 1 } else { messages.len() };
        (0..many).map(move |overtakes| Envelope { from, to, overtakes })
    };
    links.flat_map(next).collect()
}

/// Every step that is possible now, and how many more there are than are listed.
pub(crate) fn steps(run: &Run<'_>) -> (Vec<Can>, usize) {
    let mut actions = of_nodes(run);
    let arrivals = arrivals(run);
    let left_out = arrivals.len().saturating_sub(MOST_LISTED);
    for &envelope in arrivals.iter().take(MOST_LISTED) {
        actions.extend([Action::Deliver(envelope), Action::Lose(envelope), Action::Duplicate(envelope)]);
    }
    let few = arrivals.len() <= MOST_TRIED;
    let steps = actions.into_iter().flat_map(|action| variants(run, action, few)).collect();
    (steps, 3 * left_out)
}

/// More messages than this are not tried, one by one, to see whether the algorithm has a choice when it gets them.
const MOST_TRIED: usize = 200;

/// An action, or one step for each choice that the algorithm has. With many messages, `few` is not so.
fn variants(run: &Run<'_>, action: Action, few: bool) -> Vec<Can> {
    let info = run.world.info();
    let message = taken(run, action);
    let kind = CanKind::of(action);
    let can = |picks: Vec<u32>, does: Vec<String>| Can {
        step: Step { action, picks }.to_string(),
        text: subject(info, action, message.as_ref()),
        kind,
        node: crate::run::node_of(action),
        message: message.as_ref().map(|taken| taken.id),
        tolerated: is_tolerated(action, &info.needs, run.world.setting().tokens),
        does,
    };
    let me = crate::run::node_of(action).unwrap_or(0);
    let describe = |effects: Vec<Effect<Erased>>| -> Vec<String> {
        effects.iter().map(|effect| effect.describe(info, me)).collect()
    };
    let tried = few || !matches!(action, Action::Deliver(_));
    let variants = if tried { run.world.variants(action, MOST_VARIANTS + 1) } else { Vec::new() };
    if variants.len() < 2 || variants.len() > MOST_VARIANTS {
        // Without a choice, or with too many: the seed decides.
        return vec![can(Vec::new(), Vec::new())];
    }
    variants.into_iter().map(|(picks, effects)| can(picks, describe(effects))).collect()
}

fn taken(run: &Run<'_>, action: Action) -> Option<Delivered> {
    let (Action::Deliver(envelope) | Action::Lose(envelope) | Action::Duplicate(envelope)) = action else {
        return None;
    };
    let link = (envelope.from, envelope.to);
    let message = run.world.channels.get(&link)?.get(envelope.overtakes)?.clone();
    let id = run.letters.get(&link)?.get(envelope.overtakes)?.id;
    Some(Delivered { id, envelope, message })
}
