//! Clients that always want to be inside get similar shares, however unequal the numbers of clients per node
//! are, and whichever token their node has.

use alloc::vec::Vec;

use super::Forest;
use crate::Setting;
use crate::fairness::{jain, total};

fn entries(tokens: u32, clients: &[u32], options: &[(&str, &str)]) -> Vec<Vec<u32>> {
    let setting = Setting::new(clients.len() as u32, tokens).with(options);
    crate::fairness::entries::<Forest>(&setting, clients, 2_000)
}

/// A node serves all clients that waited when the token came, so a client's share does not depend on how many
/// others its node has. If it served as many as any other node, the many would share the little of a few.
#[test]
fn clients_of_large_nodes_have_the_same_share() {
    for (clients, without, with) in
        [(&[1, 1, 1, 1, 1, 1, 1, 1, 40][..], 0.45, 0.99), (&[2, 10, 40], 0.3, 0.9)]
    {
        let by_node = entries(1, clients, &[("share", "nodes")]);
        assert!(jain(&by_node) < without, "{clients:?}: {}", jain(&by_node));
        let by_client = entries(1, clients, &[]);
        assert!(jain(&by_client) >= with, "{clients:?}: {}", jain(&by_client));
        assert!(total(&by_client) >= 0.98 * total(&by_node), "{clients:?}");
    }
    // Passes favour nodes with few clients; without them all are equal.
    assert!(jain(&entries(1, &[2, 10, 40], &[("passes", "0")])) >= 0.999);
}

/// Two of nine nodes would have a token each for themselves for ever, and the others share the third.
#[test]
fn as_many_nodes_share_one_token_as_another() {
    let index = |balance| jain(&entries(3, &[1; 9], &[("balance", balance)]));
    assert!(index("no") < 0.35 && index("yes") >= 0.9, "{} {}", index("no"), index("yes"));
}
