//! Randomness from a seed, by a named generator (PCG 64/32) and arithmetic that is the same everywhere.

use algorithms::Chance;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A stream of random numbers that records its answers to an algorithm.
pub struct Dice {
    generator: Pcg32,
    /// The picks since they were last taken.
    pub picks: Vec<u32>,
}

impl Dice {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Dice {
        Dice { generator: Pcg32::seed_from_u64(seed), picks: Vec::new() }
    }

    /// One of several streams of a seed, so that the draws of one part of a run do not change those of
    /// another.
    pub fn stream(seed: u64, number: u64) -> Dice {
        let mut of_seed = Pcg32::seed_from_u64(seed);
        Dice::new(of_seed.next_u64() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `bound`, each equally likely.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of a remainder is below one in a million for the bounds used here, and it is the same
        // everywhere.
        self.generator.next_u64() % bound.max(1)
    }

    /// A number from 1 to about 1,000, equally likely at every order of magnitude.
    pub fn spread(&mut self) -> u64 {
        let least = 1 << self.below(10);
        least + self.below(least)
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A number from 0 to 1, without 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// An exponentially distributed number with mean 1. The logarithm is not the platform's, so that all
    /// platforms agree on its last bit.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.fraction())
    }
}

impl Chance for Dice {
    fn pick(&mut self, options: u32) -> u32 {
        let pick = self.below(u64::from(options)) as u32;
        self.picks.push(pick);
        pick
    }
}
