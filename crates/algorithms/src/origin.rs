//! What a node starts from when it has no state of a resource: zeros, or what it kept of a state that it dropped.

/// Lower bounds for the counters of a resource that is made, or made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// At the home, tokens start with this version: no fence that was given out is higher.
    pub floor: u64,
    /// Clocks and request numbers start here: no state that was dropped had a higher one. 64 bits last for ever; 32 are
    /// used up within days on a busy lock.
    pub clock: u64,
}

impl Origin {
    /// Rises to whatever is higher in the other.
    pub fn rise_to(&mut self, other: Origin) {
        self.floor = self.floor.max(other.floor);
        self.clock = self.clock.max(other.clock);
    }
}
