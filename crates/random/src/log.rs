//! The natural logarithm of fractions.
//!
//! A seed means the same run on every platform, so the logarithm cannot be the platform's. It is fdlibm's (Sun
//! Microsystems, 1993), as that of the crate `libm`: to the last bit, a test compares them. That one first tells apart
//! the numbers that no fraction is. Without those branches the compiler computes several logarithms at once.

/// The parts of ln 2 that are added first and last.
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// The coefficients of an approximation of ln(1 + s) − ln(1 − s) in powers of s², without the first.
const C: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// The bits of 1 and, nearly, of the root of 1/2, and those of a number that follow its exponent.
const ONE: u64 = 0x3ff0_0000_0000_0000;
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_0000_0000;
const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;

/// The natural logarithm of a number above 0 and at most 1 that is not subnormal.
#[inline]
pub(crate) fn log_of_fraction(x: f64) -> f64 {
    // x = 2^k (1 + f), with 1 + f between the roots of 1/2 and of 2.
    let scaled = x.to_bits() + (ONE - ROOT_OF_HALF);
    let k = f64::from((scaled >> 52) as i32 - 0x3ff);
    let f = f64::from_bits((scaled & MANTISSA) + ROOT_OF_HALF) - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s4 * (C[1] + s4 * (C[3] + s4 * C[5]));
    let even = s2 * (C[0] + s4 * (C[2] + s4 * (C[4] + s4 * C[6])));
    let half_square = 0.5 * f * f;
    s * (half_square + (even + odd)) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn to_the_last_bit_that_of_libm() {
        let mut random = Random::new(1);
        let near_one = (1..2_000).map(|steps| 1.0 - f64::from(steps) * f64::EPSILON / 2.0);
        let powers = (0..54).map(|exponent| 1.0 / (1u64 << exponent) as f64);
        let root = f64::from_bits(ROOT_OF_HALF);
        let near_root = (-1_000..1_000).map(|steps| root + f64::from(steps) * f64::EPSILON / 2.0);
        let drawn: alloc::vec::Vec<f64> = (0..200_000).map(|_| 1.0 - random.fraction()).collect();
        let small = drawn.iter().map(|x| x * x * x);
        for x in near_one.chain(powers).chain(near_root).chain(drawn.iter().copied()).chain(small) {
            assert_eq!(log_of_fraction(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
        }
    }
}
