//! How much memory a node takes: what the operating system says before and after nodes are built.

use std::fs;

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Refusal};
use simulator::memory::Nodes;
use simulator::{Plan, Point};

/// So many nodes at least are built for measuring: memory comes in pages, and a few nodes fit into what is left of one.
const NODES: u32 = 20_000;

/// The bytes that each node of a run takes at its start, the driver's part and a share of what all nodes share included;
/// `None` where the operating system does not tell.
pub(crate) fn bytes_per_node(point: &Point) -> Result<Option<u64>, Refusal> {
    registry::visit(&point.algorithm, Measure(&point.plan))?
}

struct Measure<'a>(&'a Plan);

impl Visitor for Measure<'_> {
    type Output = Result<Option<u64>, Refusal>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        let systems = NODES.div_ceil(self.0.setting.nodes) as usize;
        // Once before measuring, so that what the program needs for it only once is there.
        let mut built: Vec<Nodes<A>> = Vec::with_capacity(systems + 1);
        built.push(Nodes::build(self.0)?);
        let Some(before) = resident() else { return Ok(None) };
        for _ in 0..systems {
            built.push(Nodes::build(self.0)?);
        }
        let after = resident();
        let nodes: usize = built[1..].iter().map(Nodes::count).sum();
        Ok(after.map(|after| after.saturating_sub(before) / nodes.max(1) as u64))
    }
}

/// The bytes of memory that this process has, as Linux tells it.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
