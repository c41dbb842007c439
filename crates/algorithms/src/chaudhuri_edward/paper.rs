//! Claims of 000 about the algorithm of Chaudhuri and Edward.

use std::format;

use crate::World;
use crate::chaudhuri_edward::ChaudhuriEdward;
use crate::collectors::Layout;
use crate::collectors::paper::{ask_together, serve_all};
use crate::info::Scope;

fn world(scope: Scope) -> World<ChaudhuriEdward> {
    World::of(&scope, None).unwrap()
}

/// Section III D speaks of one token under way, so its 0 and 6 messages for a single request hold here for
/// every k.
#[test]
fn a_single_request() {
    for k in 1..=9 {
        for (node, messages) in [(0, 0), (1, 3), (3, 3), (4, 6)] {
            let mut world = world(Scope::new(9, k, 1));
            world.run(&format!("req{node}")).unwrap();
            serve_all(&mut world);
            assert_eq!((world.entries, world.sent), (1, messages), "node {node}, k = {k}");
        }
    }
}

/// Section IV, case 1: Q groups with N requests each, K > Q: NQ + 2Q + NQ + 2Q messages. This holds exactly
/// for normal nodes whose requests have all been collected when the token arrives, and for every K ≥ Q.
#[test]
fn messages_of_case_1() {
    let (n, q) = (3, 3);
    for k in [3, 4, 6, 9] {
        let mut world = world(Scope::new(16, k, 1));
        ask_together(&mut world, Layout::new(16, 0).unwrap(), &[5, 6, 7, 9, 10, 11, 13, 14, 15]);
        serve_all(&mut world);
        assert_eq!((world.entries, world.sent), (n * q, n * q + 2 * q + n * q + 2 * q));
    }
}

/// Section IV, case 2: groups with 1, 2 and 3 requests: 4Q + 2 ΣNᵢ messages.
#[test]
fn messages_of_case_2() {
    let mut world = world(Scope::new(16, 4, 1));
    ask_together(&mut world, Layout::new(16, 0).unwrap(), &[5, 9, 10, 13, 14, 15]);
    serve_all(&mut world);
    assert_eq!((world.entries, world.sent), (6, 4 * 3 + 2 * 6));
}

/// Section III B: one token goes to each other group, however many nodes ask there; the rest circulates in
/// the GRC's group.
#[test]
fn one_token_for_each_group() {
    let mut world = world(Scope::new(9, 4, 1).with(&[("share", "collect")]));
    world.run("req3 req4 req5 4>3 5>3 3>0 req6 req7 7>6 6>0 req1 req2 1>0 2>0 tmo0").unwrap();
    world.settle(10).unwrap();
    let inside: std::vec::Vec<u32> = (0..9).filter(|&node| world.inside(node)).collect();
    assert_eq!(inside, [1, 2, 3, 6]);
    serve_all(&mut world);
    assert_eq!(world.entries, 7);
}

/// The unevenness that 000 sets out to remove: two tokens lie idle while two nodes of another group wait for
/// a third.
#[test]
fn tokens_lie_idle_while_a_group_waits() {
    let mut world = world(Scope::new(9, 3, 1));
    world.run("req3 req4 req5 4>3 5>3 3>0").unwrap();
    world.settle(10).unwrap();
    assert_eq!(world.census().inside, 1);
    assert_eq!(world.census().waiting.iter().sum::<u32>(), 2);
}
