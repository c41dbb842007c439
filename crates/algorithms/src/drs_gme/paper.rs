//! Claims and examples of 004, and the schedules that break what is printed there.

use alloc::vec;
use alloc::vec::Vec;

use crate::drs_gme::rules::{ASK_ALL, WATCH_START};
use crate::drs_gme::{DrsGme, Location, Request};
use crate::info::Scope;
use crate::{NodeId, Property, World};

fn world(nodes: u32, groups: u32) -> World<DrsGme> {
    World::of(&Scope::new(nodes, 1, 9).groups(groups), None).unwrap()
}

/// With losses and crashes allowed for.
fn faulty(nodes: u32, groups: u32, defect: Option<&str>) -> World<DrsGme> {
    World::of(&Scope::new(nodes, 1, 9).groups(groups).losses(1), defect).unwrap()
}

fn node(world: &World<DrsGme>, node: usize) -> &DrsGme {
    world.nodes[node].state.as_ref().unwrap()
}

fn request_sets(world: &World<DrsGme>) -> Vec<Vec<NodeId>> {
    (0..world.nodes.len()).map(|me| node(world, me).request_set.iter().copied().collect()).collect()
}

/// The queue of the holder, as (node, its only group).
fn queue(world: &World<DrsGme>, holder: usize) -> Vec<(NodeId, u32)> {
    let Location::Here(holding) = &node(world, holder).kept.location else { panic!("{holder} has no token") };
    holding.token.queue.iter().map(|Request { node, groups, .. }| (*node, groups.first().unwrap())).collect()
}

/// Runs the schedule with and without a defect; the defect must violate the property at its last step.
fn breaks(nodes: u32, groups: u32, defect: &str, schedule: &str, property: Property) {
    faulty(nodes, groups, None).run(schedule).unwrap();
    let error = faulty(nodes, groups, Some(defect)).run(schedule).unwrap_err();
    assert!(error.contains(property.name()), "{error}");
    let last = schedule.split_whitespace().last().unwrap();
    assert!(alloc::format!("{error}").starts_with(last), "{error}");
}

/// Runs the schedule with and without a defect, and delivers what is under way: the defect leaves this node
/// waiting.
fn leaves_waiting(nodes: u32, groups: u32, defect: &str, schedule: &str, waits: u32) {
    leaves_waiting_in(Scope::new(nodes, 1, 9).groups(groups), defect, schedule, waits);
}

fn leaves_waiting_in(scope: Scope, defect: &str, schedule: &str, waits: u32) {
    let mut right: World<DrsGme> = World::of(&scope, None).unwrap();
    right.run(schedule).unwrap();
    right.settle(50).unwrap();
    assert!(right.inside(waits));
    let mut wrong: World<DrsGme> = World::of(&scope, Some(defect)).unwrap();
    wrong.run(schedule).unwrap();
    wrong.settle(50).unwrap();
    assert!(wrong.violated_at_end().unwrap().detail.contains(&alloc::format!("node {waits} waits")));
}

