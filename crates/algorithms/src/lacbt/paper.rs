//! Claims and examples of 002. Its P0 to P9 are nodes 0 to 9 here.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::{Lacbt, Role};
use crate::algorithm::{Algorithm, Effect, NodeId};
use crate::info::Scope;
use crate::schedule::parse_schedule;
use crate::tree::Shape;
use crate::world::World;

/// A system with a count of the messages of each kind.
struct Counted {
    world: World<Lacbt>,
    kinds: BTreeMap<&'static str, u32>,
}

impl Counted {
    fn new(scope: Scope, defect: Option<&str>) -> Counted {
        Counted { world: World::of(&scope, defect).unwrap(), kinds: BTreeMap::new() }
    }

    fn run(&mut self, schedule: &str) {
        for step in parse_schedule(schedule).unwrap() {
            let happened = self.world.take(&step).unwrap_or_else(|error| panic!("{step}: {error}"));
            assert!(happened.violation.is_none(), "{step}: {:?}", happened.violation);
            for effect in &happened.effects {
                if let Effect::Send { message, .. } = effect {
                    *self.kinds.entry(Lacbt::kind(message)).or_default() += 1;
                }
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..1000 {
            let Some((&(from, to), _)) = self.world.channels.first_key_value() else { return };
            self.run(&format!("{from}>{to}"));
        }
        panic!("not silent after 1000 deliveries");
    }

    /// Lets one client after the other leave until none is inside; returns the order of entries.
    fn serve_all(&mut self) -> Vec<NodeId> {
        let mut order = Vec::new();
        let nodes = self.world.nodes.len() as u32;
        while let Some(inside) = (0..nodes).find(|&node| self.world.inside(node)) {
            order.push(inside);
            self.run(&format!("exit{inside}"));
            self.settle();
        }
        order
    }

    /// The messages that the text counts: requests, and the token there and back.
    fn counted_by_the_text(&self) -> u32 {
        ["REQUEST", "TOKEN", "RETURN"].iter().map(|kind| self.count(kind)).sum()
    }

    fn count(&self, kind: &str) -> u32 {
        self.kinds.get(kind).copied().unwrap_or(0)
    }

    fn positions(&self) -> &[NodeId] {
        let mut roots = self.world.nodes.iter().filter_map(|node| match &node.state.as_ref()?.role {
            Role::Root(root) => Some(root.positions()),
            Role::Below { .. } => None,
        });
        roots.next_back().expect("there is no root")
    }

    fn parent(&self, node: NodeId) -> Option<NodeId> {
        match self.world.nodes[node as usize].state.as_ref()?.role {
            Role::Root(_) => None,
            Role::Below { parent, .. } => Some(parent),
        }
    }
}

fn log2_ceil(number: u32) -> u32 {
    number.next_power_of_two().ilog2()
}

/// Section 4.1, figures 4 to 18: P8 enters, P4 and P6 ask meanwhile; swaps with the positions 9, 8 and 7.
#[test]
fn case_study() {
    let mut system = Counted::new(Scope::new(10, 1, 1), None);
    // Figures 4 to 6: the request climbs, the token takes the path 0-1-3-8.
    system.run("req8 8>3 3>1 1>0 0>1 1>3 3>8");
    assert!(system.world.inside(8));
    // Figure 7: P4 and P6 are queued.
    system.run("req4 req6 4>1 1>0 6>2 2>0");
    // Figures 8 and 9: the token goes back; 10 and 11: P0 and P9 change places.
    system.run("exit8 8>3 3>1 1>0 0>9");
    assert_eq!(system.positions(), [9, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    // Figures 12 and 13: P4 is served by the new root.
    system.run("0>1 0>2 9>1 1>4");
    assert!(system.world.inside(4));
    // Figure 14: the second swap, with position 8, where P8 is an ordinary node again.
    system.run("exit4 4>1 1>9 9>8");
    assert_eq!(system.positions(), [8, 1, 2, 3, 4, 5, 6, 7, 9, 0]);
    // Figures 15 to 17.
    system.run("9>1 9>2 8>2 2>6");
    assert!(system.world.inside(6));
    system.run("exit6 6>2 2>8 8>7 8>1 8>2");
    // Figure 18: idle, after a third swap.
    assert_eq!(system.positions(), [7, 1, 2, 3, 4, 5, 6, 8, 9, 0]);
    assert!(system.world.channels.is_empty());
    assert_eq!(system.world.entries, 3);
    // Three hops three times for P8, two for P4 and P6 each; and what the text does not count.
    assert_eq!(system.counted_by_the_text(), 3 * 3 + 3 * 2 + 3 * 2);
    assert_eq!((system.count("ROOT"), system.count("PARENT")), (3, 6));
}

/// Section 4.2.1 claims 3(⌈log n⌉ − 1) for a leaf that asks alone. That is correct unless n is a power of
/// two: then the last level is ⌊log n⌋ hops from the root, one more than in the text.
#[test]
fn light_load() {
    for nodes in 2..=33 {
        let mut system = Counted::new(Scope::new(nodes, 1, 1), None);
        system.run(&format!("req{}", nodes - 1));
        system.settle();
        system.serve_all();
        let claimed = 3 * (log2_ceil(nodes) - 1);
        let short = if nodes.is_power_of_two() { 3 } else { 0 };
        assert_eq!(system.counted_by_the_text(), 3 * nodes.ilog2(), "{nodes} nodes");
        assert_eq!(system.counted_by_the_text(), claimed + short, "{nodes} nodes");
    }
}

/// Section 4.2.2: one node of each level asks; with L = ⌈log(n + 1)⌉ levels 3(L − 1)/2 messages per entry.
#[test]
fn medium_load() {
    for levels in 1..=5 {
        let nodes = (1 << levels) - 1;
        let mut system = Counted::new(Scope::new(nodes, 1, 1), None);
        // All are queued before the first leaves, so no swap moves any of them.
        for level in 0..levels {
            system.run(&format!("req{}", (1 << level) - 1));
            system.settle();
        }
        assert_eq!(system.serve_all().len() as u32, levels);
        assert_eq!(levels, log2_ceil(nodes + 1));
        assert_eq!(system.counted_by_the_text() * 2, levels * 3 * (levels - 1));
    }
}

/// Section 4.2.3: all nodes ask. The series of equation (6) is correct; the closed form of (7) is not: it has
/// a factor of 6 where the series gives 3(n + 1)/n, nearly half of it.
#[test]
fn high_load() {
    for levels in 2..=5 {
        let nodes: u32 = (1 << levels) - 1;
        let mut system = Counted::new(Scope::new(nodes, 1, 1), None);
        for node in 0..nodes {
            system.run(&format!("req{node}"));
            system.settle();
        }
        // Section 5.3: served in the order in which the requests reach the root.
        assert_eq!(system.serve_all(), (0..nodes).collect::<Vec<_>>());
        let measured = f64::from(system.counted_by_the_text()) / f64::from(nodes);
        let series: f64 = (1..=levels).map(|k| f64::from(levels - k) / f64::from(1u32 << k)).sum();
        let equation_6 = 3.0 * f64::from(nodes + 1) * series / f64::from(nodes);
        let bracket = f64::from(levels) + 2.0 * (1.0 / f64::from(nodes + 1) - 1.0);
        assert!((measured - equation_6).abs() < 1e-9, "{nodes} nodes: {measured}, {equation_6}");
        assert!((bracket - series).abs() < 1e-9);
        let equation_7 = 6.0 * bracket;
        assert!((measured / equation_7 - f64::from(nodes + 1) / f64::from(2 * nodes)).abs() < 1e-9);
    }
}

/// The cost of a swap, which the text leaves out: ROOT, and PARENT to the children of both positions. One
/// round of swaps through all positions of seven nodes makes every node the root once.
#[test]
fn swaps_cost_messages_too() {
    let mut system = Counted::new(Scope::new(7, 1, 1), None);
    let mut roots = Vec::new();
    let mut costs = Vec::new();
    for _ in 0..6 {
        let (root, before) = (system.positions()[0], system.count("ROOT") + system.count("PARENT"));
        roots.push(root);
        // The root's own critical section costs nothing, but a swap follows it all the same.
        system.run(&format!("req{root} exit{root}"));
        system.settle();
        costs.push(system.count("ROOT") + system.count("PARENT") - before);
    }
    assert_eq!(system.counted_by_the_text(), 0);
    assert_eq!(costs, [3, 3, 3, 3, 4, 4]);
    assert_eq!(roots, [0, 6, 5, 4, 3, 2]);
    assert_eq!(system.positions(), [1, 2, 3, 4, 5, 6, 0]);
}

/// The purpose of the swaps (section 4): the role of the root rotates. Without swaps the first root keeps it.
#[test]
fn without_swaps_the_root_stays() {
    let mut system = Counted::new(Scope::new(7, 1, 1).with(&[("swap", "no")]), None);
    for node in 1..7 {
        system.run(&format!("req{node}"));
        system.settle();
    }
    system.serve_all();
    assert_eq!(system.positions(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(system.counted_by_the_text(), 3 * (2 + 2 * 4));
    assert_eq!(system.count("ROOT") + system.count("PARENT"), 0);
}

/// When all is silent, every node knows its parent, whatever the order of PARENT messages.
#[test]
fn parents_follow_the_positions() {
    for nodes in 1..=12 {
        let mut system = Counted::new(Scope::new(nodes, 1, 1), None);
        for round in 0..2 * nodes {
            let node = round * 5 % nodes;
            system.run(&format!("req{node}"));
            system.settle();
            system.serve_all();
            for position in 0..nodes {
                let parent = Shape::Binary.parent(position).map(|above| system.positions()[above as usize]);
                assert_eq!(system.parent(system.positions()[position as usize]), parent);
            }
        }
    }
}

/// Section 4, situation 2: waiting nodes are passed over; and situation 1: a root that waits stays the root.
#[test]
fn the_node_that_is_swapped() {
    let mut system = Counted::new(Scope::new(4, 1, 2), None);
    system.run("req0 req3 req2 3>1 1>0 2>0 exit0");
    // The nodes at positions 3 and 2 wait: node 1 is the next root.
    assert_eq!(system.count("ROOT"), 1);
    system.run("0>1");
    assert_eq!(system.positions(), [1, 0, 2, 3]);
    // The new root asks, and waits behind 3 and 2: no swap until it has been served.
    system.run("req1");
    system.settle();
    assert_eq!(system.serve_all(), [3, 2, 1]);
    assert_eq!(system.count("ROOT"), 2);
}

/// A swap overtakes a request. In the printed form, with a position in it, the root would serve a node that
/// never asked. With the node's number in it the request follows the root and is served.
#[test]
fn a_swap_overtakes_a_request() {
    let schedule = "req0 exit0 req1 0>1 1>0 0>1";
    let scope = Scope::new(2, 1, 1);
    let mut right = Counted::new(scope, None);
    right.run(schedule);
    assert!(right.world.inside(1));
    let mut printed: World<Lacbt> = World::of(&scope, Some("places-in-requests")).unwrap();
    let error = printed.run(schedule).unwrap_err();
    assert!(format!("{error}").starts_with("0>1: one-place-per-request"), "{error}");
}

/// No node is told of a swap: after the first one 0 and 1 point at each other, and a request circulates for
/// ever.
#[test]
fn no_node_is_told_of_a_swap() {
    let mut system = Counted::new(Scope::new(4, 1, 1), Some("nobody-is-told"));
    system.run("req0 exit0 0>3");
    assert_eq!((system.parent(0), system.parent(1)), (Some(1), Some(0)));
    assert_eq!(system.world.run("req1").and_then(|()| system.world.settle(1000)), not_silent());
}

/// PARENT messages may arrive in any order, because different roots send them. Without an epoch the old one
/// would win, and 1 and 4 would point at each other.
#[test]
fn old_news() {
    let schedule = "req0 exit0 req3 0>4 req4 exit4 4>1 0>1";
    let mut right = Counted::new(Scope::new(5, 1, 1), None);
    right.run(schedule);
    assert_eq!((right.parent(4), right.parent(1)), (Some(1), Some(3)));
    right.run("4>3");
    right.settle();
    assert!(right.world.inside(3));
    let mut mutant = Counted::new(Scope::new(5, 1, 1), Some("old-news-taken"));
    mutant.run(schedule);
    mutant.run("4>3");
    assert_eq!((mutant.parent(4), mutant.parent(1)), (Some(1), Some(4)));
    assert_eq!(mutant.world.settle(1000), not_silent());
}

/// Equation (1) has ⌈(i − 1)/2⌉. Requests still arrive, over more hops, and nothing breaks until the tree is
/// deep enough. But the children that a swap tells, by equations (2) and (3), are then not the ones that
/// point there, and with nine nodes 2 and 4 end up pointing at each other.
#[test]
fn parent_by_ceil() {
    let mut system = Counted::new(Scope::new(9, 1, 2), Some("parent-by-ceil"));
    system.run("req0");
    for node in [8, 7, 6, 5, 4, 3] {
        system.run(&format!("req{node}"));
        system.settle();
    }
    assert_eq!(system.count("REQUEST"), 4 + 3 + 3 + 3 + 3 + 2);
    // All of these wait, so that the root changes places with 2, which 4 takes for its parent.
    system.run("exit0 0>2");
    assert_eq!((system.positions()[0], system.parent(4)), (2, Some(2)));
    // The root is served after them and keeps its place until then. Node 1 waits, so that no node is swapped
    // next. Then it is position 8's turn, and the root comes to stand below 4.
    system.run("req2 req1");
    system.settle();
    assert_eq!(system.serve_all(), [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(system.positions(), [8, 1, 0, 3, 4, 5, 6, 7, 2]);
    assert_eq!((system.parent(2), system.parent(4)), (Some(4), Some(2)));
    assert_eq!(system.world.run("req4").and_then(|()| system.world.settle(1000)), not_silent());
}

fn not_silent() -> Result<(), crate::world::RunError> {
    Err(crate::world::RunError::NotSilent(1000))
}
