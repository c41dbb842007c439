//! Claims about quorums of ⌊n/(k+1)⌋ + 1 nodes, and what each rule of the algorithm is for.

use std::format;
use std::string::String;

use crate::World;
use crate::info::Scope;
use crate::k_majority::{KMajority, quorum_size, reaches_all};
use crate::setting::Setting;
use crate::shuffle;
use crate::system::System;

const WINDOW: &[(&str, &str)] = &[("pick", "window")];

fn any(nodes: u32, tokens: u32, defect: Option<&str>) -> World<KMajority> {
    World::of(&Scope::new(nodes, tokens, 1), defect).unwrap()
}

fn window(nodes: u32, tokens: u32, defect: Option<&str>) -> World<KMajority> {
    World::of(&Scope::new(nodes, tokens, 1).with(WINDOW), defect).unwrap()
}

/// Delivers all messages and lets every client inside leave, until nothing more happens.
fn finish(world: &mut World<KMajority>) {
    world.settle(1000).unwrap();
    while let Some(node) = (0..world.nodes.len() as u32).find(|&node| world.inside(node)) {
        world.run(&format!("exit{node}")).unwrap();
        world.settle(1000).unwrap();
    }
}

/// k + 1 quorums do not fit into n nodes, and one node fewer in each would let them: w is the smallest size.
#[test]
fn a_quorum_is_as_small_as_can_be() {
    for nodes in 1..=60 {
        for tokens in 1..=nodes {
            let size = quorum_size(nodes, tokens);
            assert!((tokens + 1) * size > nodes, "n={nodes} k={tokens}");
            assert!((tokens + 1) * (size - 1) <= nodes, "n={nodes} k={tokens}");
        }
    }
    assert_eq!((quorum_size(7, 1), quorum_size(7, 2), quorum_size(7, 3)), (4, 3, 2));
}

/// With k = 1 every n will do: a majority. Otherwise k quorums have to fit, and the refusal names the nearest
/// sizes where they do.
#[test]
fn sizes_in_which_k_never_meet_are_refused() {
    let refusal = |nodes, tokens| -> String {
        let setting = Setting::new(nodes, tokens);
        System::<KMajority>::new(&setting).err().map(|refusal| format!("{refusal}")).unwrap_or_default()
    };
    assert!((1..=60).all(|nodes| reaches_all(nodes, 1)));
    assert!(refusal(3, 2).contains("2 quorums of 2 nodes do not fit into 3 nodes"), "{}", refusal(3, 2));
    assert!(refusal(3, 2).ends_with("try --nodes 2 or --nodes 4"), "{}", refusal(3, 2));
    assert!(refusal(5, 3).ends_with("try --nodes 3 or --nodes 6"), "{}", refusal(5, 3));
    for (nodes, tokens) in [(2, 2), (4, 2), (5, 2), (6, 3), (7, 3)] {
        assert_eq!(refusal(nodes, tokens), "");
    }
}

/// Alone: three messages to each other node that is asked.
#[test]
fn alone_an_entry_costs_three_messages_per_node_asked() {
    for (nodes, tokens) in [(1, 1), (3, 1), (4, 2), (7, 2), (7, 3), (10, 2)] {
        let others = u64::from(quorum_size(nodes, tokens) - 1);
        for (mut world, asked) in
            [(any(nodes, tokens, None), u64::from(nodes - 1)), (window(nodes, tokens, None), others)]
        {
            world.run("req0").unwrap();
            finish(&mut world);
            assert_eq!((world.sent, world.entries), (3 * asked, 1), "n={nodes} k={tokens}");
        }
    }
}

/// Under load an entry costs about four messages per node asked, as Maekawa's does: one FAILED on top.
#[test]
fn under_load_an_entry_costs_about_four() {
    for (nodes, tokens) in [(4, 2), (5, 2), (7, 3)] {
        let others = [nodes - 1, quorum_size(nodes, tokens) - 1].map(u64::from);
        for (scope, others) in
            [Scope::new(nodes, tokens, 4), Scope::new(nodes, tokens, 4).with(WINDOW)].iter().zip(others)
        {
            let (mut sent, mut entries) = (0, 0);
            for seed in 0..100 {
                let world: World<KMajority> = shuffle::run(scope, seed).unwrap();
                assert!(world.sent >= 3 * others * world.entries, "n={nodes} seed {seed}: {}", world.sent);
                (sent, entries) = (sent + world.sent, entries + world.entries);
            }
            let percent = 100 * sent / (others * entries);
            assert!((300..=460).contains(&percent), "{scope}: {percent} % of the nodes asked");
        }
    }
}

