//! Claims of 001 ch. III sec. B.2 and ch. V about Makki et al.'s algorithm, and a search of our own with
//! time.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::Makki;
use super::timed::{Load, TieBreak, run};
use crate::algorithm::Algorithm;

/// Calls `check` with every way to choose one of `values` for each of `digits`.
fn each(values: &[Option<u32>], digits: usize, check: &mut dyn FnMut(&[Option<u32>])) {
    let mut chosen = vec![0; digits];
    loop {
        let pattern: Vec<Option<u32>> = chosen.iter().map(|&index: &usize| values[index]).collect();
        check(&pattern);
        let Some(digit) = chosen.iter().rposition(|&index| index + 1 < values.len()) else { return };
        chosen[digit] += 1;
        chosen[digit + 1..].fill(0);
    }
}

/// The requests of a pattern: node after node, `rounds` each; `None` is a request that is not made.
fn thinks(pattern: &[Option<u32>], rounds: usize) -> Vec<Vec<u32>> {
    pattern.chunks(rounds).map(|thinks| thinks.iter().filter_map(|&think| think).collect()).collect()
}

/// Runs the load with every order of ties, panics if anything is wrong, and gathers the notes.
fn expect_right(load: &mut Load, notes: &mut BTreeSet<&'static str>) -> u32 {
    for tie_break in [TieBreak::Clients, TieBreak::Messages, TieBreak::NewestMessage] {
        load.tie_break = tie_break;
        let outcome = run(load);
        if let Some(failure) = outcome.failure(load) {
            panic!("{failure}\n{load:?}");
        }
        notes.extend(outcome.notes);
    }
    3
}

/// Critical sections shorter than a hop, as long as one, and longer than the collecting takes; a hop is 2.
const SECTIONS: [u32; 4] = [1, 2, 3, 9];

/// With constant delays and sections, whatever the instants of the requests: at most k inside, all clients
/// served, and at the end the semaphore is k at a good site that all nodes know. Hops take 2, so the instants
/// between are tried.
#[test]
fn three_nodes_at_all_instants() {
    let mut notes = BTreeSet::new();
    let mut runs = 0;
    for (tokens, section) in (1..=3).flat_map(|k| SECTIONS.map(|section| (k, section))) {
        each(&[None, Some(0), Some(1), Some(4)], 6, &mut |pattern| {
            runs += expect_right(&mut Load::new(3, tokens, 2, section, thinks(pattern, 2)), &mut notes);
        });
    }
    assert_eq!(runs, 3 * 12 * 4u32.pow(6));
    // Every note of this form occurred: the others are of rounds.
    assert!(Makki::INFO.sometimes[..3].iter().all(|note| notes.contains(note)), "{notes:?}");
}

#[test]
fn four_nodes_at_all_instants() {
    let (mut notes, mut runs) = (BTreeSet::new(), 0);
    let instants: Vec<Option<u32>> = [0, 1, 2, 3, 4, 6, 9].map(Some).into_iter().chain([None]).collect();
    for (tokens, section) in (1..=4).flat_map(|k| [1, 4].map(|section| (k, section))) {
        each(&instants, 4, &mut |pattern| {
            runs += expect_right(&mut Load::new(4, tokens, 2, section, thinks(pattern, 1)), &mut notes);
        });
    }
    assert_eq!(runs, 3 * 8 * 8u32.pow(4));
}

/// Four nodes that ask again and again, every combination of two paces.
#[test]
fn four_nodes_that_ask_again() {
    let mut notes = BTreeSet::new();
    for (tokens, section) in (1..=3).flat_map(|k| [1, 5].map(|section| (k, section))) {
        each(&[Some(0), Some(3)], 12, &mut |pattern| {
            expect_right(&mut Load::new(4, tokens, 2, section, thinks(pattern, 3)), &mut notes);
        });
    }
}

