//! Claims of 001 ch. III and app. A about Srimani and Reddy's algorithm, and the effects of the errors of
//! app. A.

use crate::World;
use crate::info::Scope;
use crate::shuffle;
use crate::srimani_reddy::SrimaniReddy;

const MARKED: &[(&str, &str)] = &[("receiver", "marked")];

fn world(nodes: u32, tokens: u32) -> World<SrimaniReddy> {
    World::of(&Scope::new(nodes, tokens, 1), None).unwrap()
}

fn marked(nodes: u32, tokens: u32) -> World<SrimaniReddy> {
    World::of(&Scope::new(nodes, tokens, 1).with(MARKED), None).unwrap()
}

fn defective(nodes: u32, tokens: u32, defect: &str) -> World<SrimaniReddy> {
    World::of(&Scope::new(nodes, tokens, 1), Some(defect)).unwrap()
}

/// Ch. III: nothing is sent if a privilege is here.
#[test]
fn an_entry_with_a_privilege_takes_no_message() {
    let mut world = world(4, 2);
    world.run("req0 req1 exit0 exit1 req1").unwrap();
    assert_eq!((world.entries, world.sent), (3, 0));
}

/// Ch. III, the worst case: k privileges lie at k other nodes, and all of them are sent. From ch. V: 32
/// messages for n = 30 and k = 3.
#[test]
fn a_lone_requester_collects_all_privileges() {
    for (nodes, tokens, messages) in [(4, 3, 6), (30, 3, 32)] {
        let mut world = world(nodes, tokens);
        world.run("req3").unwrap();
        world.settle(100).unwrap();
        assert_eq!(world.sent, messages);
        assert_eq!(world.nodes[3].state.as_ref().unwrap().idle, tokens - 1);
        // From now on its entries are free.
        world.run("exit3 req3").unwrap();
        assert_eq!(world.sent, messages);
    }
}

/// Ch. III: the bound n+k−1, in whole runs with messages in any order. It holds for the requests that are
/// sent out; entries with a privilege at hand do not add to it.
#[test]
fn the_bound_holds_in_every_run() {
    for (nodes, tokens) in [(3, 1), (3, 2), (4, 2), (5, 3)] {
        for (seed, options) in (0..100).flat_map(|seed| [(seed, MARKED), (seed, &[])]) {
            let scope = Scope::new(nodes, tokens, 4).with(options);
            let world: World<SrimaniReddy> = shuffle::run(&scope, seed).unwrap();
            let most = broadcasts(&world) * u64::from(nodes + tokens - 1);
            assert!(world.sent <= most, "n={nodes} k={tokens} seed {seed}: {} of {most}", world.sent);
        }
    }
}

/// How often nodes have asked all the others: the number of each node's last request.
fn broadcasts(world: &World<SrimaniReddy>) -> u64 {
    let nodes = world.nodes.iter().filter_map(|node| node.state.as_ref());
    nodes.enumerate().map(|(me, node)| u64::from(node.asked[me])).sum()
}

/// App. A: a node that holds several privileges sends one for one request (PLN records it).
#[test]
fn one_request_takes_one_privilege_from_each_holder() {
    let mut world = world(3, 2);
    world.run("req2 2>0 2>1 0>2 1>2 exit2 req0 0>2 2>0 exit0").unwrap();
    assert_eq!(world.nodes[2].state.as_ref().unwrap().idle, 1);
    assert_eq!(world.nodes[0].state.as_ref().unwrap().idle, 1);
}

/// App. A: P2 and P4 record the receiver of a privilege in PLN, P1 as printed does not. So node 0, which has
/// sent one privilege to node 2, sends it the next one too. With the receiver marked the second one stays.
#[test]
fn a_node_that_leaves_does_not_record_the_receiver() {
    let schedule = "req0 req1 req2 2>0 2>1 exit0 req0 0>1 exit1 1>0 exit0";
    for (mut world, idle, sent) in [(world(3, 2), 0, 7), (marked(3, 2), 1, 6)] {
        world.run(schedule).unwrap();
        assert_eq!((world.nodes[0].state.as_ref().unwrap().idle, world.sent), (idle, sent));
        world.settle(10).unwrap();
        assert!(world.inside(2));
        // Neither loses a privilege: both are free in the end.
        world.run("exit2").unwrap();
        world.settle(10).unwrap();
        let idle: u32 = world.nodes.iter().filter_map(|node| node.state.as_ref()).map(|node| node.idle).sum();
        assert_eq!(idle, 2);
    }
}

