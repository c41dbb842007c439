//! Ours: the three decision mechanisms that the thesis leaves as future work.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
