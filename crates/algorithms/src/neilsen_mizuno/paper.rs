//! Claims of Neilsen and Mizuno 1991.

use alloc::format;

use crate::World;
use crate::info::Scope;
use crate::neilsen_mizuno::NeilsenMizuno;
use crate::tree::Shape;
use crate::tree::tests::{SHAPES, cost, system};

/// One client after the other: the request over each edge of the path, the token in one hop. At most the
/// diameter plus one.
#[test]
fn alone_the_distance_and_one() {
    for shape in SHAPES {
        for nodes in 2..=9 {
            let mut longest = 0;
            for from in 0..nodes {
                for to in (0..nodes).filter(|&to| to != from) {
                    let sent = cost::<NeilsenMizuno>(shape, nodes, from, to);
                    assert_eq!(sent, shape.distance(from, to) + 1);
                    longest = longest.max(sent);
                }
                assert_eq!(cost::<NeilsenMizuno>(shape, nodes, from, from), 0);
            }
            assert_eq!(longest, shape.diameter(nodes) + 1, "{shape:?}, {nodes} nodes");
        }
    }
}

/// On a star: at most 3; on average, over all pairs of the last user and the next, 3 − 5/n + 2/n².
#[test]
fn on_a_star() {
    for nodes in 3..=12u32 {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let costs = pairs.map(|(from, to)| cost::<NeilsenMizuno>(Shape::Star, nodes, from, to));
        let (sum, most) = costs.fold((0, 0), |(sum, most), cost| (sum + cost, most.max(cost)));
        let n = u64::from(nodes);
        assert_eq!(sum, 3 * n * n - 5 * n + 2);
        assert_eq!(most, 3);
    }
}

/// At saturation, too, no request travels further than the diameter: each edge points to the last requester.
/// With all nodes waiting, an entry on a star costs 3 − 2/n: the centre saves a hop.
#[test]
fn at_saturation() {
    for shape in SHAPES {
        for nodes in 2..=9 {
            let mut world = system::<NeilsenMizuno>(shape, nodes);
            for node in 0..nodes {
                world.run(&format!("req{node}")).unwrap();
                world.settle(100).unwrap();
            }
            let before = world.sent;
            for _ in 0..10 * nodes {
                let inside = (0..nodes).find(|&node| world.inside(node)).unwrap();
                let sent = world.sent;
                world.run(&format!("exit{inside} req{inside}")).unwrap();
                world.settle(100).unwrap();
                assert!(world.sent - sent <= shape.diameter(nodes) + 1);
            }
            let sent = world.sent - before;
            if shape == Shape::Star && nodes > 2 {
                assert_eq!(sent, 10 * (3 * u64::from(nodes) - 2));
            }
        }
    }
}

/// The synchronisation delay is one message: the token goes straight to the next node.
#[test]
fn one_hop_between_two_sections() {
    let mut world: World<NeilsenMizuno> =
        World::of(&Scope::new(4, 1, 1).with(&[("shape", "line")]), None).unwrap();
    world.run("req0 req3 3>2 2>1 1>0").unwrap();
    world.run("exit0 0>3").unwrap();
    assert!(world.inside(3));
    assert_eq!(world.sent, 4);
}

/// The queue exists only as FOLLOW pointers, in the order in which requests reach the sink.
#[test]
fn a_queue_of_successors() {
    let mut world: World<NeilsenMizuno> =
        World::of(&Scope::new(4, 1, 1).with(&[("shape", "star")]), None).unwrap();
    world.run("req0 req1 req2 req3 2>0 1>0 0>2 3>0 0>1").unwrap();
    let follows = |node: usize| world.nodes[node].state.as_ref().unwrap().follow;
    assert_eq!([follows(0), follows(2), follows(1), follows(3)], [Some(2), Some(1), Some(3), None]);
    world.run("exit0 0>2 exit2 2>1 exit1 1>3").unwrap();
    assert!(world.inside(3));
}
