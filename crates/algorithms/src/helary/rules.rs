//! The options: the first tree, and what a node does with a request.

use super::{Defect, Helary};
use crate::algorithm::{NodeId, Outbox, Site};
use crate::info::Scope;
use crate::setting::Setting;

/// The tree at the start, node 0 at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Node 0 is the father of all.
    Star,
    /// Each node is the father of the next one.
    Chain,
    /// The father is the node without the lowest one bit of the number: an open cube, with missing nodes if
    /// the number of nodes is not a power of two.
    Cube,
}

/// What a node does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It passes the request on, or gives the token, and the requester is its father.
    Transit,
    /// It asks in its own name and lends the token.
    Proxy,
    /// Transit if the requester is as far away as this node's subtree is large, else proxy: the tree stays an
    /// open cube.
    OpenCube,
    /// Either, drawn for each request.
    Any,
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub(super) tree: Tree,
    behaviour: Behaviour,
    pub(super) defect: Option<Defect>,
}

/// The sizes at which the checker explores the scheme.
pub(super) const SUITE: &[Scope] = &[
    Scope::new(1, 1, 2),
    Scope::new(2, 1, 3),
    Scope::new(4, 1, 2),
    Scope::new(3, 1, 3).with(&[("behaviour", "proxy")]),
    Scope::new(4, 1, 1).with(&[("behaviour", "proxy"), ("tree", "chain")]),
    Scope::new(4, 1, 2).with(&[("behaviour", "open-cube")]),
    Scope::new(3, 1, 2).with(&[("behaviour", "open-cube")]),
    Scope::new(3, 1, 3).with(&[("behaviour", "any")]),
    Scope::new(4, 1, 1).with(&[("behaviour", "any")]),
    Scope::new(4, 1, 1).with(&[("behaviour", "any"), ("tree", "chain")]),
    Scope::new(4, 1, 1).with(&[("behaviour", "any"), ("tree", "cube")]),
];

impl Tree {
    /// The father of a node at the start.
    pub fn father(self, node: NodeId) -> Option<NodeId> {
        let before = node.checked_sub(1)?;
        Some(match self {
            Tree::Star => 0,
            Tree::Chain => before,
            Tree::Cube => node & before,
        })
    }
}

impl Rules {
    /// Why some options do harm that no property tells.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        let warned = self.behaviour == Behaviour::Proxy && self.tree == Tree::Chain;
        warned.then_some(
            "behaviour=proxy on tree=chain is not fair under load: a node d hops from the root gets about one entry in \
             2^(d+1), and Jain's index of n nodes falls to 3/n",
        )
    }

    pub(crate) fn of(setting: &Setting) -> Rules {
        let behaviour = match setting.option("behaviour") {
            Some("proxy") => Behaviour::Proxy,
            Some("open-cube") => Behaviour::OpenCube,
            Some("any") => Behaviour::Any,
            _ => Behaviour::Transit,
        };
        let tree = match setting.option("tree") {
            Some("star") => Tree::Star,
            Some("chain") => Tree::Chain,
            Some("cube") => Tree::Cube,
            _ if behaviour == Behaviour::OpenCube => Tree::Cube,
            _ => Tree::Star,
        };
        Rules { tree, behaviour, defect: Defect::of(setting) }
    }

    /// Only an open cube asks how far apart the numbers of two nodes are.
    pub(super) fn is_symmetric(&self) -> bool {
        self.behaviour != Behaviour::OpenCube
    }

    /// Whether a node with this father passes on the request of this node, rather than stand in for it.
    pub(super) fn is_transit(
        &self,
        site: &Site<'_, Helary>,
        father: Option<NodeId>,
        origin: NodeId,
        out: &mut Outbox<'_, Helary>,
    ) -> bool {
        match self.behaviour {
            Behaviour::Transit => true,
            Behaviour::Proxy => false,
            Behaviour::OpenCube => distance(site.me, origin) == power(site.nodes, site.me, father),
            Behaviour::Any => out.pick(2) == 0,
        }
    }
}

/// How many bits it takes to tell two nodes apart, from the highest one on that differs.
pub(super) fn distance(one: NodeId, other: NodeId) -> u32 {
    NodeId::BITS - (one ^ other).leading_zeros()
}

/// The dimension of the cube below a node. If the number of nodes is not a power of two, some nodes of the cube
/// are missing.
pub(super) fn power(nodes: u32, node: NodeId, father: Option<NodeId>) -> u32 {
    father.map_or(nodes.next_power_of_two().ilog2(), |father| distance(node, father).saturating_sub(1))
}
