//! Text 002: messages of the binary tree at light and high load, formulas and simulation, swaps apart.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
