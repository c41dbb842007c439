//! Trees over the nodes 0 to n − 1, node 0 at the root: the shapes that the tree algorithms share.

use crate::algorithm::NodeId;
use crate::info::{OptionInfo, Scope};
use crate::setting::Setting;

/// The option that chooses a shape.
pub const SHAPE: OptionInfo =
    OptionInfo::choice("shape", &["binary", "star", "line"], "the tree that joins the nodes");

/// The shape of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Almost complete and binary: the shallowest with at most three neighbours per node.
    Binary,
    /// Node 0 in the middle: any two nodes are at most two hops apart.
    Star,
    /// A chain: the longest paths there can be.
    Line,
}

impl Shape {
    /// The shape that the setting asks for.
    pub fn of(setting: &Setting) -> Shape {
        match setting.option(SHAPE.name) {
            Some("star") => Shape::Star,
            Some("line") => Shape::Line,
            _ => Shape::Binary,
        }
    }

    /// The next node on the way to node 0; `None` at node 0.
    pub fn parent(self, node: NodeId) -> Option<NodeId> {
        let above = node.checked_sub(1)?;
        Some(match self {
            Shape::Binary => above / 2,
            Shape::Star => 0,
            Shape::Line => above,
        })
    }
}

/// The sizes at which the checker explores an algorithm on a tree.
pub(crate) const SUITE: &[Scope] = &[
    Scope::new(1, 1, 2),
    Scope::new(2, 1, 3),
    Scope::new(3, 1, 3),
    Scope::new(3, 1, 2).with(&[("shape", "line")]),
    Scope::new(4, 1, 3),
    Scope::new(4, 1, 2).with(&[("shape", "star")]),
    Scope::new(4, 1, 2).with(&[("shape", "line")]),
    Scope::new(5, 1, 2),
];

/// The positions below a position of the almost complete binary tree of this size.
pub(crate) fn children(position: u32, nodes: u32) -> impl Iterator<Item = u32> {
    [2 * position + 1, 2 * position + 2].into_iter().filter(move |&child| child < nodes)
}

#[cfg(test)]
pub(crate) mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::light_load::enter_alone;
    use crate::world::World;

    /// A system on a tree of this shape.
    pub(crate) fn system<A: Algorithm>(shape: Shape, nodes: u32) -> World<A> {
        World::new(&Setting::new(nodes, 1).with(&[("shape", shape.name())])).unwrap()
    }

    /// Messages of an entry of `to` when `from` was the last to enter and nothing is under way.
    pub(crate) fn cost<A: Algorithm>(shape: Shape, nodes: u32, from: u32, to: u32) -> u64 {
        let mut world = system::<A>(shape, nodes);
        enter_alone(&mut world, from);
        let before = world.sent;
        enter_alone(&mut world, to);
        world.sent - before
    }

    pub(crate) const SHAPES: [Shape; 3] = [Shape::Binary, Shape::Star, Shape::Line];

    impl Shape {
        pub(crate) fn name(self) -> &'static str {
            SHAPE.values[SHAPES.iter().position(|&shape| shape == self).unwrap()]
        }

        fn way_up(self, node: NodeId) -> Vec<NodeId> {
            core::iter::successors(Some(node), |&node| self.parent(node)).collect()
        }

        /// How many hops there are between two nodes.
        pub(crate) fn distance(self, a: NodeId, b: NodeId) -> u64 {
            let (up, down) = (self.way_up(a), self.way_up(b));
            let shared = up.iter().rev().zip(down.iter().rev()).take_while(|(x, y)| x == y).count();
            (up.len() + down.len() - 2 * shared) as u64
        }

        /// The longest distance between two nodes.
        pub(crate) fn diameter(self, nodes: u32) -> u64 {
            let ways = (0..nodes).flat_map(|a| (0..nodes).map(move |b| self.distance(a, b)));
            ways.max().unwrap_or(0)
        }
    }

    #[test]
    fn children_and_parents_agree() {
        for nodes in 1..40 {
            for node in 0..nodes {
                let below: Vec<u32> =
                    (0..nodes).filter(|&child| Shape::Binary.parent(child) == Some(node)).collect();
                assert_eq!(children(node, nodes).collect::<Vec<u32>>(), below);
            }
        }
    }

    #[test]
    fn diameters() {
        let all = |nodes| SHAPES.map(|shape| shape.diameter(nodes));
        assert_eq!(all(1), [0, 0, 0]);
        assert_eq!(all(2), [1, 1, 1]);
        assert_eq!(all(7), [4, 2, 6]);
        assert_eq!(all(15), [6, 2, 14]);
    }
}
