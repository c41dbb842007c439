//! A quick hash for small numeric keys. The maps that use it are never iterated over, so hash order has no
//! effect.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map that is only used for look-ups.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// A set that is only used for look-ups.
pub(crate) type FastSet<T> = HashSet<T, BuildHasherDefault<FastHasher>>;

/// Multiply and rotate, with a final mix so that the low bits depend on all others.
#[derive(Default)]
pub(crate) struct FastHasher(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn fold(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR)
}

fn finish(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(FACTOR);
    hash ^ (hash >> 29)
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0, word);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        finish(self.0)
    }
}

/// The hash of a state.
pub(crate) fn hash_words(words: &[u32]) -> u64 {
    let (pairs, rest) = words.as_chunks::<2>();
    let hash = pairs.iter().fold(0, |hash, [low, high]| fold(hash, u64::from(*low) | u64::from(*high) << 32));
    finish(rest.iter().fold(hash, |hash, word| fold(hash, u64::from(*word))))
}
