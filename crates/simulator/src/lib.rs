//! Runs algorithms in simulated time. A seed decides everything: the same seed gives the same run on every machine.
//!
//! So far there are [random runs](random) that look for violations; they drive the same state machines as the
//! checker and ask for the same properties, at sizes that cannot be exhausted.

pub mod chance;
pub mod random;