/// Section IV, the example with Table I: P1 to P4 are nodes 0 to 3, g1 to g3 are groups 0 to 2.
#[test]
fn table_1() {
    let mut world = world(4, 3);
    assert_eq!(request_sets(&world), [vec![], vec![0, 2, 3], vec![0, 1, 3], vec![0, 1, 2]]);
    // (a) P2 asks for g2 and becomes captain.
    world.run("req1:1 1>0 1>2 1>3 0>1").unwrap();
    assert!(world.inside(1));
    assert_eq!(request_sets(&world), [vec![1], vec![], vec![0, 1, 3], vec![0, 1, 2]]);
    assert_eq!(queue(&world, 1), []);
    // (b) P1's request for g3 reaches P2.
    world.run("req0:2 0>1").unwrap();
    assert_eq!(request_sets(&world), [vec![1], vec![], vec![0, 1, 3], vec![0, 1, 2]]);
    assert_eq!(queue(&world, 1), [(0, 2)]);
    // (c) P3's request for g1 reaches all. P1 waits and did not know P3, so it asks P3 as well.
    world.run("req2:0 2>0 2>1 2>3 0>2").unwrap();
    assert_eq!(request_sets(&world), [vec![1, 2], vec![], vec![0, 1, 3], vec![0, 1, 2]]);
    assert_eq!(queue(&world, 1), [(0, 2), (2, 0)]);
    // (d) P4's request for g3 reaches all.
    world.run("req3:2 3>0 3>1 3>2 0>3").unwrap();
    assert_eq!(request_sets(&world), [vec![1, 2, 3], vec![], vec![0, 1, 3], vec![0, 1, 2]]);
    assert_eq!(queue(&world, 1), [(0, 2), (2, 0), (3, 2)]);
    // (e) P2 leaves; P1 is the next captain and starts P4.
    world.run("exit1 1>0 0>3").unwrap();
    assert!(world.inside(0) && world.inside(3) && !world.inside(2));
    assert_eq!(request_sets(&world), [vec![], vec![0, 2], vec![0, 1, 3], vec![0, 1, 2]]);
    assert_eq!(queue(&world, 0), [(2, 0)]);
}

/// Section VI: no message if the token is here, n + 1 for a follower that has to ask all nodes.
#[test]
fn messages_per_entry() {
    let mut world = world(5, 1);
    world.run("req0 exit0 req0").unwrap();
    assert_eq!((world.sent, world.entries), (0, 2));
    world.run("req4").unwrap();
    world.settle(50).unwrap();
    world.run("exit4").unwrap();
    world.settle(50).unwrap();
    assert_eq!((world.sent, world.entries), (6, 3));
}

/// Section VI: all n may be inside at once.
#[test]
fn concurrency_is_n() {
    let mut world = world(5, 2);
    world.run("req0:1 req1:1 req2:1 req3:1 req4:1").unwrap();
    world.settle(99).unwrap();
    assert!((0..5).all(|node| world.inside(node)));
}

/// Section VI: from the last exit to the next entry one message if the captain is the last to leave, two if a
/// follower is.
#[test]
fn synchronisation_delay() {
    let mut captain_last = world(3, 2);
    captain_last.run("req0 req1:1 1>0 1>2").unwrap();
    captain_last.run("exit0 0>1").unwrap();
    assert!(captain_last.inside(1));
    let mut follower_last = world(3, 2);
    follower_last.run("req0 req2 2>0 2>1 0>2 req1:1 1>0 1>2 exit0").unwrap();
    follower_last.run("exit2 2>0 0>1").unwrap();
    assert!(follower_last.inside(1));
}

/// Section VI: all nodes that wait for the same group enter in one session, so a request waits for at most
/// min(n, m) changes of the group.
#[test]
fn one_session_for_all_of_a_group() {
    let mut world = world(6, 3);
    world.run("req0 req1:1 req2:2 req3:1 req4:2 req5:1 1>0 2>0 3>0 4>0 5>0 exit0").unwrap();
    world.settle(99).unwrap();
    assert!(world.inside(1) && world.inside(3) && world.inside(5));
    world.run("exit1 exit3 exit5").unwrap();
    world.settle(99).unwrap();
    assert!(world.inside(2) && world.inside(4));
}

/// Section V, smooth admission: a captain that is inside admits its group past the queue, one that has left
/// does not.
#[test]
fn smooth_admission() {
    let mut world = world(4, 2);
    world.run("req0 req1:1 1>0 req2 2>0 0>2").unwrap();
    assert!(world.inside(2));
    world.run("exit0 req3 3>0").unwrap();
    assert_eq!(queue(&world, 0), [(1, 1), (3, 0)]);
}

/// Events 1, 2 and 6: the first token is destroyed.
#[test]
fn the_session_grows_at_every_hand_off() {
    let mut wrong: World<DrsGme> = World::of(&Scope::new(2, 1, 1), Some("session-only-from-idle")).unwrap();
    assert!(wrong.run("req1 1>0 0>1").unwrap_err().contains("tokens-conserved"));
    let mut right = world(2, 1);
    right.run("req1 1>0 0>1").unwrap();
    assert!(right.inside(1));
}

