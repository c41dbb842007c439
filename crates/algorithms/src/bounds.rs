//! Bounds on the numbers in a message: drivers check a peer's message before a state machine sees it.

/// Upper bounds for the numbers in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Nodes are numbered below this.
    pub nodes: u32,
    /// Tokens are numbered below this.
    pub tokens: u32,
    /// Versions, fences and stamps are below this.
    pub counter: u64,
}

impl Bounds {
    /// Clocks and request numbers are below this: no run counts so far, and counting on from there cannot
    /// overflow.
    pub const CLOCK: u64 = 1 << 62;

    pub(crate) fn node(&self, node: u32) -> bool {
        node < self.nodes
    }

    pub(crate) fn token(&self, token: u32) -> bool {
        token < self.tokens
    }

    pub(crate) fn counter(&self, counter: u64) -> bool {
        counter < self.counter
    }
}
