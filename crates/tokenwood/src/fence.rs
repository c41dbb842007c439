//! For the protected resource: refuses holders that have been overtaken.
//!
//! A lock alone cannot stop a program that was paused in the middle of a write and resumes after another
//! client was granted the lock. The resource that it writes to can: it remembers the highest fence that it
//! has seen for each slot, and refuses lower ones.

use std::collections::BTreeMap;
use std::fmt;

/// Remembers the highest fence of each slot.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    highest: BTreeMap<u32, u64>,
}

/// The fence is too low: a later holder has been here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// The fence of this attempt.
    pub shown: u64,
    /// The highest fence seen before.
    pub highest: u64,
}

impl fmt::Display for TooLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fence {} is below {}, which was seen before: its holder has lost the lock",
            self.shown, self.highest
        )
    }
}

impl std::error::Error for TooLate {}

impl Gate {
    /// A gate that has seen no fence.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Lets a holder pass as often as it wants, until a later holder of the same slot has passed.
    ///
    /// ```
    /// use tokenwood::fence::{Gate, TooLate};
    ///
    /// let mut gate = Gate::new();
    /// assert_eq!(gate.pass(0, 7), Ok(()));
    /// assert_eq!(gate.pass(0, 7), Ok(()));
    /// assert_eq!(gate.pass(0, 9), Ok(()));
    /// assert_eq!(gate.pass(0, 7), Err(TooLate { shown: 7, highest: 9 }));
    /// assert_eq!(gate.pass(1, 7), Ok(()), "slots are counted apart");
    /// ```
    pub fn pass(&mut self, slot: u32, fence: u64) -> Result<(), TooLate> {
        let highest = self.highest.entry(slot).or_default();
        if fence < *highest {
            return Err(TooLate { shown: fence, highest: *highest });
        }
        *highest = fence;
        Ok(())
    }
}
