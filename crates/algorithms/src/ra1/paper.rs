//! What 004 sec. I asks of a group mutex, and what is known of Joung's RA1.

use crate::World;
use crate::info::Scope;
use crate::ra1::Ra1;
use crate::shuffle;

fn world(nodes: u32, defect: Option<&str>) -> World<Ra1> {
    World::of(&Scope::new(nodes, 1, 1).groups(2), defect).unwrap()
}

/// n - 1 requests and n - 1 replies, whatever the groups are. No run has two groups inside.
#[test]
fn every_entry_costs_two_messages_per_other_node() {
    for seed in 0..200 {
        let world: World<Ra1> = shuffle::run(&Scope::new(5, 1, 4).groups(3), seed).unwrap();
        assert_eq!((world.sent, world.entries), (2 * 4 * 20, 20), "seed {seed}");
    }
}

/// 004 sec. I, concurrent occupancy: a client enters without waiting for another one to leave if no other
/// group is requested.
#[test]
fn clients_of_one_group_do_not_wait_for_each_other() {
    let mut world = world(4, None);
    world.run("req0:1 req1:1 req2:1 req3:1").unwrap();
    world.settle(100).unwrap();
    assert!((0..4).all(|node| world.inside(node)));
}

/// The price of deferring by time: a younger request of the group that is inside waits behind an older one of
/// another group.
#[test]
fn a_waiting_request_of_another_group_closes_the_session() {
    let mut world = world(3, None);
    world.run("req0:0").unwrap();
    world.settle(100).unwrap();
    world.run("req1:1").unwrap();
    world.settle(100).unwrap();
    world.run("req2:0").unwrap();
    world.settle(100).unwrap();
    assert!(world.inside(0) && !world.inside(1) && !world.inside(2));
    world.run("exit0").unwrap();
    world.settle(100).unwrap();
    assert!(world.inside(1) && !world.inside(2));
    world.run("exit1").unwrap();
    world.settle(100).unwrap();
    assert!(world.inside(2));
}

/// Two nodes that wait for different groups must not both defer.
#[test]
fn time_and_node_number_decide_between_groups() {
    for defect in ["group-alone", "ties-hold-on"] {
        for (defect, ends) in [(None, true), (Some(defect), false)] {
            let mut world = world(3, defect);
            world.run("req0:0 req1:0 req2:1 0>1 0>2 1>0 0>1 1>0 1>2 2>0 2>1").unwrap();
            shuffle::serve_all(&mut world);
            assert_eq!(world.violated_at_end().is_none(), ends, "{defect:?}");
        }
    }
}

/// Node 0 asks after it has replied to node 1: its request must be the younger one.
#[test]
fn a_request_is_younger_than_those_already_answered() {
    const ASKS_LATER: &str = "req1 1>0 req0:1 0>1#1 0>1";
    let mut right = world(2, None);
    right.run(ASKS_LATER).unwrap();
    assert!(right.inside(1) && right.channels.is_empty(), "node 1 has deferred its reply");
    let mut wrong = world(2, Some("time-not-from-highest"));
    wrong.run(ASKS_LATER).unwrap();
    assert!(wrong.run("1>0").unwrap_err().contains("one-group-at-a-time"));
}
