//! A grant: what a client holds.

use serde::{Deserialize, Serialize};

/// What a client holds of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The slot.
    pub slot: u32,
    /// The fence.
    pub fence: u64,
    /// The index of the group, among those that the request named.
    pub group: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::RequestOutcome;

    /// Clients of earlier versions read an answer as a number for its kind, then slot, fence and group.
    #[test]
    fn the_bytes_of_a_granted_answer_do_not_change() {
        let granted = RequestOutcome::Granted(Grant { slot: 1, fence: 2, group: 3 });
        assert_eq!(postcard::to_extend(&granted, Vec::new()).unwrap(), [0, 1, 2, 3]);
    }
}
