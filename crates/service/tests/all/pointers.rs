//! What nodes tell of their pointers: they lead to the token, or to a node that waits for it.

use std::collections::BTreeMap;

use service::core::{Listing, POINTERS};
use service::{Definition, Want};

use super::cluster::{Cluster, NAME};

/// What each node that knows the name says of it.
fn told(cluster: &Cluster) -> Vec<(u32, Listing)> {
    let cores = cluster.cores.iter().flatten();
    let pages = cores.map(|core| (core.status().node, core.inspect_page(NAME, None, cluster.now)));
    pages.flat_map(|(node, page)| page.listings.into_iter().map(move |listing| (node, listing))).collect()
}

/// Follows the pointers of every node, and tells where each token is.
fn follow(cluster: &Cluster, slots: u32) -> BTreeMap<u32, u32> {
    let told = told(cluster);
    let tokens: BTreeMap<u32, u32> = told
        .iter()
        .flat_map(|(node, listing)| listing.slots.iter().map(|(slot, _)| (*slot, *node)))
        .collect();
    assert_eq!(tokens.len(), slots as usize, "no token is on its way");
    for (node, listing) in &told {
        let waits = listing.clients.iter().any(|client| client.granted.is_none());
        for slot in 0..slots {
            let pointer = listing.pointers.iter().find(|pointer| pointer.0 == slot);
            let here = tokens[&slot] == *node;
            assert!(!here || pointer.is_none(), "node {node} has token {slot} and points to {pointer:?}");
            assert!(here || waits || pointer.is_some(), "node {node} has no way to slot {slot}");
            let (mut at, mut steps) = (*node, 0);
            while tokens[&slot] != at {
                let here = told.iter().find(|(told, _)| *told == at).map(|(_, listing)| listing);
                let Some(listing) = here else { break };
                let Some(next) = listing.pointers.iter().find(|pointer| pointer.0 == slot) else {
                    assert!(listing.clients.iter().any(|client| client.granted.is_none()), "{listing:?}");
                    break;
                };
                (at, steps) = (next.1, steps + 1);
                assert!(steps <= cluster.cores.len(), "the way to slot {slot} is a circle");
            }
        }
    }
    tokens
}

#[test]
fn pointers_lead_to_every_token() {
    for seed in 0..20 {
        let mut cluster = Cluster::new(5, seed);
        for round in 0..4 {
            let node = (seed as usize * 3 + round * 2) % 5;
            cluster.ask(node, Some(2));
            for _ in 0..50 {
                for way in cluster.ways() {
                    cluster.deliver(way);
                }
            }
            follow(&cluster, 2);
        }
    }
}

#[test]
fn a_room_has_one_pointer_and_lists_have_none() {
    let mut cluster = Cluster::new(3, 7);
    for node in [1, 2] {
        cluster.ask_for(node, Definition::RwLock, Want::Write);
        for _ in 0..50 {
            for way in cluster.ways() {
                cluster.deliver(way);
            }
        }
    }
    let tokens = follow(&cluster, 1);
    let all = told(&cluster);
    assert!(all.iter().all(|(node, listing)| tokens[&0] != *node || listing.pointers.is_empty()));
    for core in cluster.cores.iter().flatten() {
        let page = core.list_page(&service::event::Filter::default(), None, cluster.now);
        assert!(page.listings.iter().all(|listing| listing.pointers.is_empty()));
    }
}

#[test]
fn a_semaphore_of_many_slots_has_a_bounded_number() {
    let mut cluster = Cluster::new(2, 1);
    cluster.ask(0, Some(65_536));
    cluster.ask(1, Some(65_536));
    for _ in 0..50 {
        for way in cluster.ways() {
            cluster.deliver(way);
        }
    }
    let most = told(&cluster).iter().map(|(_, listing)| listing.pointers.len()).max();
    assert_eq!(most, Some(POINTERS));
}
