//! Claims of 001 ch. II about Singhal's algorithm with a dynamic information structure, and what it rests on.

use crate::World;
use crate::info::Scope;
use crate::light_load;
use crate::shuffle;
use crate::singhal_dynamic::SinghalDynamic;

fn world(nodes: u32, defect: Option<&str>) -> World<SinghalDynamic> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

/// Whether a node has to ask another one.
fn asks(world: &World<SinghalDynamic>, node: u32, other: u32) -> bool {
    world.nodes[node as usize].state.as_ref().unwrap().ask.contains(&other)
}

/// 001 ch. II: at most 2(n - 1) messages per entry. At the start node i asks the i nodes below it.
#[test]
fn the_first_entry_of_a_node_costs_two_messages_per_node_below_it() {
    for node in 0..8 {
        let mut world = world(8, None);
        light_load::enter_alone(&mut world, node);
        light_load::enter_alone(&mut world, node);
        assert_eq!((world.sent, world.entries), (2 * u64::from(node), 2), "the second costs nothing");
    }
}

/// 001 ch. II: 2(n - 1) in the worst case, whatever the others do.
#[test]
fn no_run_costs_more_than_two_messages_per_other_node_and_entry() {
    for seed in 0..200 {
        let world: World<SinghalDynamic> = shuffle::run(&Scope::new(5, 1, 4), seed).unwrap();
        assert!(world.sent <= 2 * 4 * world.entries, "seed {seed}: {}", world.sent);
    }
}

/// Of two nodes the one that was inside longer ago has to ask: half of the others on average, two messages
/// each.
#[test]
fn at_light_load_an_entry_costs_one_message_per_other_node() {
    for nodes in [2, 10, 30] {
        let mut world = world(nodes, None);
        let mut number = light_load::numbers();
        for _ in 0..5_000 {
            light_load::enter_alone(&mut world, number(nodes));
        }
        let measured = world.sent as f64 / world.entries as f64;
        let expected = f64::from(nodes - 1);
        assert!((measured / expected - 1.0).abs() < 0.05, "n = {nodes}: {measured}, expected {expected}");
    }
}

/// What safety rests on: in every state, of two nodes at least one has to ask the other. When nothing is
/// under way and no client waits, exactly one has to.
#[test]
fn of_two_nodes_one_asks_the_other_in_every_state() {
    const NODES: u32 = 5;
    let pairs = || (0..NODES).flat_map(|one| (0..one).map(move |other| (one, other)));
    for seed in 0..200 {
        let scope = Scope::new(NODES, 1, 3);
        let end: World<SinghalDynamic> = shuffle::watch(&scope, seed, |world: &World<SinghalDynamic>, _| {
            for (one, other) in pairs() {
                let asked = asks(world, one, other) || asks(world, other, one);
                assert!(asked, "seed {seed}: neither {one} nor {other} asks");
            }
        })
        .unwrap();
        assert!(pairs().all(|(one, other)| asks(&end, one, other) != asks(&end, other, one)));
    }
}

/// Node 1 waits and did not have to ask node 2. Node 2's older request takes that freedom away.
#[test]
fn a_waiting_node_asks_a_node_that_it_replied_to() {
    const REPLIES: &str = "req1 1>0 0>1 exit1 req0 0>1 req2 2>0 0>2 req1 2>1";
    let mut right = world(3, None);
    right.run(REPLIES).unwrap();
    assert_eq!(right.channels[&(1, 2)].len(), 2, "a reply and a request");
    shuffle::serve_all(&mut right);
    assert_eq!(right.violated_at_end(), None);

    let mut wrong = world(3, Some("not-asked-again"));
    wrong.run(REPLIES).unwrap();
    shuffle::serve_all(&mut wrong);
    assert!(wrong.violated_at_end().is_some());
}

/// A reply turns the pair around, at an idle node and on exit: otherwise neither asks.
#[test]
fn a_node_that_replies_asks_from_then_on() {
    for (defect, schedule) in
        [("idle-keeps-set", "req1 1>0 req0 0>1"), ("exit-keeps-set", "req0 req1 1>0 exit0 req0 0>1")]
    {
        let mut right = world(2, None);
        right.run(schedule).unwrap();
        let inside = (0..2).filter(|&node| right.inside(node)).count();
        assert_eq!(inside, 1, "without {defect}");
        assert!(world(2, Some(defect)).run(schedule).unwrap_err().contains("2 inside"));
    }
}
