//! What a node starts from when it has no state of a resource: zeros, or the bounds kept of a dropped state.

/// Lower bounds for the counters of a resource that is created, or created again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// At the home, tokens start with this version: no earlier fence is higher.
    pub floor: u64,
    /// Clocks and request numbers start here: no dropped state had a higher one. 64 bits never run out; a
    /// busy lock uses up 32 within days.
    pub clock: u64,
}

impl Origin {
    /// Raises each bound to that of `other`, if that is higher.
    pub fn rise_to(&mut self, other: Origin) {
        self.floor = self.floor.max(other.floor);
        self.clock = self.clock.max(other.clock);
    }
}
