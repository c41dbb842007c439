//! Claims of 001 ch. II and 000 sec. II about Carvalho and Roucairol's algorithm.

use crate::World;
use crate::carvalho_roucairol::CarvalhoRoucairol;
use crate::info::Scope;
use crate::shuffle;

fn world(nodes: u32, defect: Option<&str>) -> World<CarvalhoRoucairol> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

/// 001 ch. II: the number of messages is between 0 and 2(n - 1). A node enters again without a message while
/// no other node asks.
#[test]
fn the_first_entry_costs_two_messages_per_other_node_and_the_next_ones_none() {
    for nodes in 1..=8 {
        let mut world = world(nodes, None);
        world.run("req0").unwrap();
        world.settle(100).unwrap();
        world.run("exit0 req0 exit0 req0 exit0").unwrap();
        assert_eq!((world.sent, world.entries), (2 * u64::from(nodes - 1), 3));
    }
}

/// 001 ch. II and 000 sec. II: never more than 2(n - 1), whatever the others do; and in almost every run
/// fewer.
#[test]
fn no_run_costs_more_than_two_messages_per_other_node_and_entry() {
    let mut fewer = 0;
    for seed in 0..200 {
        let world: World<CarvalhoRoucairol> = shuffle::run(&Scope::new(5, 1, 4), seed).unwrap();
        assert!(world.sent <= 2 * 4 * world.entries, "seed {seed}: {}", world.sent);
        fewer += u32::from(world.sent < 2 * 4 * world.entries);
    }
    assert!(fewer > 100, "only {fewer} of 200 runs saved anything");
}

/// 000 sec. II: a node asks only the nodes whose permission it does not hold.
#[test]
fn only_missing_permissions_are_asked_for() {
    let mut world = world(4, None);
    world.run("req0").unwrap();
    world.settle(100).unwrap();
    world.run("exit0 req2").unwrap();
    world.settle(100).unwrap();
    world.run("exit2").unwrap();
    let before = world.sent;
    world.run("req0").unwrap();
    assert!(world.channels.keys().eq(&[(0, 2)]), "only node 2 has asked node 0 since");
    world.settle(100).unwrap();
    assert_eq!(world.sent - before, 2);
    assert!(world.inside(0));
}

/// Both texts say that the permission of a node is valid until that node asks. It is valid until that request
/// is *answered*: a node that is inside, or has the older request, answers later and keeps the permission
/// until then.
#[test]
fn a_permission_lasts_until_the_reply_and_not_only_until_the_request() {
    let mut world = world(3, None);
    world.run("req0").unwrap();
    world.settle(100).unwrap();
    world.run("exit0 req1 req0").unwrap();
    assert!(world.inside(0), "node 1 has asked, but node 0 does not know");
    world.run("1>0 1>2 2>1").unwrap();
    assert!(world.inside(0) && !world.inside(1));
    world.run("exit0 0>1").unwrap();
    assert!(world.inside(1));
}

/// A subtle case: a node waits, holds a permission and so did not ask for it; an older request arrives, so it
/// gives the permission away and must now ask for it.
const GIVES_AWAY: &str = "req1 1>0 1>2 0>1 2>1 exit1 req2 2>1 2>0 1>2 0>2 exit2 req0 req1 0>1";

#[test]
fn a_permission_given_away_is_asked_for_again() {
    let mut right = world(3, None);
    right.run(GIVES_AWAY).unwrap();
    assert_eq!(right.channels[&(1, 0)].len(), 2, "a reply and a request");
    right.settle(100).unwrap();
    assert!(right.inside(0) && !right.inside(1));
    right.run("exit0").unwrap();
    right.settle(100).unwrap();
    assert!(right.inside(1));

    let mut wrong = world(3, Some("not-asked-again"));
    wrong.run(GIVES_AWAY).unwrap();
    wrong.settle(100).unwrap();
    wrong.run("exit0").unwrap();
    wrong.settle(100).unwrap();
    assert!(wrong.violated_at_end().is_some());
}
