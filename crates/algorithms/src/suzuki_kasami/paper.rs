//! Claims of 001 ch. II about Suzuki and Kasami's algorithm, and about Ricart and Agrawala's token algorithm
//! (`next=ring`).

use std::format;

use crate::World;
use crate::info::Scope;
use crate::shuffle;
use crate::suzuki_kasami::{LOWEST, SuzukiKasami, defects::RING};

fn world(nodes: u32) -> World<SuzukiKasami> {
    World::of(&Scope::new(nodes, 1, 1), None).unwrap()
}

fn ring(nodes: u32, defect: Option<&str>) -> World<SuzukiKasami> {
    World::of(&Scope::new(nodes, 1, 1).with(RING), defect).unwrap()
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
    for scope in [Scope::new(4, 1, 5), Scope::new(4, 1, 5).with(RING)] {
        for seed in 0..200 {
            let world: World<SuzukiKasami> = shuffle::run(&scope, seed).unwrap();
            assert_eq!(world.entries, 20);
            assert!(world.sent.is_multiple_of(4) && world.sent <= 4 * 20, "seed {seed}: {}", world.sent);
        }
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

/// 001 ch. II: the two algorithms are essentially the same. They differ in which waiting node comes next: a
/// ring goes on from the node that leaves, a queue begins with the lowest number.
#[test]
fn a_ring_goes_on_from_the_node_that_leaves() {
    for (mut world, order) in [(ring(5, None), [3, 4, 0, 1]), (world(5), [0, 1, 3, 4])] {
        world.run("req2").unwrap();
        world.settle(10).unwrap();
        world.run("req0 req1 req3 req4").unwrap();
        world.settle(100).unwrap();
        let mut inside = 2;
        for next in order {
            world.run(&format!("exit{inside}")).unwrap();
            world.settle(10).unwrap();
            assert!(world.inside(next), "node {next} after node {inside}");
            inside = next;
        }
    }
}

/// With a scan from node 0 two nodes with low numbers keep the token between them, and node 4 waits.
#[test]
fn a_scan_from_the_first_node_starves_the_last() {
    let lowest = || World::of(&Scope::new(5, 1, 1).with(LOWEST), None).unwrap();
    for (mut world, starves) in [(lowest(), true), (ring(5, None), false), (world(5), false)] {
        world.run("req4").unwrap();
        world.settle(10).unwrap();
        world.run("req0 req1").unwrap();
        world.settle(10).unwrap();
        world.run("exit4 req4").unwrap();
        world.settle(10).unwrap();
        let mut waited = 0;
        while waited < 20 && !world.inside(4) {
            let inside = u32::from(world.inside(1));
            world.run(&format!("exit{inside} req{inside}")).unwrap();
            world.settle(10).unwrap();
            waited += 1;
        }
        assert_eq!(waited == 20, starves, "{waited}");
    }
}

/// Node 1's request reaches node 2 after node 1 was served. The token's numbers tell.
#[test]
fn an_idle_holder_compares_a_request_with_what_the_token_has_served() {
    const LATE: &str = "req1 req2 1>0 0>1 exit1 2>1 1>2#1 exit2 1>2";
    let mut right = ring(3, None);
    right.run(LATE).unwrap();
    assert!(!right.channels.contains_key(&(2, 1)), "the token stays at node 2");
    let mut wrong = ring(3, Some("idle-does-not-compare"));
    wrong.run(LATE).unwrap();
    assert!(wrong.run("2>1").unwrap_err().contains("does not wait"));
}

#[test]
fn a_served_request_is_recorded_on_exit() {
    const TWO: &str = "req1 1>0 req0 0>1 0>1 exit1 1>0 exit0";
    let mut right = ring(2, None);
    right.run(TWO).unwrap();
    assert!(right.channels.is_empty(), "the token stays at node 0");
    let mut wrong = ring(2, Some("served-not-recorded"));
    wrong.run(TWO).unwrap();
    assert!(wrong.run("0>1").unwrap_err().contains("no-entry-without-request"));
}

/// An old request of node 1 arrives at node 2 after the newer one.
#[test]
fn an_overtaken_request_does_not_hide_the_newer_one() {
    const OVERTAKEN: &str = "req0 exit0 req0 req1 1>0 exit0 req2 0>1 2>0 2>1 exit1 1>2#1 exit2 req1 1>0 req2 \
                             1>2#1 1>2 exit2";
    let mut right = ring(3, None);
    right.run(OVERTAKEN).unwrap();
    right.run("2>1").unwrap();
    assert!(right.inside(1));
    let mut wrong = ring(3, Some("older-number-taken"));
    wrong.run(OVERTAKEN).unwrap();
    assert!(wrong.channels.is_empty() && wrong.violated_at_end().is_some());
}
