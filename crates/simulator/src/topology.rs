//! Networks in which messages pass through other nodes: how many links there are between two nodes.

use std::fmt;

use algorithms::{NodeId, SettingError};

/// The links between nodes. A message takes the transit time for each link of a shortest path; the nodes that
/// it passes spend no time on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// A link between any two nodes: the model of the thesis.
    #[default]
    Full,
    /// Each node has a link to the next, and the last to the first.
    Ring,
    /// A ring without the link between the last and the first.
    Line,
    /// Node 0 in the middle.
    Star,
    /// Almost complete and binary, node 0 at the root.
    Tree,
    /// Rows of ⌈√n⌉ nodes below each other; the last row may be shorter.
    Grid,
    /// A grid whose rows and columns are rings.
    Torus,
    /// Nodes whose numbers differ in one binary digit have a link.
    Hypercube,
}

impl Topology {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Topology); 8] = [
        ("full", Topology::Full),
        ("ring", Topology::Ring),
        ("line", Topology::Line),
        ("star", Topology::Star),
        ("tree", Topology::Tree),
        ("grid", Topology::Grid),
        ("torus", Topology::Torus),
        ("hypercube", Topology::Hypercube),
    ];

    /// The topology of this name.
    pub(crate) fn named(name: &str) -> Result<Topology, SettingError> {
        let found = Topology::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, topology)| *topology).ok_or_else(|| {
            let names: Vec<&str> = Topology::ALL.iter().map(|(name, _)| *name).collect();
            SettingError(format!("'{name}' is none of {}", names.join(", ")))
        })
    }

    /// The number of links on a shortest path.
    pub fn hops(self, nodes: u32, from: NodeId, to: NodeId) -> u32 {
        let apart = from.abs_diff(to);
        match self {
            Topology::Full => u32::from(apart > 0),
            Topology::Ring => around(apart, nodes),
            Topology::Line => apart,
            Topology::Star => u32::from(apart > 0) + u32::from(apart > 0 && from > 0 && to > 0),
            Topology::Tree => hops_in_tree(from, to),
            Topology::Grid | Topology::Torus => {
                let row = columns(nodes);
                let (across, down) = ((from % row).abs_diff(to % row), (from / row).abs_diff(to / row));
                match self {
                    Topology::Grid => across + down,
                    _ => around(across, row) + around(down, nodes / row),
                }
            }
            Topology::Hypercube => (from ^ to).count_ones(),
        }
    }

    /// The mean number of links between two nodes; 1 for a node alone.
    pub(crate) fn mean_hops(self, nodes: u32) -> f64 {
        let pairs = (0..nodes).flat_map(|from| (0..from).map(move |to| (from, to)));
        let (sum, count) = pairs.fold((0, 0), |(sum, count), (from, to)| {
            (sum + u64::from(self.hops(nodes, from, to)), count + 1)
        });
        if count > 0 { sum as f64 / f64::from(count) } else { 1.0 }
    }

    /// The number of links between the two nodes that are furthest apart.
    pub fn diameter(self, nodes: u32) -> u32 {
        match self {
            Topology::Full => 1.min(nodes - 1),
            Topology::Ring => nodes / 2,
            Topology::Line => nodes - 1,
            Topology::Star => 2.min(nodes - 1),
            Topology::Tree => {
                // From the first node of the lowest level to the last of it, or to the last of the level above.
                let lowest = (1 << nodes.ilog2()) - 1;
                hops_in_tree(lowest, nodes - 1).max(hops_in_tree(lowest, lowest.saturating_sub(1)))
            }
            Topology::Grid => columns(nodes) - 1 + nodes.div_ceil(columns(nodes)) - 1,
            Topology::Torus => columns(nodes) / 2 + nodes / columns(nodes) / 2,
            Topology::Hypercube => nodes.ilog2(),
        }
    }

    /// Refuses a number of nodes that this topology cannot have.
    pub(crate) fn validate(self, nodes: u32) -> Result<(), SettingError> {
        if self.fits(nodes) {
            return Ok(());
        }
        let why = match self {
            Topology::Hypercube => "are not a power of two".to_string(),
            _ => format!("do not fill rows of {}", columns(nodes)),
        };
        let below = (1..nodes).rev().find(|&fewer| self.fits(fewer));
        let above = (nodes..=u32::MAX).find(|&more| self.fits(more));
        let nearest: Vec<String> = below.into_iter().chain(above).map(|nodes| nodes.to_string()).collect();
        let hint = nearest.join(" or ");
        Err(SettingError(format!("topology {self}: {nodes} nodes {why}: take {hint} nodes")))
    }

    fn fits(self, nodes: u32) -> bool {
        match self {
            Topology::Hypercube => nodes.is_power_of_two(),
            Topology::Torus => nodes.is_multiple_of(columns(nodes)),
            _ => true,
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Topology::ALL.iter().find(|(_, topology)| topology == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

/// The number of nodes in a row of a grid.
fn columns(nodes: u32) -> u32 {
    let root = nodes.isqrt();
    if root * root == nodes { root } else { root + 1 }
}

/// The shorter way around a ring.
fn around(apart: u32, ring: u32) -> u32 {
    apart.min(ring - apart)
}

/// Up from both, the lower one first, until the paths meet.
fn hops_in_tree(mut from: NodeId, mut to: NodeId) -> u32 {
    let mut hops = 0;
    while from != to {
        // Of two nodes the one with the larger number is never above the other.
        let lower = if from > to { &mut from } else { &mut to };
        *lower = (*lower - 1) / 2;
        hops += 1;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The neighbours of a node, by the definition of the topology.
    fn linked(topology: Topology, nodes: u32, one: NodeId, other: NodeId) -> bool {
        let (low, high) = (one.min(other), one.max(other));
        let row = columns(nodes);
        let same_row = low / row == high / row;
        match topology {
            _ if low == high => false,
            Topology::Full => true,
            Topology::Ring => high - low == 1 || (low == 0 && high == nodes - 1),
            Topology::Line => high - low == 1,
            Topology::Star => low == 0,
            Topology::Tree => high == 2 * low + 1 || high == 2 * low + 2,
            Topology::Grid => high - low == row || (same_row && high - low == 1),
            Topology::Torus => {
                let wraps = (same_row && high - low == row - 1) || high - low == nodes - row;
                wraps && (same_row || low % row == high % row) || linked(Topology::Grid, nodes, low, high)
            }
            Topology::Hypercube => (low ^ high).is_power_of_two(),
        }
    }

    /// Distances from a node, link by link.
    fn searched(topology: Topology, nodes: u32, from: NodeId) -> Vec<u32> {
        let mut hops = vec![u32::MAX; nodes as usize];
        hops[from as usize] = 0;
        for reached in 0..nodes {
            for node in 0..nodes {
                if hops[node as usize] == reached {
                    for other in 0..nodes {
                        if linked(topology, nodes, node, other) && hops[other as usize] == u32::MAX {
                            hops[other as usize] = reached + 1;
                        }
                    }
                }
            }
        }
        hops
    }

    #[test]
    fn hops_are_those_of_a_search_along_the_links() {
        for (name, topology) in Topology::ALL {
            for nodes in (1..40).filter(|&nodes| topology.fits(nodes)) {
                let mut furthest = 0;
                for from in 0..nodes {
                    let found = searched(topology, nodes, from);
                    let computed: Vec<u32> = (0..nodes).map(|to| topology.hops(nodes, from, to)).collect();
                    assert_eq!(computed, found, "{name} of {nodes} from {from}");
                    furthest = furthest.max(found.into_iter().max().unwrap());
                }
                assert_eq!(topology.diameter(nodes), furthest, "{name} of {nodes}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_nearest_sizes_that_fit() {
        let refusal = |topology: Topology, nodes| topology.validate(nodes).unwrap_err().to_string();
        assert_eq!(
            refusal(Topology::Hypercube, 30),
            "topology hypercube: 30 nodes are not a power of two: take 16 or 32 nodes"
        );
        assert_eq!(
            refusal(Topology::Torus, 17),
            "topology torus: 17 nodes do not fill rows of 5: take 16 or 20 nodes"
        );
        for (_, topology) in Topology::ALL {
            topology.validate(16).unwrap();
            assert_eq!(Topology::named(&topology.to_string()).unwrap(), topology);
        }
        assert!(Topology::named("moebius").unwrap_err().to_string().contains("none of full, ring"));
    }
}