/// Lemma 3: a request that arrives after the token has left is kept for its return, or here for node 1's
/// exit.
#[test]
fn requests_are_kept() {
    leaves_waiting(3, 1, "requests-forgotten", "req1 req2 1>0 1>2 2>0 2>1 0>1 exit1", 2);
}

/// Events 5 and 6: a captain that has left is the next captain itself.
#[test]
fn a_hand_off_to_the_own_node_is_local() {
    let schedule = "req0 req1 1>0 exit0 req0:1 0>1 exit1 1>0";
    let mut right = world(2, 2);
    right.run(schedule).unwrap();
    assert!(right.inside(0));
    let scope = Scope::new(2, 1, 2).groups(2);
    let mut wrong: World<DrsGme> = World::of(&scope, Some("hand-over-to-self-checked")).unwrap();
    assert!(wrong.run(schedule).unwrap_err().contains("tokens-conserved"));
}

/// Lemma 1: the same token arrives twice, because the second copy was made while the first was under way.
#[test]
fn a_token_is_accepted_once() {
    breaks(2, 1, "old-token-not-highest", "req1 1>0 tmo1 0>1 1>0 0>1", Property::NoDoubleEntry);
}

/// Event 2: an old request is ignored by a holder that its sender does not know of. The table of lemma 2
/// breaks: neither node has the other in its request set.
#[test]
fn a_stale_request_is_answered() {
    let schedule = "req0 exit0 req1 1>0 req0 0>1 exit1 req2 2>1 req1 1>2 1>2 exit2 1>2 2>1 exit1 0>1 1>0 exit0 \
                    2>0 req2 2>1";
    leaves_waiting(3, 1, "stale-unanswered", schedule, 2);
}

/// The answer itself may arrive too late: the requester has the token by then, and must say so.
#[test]
fn a_hint_to_the_holder_goes_back() {
    let schedule = "req1 1>0 req0 0>1 exit1 req2 2>1 req1 1>2 1>2 exit2 req2 exit2 1>2 2>1 exit1 0>1 1>0 exit0 \
                    2>0 req1 1>0 req0 0>1 exit1 req2 2>1 0>1 1>2 exit2 0>2";
    leaves_waiting(3, 1, "hint-ignored-by-holder", schedule, 0);
}

/// Event 3: a start that arrives twice, the second time after its session.
#[test]
fn a_start_names_its_request() {
    let schedule = "req0 req1 1>0 exit0 req0:1 tmo0:1 0>1 exit1 1>0 0>1";
    breaks(2, 2, "start-unguarded", schedule, Property::NoEntryWithoutRequest);
}

/// Events 9 and 10: a late question admits a node beside another group.
#[test]
fn is_complete_names_its_request() {
    let schedule = "req0 req1 1>0 exit0 req0:1 tmo0:1 0>1 exit1 1>0 req1 0>1";
    breaks(2, 2, "is-complete-unnumbered", schedule, Property::OneGroupAtATime);
}

/// Event 8: the three errors of the regeneration.
#[test]
fn regeneration() {
    breaks(2, 1, "regenerate-stays-idle", "req1 lose1>0 tmo1 1>0 0>1", Property::TokensConserved);
    breaks(2, 1, "regenerate-from-nothing", "req1 tmo1", Property::NothingImpossible);
    let schedule = "req0 req1 1>0 exit0 0>1 exit1 req2 lose2>0 tmo2 2>0 1>0";
    breaks(3, 1, "regenerate-unrecorded", schedule, Property::NothingImpossible);
}

/// Section VII: a node that wants group 1 stands behind one that wants 0 or 1. It may still be the next
/// captain, so node 0 has to know of it.
#[test]
fn any_of_all_of_the_queue_may_be_captains() {
    let schedule = "req0:2 req1:0+1 req2:1 1>0 2>0 1>2 2>1 exit0 0>1 exit1 1>2 exit2 req0";
    leaves_waiting(3, 3, "any-of-firsts-asked", schedule, 0);
}

