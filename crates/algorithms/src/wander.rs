//! Runs that take any step that is possible, for tests of what holds over a whole run.

use std::format;
use std::string::String;
use std::vec::Vec;

use crate::algorithm::{Algorithm, Groups, NodeId};
use crate::schedule::{Action, Envelope, Script};
use crate::seat::Client;
use crate::world::World;

/// Lets every node ask so many times, in an order that depends on the seed, until nothing more can happen.
/// Messages overtake each other. The error is the violated property.
pub(crate) fn wander<A: Algorithm>(world: &mut World<A>, requests: u32, seed: u64) -> Result<(), String> {
    let mut left: Vec<u32> = world.seats.iter().map(|_| requests).collect();
    let mut dice = seed;
    loop {
        let actions = possible(world, &left);
        if actions.is_empty() {
            return world.violated_at_end().map_or(Ok(()), |violation| Err(format!("{violation}")));
        }
        // Knuth's generator; its high bits are the good ones.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let action = actions[(dice >> 33) as usize % actions.len()];
        if let Action::Request { node, .. } = action {
            left[node as usize] -= 1;
        }
        if let Some(violation) = world.act(action, &mut Script::default())?.violation {
            return Err(format!("{violation}"));
        }
    }
}

fn possible<A: Algorithm>(world: &World<A>, left: &[u32]) -> Vec<Action> {
    let mut actions = Vec::new();
    for (node, seat) in (0 as NodeId..).zip(&world.seats) {
        match seat.client {
            Client::Idle if left[node as usize] > 0 => {
                actions.push(Action::Request { node, groups: Groups::one(0) });
            }
            Client::Inside(_) => actions.push(Action::Exit { node }),
            _ => {}
        }
    }
    for (&(from, to), messages) in &world.channels {
        let envelopes = (0..messages.len()).map(|overtakes| Envelope { from, to, overtakes });
        actions.extend(envelopes.map(Action::Deliver));
    }
    actions
}
