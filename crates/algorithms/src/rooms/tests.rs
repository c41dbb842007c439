//! The rules at work: who may enter, the cost in messages, and what remains of an unused room.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use super::{Context, Effect, Message, Mode, Room, Rooms, Rules};
use crate::Origin;
use crate::light_load::expect_path_reversal;
use crate::{NodeId, Setting, Site, World};

fn world(nodes: u32, groups: u32, options: &[(&str, &str)]) -> World<Rooms> {
    let setting = Setting { groups, ..Setting::new(nodes, 1) };
    World::new(&setting.with(options)).unwrap()
}

fn inside(world: &World<Rooms>) -> Vec<usize> {
    world.nodes.iter().map(|node| node.clients().filter(|(_, client)| client.is_inside()).count()).collect()
}

/// No message is needed with an idle token here, in an open room at its captain, or in an open room at a
/// follower.
#[test]
fn no_message_where_the_room_is_open() {
    let mut world = world(2, 1, &[]);
    world.run("req0 req0.1 exit0 req0 exit0 exit0.1 req0").unwrap();
    assert_eq!((world.sent, world.entries), (0, 4));
    world.run("req1 1>0 0>1").unwrap();
    assert_eq!(world.sent, 2);
    world.run("req1.1 req1.2 exit1 exit1.1 req1").unwrap();
    assert_eq!((world.sent, inside(&world)), (2, [1, 2].to_vec()));
    // The last client to leave lets its node tell the captain.
    world.run("exit1 exit1.2 1>0").unwrap();
    assert_eq!(world.sent, 3);
}

/// A contended hand-off is one message after the exit.
#[test]
fn a_hand_off_takes_one_message() {
    let mut world = world(2, 2, &[]);
    world.run("req0 req1:1 1>0").unwrap();
    let before = world.sent;
    world.run("exit0 0>1").unwrap();
    assert_eq!((world.sent - before, inside(&world)), (1, [0, 1].to_vec()));
}

/// One node after the other, each drawn from all of them: the path to the token is as long as in a tree with
/// path reversal, and the token takes one hop back.
#[test]
fn light_load_costs_what_path_reversal_does() {
    expect_path_reversal::<Rooms>();
}

/// With a waiter for another group at most `passes` more clients may join, and then none.
#[test]
fn a_queue_is_passed_as_often_as_allowed() {
    for passes in [0, 1, 3] {
        let number = format!("{passes}");
        let mut world = world(2, 2, &[("passes", &number)]);
        world.run("req0 req1:1 1>0 req0.1 req0.2 req0.3 req0.4").unwrap();
        assert_eq!(inside(&world), [1 + passes, 0], "{passes}");
    }
}

/// Followers that know of a waiter admit no further clients; the node that asks knows by itself.
#[test]
fn a_close_stops_followers() {
    for (close, then) in [("yes", 1), ("no", 2)] {
        let mut world = world(3, 2, &[("close", close)]);
        world.run("req0 req1 1>0 0>1 req2:1 2>0").unwrap();
        if close == "yes" {
            world.run("0>1").unwrap();
        }
        world.run("req1.1").unwrap();
        assert_eq!(inside(&world), [1, then, 0], "{close}");
    }
}

/// A writer is alone, also among writers of its own node.
#[test]
fn a_writer_is_alone() {
    let mut world = world(2, 2, &[("exclusive", "1")]);
    world.run("req0:1 req0.1:1 req1:1 1>0").unwrap();
    assert_eq!(inside(&world), [1, 0]);
    // Both other nodes asked before the second opening; the captain's own request was first.
    world.run("exit0").unwrap();
    assert_eq!(inside(&world), [1, 0]);
    world.run("exit0.1 0>1").unwrap();
    assert_eq!(inside(&world), [0, 1]);
}

/// With the option the next writer of the same node follows a writer past the queue, at most `passes` times.
#[test]
fn writers_of_a_node_take_over_from_each_other() {
    for (hand_off, then) in [("no", [0, 0]), ("yes", [1, 0])] {
        let options = [("exclusive", "1"), ("hand-off", hand_off), ("passes", "1"), ("queue", "arrival")];
        let mut world = world(2, 2, &options);
        world.run("req0:1 req1:1 1>0 req0.1:1 req0.2:1 exit0").unwrap();
        assert_eq!(inside(&world), then, "{hand_off}");
        if hand_off == "yes" {
            world.run("exit0.1").unwrap();
            assert_eq!(inside(&world), [0, 0]);
        }
        world.run("0>1").unwrap();
        assert_eq!(inside(&world), [0, 1], "{hand_off}");
    }
}

/// Any one of several groups will do: whichever opens first.
#[test]
fn any_of_joins_what_opens_first() {
    let mut world = world(3, 3, &[]);
    world.run("req0:2 req1:0 1>0 req2:0+1 2>0 exit0 0>1 1>2").unwrap();
    assert_eq!(inside(&world), [0, 1, 1]);
}