/// Delays need not be constant, nor channels FIFO: a bound is enough. Every cycle of four delays from 1 to 3.
#[test]
fn delays_up_to_the_bound() {
    let mut notes = BTreeSet::new();
    for (nodes, tokens) in [(3, 1), (3, 2), (4, 2), (4, 3), (5, 2)] {
        each(&[Some(1), Some(2), Some(3)], 4, &mut |delays| {
            for (section, think) in [(1, 0), (1, 5), (4, 1), (7, 2)] {
                // Paces that differ, so that requests meet every stage of the others.
                let thinks = (0..nodes).map(|node| vec![think * node, think, node, 3, node * node]).collect();
                let mut load = Load::new(nodes, tokens, 3, section, thinks);
                load.delays = delays.iter().flatten().copied().collect();
                expect_right(&mut load, &mut notes);
            }
        });
    }
}

#[test]
fn one_node_and_as_many_slots_as_nodes() {
    let alone = Load::new(1, 1, 2, 3, vec![vec![0, 0, 5]]);
    let outcome = run(&alone);
    assert_eq!(outcome.failure(&alone), None);
    assert_eq!((outcome.world.sent, outcome.waits), (0, vec![0, 0, 0]));
    for nodes in 1..=6 {
        let mut load = Load::new(nodes, nodes, 2, 3, vec![vec![0, 1, 7]; nodes as usize]);
        expect_right(&mut load, &mut BTreeSet::new());
    }
}

/// Critical sections of different lengths break it. Node 1 stays long and the good site 2 leaves before it,
/// so the token goes on with one permit too few, and node 1's RELEASE arrives at a node that cannot add it.
/// The next queue of three is stuck: the first node's RELEASE goes to the third, and the second waits for one
/// that no node will send.
#[test]
fn sections_of_different_lengths_wear_the_semaphore_out() {
    let mut load = Load::new(4, 2, 2, 1, vec![vec![20], vec![1, 60], vec![0, 90], vec![100]]);
    assert_eq!(run(&load).failure(&load), None);

    load.sections[1] = 30;
    let outcome = run(&load);
    let violation = outcome.violation.as_deref().unwrap_or("none");
    assert!(violation.ends_with("the token is passed on before its semaphore is back at k"), "{violation}");
    assert_eq!(outcome.entered, [(8, 1), (10, 2), (28, 0), (106, 3)]);
    assert_eq!(outcome.holders(), [(2, 0)]);
    let left = outcome.world.violated_at_end().unwrap();
    assert_eq!(left.detail, "nothing more can happen and nodes 1, 2 wait");
}

/// Ch. V: late requests arrive within two hops of the announcement, or not at all. If the bound on the delay
/// is too small (as when sending and receiving take time, too) a request reaches a node that cannot serve it.
#[test]
fn a_bound_that_is_too_small_loses_requests() {
    let mut load = Load::new(3, 1, 4, 1, vec![vec![], vec![0], vec![7]]);
    assert_eq!(run(&load).failure(&load), None);
    load.hop = 3;
    let outcome = run(&load);
    let violation = outcome.violation.as_deref().unwrap_or("none");
    assert!(violation.ends_with("a request comes to a node that is no longer the good site"), "{violation}");
    assert!(outcome.world.violated_at_end().is_some());
}

/// Sec. III.B.2, light load: messages "in the order of N". It is n exactly: REQUEST, n − 2 UPDATEs, TOKEN.
/// The wait is 4 hops: the request, two hops for late ones, the token.
#[test]
fn light_load() {
    for nodes in 3..=30 {
        let mut thinks = vec![vec![]; nodes as usize];
        // Each node asks long after all is silent, and never twice in a row.
        for (order, node) in (1..nodes).chain([0]).enumerate() {
            thinks[node as usize] = vec![order as u32 * 1000];
        }
        let load = Load::new(nodes, 3, 10, 1, thinks);
        let outcome = run(&load);
        assert_eq!(outcome.failure(&load), None);
        assert!(outcome.waits.iter().all(|&wait| wait == 40), "{:?}", outcome.waits);
        assert_eq!(outcome.world.sent, u64::from(nodes) * outcome.world.entries);
        assert!(!outcome.sent.contains_key("RELEASE"));
    }
}

