//! Claims of 001 ch. II and 002 table 2 about Ricart and Agrawala's algorithm.

use crate::World;
use crate::info::Scope;
use crate::ricart_agrawala::RicartAgrawala;
use crate::shuffle;

fn world(nodes: u32) -> World<RicartAgrawala> {
    World::of(&Scope::new(nodes, 1, 1), None).unwrap()
}

/// 001 ch. II: 2(n - 1) messages per entry; 002 table 2: at light and at heavy load alike.
#[test]
fn every_entry_costs_two_messages_per_other_node() {
    for nodes in 1..=8 {
        let mut world = world(nodes);
        world.run("req0").unwrap();
        world.settle(100).unwrap();
        assert!(world.inside(0));
        world.run("exit0").unwrap();
        assert_eq!((world.sent, world.entries), (2 * u64::from(nodes - 1), 1));
        assert!(world.channels.is_empty(), "leaving costs nothing if nobody waits");
    }
    for seed in 0..50 {
        let world: World<RicartAgrawala> = shuffle::run(&Scope::new(5, 1, 4), seed).unwrap();
        assert_eq!((world.sent, world.entries), (2 * 4 * 20, 20), "seed {seed}");
    }
}

/// 001 ch. II: messages may overtake each other. Here the reply of node 0 overtakes its own request, which
/// breaks Lamport's algorithm: node 0 replied only because its request was the younger one.
#[test]
fn messages_may_overtake_each_other() {
    let mut world = world(2);
    // Node 1 asks at time 1; node 0 replies and then asks at time 2: the request arrives first.
    world.run("req1 1>0 req0 0>1#1").unwrap();
    assert!(!world.inside(1));
    world.run("0>1").unwrap();
    assert!(world.inside(1) && !world.inside(0));
    world.run("exit1 1>0").unwrap();
    assert!(world.inside(0));
}

/// 001 ch. II: a node replies at once, unless it is inside or its own request has the smaller timestamp;
/// deferred replies are sent on leaving.
#[test]
fn replies_are_deferred_inside_and_by_the_older_request() {
    let mut world = world(3);
    world.run("req0 0>1 0>2 1>0 2>0").unwrap();
    assert!(world.inside(0));
    // Node 0 is inside: no reply. Node 2 has not asked: it replies at once.
    world.run("req1 1>0 1>2 2>1").unwrap();
    assert!(!world.channels.contains_key(&(0, 1)));
    // Node 1 asked at time 2 and node 2, which saw that, at time 3: node 1 does not reply either.
    world.run("req2 2>0 2>1").unwrap();
    assert!(world.channels.is_empty());
    world.run("exit0 0>1 0>2").unwrap();
    assert!(world.inside(1) && !world.inside(2));
    world.run("exit1 1>2").unwrap();
    assert!(world.inside(2));
}

/// Two requests of the same time: the smaller node goes first.
#[test]
fn the_node_number_decides_between_equal_times() {
    let mut world = world(2);
    world.run("req1 req0 0>1 1>0 1>0").unwrap();
    assert!(world.inside(0) && !world.inside(1));
    world.run("exit0 0>1").unwrap();
    assert!(world.inside(1));
}