/// Section VII: the same request reaches two holders and is granted once.
#[test]
fn any_of_is_granted_once() {
    let mut world = world(3, 3);
    world.run("req0:2 req1:0+1 req2:0 2>0 1>0 exit0 0>2 1>2 2>1 2>1").unwrap();
    assert!(world.inside(1) && world.inside(2));
    assert!(world.channels.contains_key(&(2, 1)), "the stale request is answered");
    world.run("2>1 exit1 exit2").unwrap();
    world.settle(50).unwrap();
    assert_eq!(world.entries, 3);
}

/// Sections II and IV: the node that handed over a lost token sends it again, whichever node suspects the
/// loss.
#[test]
fn a_lost_token_is_sent_again() {
    let mut world = faulty(3, 3, None);
    world.run("req0 req1:1 req2:2 1>0 2>0 1>2 2>1 exit0 lose0>1").unwrap();
    world.run("tmo2 2>0 2>1 0>1").unwrap();
    assert!(world.inside(1));
}

/// Section II: a captain that crashes restarts with its token and its followers, and waits for them.
#[test]
fn a_captain_comes_back() {
    let mut world = faulty(3, 2, None);
    world.run("req0 req1 1>0 1>2 0>1 req2:1 2>0 2>1 crash0 restart0").unwrap();
    assert!(world.inside(1) && !world.inside(2));
    // The follower's answer is lost; the captain asks for it.
    world.run("exit1 lose1>0 tmo0:1 0>1 1>0 0>2").unwrap();
    assert!(world.inside(2));
}

/// A node that crashes cancels its request: a token for it goes on, a start for it is answered.
#[test]
fn a_cancelled_request() {
    let mut world = faulty(3, 2, None);
    world.run("req0 req1:1 1>0 1>2 req2:1 2>0 2>1 exit0 crash1 restart1 0>1").unwrap();
    assert!(!world.inside(1));
    world.run("1>2").unwrap();
    assert!(world.inside(2));
    world.run("req1:1 1>2 crash1 restart1 2>1 exit2 1>2").unwrap();
    assert!(!world.inside(1));
    assert_eq!(queue(&world, 2), []);
    assert_eq!(node(&world, 1).kept.number, 2, "numbers are not used twice");
}

/// Section VIII compares with static request sets: n - 1 requests each time, unless the token is here.
#[test]
fn all_nodes_are_asked() {
    let mut world: World<DrsGme> = World::of(&Scope::new(5, 1, 9).with(ASK_ALL), None).unwrap();
    world.run("req4").unwrap();
    world.settle(50).unwrap();
    assert_eq!(world.sent, 5, "four requests and the token");
    world.run("exit4 req4").unwrap();
    assert_eq!(world.sent, 5, "the token is here");
    // With dynamic request sets node 0 asks node 4 alone.
    world.run("exit4 req0").unwrap();
    world.settle(50).unwrap();
    assert_eq!(world.sent, 10);
    world.run("req1").unwrap();
    world.settle(50).unwrap();
    world.run("exit1").unwrap();
    world.settle(50).unwrap();
    assert_eq!(world.sent, 16, "n + 1 for a follower");
}

/// A node that asks all others need not be told where the token is.
#[test]
fn all_nodes_are_asked_without_hints() {
    let mut world: World<DrsGme> = World::of(&Scope::new(3, 1, 9).with(ASK_ALL), None).unwrap();
    world.run("req1 1>0 0>1 exit1 req0 0>1 1>0 exit0 req2 2>0 0>2#1").unwrap();
    assert!(world.inside(2));
    let sent = world.sent;
    world.run("1>2").unwrap();
    assert_eq!(world.sent, sent, "the first request of node 1 is old, and no hint goes back");
    leaves_waiting_in(
        Scope::new(3, 1, 9).with(ASK_ALL),
        "requests-forgotten",
        "req1 req2 1>0 1>2 2>0 2>1 0>1 exit1",
        2,
    );
}

