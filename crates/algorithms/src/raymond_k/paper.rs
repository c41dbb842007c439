//! Claims of 001 ch. III, V and VI about Raymond's algorithm for k entries.

use std::format;
use std::string::String;
use std::vec::Vec;

use crate::World;
use crate::info::Scope;
use crate::raymond_k::RaymondK;
use crate::shuffle;

fn world(nodes: u32, tokens: u32) -> World<RaymondK> {
    World::of(&Scope::new(nodes, tokens, 1), None).unwrap()
}

fn defective(nodes: u32, tokens: u32, defect: &str) -> World<RaymondK> {
    World::of(&Scope::new(nodes, tokens, 1), Some(defect)).unwrap()
}

/// n−k replies are enough; the k−1 others arrive inside or afterwards.
#[test]
fn a_node_enters_with_n_minus_k_replies() {
    let mut world = world(4, 2);
    world.run("req0 0>1 0>2 0>3 2>0").unwrap();
    assert!(!world.inside(0));
    world.run("3>0").unwrap();
    assert!(world.inside(0));
    world.run("exit0 1>0").unwrap();
    assert!(world.channels.is_empty());
}

/// Equal numbers: the request of the smaller node goes first.
#[test]
fn the_smaller_node_wins_a_tie() {
    let mut world = world(2, 1);
    world.run("req1 req0 0>1 1>0 1>0").unwrap();
    assert!(world.inside(0) && !world.inside(1));
    world.run("exit0 0>1").unwrap();
    assert!(world.inside(1));
}

/// The upper bound 2(n−1), with the numbers of ch. V (n = 30, k = 3: 58) and ch. VI (n = 9, k = 3: 16). A
/// request that meets no other always costs that much.
#[test]
fn a_lone_request_takes_the_upper_bound() {
    for (nodes, messages) in [(30, 58), (9, 16)] {
        let mut world = world(nodes, 3);
        world.run("req4").unwrap();
        world.settle(100).unwrap();
        assert!(world.inside(4));
        assert_eq!(world.sent, messages);
    }
}

/// The lower bound 2n−k−1: a node stays inside while another enters many times, and then answers all of its
/// requests with one message. Only that message is above the bound.
#[test]
fn replies_held_back_go_as_one_message() {
    let mut world = world(3, 2);
    world.run("req2 2>0 0>2 2>1 1>2").unwrap();
    assert!(world.inside(2));
    let (sent, rounds) = (world.sent, 10);
    for _ in 0..rounds {
        world.run("req0 0>1 0>2 1>0").unwrap();
        assert!(world.inside(0));
        world.run("exit0").unwrap();
    }
    assert_eq!(world.sent - sent, rounds * (2 * 3 - 2 - 1));
    world.run("exit2").unwrap();
    assert_eq!(world.sent - sent, rounds * (2 * 3 - 2 - 1) + 1);
}

/// Both bounds, in whole runs.
#[test]
fn the_bounds_hold_in_every_run() {
    for (nodes, tokens) in [(3, 1), (3, 2), (4, 3), (5, 2)] {
        for seed in 0..100 {
            let world: World<RaymondK> = shuffle::run(&Scope::new(nodes, tokens, 4), seed).unwrap();
            let (n, k) = (u64::from(nodes), u64::from(tokens));
            assert!(world.sent >= world.entries * (2 * n - k - 1), "n={n} k={k} seed {seed}: {}", world.sent);
            assert!(world.sent <= world.entries * 2 * (n - 1), "n={n} k={k} seed {seed}: {}", world.sent);
        }
    }
}

/// Why there is a count for every node: a late reply must not count for the next request.
#[test]
fn a_late_reply_does_not_count_for_the_next_request() {
    let before = "req0 req1 req2 0>1 0>2 1>0 1>0 exit0 0>1 2>0 req0 0>2 2>0";
    let error = defective(3, 2, "replies-per-attempt").run(before).unwrap_err();
    assert!(error.contains("3 inside, 2 allowed"), "{error}");
    // The same deliveries: node 2 still owes the reply to the first request, so another one is missing.
    let mut world = world(3, 2);
    world.run(before).unwrap();
    assert!(world.inside(1) && world.inside(2) && !world.inside(0));
    world.run("exit1").unwrap();
    world.settle(10).unwrap();
    assert!(world.inside(0));
}

/// Numbers have to follow the highest seen. Two nodes are enough if messages overtake each other; in FIFO
/// order it takes three.
#[test]
fn numbers_follow_the_highest_seen() {
    let overtaking = "req1 1>0 req0 0>1#1 0>1 1>0";
    let error = defective(2, 1, "own-numbers-only").run(overtaking).unwrap_err();
    assert!(error.contains("2 inside, 1 allowed"), "{error}");
    let in_order = "req1 1>0 req0 0>1 0>1 0>2 1>0 1>2 2>0 2>1";
    let error = defective(3, 1, "own-numbers-only").run(in_order).unwrap_err();
    assert!(error.contains("2 inside, 1 allowed"), "{error}");
    // With the right numbers node 0 asks after node 1 and waits for it.
    let mut world = world(2, 1);
    world.run("req1 1>0 req0 0>1#1 0>1").unwrap();
    assert!(world.inside(1) && !world.channels.contains_key(&(1, 0)));
}

/// The text does not say in which order a node that leaves sends its deferred replies. Nodes 3, 2 and 0 have
/// requested, in this order as node 1 sees it; node 2 has the highest number.
#[test]
fn deferred_replies_go_in_the_order_of_the_option() {
    const ORDERS: [&[(&str, &str)]; 4] =
        [&[], &[("reply", "oldest")], &[("reply", "ring")], &[("reply", "arrival")]];
    for (options, wanted) in ORDERS.iter().zip([[0, 2, 3], [0, 3, 2], [2, 3, 0], [3, 2, 0]]) {
        let mut world: World<RaymondK> = World::of(&Scope::new(4, 1, 1).with(options), None).unwrap();
        world.run("req1").unwrap();
        world.settle(10).unwrap();
        world.run("req3 3>1 3>2 req2 2>1 req0 0>1").unwrap();
        let lines = world.take(&"exit1".parse().unwrap()).unwrap().lines();
        let wanted: Vec<String> = wanted.iter().map(|node| format!("1 sends REPLY to {node}")).collect();
        assert_eq!(lines, wanted, "{options:?}");
    }
}
