//! Randomness from a seed, by a named generator.

use algorithms::Chance;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A stream of random numbers that records its answers to an algorithm.
pub(super) struct Dice {
    generator: Pcg32,
    /// The picks since they were last taken.
    pub(super) picks: Vec<u32>,
}

impl Dice {
    /// One of several streams of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Dice {
        let mut of_seed = Pcg32::seed_from_u64(seed);
        let seed = of_seed.next_u64() ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice { generator: Pcg32::seed_from_u64(seed), picks: Vec::new() }
    }

    /// A number below `bound`, each equally likely but for a bias that no run is long enough to show.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        (self.generator.next_u64() % u64::from(bound.max(1))) as u32
    }

    /// An exponentially distributed number with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        let fraction = (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        -(1.0 - fraction).ln()
    }
}

impl Chance for Dice {
    fn pick(&mut self, options: u32) -> u32 {
        let pick = self.below(options);
        self.picks.push(pick);
        pick
    }
}
