//! Claims of 001 ch. II, 000 sec. II and 002 table 2 about Lamport's algorithm.

use crate::World;
use crate::info::Scope;
use crate::lamport::Lamport;
use crate::shuffle;

fn world(nodes: u32) -> World<Lamport> {
    World::of(&Scope::new(nodes, 1, 1), None).unwrap()
}

/// 001 ch. II and 000 sec. II: 3(n - 1) messages per entry; 002 table 2: at light and at heavy load alike.
#[test]
fn every_entry_costs_three_messages_per_other_node() {
    for nodes in 1..=8 {
        let mut world = world(nodes);
        world.run("req0").unwrap();
        world.settle(100).unwrap();
        world.run("exit0").unwrap();
        world.settle(100).unwrap();
        assert_eq!((world.sent, world.entries), (3 * u64::from(nodes - 1), 1));
    }
    for seed in 0..50 {
        let world: World<Lamport> = shuffle::run(&Scope::new(5, 1, 4), seed).unwrap();
        assert_eq!((world.sent, world.entries), (3 * 4 * 20, 20), "seed {seed}");
    }
}

/// 001 ch. II: a node decides by its own queue once it has a reply from every other node. Neither the replies
/// nor the place in the queue is enough alone.
#[test]
fn a_node_needs_all_replies_and_the_head_of_the_queue() {
    let mut world = world(3);
    // Both ask at time 1; node 0 is the smaller, but one reply is still missing.
    world.run("req0 req1 0>1 1>0").unwrap();
    assert!(!world.inside(0));
    world.run("0>2 2>0 1>0").unwrap();
    assert!(world.inside(0));
    // Node 1 has all replies and is not the first.
    world.run("1>2 2>1 0>1").unwrap();
    assert!(!world.inside(1));
    world.run("exit0 0>1").unwrap();
    assert!(world.inside(1));
}

/// 001 ch. II: events are ordered by their dates. A request made after another one was seen is served after
/// it, even if its own node has the smaller number.
#[test]
fn a_request_made_later_is_served_later() {
    let mut world = world(3);
    world.run("req2 2>0 2>1 req0 0>1 0>2 0>2 1>0 2>0").unwrap();
    assert!(!world.inside(0));
    world.run("1>2").unwrap();
    assert!(world.inside(2) && !world.inside(0));
    world.run("exit2 2>0").unwrap();
    assert!(world.inside(0));
}

/// Lamport's assumption that messages arrive in the order in which they were sent is needed: the reply of
/// node 0 overtakes its request, and node 1 finds no other request in its queue.
#[test]
fn without_fifo_two_are_inside() {
    let error = world(2).run("req0 req1 1>0 0>1#1 0>1 1>0").unwrap_err();
    assert!(error.contains("at-most-k-inside"), "{error}");
    let mut in_order = world(2);
    in_order.run("req0 req1 1>0 0>1 0>1 1>0").unwrap();
    assert!(in_order.inside(0) && !in_order.inside(1));
}
