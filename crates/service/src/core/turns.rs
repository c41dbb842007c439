//! In which order the waiters of a name get it, from what its nodes tell.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::{Held, Listing};

/// The order of the clients of one name. All that list clients sort by it, so that no two lists disagree.
pub struct Turns {
    /// How many nodes come before a node at the token that it gets first.
    before: BTreeMap<u32, usize>,
}

/// What clients are sorted by: holders first, then by the turn of the node, then the longest first.
pub type Turn = (bool, usize, Reverse<Duration>, u32);

impl Turns {
    /// From the listings of one name, each with its node.
    pub fn of<'a>(listings: impl IntoIterator<Item = (u32, &'a Listing)>) -> Turns {
        let mut before = BTreeMap::new();
        let mut comes = |node: u32, turn: usize| {
            before.entry(node).and_modify(|had: &mut usize| *had = turn.min(*had)).or_insert(turn);
        };
        for (here, listing) in listings {
            for (_, queue) in &listing.slots {
                queue.iter().enumerate().for_each(|(at, node)| comes(*node, at + 1));
                // Clients at the token itself go before its queue; those of a room are in it.
                if !queue.contains(&here) {
                    comes(here, 0);
                }
            }
        }
        Turns { before }
    }

    /// When it is this client's turn. A node that no token knows of yet, its request being on its way, comes last.
    pub fn turn(&self, client: &Held) -> Turn {
        let (waits, node) = (client.granted.is_none(), client.session.node);
        let before = if waits { self.before.get(&node).copied().unwrap_or(usize::MAX) } else { 0 };
        (waits, before, Reverse(client.since), node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionId;
    use crate::{Definition, Want};

    fn waiter(node: u32, request: u64, seconds: u64) -> Held {
        Held {
            session: SessionId { node, incarnation: 1, number: 1 },
            request,
            granted: None,
            want: Want::Slot,
            since: Duration::from_secs(seconds),
            label: None,
            left: None,
            revoked: false,
        }
    }

    fn listing(slots: Vec<(u32, Vec<u32>)>) -> Listing {
        let name = "gpu".to_string();
        Listing {
            name,
            definition: Definition::Slots(2),
            home: 0,
            slots,
            pointers: Vec::new(),
            clients: Vec::new(),
        }
    }

    /// The nodes and requests of these waiters, in their order.
    fn sorted(listings: &[(u32, Listing)], mut waiters: Vec<Held>) -> Vec<(u32, u64)> {
        let turns = Turns::of(listings.iter().map(|(node, listing)| (*node, listing)));
        waiters.sort_by_key(|client| turns.turn(client));
        waiters.iter().map(|client| (client.session.node, client.request)).collect()
    }

    #[test]
    fn the_queue_of_the_token_comes_before_age() {
        let at_node_0 = [(0, listing(vec![(0, vec![2, 1])]))];
        let waiters =
            vec![waiter(1, 1, 9), waiter(2, 1, 5), waiter(2, 2, 1), waiter(3, 1, 99), waiter(0, 1, 2)];
        // Those at the token first, all of a node together, and at last the node that no token knows of.
        assert_eq!(sorted(&at_node_0, waiters), [(0, 1), (2, 1), (2, 2), (1, 1), (3, 1)]);
    }

    #[test]
    fn a_node_in_two_queues_counts_where_it_comes_first() {
        let two = [(0, listing(vec![(0, vec![2, 1])])), (3, listing(vec![(1, vec![1])]))];
        let waiters = vec![waiter(2, 1, 5), waiter(1, 1, 9)];
        // Both are first at a token: the longest wait decides.
        assert_eq!(sorted(&two, waiters), [(1, 1), (2, 1)]);
    }

    #[test]
    fn the_node_of_a_token_may_be_in_its_queue() {
        let room = [(0, listing(vec![(0, vec![1, 0])]))];
        assert_eq!(sorted(&room, vec![waiter(0, 1, 9), waiter(1, 1, 1)]), [(1, 1), (0, 1)]);
    }
}
