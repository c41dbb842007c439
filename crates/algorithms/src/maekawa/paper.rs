//! Claims of 001 ch. II and 002 table 2 about Maekawa's algorithm, and of the grid that stands in for the
//! finite projective planes here.

use std::format;
use std::vec::Vec;

use crate::World;
use crate::info::Scope;
use crate::maekawa::{Maekawa, quorum};
use crate::shuffle;

fn world(nodes: u32, defect: Option<&str>) -> World<Maekawa> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

/// 001 ch. II: a coterie. Any two quorums intersect, whatever the last row of the grid looks like.
#[test]
fn any_two_quorums_meet() {
    for nodes in 1..=100 {
        let quorums: Vec<Vec<u32>> = (0..nodes).map(|node| quorum(nodes, node)).collect();
        for (node, one) in (0..).zip(&quorums) {
            assert!(one.contains(&node), "n={nodes}: node {node} is in its own quorum");
            assert!(one.is_sorted() && one.iter().all(|&member| member < nodes));
            for other in &quorums {
                assert!(one.iter().any(|member| other.contains(member)), "n={nodes}: {one:?} {other:?}");
            }
        }
    }
}

/// 001 ch. II: O(sqrt(n)) messages. A row and a column have at most 2 ceil(sqrt(n)) - 1 nodes.
#[test]
fn a_quorum_is_about_twice_the_root() {
    for nodes in 1..=100u32 {
        let root = (1..).find(|root| root * root >= nodes).unwrap();
        for node in 0..nodes {
            let size = quorum(nodes, node).len() as u32;
            assert!(size < 2 * root, "n={nodes}: node {node} has {size}");
            assert!(root * root != nodes || size == 2 * root - 1);
        }
    }
}

/// 002 table 2 says 3(sqrt(n) - 1) at light load, which takes quorums of sqrt(n) nodes. With q nodes it is
/// 3(q - 1): for a full grid 6(sqrt(n) - 1), twice as much.
#[test]
fn alone_an_entry_costs_three_messages_per_other_member() {
    for (nodes, root) in [(1, 1), (4, 2), (9, 3), (16, 4), (25, 5)] {
        for node in 0..nodes {
            let mut world = world(nodes, None);
            world.run(&format!("req{node}")).unwrap();
            world.settle(1000).unwrap();
            world.run(&format!("exit{node}")).unwrap();
            world.settle(1000).unwrap();
            assert_eq!((world.sent, world.entries), (6 * (root - 1), 1), "n={nodes} node {node}");
        }
    }
}

/// 002 table 2 says 5(sqrt(n) - 1) at heavy load. A request can cost at each member: REQUEST, LOCKED,
/// RELEASE; and a FAILED, or INQUIRE, RELINQUISH and a second LOCKED for the one that gave way: at most 6(q -
/// 1). Runs in random order with all nodes asking all the time take about 4(q - 1): nearly every request is
/// told FAILED by nearly every member, and locks are rarely taken back.
#[test]
fn under_load_an_entry_costs_between_three_and_six_messages_per_other_member() {
    for (nodes, others) in [(4, 2), (9, 4), (16, 6)] {
        let (mut sent, mut entries) = (0, 0);
        for seed in 0..100 {
            let world: World<Maekawa> = shuffle::run(&Scope::new(nodes, 1, 4), seed).unwrap();
            assert!(world.sent <= 6 * others * world.entries, "n={nodes} seed {seed}: {}", world.sent);
            assert!(world.sent >= 3 * others * world.entries, "n={nodes} seed {seed}: {}", world.sent);
            (sent, entries) = (sent + world.sent, entries + world.entries);
        }
        let percent = 100 * sent / (others * entries);
        assert!((380..=410).contains(&percent), "n={nodes}: {percent} % of q - 1");
    }
}

/// The six messages at one member, step by step in `testdata/maekawa/grid-of-four.txt`: nodes 0 and 3 both
/// need nodes 1 and 2. Node 1 tells node 3 FAILED (3 + 4 messages), node 2 gets its lock back from it (3 + 6).
#[test]
fn taking_a_lock_back_costs_six_messages_at_that_member() {
    let mut world = world(4, None);
    world.run("req0 req3 0>1 3>2 0>2 2>3 2>3 3>1 1>3 3>2 1>0 2>0").unwrap();
    assert!(world.inside(0));
    world.run("exit0 0>1 0>2 1>3 2>3").unwrap();
    assert!(world.inside(3));
    world.run("exit3 3>1 3>2").unwrap();
    assert_eq!((world.sent, world.entries), (7 + 9, 2));
    assert!(world.channels.is_empty());
}

/// Delivers all messages and lets every client inside leave, until nothing more happens.
fn finish(world: &mut World<Maekawa>) {
    world.settle(1000).unwrap();
    while let Some(node) = (0..world.nodes.len() as u32).find(|&node| world.inside(node)) {
        world.run(&format!("exit{node}")).unwrap();
        world.settle(1000).unwrap();
    }
}

/// Two nodes that hold one lock each of the two that both need: FAILED tells the younger one that it cannot
/// enter, INQUIRE asks for its lock back, and RELINQUISH ends the deadlock. Without either message the
/// deadlock stays.
#[test]
fn locks_are_asked_back_where_two_requests_block_each_other() {
    let schedule = "req0 req1 0>1 1>0";
    let mut right = world(2, None);
    right.run(schedule).unwrap();
    assert!(!right.inside(0) && !right.inside(1));
    // Node 1 learns that it failed at node 0 and gives its own lock to node 0.
    right.run("0>1 1>0").unwrap();
    assert!(right.inside(0));
    finish(&mut right);
    assert_eq!((right.entries, right.sent), (2, 7));
    for defect in ["never-failed", "never-inquires"] {
        let mut wrong = world(2, Some(defect));
        wrong.run(schedule).unwrap();
        finish(&mut wrong);
        assert_eq!(wrong.entries, 0, "{defect}");
        assert!(wrong.violated_at_end().is_some(), "{defect}");
    }
}

/// A request that was the first at a member until an older one arrived must be told FAILED too. Otherwise it
/// keeps its locks elsewhere in vain, and here all four nodes wait for ever. Step by step in
/// `testdata/maekawa/displaced.txt`.
#[test]
fn a_displaced_request_is_told_that_it_failed() {
    let schedule = "req1 req2 req3 2>0 req0 0>1 0>2 0>2 1>0 0>2 1>0 2>0 2>3 1>3 3>1 1>3 3>1 3>2 2>3";
    let mut wrong = world(4, Some("displaced-not-told"));
    wrong.run(schedule).unwrap();
    assert!(wrong.channels.is_empty() && wrong.entries == 0);
    assert!(wrong.violated_at_end().is_some());
    let mut right = world(4, None);
    right.run(schedule).unwrap();
    finish(&mut right);
    assert_eq!(right.entries, 4);
}