/// The load at the right-hand ends of the thesis' figures: 30 nodes, all asking a hop after they left,
/// sections of nearly 0.
fn heavy_load(tokens: u32) -> Load {
    Load::new(30, tokens, 1000, 1, vec![vec![1000; 100]; 30])
}

/// Sec. III.B.2 and figure 14: about three messages at heavy load. The number is correct, but the text names
/// the wrong three: it counts an UPDATE and no RELEASE, while UPDATEs all but vanish and every node but the
/// last of a queue sends a RELEASE.
#[test]
fn heavy_load_takes_three_messages() {
    let load = heavy_load(3);
    let outcome = run(&load);
    assert_eq!(outcome.failure(&load), None);
    let all = outcome.world.sent as f64 / outcome.world.entries as f64;
    assert!((3.0..3.25).contains(&all), "{all}");
    for (kind, range) in
        [("REQUEST", 0.95..1.01), ("TOKEN", 0.99..1.01), ("RELEASE", 0.94..1.0), ("UPDATE", 0.05..0.25)]
    {
        let share = outcome.per_entry(kind);
        assert!(range.contains(&share), "{kind}: {share}");
    }
}

/// Ch. V: with short critical sections the token's path from node to node takes the time, so k permits serve
/// no better than one.
#[test]
fn heavy_load_behaves_as_if_k_were_1() {
    let waits: Vec<f64> = [1, 3, 10].iter().map(|&k| run(&heavy_load(k)).mean_wait()).collect();
    assert!(waits.iter().all(|wait| (wait / waits[0] - 1.0).abs() < 0.01), "{waits:?}");
    // About n hops, where k forests take n / k.
    assert!((29_000.0..33_000.0).contains(&waits[0]), "{waits:?}");
}

/// Figure 11: k = 2 and the queue 2, 4, 7. Node 2's RELEASE goes to 7 and arrives before the token, which
/// comes through 4; node 7 has to wait for the token all the same.
#[test]
fn figure_11() {
    let mut thinks = vec![vec![]; 8];
    // Node 0 is inside while the three ask, so that they form one queue.
    (thinks[0], thinks[2], thinks[4], thinks[7]) = (vec![0], vec![0], vec![1], vec![2]);
    let mut load = Load::new(8, 2, 100, 1, thinks);
    load.sections[0] = 150;
    let outcome = run(&load);
    assert_eq!(outcome.failure(&load), None);
    let [(_, 0), (two, 2), (four, 4), (seven, 7)] = outcome.entered[..] else {
        panic!("{:?}", outcome.entered)
    };
    assert_eq!((four - two, seven - four), (100, 100));
    assert!(outcome.notes.contains(&"a RELEASE came before the token"));
    // 2 to 7, and 4 to the good site, which is 7 again; 7 keeps the token.
    assert_eq!(outcome.sent["RELEASE"], 2);

    // With critical sections longer than the token's path, node 7 waits for the RELEASE instead.
    load.sections = vec![1000; 8];
    let outcome = run(&load);
    let [_, (two, 2), (four, 4), (seven, 7)] = outcome.entered[..] else { panic!("{:?}", outcome.entered) };
    assert_eq!((four - two, seven - two), (100, 1100));
}

/// Sec. III.B.2: the good site gets the RELEASEs of the k sites before it, which bring the semaphore back to
/// k.
#[test]
fn the_good_site_restores_the_semaphore() {
    for tokens in 1..=6 {
        let mut load = Load::new(7, tokens, 10, 1, vec![vec![1]; 7]);
        load.thinks[0] = vec![0];
        load.sections[0] = 20;
        let outcome = run(&load);
        assert_eq!(outcome.failure(&load), None);
        // Six wait in one queue: each but the last sends one RELEASE; node 0 and the last keep the token
        // instead.
        assert_eq!((outcome.sent["RELEASE"], outcome.world.entries), (5, 7));
        assert_eq!(outcome.holders(), [(6, tokens)]);
    }
}
