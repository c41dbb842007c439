//! What is drawn is what the properties count.

use algorithms::{Step, World, registry};
use player::State;

use crate::runs::{run_of, settings};

#[test]
fn tokens_and_requests_are_drawn_where_they_are_counted() {
    for setting in settings() {
        let name = &setting.algorithm;
        let complete = setting.completed().unwrap();
        let (steps, states) = run_of(&complete, 150, false);
        let driven = algorithms::Setting {
            nodes: complete.nodes.unwrap() as u32,
            tokens: complete.tokens.unwrap() as u32,
            groups: complete.groups.unwrap() as u32,
            options: Vec::new(),
            defect: None,
        };
        let system = registry::system(name, &driven).unwrap();
        let mut world = World::start(system, algorithms::Conditions::Reliable);
        for (step, state) in steps.iter().zip(&states) {
            let step: Step = step.parse().unwrap();
            world.take(&step).unwrap();
            let census = world.census();
            let held: usize = state.nodes.iter().map(|node| node.tokens.len()).sum();
            assert_eq!(held as u32, census.tokens_held, "{name} {step}");
            let moving = state.flight.iter().filter(|flight| flight.token.is_some()).count();
            assert_eq!(moving > 0, census.tokens_moving > 0, "{name} {step}");
            assert_eq!(state.flight.len(), world.channels.values().map(Vec::len).sum::<usize>());
            nothing_points_beyond(state);
        }
    }
}

/// Every node that is named exists, and no node points to itself.
fn nothing_points_beyond(state: &State) {
    let nodes = state.nodes.len() as u32;
    for (me, node) in (0..).zip(&state.nodes) {
        assert!(node.pointers.iter().all(|pointer| pointer.to < nodes), "{node:?}");
        assert!(node.queue.iter().chain(&node.keeps).all(|queued| queued.node < nodes), "{node:?}");
        assert!(node.ties.iter().all(|tie| tie.to < nodes), "{node:?}");
        let own = |name: &str| name == "locked for";
        assert!(node.pointers.iter().all(|pointer| pointer.to != me || own(pointer.name)), "{node:?}");
    }
}
