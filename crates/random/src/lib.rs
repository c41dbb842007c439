//! Random numbers from a seed: the one generator of the workspace.
//!
//! Every driver and every test that draws something draws it from [`Random`], so that a run can be repeated
//! from its seed, on every platform. Algorithms draw nothing themselves: they ask their driver for a pick
//! ([`algorithms::Chance`]), which is why this is a crate of its own and `algorithms` does not depend on it.
//! Nothing here is secret: keys and ids of clusters come from the operating system.

#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;

mod log;

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use algorithms::Chance;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use crate::log::log_of_fraction;

/// A stream of random numbers, by a named generator (PCG 64/32) and arithmetic that is the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(Pcg32);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Random {
        Random(Pcg32::seed_from_u64(seed))
    }

    /// One of several streams of a seed, so that the draws of one part of a run do not change those of
    /// another.
    pub fn stream(seed: u64, number: u64) -> Random {
        let mut of_seed = Random::new(seed);
        Random::new(of_seed.bits() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills a buffer with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A number below `bound`, each equally likely; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of a remainder is below one in a million for the bounds used here, and it is the same
        // everywhere.
        self.bits() % bound.max(1)
    }

    /// One of these, each equally likely.
    ///
    /// # Panics
    /// If there are none.
    pub fn choose<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.below(options.len() as u64) as usize]
    }

    /// A number from 1 to about 1,000, equally likely at every order of magnitude.
    pub fn spread(&mut self) -> u64 {
        let least = 1 << self.below(10);
        least + self.below(least)
    }

    /// True once in this many times, on average.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// A number from 0 to 1, without 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An exponentially distributed number with mean 1. The logarithm is not the platform's, so that all
    /// platforms agree on its last bit.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -log_of_fraction(1.0 - self.fraction())
    }

    /// Replaces these numbers by such ones. The processor works on several logarithms at once.
    pub fn exponentials(&mut self, numbers: &mut [f64]) {
        numbers.iter_mut().for_each(|number| *number = self.fraction());
        numbers.iter_mut().for_each(|number| *number = -log_of_fraction(1.0 - *number));
    }
}

impl Chance for Random {
    fn pick(&mut self, options: u32) -> u32 {
        self.below(u64::from(options)) as u32
    }
}

/// A stream that records the picks it makes for an algorithm, so that a trace can replay them. Other draws
/// from it are not recorded.
#[derive(Clone, Debug)]
pub struct RecordedPicks {
    random: Random,
    /// The picks since they were last taken.
    pub picks: Vec<u32>,
}

impl RecordedPicks {
    /// Picks drawn from this stream.
    pub fn new(random: Random) -> RecordedPicks {
        RecordedPicks { random, picks: Vec::new() }
    }
}

impl Deref for RecordedPicks {
    type Target = Random;

    fn deref(&self) -> &Random {
        &self.random
    }
}

impl DerefMut for RecordedPicks {
    fn deref_mut(&mut self) -> &mut Random {
        &mut self.random
    }
}

impl Chance for RecordedPicks {
    fn pick(&mut self, options: u32) -> u32 {
        let pick = self.random.pick(options);
        self.picks.push(pick);
        pick
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Seeds are written down in tests and pages: what they draw must not change.
    #[test]
    fn the_draws_of_a_seed_are_for_ever() {
        let mut random = Random::new(1);
        let drawn = [random.bits(), random.below(1000), random.below(1000)];
        assert_eq!(drawn, PINNED);
        assert_eq!(Random::stream(1, 2).bits(), PINNED_STREAM);
    }

    const PINNED: [u64; 3] = [9_060_384_754_756_946_918, 681, 315];
    const PINNED_STREAM: u64 = 6_218_049_088_806_124_994;

    #[test]
    fn streams_of_a_seed_differ() {
        let drawn = |number| [(); 4].map(|()| Random::stream(7, number).bits());
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut random = Random::new(3);
        for _ in 0..10_000 {
            assert!(random.below(7) < 7 && random.below(0) == 0);
            assert!((1..1024).contains(&random.spread()));
            assert!((0.0..1.0).contains(&random.fraction()) && random.exponential() >= 0.0);
        }
        assert_eq!(random.choose(&[5]), &5);
        assert!(random.percent(100) && !random.percent(0) && random.once_in(1));
    }

    #[test]
    fn picks_are_recorded_and_other_draws_are_not() {
        let (mut recorded, mut random) = (RecordedPicks::new(Random::new(9)), Random::new(9));
        let picks = vec![recorded.pick(10), recorded.pick(3)];
        assert_eq!(picks, [random.pick(10), random.pick(3)]);
        recorded.bits();
        assert_eq!(recorded.picks, picks);
    }
}
