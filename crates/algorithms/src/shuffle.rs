//! Whole runs in an order drawn from a seed, for paper tests of bounds that every run must keep.

use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use random::Random;

use crate::algorithm::{Algorithm, Groups};
use crate::info::Scope;
use crate::node::Client;
use crate::schedule::{Action, Envelope, Step};
use crate::world::{StepOutcome, World};

/// Lets every client enter as often as the scope says, in an order that the seed decides, and returns the
/// world when nothing more can happen. Messages may overtake each other if the algorithm allows it.
pub(crate) fn run<A: Algorithm>(scope: &Scope, seed: u64) -> Result<World<A>, String> {
    watch(scope, seed, |_, _| ())
}

/// The same, and calls `each` after every step.
pub(crate) fn watch<A: Algorithm>(
    scope: &Scope,
    seed: u64,
    mut each: impl FnMut(&World<A>, &StepOutcome<A>),
) -> Result<World<A>, String> {
    let mut world: World<A> = World::of(scope, None).map_err(|error| format!("{error}"))?;
    let mut left = vec![scope.allowance.requests; scope.nodes as usize];
    let mut random = Random::new(seed);
    loop {
        let actions = possible(&world, scope, &left);
        if actions.is_empty() {
            let end = world.violated_at_end();
            return end.map_or(Ok(world), |violation| Err(format!("seed {seed}: {violation}")));
        }
        let action = *random.choose(&actions);
        if let Action::Request { node, .. } = action {
            left[node as usize] -= 1;
        }
        let outcome = world.take(&Step::from(action)).map_err(|error| format!("{error}"))?;
        if let Some(violation) = outcome.violation {
            return Err(format!("seed {seed}: {violation}"));
        }
        each(&world, &outcome);
    }
}

/// Delivers everything and lets clients leave until no client is inside and nothing is under way.
pub(crate) fn serve_all<A: Algorithm>(world: &mut World<A>) {
    loop {
        world.settle(1000).unwrap();
        let inside: Vec<u32> = (0..world.nodes.len() as u32).filter(|&node| world.inside(node)).collect();
        if inside.is_empty() {
            return;
        }
        inside.into_iter().for_each(|node| world.run(&format!("exit{node}")).unwrap());
    }
}

fn possible<A: Algorithm>(world: &World<A>, scope: &Scope, left: &[u32]) -> Vec<Action> {
    let mut actions = Vec::new();
    for (id, node) in (0..).zip(&world.nodes) {
        match node.client {
            Client::Idle if left[id as usize] > 0 => {
                let groups = (0..scope.groups).map(Groups::one);
                actions.extend(groups.map(|groups| Action::Request { node: id, client: 0, groups }));
            }
            Client::Inside { .. } => actions.push(Action::Exit { node: id, client: 0 }),
            _ => {}
        }
    }
    for (&(from, to), messages) in &world.channels {
        let choices = if A::INFO.needs.fifo(scope.tokens) { 1 } else { messages.len() };
        actions.extend((0..choices).map(|overtakes| Action::Deliver(Envelope { from, to, overtakes })));
    }
    actions
}
