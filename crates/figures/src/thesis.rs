//! The thesis (001) and its conference paper (003): waiting time, messages and words against the request rate, for four
//! algorithms, three settings of delays, two lengths of the critical section, and partitioned systems.

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    Vec::new()
}
