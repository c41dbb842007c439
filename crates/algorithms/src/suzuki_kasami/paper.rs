//! Claims of 001 ch. II about Suzuki and Kasami's algorithm.

use crate::World;
use crate::info::Scope;
use crate::shuffle;
use crate::suzuki_kasami::SuzukiKasami;

fn world(nodes: u32) -> World<SuzukiKasami> {
    World::of(&Scope::new(nodes, 1, 1), None).unwrap()
}

/// n−1 requests and one token; nothing if the token is here.
#[test]
fn an_entry_takes_n_messages_or_none() {
    let mut world = world(5);
    world.run("req0 exit0").unwrap();
    assert_eq!(world.sent, 0);
    world.run("req3").unwrap();
    world.settle(10).unwrap();
    assert!(world.inside(3));
    assert_eq!(world.sent, 5);
    world.run("exit3 req3").unwrap();
    assert_eq!(world.sent, 5);
}

/// The same in whole runs, whatever the order of messages: every entry costs 0 or n.
#[test]
fn every_entry_of_a_run_takes_n_messages_or_none() {
    for seed in 0..200 {
        let world: World<SuzukiKasami> = shuffle::run(&Scope::new(4, 1, 5), seed).unwrap();
        assert_eq!(world.entries, 20);
        assert!(world.sent.is_multiple_of(4) && world.sent <= 4 * 20, "seed {seed}: {}", world.sent);
    }
}

/// The token records which requests were served: one that arrives afterwards does not call it back.
#[test]
fn a_request_that_was_served_elsewhere_is_not_served_again() {
    let mut world = world(3);
    // Node 2's request to node 1 is slow: node 0 serves it.
    world.run("req2 2>0 0>2 exit2").unwrap();
    // The token overtakes it on the way to node 1, and only then it arrives there.
    world.run("req1 1>2 2>1#1 exit1 2>1").unwrap();
    assert!(!world.channels.contains_key(&(1, 2)), "the token must stay at node 1");
    // Its next request is served.
    world.run("req2 2>1 1>2").unwrap();
    assert!(world.inside(2));
}

/// Nodes that wait when a node leaves are queued by node number; later ones go behind them.
#[test]
fn a_queued_node_keeps_its_position() {
    let mut world = world(5);
    world.run("req0 req3 req2 3>0 2>0 exit0 3>2 2>3 0>2").unwrap();
    assert!(world.inside(2));
    // Node 1 asks while the token is with 2 and its queue holds 3: 3 goes first though 1 is the smaller
    // number.
    world.run("req1 1>2 exit2 2>3").unwrap();
    assert!(world.inside(3) && !world.inside(1));
    world.run("exit3 3>1#1").unwrap();
    assert!(world.inside(1));
}
