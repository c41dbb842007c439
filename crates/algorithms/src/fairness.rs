//! For tests: nodes with unequal numbers of clients that always want to be inside, and the share each gets.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::{Algorithm, Setting, World};

/// Runs nodes with so many clients each. The clients of a node want the groups in turn, each always the same.
/// In a round every client that is inside leaves, every client outside makes a request, and every message of
/// the round before arrives. Returns how often each client entered, node by node.
pub(crate) fn entries<A: Algorithm>(setting: &Setting, clients: &[u32], rounds: u32) -> Vec<Vec<u32>> {
    let mut world: World<A> = World::new(setting).unwrap();
    let mut entries: Vec<Vec<u32>> = clients.iter().map(|&count| vec![0; count as usize]).collect();
    for round in 0..rounds {
        let sent: Vec<_> = world.channels.iter().map(|(&path, queue)| (path, queue.len())).collect();
        for (node, &count) in clients.iter().enumerate() {
            // Each of them is the first at times, as in life.
            for client in (0..count).map(|client| (client + round) % count) {
                let state = world.nodes[node].client(client);
                if state.is_inside() {
                    entries[node][client as usize] += 1;
                    world.run(&format!("exit{node}.{client}")).unwrap();
                }
                if !state.is_waiting() {
                    world.run(&format!("req{node}.{client}:{}", client % setting.groups)).unwrap();
                }
            }
        }
        for ((from, to), count) in sent {
            (0..count).for_each(|_| world.run(&format!("{from}>{to}")).unwrap());
        }
    }
    entries
}

/// Jain's index over all clients: 1 if all have the same share.
pub(crate) fn jain(entries: &[Vec<u32>]) -> f64 {
    let all: Vec<f64> = entries.iter().flatten().map(|&count| f64::from(count)).collect();
    let (sum, squares) = (all.iter().sum::<f64>(), all.iter().map(|count| count * count).sum::<f64>());
    sum * sum / (all.len() as f64 * squares)
}

/// How often all clients entered together.
pub(crate) fn total(entries: &[Vec<u32>]) -> f64 {
    f64::from(entries.iter().flatten().sum::<u32>())
}
