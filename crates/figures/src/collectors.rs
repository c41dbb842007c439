//! Text 000: time and messages of the group collectors against tokens, groups and nodes, formulas and simulation.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