/// Two of four nodes are inside at once: nodes 0 and 2 with disjoint windows, or with any two locks each.
#[test]
fn k_are_inside_at_once() {
    let mut world = window(4, 2, None);
    world.run("req0 req2 0>1 2>3 1>0 3>2").unwrap();
    assert!(world.inside(0) && world.inside(2));
    let mut world = any(4, 2, None);
    world.run("req0 req1 0>3 3>0 1>2 2>1").unwrap();
    assert!(world.inside(0) && world.inside(1));
    // The other members learn that their locks are not needed.
    world.settle(100).unwrap();
    assert!(world.inside(0) && world.inside(1));
    finish(&mut world);
    assert_eq!(world.entries, 2);
}

/// Windows hold locks while their nodes wait: node 2 holds the lock of node 3 and waits for node 1, so node 3
/// waits too, although its window and node 1's are disjoint. Asking all, a second node enters.
#[test]
fn windows_wait_where_any_enters() {
    for (mut world, inside) in [(window(5, 2, None), 1), (any(5, 2, None), 2)] {
        world.run("req1 1>2 2>1 req2 2>3 req3").unwrap();
        world.settle(100).unwrap();
        assert!(world.inside(1));
        assert_eq!((0..5).filter(|&node| world.inside(node)).count(), inside);
        finish(&mut world);
        assert_eq!(world.entries, 3);
    }
}

/// Four nodes, each locked for its own request and asked by the node before it: FAILED and INQUIRE end the
/// circle.
#[test]
fn locks_are_asked_back_where_requests_block_each_other() {
    let schedule = "req0 req1 req2 req3 0>1 1>2 2>3 3>0";
    let mut right = window(4, 2, None);
    right.run(schedule).unwrap();
    assert_eq!(right.entries, 0);
    finish(&mut right);
    assert_eq!(right.entries, 4);
    for defect in ["never-failed", "never-inquires"] {
        let mut wrong = window(4, 2, Some(defect));
        wrong.run(schedule).unwrap();
        finish(&mut wrong);
        assert_eq!(wrong.entries, 0, "{defect}");
        assert!(wrong.violated_at_end().is_some(), "{defect}");
    }
}

/// The same among three nodes that ask all: each has its own lock and needs a second.
#[test]
fn the_oldest_of_three_gets_its_second_lock() {
    let schedule = "req0 req1 req2 0>1 0>2 1>0 1>2 2>0 2>1";
    let mut right = any(3, 1, None);
    right.run(schedule).unwrap();
    assert_eq!(right.entries, 0);
    finish(&mut right);
    assert_eq!(right.entries, 3);
    for defect in ["never-failed", "never-inquires"] {
        let mut wrong = any(3, 1, Some(defect));
        wrong.run(schedule).unwrap();
        finish(&mut wrong);
        assert_eq!(wrong.entries, 0, "{defect}");
        assert!(wrong.violated_at_end().is_some(), "{defect}");
    }
}

/// A RELEASE may overtake its REQUEST, because w locks are enough. A member that has forgotten the RELEASE
/// locks itself for ever; here both members do.
#[test]
fn a_request_that_comes_after_its_release_is_dropped() {
    let schedule = "req0 req1 exit0 exit1 0>1#1 0>1 1>0#1 1>0";
    let mut wrong = any(2, 2, Some("done-forgotten"));
    wrong.run(schedule).unwrap();
    wrong.run("req0").unwrap();
    finish(&mut wrong);
    assert!(wrong.entries == 2 && wrong.violated_at_end().is_some());
    let mut right = any(2, 2, None);
    right.run(schedule).unwrap();
    right.run("req0").unwrap();
    assert!(right.inside(0));
}

/// What is no mutant: whatever the order of messages, all clients enter, also with much overtaking.
#[test]
fn all_enter_in_every_order() {
    for (nodes, tokens) in [(3, 1), (4, 2), (5, 2), (6, 3), (7, 2)] {
        for seed in 0..200 {
            let world: World<KMajority> = shuffle::run(&Scope::new(nodes, tokens, 3), seed).unwrap();
            assert_eq!(world.entries, 3 * u64::from(nodes), "n={nodes} k={tokens} seed {seed}");
            let members = world.nodes.iter().filter_map(|node| node.state.as_ref());
            assert!(members.into_iter().all(|member| member.lock.is_none() && member.queue.is_empty()));
        }
    }
}
