//! Claims of 001 ch. II and 002 table 2 about Maekawa's algorithm, and of the quorums: grids, the finite
//! projective planes that the text names, and paths of a tree.

use std::format;
use std::vec::Vec;

use crate::World;
use crate::info::Scope;
use crate::maekawa::{Maekawa, Quorums};
use crate::setting::Setting;
use crate::shuffle;
use crate::system::System;

fn world(nodes: u32, defect: Option<&str>) -> World<Maekawa> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

fn with_quorums(quorums: &'static str, nodes: u32, defect: Option<&str>) -> World<Maekawa> {
    let options: &'static [(&str, &str)] = match quorums {
        "plane" => &[("quorum", "plane")],
        "tree" => &[("quorum", "tree")],
        _ => &[],
    };
    World::of(&Scope::new(nodes, 1, 1).with(options), defect).unwrap()
}

/// 001 ch. II: a coterie. Any two quorums intersect, whatever the last row of the grid looks like, and whether
/// the tree is full or not.
#[test]
fn any_two_quorums_meet() {
    for kind in Quorums::ALL {
        let sizes = (1..=133).filter_map(|nodes| kind.of(nodes).ok().map(|quorums| (nodes, quorums)));
        for (nodes, quorums) in sizes {
            for (node, one) in (0..).zip(&quorums) {
                assert!(one.contains(&node), "{kind:?} n={nodes}: node {node} is in its own quorum");
                assert!(one.is_sorted() && one.iter().all(|&member| member < nodes));
                for other in &quorums {
                    let met = one.iter().any(|member| other.contains(member));
                    assert!(met, "{kind:?} n={nodes}: {one:?} {other:?}");
                }
            }
        }
    }
}

/// 001 ch. II: O(sqrt(n)) messages. A row and a column have at most 2 ceil(sqrt(n)) - 1 nodes.
#[test]
fn a_quorum_is_about_twice_the_root() {
    for nodes in 1..=100u32 {
        let root = (1..).find(|root| root * root >= nodes).unwrap();
        for (node, quorum) in Quorums::Grid.of(nodes).unwrap().into_iter().enumerate() {
            let size = quorum.len() as u32;
            assert!(size < 2 * root, "n={nodes}: node {node} has {size}");
            assert!(root * root != nodes || size == 2 * root - 1);
        }
    }
}

#[test]
fn a_quorum_of_a_grid_is_a_row_and_a_column() {
    for nodes in 1..=60_u32 {
        let columns = nodes.saturating_sub(1).isqrt() + 1;
        for (node, quorum) in (0..).zip(Quorums::Grid.of(nodes).unwrap()) {
            let meets = |other: &u32| other / columns == node / columns || other % columns == node % columns;
            assert_eq!(quorum, (0..nodes).filter(meets).collect::<Vec<_>>(), "n={nodes} node {node}");
        }
    }
}

/// 001 ch. II: coteries from finite projective planes. n = q(q - 1) + 1, two quorums share exactly one node,
/// and every node is in q quorums, so all bear the same load.
#[test]
fn two_lines_of_a_plane_share_one_node() {
    let mut found = Vec::new();
    for nodes in 1..=200u32 {
        let Ok(quorums) = Quorums::Plane.of(nodes) else { continue };
        let q = quorums[0].len();
        found.push((nodes, q));
        assert_eq!(nodes as usize, q * (q - 1) + 1);
        for node in 0..nodes {
            assert_eq!(quorums.iter().filter(|quorum| quorum.contains(&node)).count(), q, "n={nodes}");
        }
        for (index, one) in quorums.iter().enumerate() {
            for other in &quorums[..index] {
                let shared = one.iter().filter(|member| other.contains(member)).count();
                assert_eq!(shared, 1, "n={nodes}: {one:?} {other:?}");
            }
        }
    }
    let sizes = [(1, 1), (3, 2), (7, 3), (13, 4), (21, 5), (31, 6), (57, 8), (73, 9), (91, 10), (133, 12)];
    assert_eq!(found, sizes);
}

/// A path of a full tree has log2(n + 1) nodes; the root is in all of them, a leaf in few.
#[test]
fn every_path_of_a_tree_has_the_root() {
    for (nodes, size) in [(1, 1), (3, 2), (7, 3), (15, 4), (31, 5)] {
        let quorums = Quorums::Tree.of(nodes).unwrap();
        assert!(quorums.iter().all(|quorum| quorum.len() == size && quorum[0] == 0), "n={nodes}");
    }
    let seven = Quorums::Tree.of(7).unwrap();
    assert_eq!((&seven[0], &seven[2], &seven[6]), (&[0, 1, 3].into(), &[0, 2, 5].into(), &[0, 2, 6].into()));
}

/// A number of nodes without a plane is refused, with the nearest numbers that have one.
#[test]
fn sizes_without_a_plane_are_refused() {
    let refusal = |nodes| {
        let setting = Setting::new(nodes, 1).with(&[("quorum", "plane")]);
        System::<Maekawa>::new(&setting).err().map(|refusal| format!("{refusal}")).unwrap_or_default()
    };
    assert!(
        refusal(9).ends_with("for 9 nodes; the nearest sizes that have one are 7 and 13"),
        "{}",
        refusal(9)
    );
    assert!(refusal(500).ends_with("the nearest size that has one is 133"), "{}", refusal(500));
    assert_eq!(refusal(31), "");
}

/// Alone 3(q - 1) messages whatever the quorums are: 6 for a plane or a tree of seven nodes, where a grid
/// takes up to 12.
#[test]
fn planes_and_trees_cost_less_than_grids() {
    for (quorums, nodes, messages) in [("plane", 7, 6), ("plane", 13, 9), ("tree", 7, 6), ("tree", 15, 9)] {
        for node in 0..nodes {
            let mut world = with_quorums(quorums, nodes, None);
            world.run(&format!("req{node}")).unwrap();
            finish(&mut world);
            assert_eq!((world.sent, world.entries), (messages, 1), "{quorums} n={nodes} node {node}");
        }
    }
}

/// Three nodes in a plane, each locked for its own request and asked by the node before it: FAILED ends the
/// circle. Without it the three wait for ever.
#[test]
fn failed_ends_a_circle_of_three() {
    let schedule = "req0 req1 req2 0>1 1>2 2>0";
    let mut wrong = with_quorums("plane", 3, Some("never-failed"));
    wrong.run(schedule).unwrap();
    assert!(wrong.channels.is_empty() && wrong.violated_at_end().is_some());
    let mut right = with_quorums("plane", 3, None);
    right.run(schedule).unwrap();
    finish(&mut right);
    assert_eq!(right.entries, 3);
    let mut wrong = with_quorums("plane", 3, Some("never-inquires"));
    wrong.run(schedule).unwrap();
    finish(&mut wrong);
    assert_eq!(wrong.entries, 0);
    assert!(wrong.violated_at_end().is_some());
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
