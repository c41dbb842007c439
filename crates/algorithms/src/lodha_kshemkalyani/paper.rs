//! Claims of 002 about Lodha and Kshemkalyani's algorithm, and the two deadlocks of its usual presentation.

use crate::World;
use crate::algorithm::Effect;
use crate::info::Scope;
use crate::lodha_kshemkalyani::LodhaKshemkalyani;
use crate::shuffle;

fn world(nodes: u32, defect: Option<&str>) -> World<LodhaKshemkalyani> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

/// 002 table 2: 2(N − 1) messages at light load, a REQUEST and a REPLY for each other node.
#[test]
fn an_entry_alone_costs_two_messages_per_other_node() {
    for nodes in 1..=8 {
        let mut world = world(nodes, None);
        world.run("req0").unwrap();
        world.settle(100).unwrap();
        world.run("exit0 req0").unwrap();
        world.settle(100).unwrap();
        assert!(world.inside(0));
        assert_eq!((world.sent, world.entries), (4 * u64::from(nodes - 1), 2));
    }
}

/// If all nodes ask at once, requests answer each other: n − 1 REQUESTs per entry, and a FLUSH for each entry
/// but the last.
#[test]
fn concurrent_requests_need_no_replies() {
    let mut world = world(5, None);
    world.run("req0 req1 req2 req3 req4").unwrap();
    world.settle(100).unwrap();
    for schedule in ["exit0 0>1", "exit1 1>2", "exit2 2>3", "exit3 3>4", "exit4"] {
        world.run(schedule).unwrap();
    }
    assert_eq!((world.sent, world.entries), (5 * 4 + 4, 5));
    assert!(world.channels.is_empty());
}

/// 002 table 2: between N − 1 and 2(N − 1) messages for each entry, whatever the order of the steps.
#[test]
fn every_run_costs_between_one_and_two_messages_per_other_node_and_entry() {
    let mut fewer = 0;
    for seed in 0..200 {
        let world: World<LodhaKshemkalyani> = shuffle::run(&Scope::new(5, 1, 4), seed).unwrap();
        assert_eq!(world.entries, 20);
        assert!((4 * 20..=8 * 20).contains(&world.sent), "seed {seed}: {}", world.sent);
        fewer += u32::from(world.sent < 8 * 20);
    }
    assert!(fewer > 100, "only {fewer} of 200 runs saved anything");
}

/// 002 sec. 2: clients enter in the order of the priorities of their requests.
#[test]
fn entries_are_in_the_order_of_priorities() {
    for seed in 0..200 {
        let mut last = (0, 0);
        let run = shuffle::watch(&Scope::new(5, 1, 4), seed, |world: &World<LodhaKshemkalyani>, outcome| {
            if !outcome.effects.iter().any(|effect| matches!(effect, Effect::Enter(_))) {
                return;
            }
            let node = outcome.node.unwrap();
            let state = world.nodes[node as usize].state.as_ref().unwrap();
            let stamp = (state.request.unwrap(), node);
            assert!(stamp > last, "seed {seed}: {stamp:?} enters after {last:?}");
            last = stamp;
        });
        assert!(run.is_ok(), "{run:?}");
    }
}

/// Node 0's second request reaches node 2 after node 2 knows from node 1 that it is satisfied.
const LATE: &str = "req0 0>1 1>0 0>2 2>0 exit0 req0 req2 req1 0>1 1>0 2>1 2>0 exit0 0>1 exit1 req1 1>0 0>1 \
                    1>2 1>2 1>2 0>2";

/// Nodes 0 and 2 ask again as soon as they leave, so their requests replace the replies.
const AT_ONCE: &str = "req2 2>1 req1 req0 0>1 0>2 2>0 1>0 exit0 1>2 req0 0>1 0>2 exit2 req2 0>2 1>2 2>1 2>0";

/// The same by another way, with another order of the first requests.
const AT_ONCE_TOO: &str =
    "req0 req2 0>2 2>0 2>1 req1 0>1 1>0 exit0 req0 0>1 0>2 1>2 exit2 req2 0>2 1>2 2>0 2>1";

#[test]
fn the_usual_presentation_deadlocks_in_two_ways() {
    for (schedule, defect) in [
        (LATE, "satisfied-queued"),
        (AT_ONCE, "last-not-told"),
        (AT_ONCE_TOO, "last-not-told"),
        (AT_ONCE, "usual-form"),
        (AT_ONCE_TOO, "usual-form"),
    ] {
        let mut wrong = world(3, Some(defect));
        wrong.run(schedule).unwrap();
        assert!(wrong.channels.is_empty() && (0..3).all(|node| !wrong.inside(node)), "{defect}");
        assert!(wrong.violated_at_end().is_some(), "{defect}");

        let mut right = world(3, None);
        right.run(schedule).unwrap();
        let inside = || (0..3).filter(|&node| right.inside(node));
        assert_eq!(inside().count(), 1, "{defect}");
    }
}

/// A REQUEST that overtakes a REPLY counts as its sender's answer, and the REPLY comes too late.
#[test]
fn channels_must_be_fifo() {
    let mut world = world(3, None);
    let error = world.run(OVERTAKING).unwrap_err();
    assert!(error.contains("does not wait for it"), "{error}");
}

/// Node 1's request overtakes its reply.
const OVERTAKING: &str = "req0 0>1 req1 1>0#1 1>0";
