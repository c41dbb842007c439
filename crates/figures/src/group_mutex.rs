//! Text 004: group mutual exclusion with dynamic request sets: messages, concurrency, switches, faults.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
