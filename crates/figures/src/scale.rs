//! Ours: how messages and waits grow with the number of nodes and tokens, beside the theory.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
