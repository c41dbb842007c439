//! Claims of Raymond 1989, and of texts that cite it.

use alloc::format;

use crate::World;
use crate::info::Scope;
use crate::raymond_tree::RaymondTree;
use crate::tree::tests::{SHAPES, cost, system};

/// One client after the other: a request and the privilege over each edge of the path, so at most twice the
/// diameter.
#[test]
fn alone_twice_the_distance() {
    for shape in SHAPES {
        for nodes in 1..=9 {
            let mut longest = 0;
            for from in 0..nodes {
                for to in 0..nodes {
                    let sent = cost::<RaymondTree>(shape, nodes, from, to);
                    assert_eq!(sent, 2 * shape.distance(from, to));
                    longest = longest.max(sent);
                }
            }
            assert_eq!(longest, 2 * shape.diameter(nodes), "{shape:?}, {nodes} nodes");
        }
    }
}

/// At saturation the privilege walks round the tree: over each edge twice a round, a request with each, so
/// that n entries cost 4(n − 1) messages and an entry fewer than 4, whatever the shape (as in 002, table 2).
#[test]
fn at_most_four_at_saturation() {
    for shape in SHAPES {
        for nodes in 2..=9 {
            let mut world = system::<RaymondTree>(shape, nodes);
            for node in 0..nodes {
                world.run(&format!("req{node}")).unwrap();
            }
            world.settle(1000).unwrap();
            let mut round = |entries: u32| {
                let before = world.sent;
                for _ in 0..entries {
                    let inside = (0..nodes).find(|&node| world.inside(node)).unwrap();
                    world.run(&format!("exit{inside} req{inside}")).unwrap();
                    world.settle(1000).unwrap();
                }
                world.sent - before
            };
            round(3 * nodes);
            assert_eq!(round(10 * nodes), 10 * 4 * u64::from(nodes - 1), "{shape:?}, {nodes} nodes");
        }
    }
}

/// Requests that meet on the path continue as one request.
#[test]
fn requests_are_joined() {
    let mut world: World<RaymondTree> =
        World::of(&Scope::new(4, 1, 1).with(&[("shape", "line")]), None).unwrap();
    world.run("req0 req3 3>2 2>1 1>0").unwrap();
    assert_eq!(world.sent, 3);
    // Nodes 2 and 1 have asked already: nothing is sent.
    world.run("req2 req1").unwrap();
    assert_eq!(world.sent, 3);
    // Three hops of the privilege to 3, the request of 1 right behind it; 1 and 2 are served on the way back.
    world.run("exit0 0>1 1>2 2>3").unwrap();
    assert!(world.inside(3));
    world.run("1>2 2>3 exit3 3>2").unwrap();
    assert!(world.inside(2));
    world.run("exit2 2>1").unwrap();
    assert!(world.inside(1));
    assert_eq!(world.sent, 3 + 3 + 2 + 2);
}

/// Not first come first served: the queues are local. Node 2 asks before 3, but is served after it, because
/// 3's side is first in the queue of node 1.
#[test]
fn order_is_local() {
    let mut world: World<RaymondTree> = World::of(&Scope::new(4, 1, 2), None).unwrap();
    world.run("req0 req1 1>0 req2 req3 3>1 2>0").unwrap();
    world.run("exit0 0>1").unwrap();
    assert!(world.inside(1));
    world.run("exit1 1>3").unwrap();
    assert!(world.inside(3) && !world.inside(2));
}

/// A request may overtake the privilege that it follows: the receiver still waits for it and does not ask
/// again.
#[test]
fn a_request_overtakes_the_privilege() {
    let mut world: World<RaymondTree> = World::of(&Scope::new(2, 1, 2), None).unwrap();
    world.run("req0 req1 1>0 exit0 req0 0>1#1 0>1").unwrap();
    assert!(world.inside(1));
    world.run("exit1 1>0").unwrap();
    assert!(world.inside(0));
    assert_eq!(world.sent, 4);
}