/// Event 2 resets T2 with every START, inside or not: the captain asks while it is inside.
#[test]
fn a_captain_inside_repairs_a_lost_start() {
    let scope = Scope::new(2, 1, 9).losses(1).with(WATCH_START);
    let mut world: World<DrsGme> = World::of(&scope, None).unwrap();
    world.run("req0 req1 1>0 lose0>1 tmo0:1 0>1").unwrap();
    assert!(world.inside(0) && world.inside(1));
    let mut waits = faulty(2, 1, None);
    let error = waits.run("req0 req1 1>0 lose0>1 tmo0:1").unwrap_err();
    assert!(error.contains("tmo0:1"), "the timer runs once the captain has left: {error}");
}

/// A captain that has left and opens the next session itself: its timer does not run on while it is inside.
#[test]
fn the_timer_of_a_session_ends_with_it() {
    let mut world = faulty(3, 2, None);
    world.run("req0 req1 1>0 0>1 exit0 req0:1 req2:1 2>0 exit1 1>0").unwrap();
    assert!(world.inside(0));
    assert!(world.nodes[0].armed.is_empty(), "{:?}", world.nodes[0].armed);
    world.run("exit0").unwrap();
    assert!(!world.nodes[0].armed.is_empty(), "node 2 has not completed");
}

/// Events 5 and 10: a completion that was answered twice ends the next stay of its sender.
#[test]
fn complete_names_its_request() {
    let schedule = "req0 req1 1>0 0>1 exit1 tmo0:1 1>0 req1 0>1 1>0 0>1 1>0 exit0 req0:1";
    let scope = Scope::new(2, 1, 9).groups(2).losses(1).with(WATCH_START);
    let mut right: World<DrsGme> = World::of(&scope, None).unwrap();
    right.run(schedule).unwrap();
    let mut wrong: World<DrsGme> = World::of(&scope, Some("complete-unnumbered")).unwrap();
    let error = wrong.run(schedule).unwrap_err();
    assert!(error.contains(Property::OneGroupAtATime.name()), "{error}");
}

/// Section VI: two extra messages for a lost COMPLETE, one for a follower that is still inside; a lost START
/// takes one, which stands for it.
#[test]
fn messages_after_a_loss() {
    let sent = |schedule: &str| {
        let mut world = faulty(3, 2, None);
        world.run(schedule).unwrap();
        world.settle(50).unwrap();
        assert_eq!(world.entries, 2);
        world.sent
    };
    let undisturbed = sent("req0 req1 1>0 1>2 0>1 exit0 exit1 1>0");
    assert_eq!(sent("req0 req1 1>0 1>2 0>1 exit0 exit1 lose1>0 tmo0:1 0>1 1>0"), undisturbed + 2);
    assert_eq!(sent("req0 req1 1>0 1>2 0>1 exit0 tmo0:1 0>1 exit1 1>0"), undisturbed + 1);
    assert_eq!(sent("req0 req1 1>0 1>2 lose0>1 exit0 tmo0:1 0>1 exit1 1>0"), undisturbed + 1);
}

/// Section VI: a suspicion takes n - 1 messages on the wire, because a node asks itself without one, and a copy
/// of the token from every node that handed it over since the asker last had it, and from the asker itself.
#[test]
fn messages_to_regenerate_the_token() {
    let extra = |before: &str, asker: &str| {
        let mut world = faulty(4, 4, None);
        for step in before.split_whitespace() {
            world.run(step).unwrap();
            world.settle(50).unwrap();
        }
        world.run(asker).unwrap();
        let sent = world.sent;
        let node = &asker[3..4];
        world.run(&alloc::format!("tmo{node}")).unwrap();
        world.settle(50).unwrap();
        assert!(world.inside(node.parse().unwrap()));
        world.sent - sent
    };
    // Node 0 alone has had the token.
    assert_eq!(extra("", "req3 3>0 lose0>3"), 3 + 1);
    // All have, and the asker was the first of them.
    assert_eq!(extra("req1 exit1 req2 exit2 req3 exit3", "req0 0>3 lose3>0"), 3 + 4);
}