/// By age: node 2 was last inside before node 1, so it is served first although it asks later.
#[test]
fn the_node_longest_without_an_opening_comes_first() {
    for (queue, first) in [("age", 2), ("arrival", 1)] {
        let mut world = world(3, 3, &[("queue", queue)]);
        world.run("req0 req2 2>0 0>2 exit2 2>0 exit0").unwrap();
        world.run("req0 req1 1>0 0>1 exit1 1>0 exit0").unwrap();
        world.run("req0 req1:1 1>0 req2:2 2>0 exit0").unwrap();
        world.run(&format!("0>{first}")).unwrap();
        assert!(world.inside(first), "{queue}");
    }
}

/// A client that waited before its node knew of any opening stays as old as the first one, however often
/// others are served.
#[test]
fn an_unknown_age_is_not_new_each_time() {
    let mut world = world(2, 2, &[("exclusive", "2")]);
    world.run("req1 req1.1 req0:1 1>0 exit0 0>1").unwrap();
    // Node 0 asks again. It has been inside since, so the other client of node 1 comes first.
    world.run("req0:1 0>1 exit1").unwrap();
    assert_eq!(inside(&world), [0, 1]);
}

/// All nodes that have used a room forget it: the token is at home, and everything else is as at the start.
#[test]
fn nothing_is_left_of_an_unused_room() {
    let mut world = world(3, 2, &[("forget", "yes")]);
    let start: Vec<Rooms> = world.nodes.iter().map(|node| node.state.clone().unwrap()).collect();
    world.run("req1 1>0 0>1 req2 2>0 0>1 1>2 exit1 exit2 2>1").unwrap();
    // The captain has the token and the follower a pointer to it. Both tell the home, which fetches the token
    // and answers.
    world.run("tmo1 tmo2 1>0 2>0 tmo0:1 0>2 2>1 1>0 0>2").unwrap();
    assert!(world.channels.is_empty());
    let floor = world.nodes[0].state.as_ref().unwrap().0.droppable(&site(0, &Rules::default()));
    assert_eq!(floor, Some(3), "opened once, handed over twice");
    for (node, before) in start.iter().enumerate().skip(1) {
        assert_eq!(world.nodes[node].state.as_ref(), Some(before), "node {node}");
    }
    // The next entry has a higher fence: the world checks that.
    world.run("req2 2>0 0>2").unwrap();
    assert!(world.inside(2));
}

fn site(me: NodeId, rules: &Rules) -> Context<'_> {
    Site { me, nodes: 10, tokens: 1, rules }
}

/// Groups named by any number, as on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Names {
    any_of: Vec<u64>,
    writes: bool,
}

impl Mode for Names {
    type Group = u64;

    fn first(&self) -> u64 {
        self.any_of[0]
    }

    fn contains(&self, group: u64) -> bool {
        self.any_of.contains(&group)
    }

    fn is_exclusive(&self, _: u64) -> bool {
        self.writes
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.any_of)
    }
}

/// The rules do not depend on the names of groups. A reader-writer lock, driven by hand, from a floor.
#[test]
fn a_node_may_name_groups_as_it_likes() {
    let rules = Rules { home: 7, ..Rules::default() };
    let (home, other) = (site(7, &rules), site(9, &rules));
    let origin = Origin { floor: 1_000, clock: 50 };
    let (mut here, mut there) = (Room::create(&home, origin), Room::create(&other, origin));
    let mode = |name: u64, writes: bool| Names { any_of: [name].to_vec(), writes };
    let mut effects = Vec::new();
    here.acquire(&home, 1, mode(u64::MAX, false), &mut effects);
    assert_eq!(effects, [Effect::Enter { client: 1, group: u64::MAX, fence: 1_001 }]);
    effects.clear();
    there.acquire(&other, 2, mode(3, true), &mut effects);
    let Some(Effect::Send { to: 7, message }) = effects.pop() else { panic!("{effects:?}") };
    here.deliver(&home, 9, message, &mut effects);
    assert_eq!((effects.len(), here.queue().len(), here.opening()), (0, 1, Some((u64::MAX, 1_001))));
    here.release(&home, &mut effects);
    let Some(Effect::Send { to: 9, message: message @ Message::Token { .. } }) = effects.pop() else {
        panic!("{effects:?}")
    };
    there.deliver(&other, 7, message, &mut effects);
    assert_eq!(effects, [Effect::Enter { client: 2, group: 3, fence: 1_003 }]);
    assert_eq!((here.has_token(), there.has_token(), there.inside()), (false, true, 1));
    assert_eq!((here.droppable(&home), there.waiting().count()), (None, 0));
}
