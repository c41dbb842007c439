//! The quorums: for each node a set of nodes with itself, such that any two sets meet.

use alloc::format;
use alloc::vec::Vec;

use crate::algorithm::NodeId;
use crate::setting::SettingError;

/// How quorums are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorums {
    /// A row and a column of a grid.
    Grid,
    /// A line of a finite projective plane.
    Plane,
    /// A path from the root of a binary tree to a leaf.
    Tree,
}

impl Quorums {
    /// All of them, the default first.
    pub const ALL: [Quorums; 3] = [Quorums::Grid, Quorums::Plane, Quorums::Tree];

    /// The values of the option, in the same order.
    pub(super) const VALUES: &'static [&'static str] = &["grid", "plane", "tree"];

    /// What a value of the option stands for.
    pub(super) fn named(value: Option<&str>) -> Quorums {
        let index = Quorums::VALUES.iter().position(|known| Some(*known) == value);
        Quorums::ALL[index.unwrap_or(0)]
    }

    /// The quorum of each of so many nodes, in ascending order; refuses a number that has no such quorums.
    pub fn of(self, nodes: u32) -> Result<Vec<Vec<NodeId>>, SettingError> {
        let quorum: &dyn Fn(NodeId) -> Vec<NodeId> = match self {
            Quorums::Grid => &|node| cross(nodes, node),
            Quorums::Plane => {
                let line = line_of(nodes)?;
                &move |node| shifted(line, nodes, node)
            }
            Quorums::Tree => &|node| path(nodes, node),
        };
        Ok((0..nodes).map(quorum).collect())
    }
}

/// The row and the column of a node in a grid that is as square as possible, filled row by row. Any two
/// quorums intersect even if the last row is not full: of two nodes in different rows at least one has a full
/// row, which crosses the other one's column.
fn cross(nodes: u32, node: NodeId) -> Vec<NodeId> {
    let columns = nodes.saturating_sub(1).isqrt() + 1;
    let (start, column) = (node / columns * columns, node % columns);
    let end = (start + columns).min(nodes);
    let above = (column..start).step_by(columns as usize);
    let below = (start + columns + column..nodes).step_by(columns as usize);
    above.chain(start..end).chain(below).collect()
}

/// The line of node 0 in planes of q(q − 1) + 1 points. Modulo the number of points every number but 0 is the
/// difference of exactly one pair of its points, so two lines, each this one shifted, share exactly one point.
const LINES: &[(u32, &[NodeId])] = &[
    (1, &[0]),
    (3, &[0, 1]),
    (7, &[0, 1, 3]),
    (13, &[0, 1, 3, 9]),
    (21, &[0, 1, 4, 14, 16]),
    (31, &[0, 1, 3, 8, 12, 18]),
    (57, &[0, 1, 3, 13, 32, 36, 43, 52]),
    (73, &[0, 1, 3, 7, 15, 31, 36, 54, 63]),
    (91, &[0, 1, 3, 9, 27, 49, 56, 61, 77, 81]),
    (133, &[0, 1, 3, 12, 20, 34, 38, 81, 88, 94, 104, 109]),
];

fn line_of(nodes: u32) -> Result<&'static [NodeId], SettingError> {
    if let Some((_, line)) = LINES.iter().find(|(points, _)| *points == nodes) {
        return Ok(line);
    }
    let sizes = LINES.iter().map(|(points, _)| *points);
    let below = sizes.clone().take_while(|&points| points < nodes).last();
    let near = match (below, sizes.clone().find(|&points| points > nodes)) {
        (Some(below), Some(above)) => format!("the nearest sizes that have one are {below} and {above}"),
        (below, above) => format!("the nearest size that has one is {}", below.or(above).unwrap_or(1)),
    };
    Err(SettingError(format!("there is no projective plane here for {nodes} nodes; {near}")))
}

fn shifted(line: &[NodeId], nodes: u32, by: NodeId) -> Vec<NodeId> {
    let mut quorum: Vec<NodeId> = line.iter().map(|point| (point + by) % nodes).collect();
    quorum.sort_unstable();
    quorum
}

/// The path from the root (node 0) through a node and on to the leftmost leaf below it; the children of node
/// i are 2i + 1 and 2i + 2. Any two quorums share the root.
fn path(nodes: u32, node: NodeId) -> Vec<NodeId> {
    let up = core::iter::successors(Some(node), |&node| node.checked_sub(1).map(|below| below / 2));
    let down = core::iter::successors(Some(node), |&node| Some(2 * node + 1).filter(|&left| left < nodes));
    let mut quorum: Vec<NodeId> = up.chain(down.skip(1)).collect();
    quorum.sort_unstable();
    quorum
}
