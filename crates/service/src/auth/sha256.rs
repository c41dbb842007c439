//! SHA-256 (FIPS 180-4), for tokens: the registry keeps hashes, so that its files and snapshots give no token away.
//!
//! By hand, because what is hashed is short, random and hashed once for each connection: neither speed nor the time that it
//! takes matters, and this crate has no dependency for it.

const ROUNDS: usize = 64;
const BLOCK: usize = 64;

/// The first 32 bits of the fractional part of a root of the primes: `root` is the square or the cube root of `prime`, which an
/// integer search finds exactly.
const fn fraction_of_root(prime: u128, degree: u32) -> u32 {
    // The largest r with r^degree <= prime * 2^(32 * degree).
    let (goal, mut low, mut high) = (prime << (32 * degree), 0u128, 1u128 << 40);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let power = if degree == 2 { middle * middle } else { middle * middle * middle };
        if power <= goal {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

const fn constants<const N: usize>(degree: u32) -> [u32; N] {
    let (mut found, mut count, mut candidate) = ([0; N], 0, 2u128);
    while count < N {
        let (mut divisor, mut is_prime) = (2, true);
        while divisor * divisor <= candidate {
            is_prime = is_prime && !candidate.is_multiple_of(divisor);
            divisor += 1;
        }
        if is_prime {
            found[count] = fraction_of_root(candidate, degree);
            count += 1;
        }
        candidate += 1;
    }
    found
}

const START: [u32; 8] = constants(2);
const ROUND: [u32; ROUNDS] = constants(3);

/// The hash of some bytes.
pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(BLOCK) - 8, 0);
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let state = padded.chunks_exact(BLOCK).fold(START, compress);
    let mut hash = [0; 32];
    for (to, word) in hash.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    hash
}

fn compress(before: [u32; 8], block: &[u8]) -> [u32; 8] {
    let mut words = [0u32; ROUNDS];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for index in 16..ROUNDS {
        let (early, late) = (words[index - 15], words[index - 2]);
        let one = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let two = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[index] = words[index - 16].wrapping_add(one).wrapping_add(words[index - 7]).wrapping_add(two);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = before;
    for (word, constant) in words.into_iter().zip(ROUND) {
        let one = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let first = h.wrapping_add(one).wrapping_add(choice).wrapping_add(constant).wrapping_add(word);
        let two = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = a & b ^ a & c ^ b & c;
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(two.wrapping_add(majority)));
    }
    let after = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|index| before[index].wrapping_add(after[index]))
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// The examples of the standard, and the lengths around a block.
    #[test]
    fn the_hash_is_the_one_of_the_standard() {
        let hex = |bytes: &[u8]| hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        for (text, expected) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ] {
            assert_eq!(hex(text.as_bytes()), expected, "{text}");
        }
        let million = "a".repeat(1_000_000);
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(hex(million.as_bytes()), expected);
    }
}
