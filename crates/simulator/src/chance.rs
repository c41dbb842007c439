//! Randomness from a seed, by a named generator (PCG 64/32), in whole numbers only: the same everywhere.

use algorithms::Chance;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A stream of random numbers that remembers what it answered to an algorithm.
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

    /// True so many times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

impl Chance for Dice {
    fn pick(&mut self, options: u32) -> u32 {
        let pick = self.below(u64::from(options)) as u32;
        self.picks.push(pick);
        pick
    }
}