/// The text assumes FIFO channels. With the larger of LN and PLN everywhere, a request that is overtaken by
/// the privilege that served it does no harm.
#[test]
fn a_privilege_may_overtake_a_request() {
    let mut world = world(3, 1);
    world.run("req1 req2 1>0 0>1 exit1 2>1 1>2#1 exit2").unwrap();
    // Node 1's request reaches node 2, which holds the privilege, after it was served.
    world.run("1>2").unwrap();
    assert_eq!(world.nodes[2].state.as_ref().unwrap().idle, 1);
    world.run("2>0 req1 1>2 2>1").unwrap();
    assert!(world.inside(1));
}

/// App. A, P1: RN[I] as printed never grows, so no request is ever new.
#[test]
fn requests_without_new_numbers_are_never_served() {
    let mut world = defective(2, 1, "number-not-raised");
    world.run("req1 1>0").unwrap();
    assert!(world.channels.is_empty() && world.violated_at_end().is_some());
}

/// App. A, P2: the loop's variable hides the requester; here node 0 asks and node 1 gets the privilege.
#[test]
fn the_loop_variable_hides_the_requester() {
    let mut world = defective(3, 2, "loop-shadows-requester");
    let error = world.run("req2 2>0 req0 0>1 0>2 exit2 1>2 0>2").unwrap_err();
    assert!(error.contains("a privilege stays idle and a request is known here"), "{error}");
    assert!(world.channels.contains_key(&(2, 1)) && !world.channels.contains_key(&(2, 0)));
}

/// App. A, P2: node 2 holds two privileges and sends one to node 1. The record LN of the other does not say
/// so, so node 1's next request finds it one number behind, and the free privilege stays where it is.
#[test]
fn a_privilege_with_an_old_record_is_not_sent() {
    let before = "req2 2>0 req0 0>2 exit2 2>1 req1 0>1 1>2 1>2 2>1 exit1 req1";
    let mut broken = defective(3, 2, "only-the-next-number");
    broken.run(before).unwrap();
    let error = broken.run("1>2").unwrap_err();
    assert!(error.contains("a privilege stays idle and a request is known here"), "{error}");
    let mut world = world(3, 2);
    world.run(before).unwrap();
    world.run("1>2 2>1").unwrap();
    assert!(world.inside(1));
}

/// App. A, P6: a privilege arrives at node 2 before the request of node 1 that it has served. As printed,
/// node 2 makes the privilege forget this, and sends it to node 1 once more: 4 messages for that request,
/// where the text's own bound n+k−1 is 3.
#[test]
fn a_record_that_goes_back_breaks_the_bound() {
    let schedule = "req1 1>0 req0 0>1 exit1 0>1 1>0 exit0 req2 2>0 2>1 0>2 0>2 exit2 1>2";
    let mut broken = defective(3, 1, "record-goes-back");
    broken.run(schedule).unwrap();
    assert_eq!((broken.entries, broken.sent), (3, 3 * 3 + 1));
    let mut world = world(3, 1);
    world.run(schedule).unwrap();
    assert_eq!((world.entries, world.sent), (3, 3 * 3));
}

/// App. A, P4: without begin and end the branch that counts a privilege is taken after sending it, too.
#[test]
fn a_branch_without_a_block_makes_a_privilege() {
    let schedule = "req2 2>0 req0 0>2 0>2 2>1 1>2";
    let error = defective(3, 2, "branch-without-block").run(schedule).unwrap_err();
    assert!(error.contains("2 tokens held and 1 under way"), "{error}");
    world(3, 2).run(schedule).unwrap();
}
