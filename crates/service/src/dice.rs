//! Chance, from a seed.

use algorithms::Chance;

/// Splitmix: what is left to chance needs to be spread, not secret.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Chance for Dice {
    fn pick(&mut self, options: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % u64::from(options)) as u32
    }
}
