//! Random numbers, reproducible from a seed.

pub(crate) struct Dice(u64);

impl Dice {
    /// From a seed. Generators that must differ from others with the same seed pass an odd number of their
    /// own.
    pub(crate) fn new(seed: u64, odd: u64) -> Dice {
        Dice(seed.wrapping_mul(odd) | 1)
    }

    /// A number below this one; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}
