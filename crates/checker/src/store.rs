//! The states found so far: fixed rows of numbers in shards, each behind its own lock, so that several threads can
//! add to it at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fast_hash::hash_words;

/// Where a state is kept: the shard in the upper bits, the row in the lower ones.
pub(crate) type StateId = u32;

const SHARD_BITS: u32 = 6;
const ROW_BITS: u32 = 32 - SHARD_BITS;
const SHARDS: usize = 1 << SHARD_BITS;
/// So many rows are allocated at once, so that growing copies nothing.
const ROWS_PER_CHUNK: usize = 1 << 8;

pub(crate) struct Store {
    shards: Vec<Mutex<Shard>>,
    width: usize,
}

struct Shard {
    /// Open addressing; 0 is empty, otherwise the upper half is part of the hash and the lower half the row + 1.
    table: Vec<u64>,
    /// The rows: `width` numbers of state and one for the parent.
    chunks: Vec<Box<[u32]>>,
    rows: usize,
}

impl Store {
    pub(crate) fn new(width: usize) -> Store {
        let shard = || Mutex::new(Shard { table: vec![0; 16], chunks: Vec::new(), rows: 0 });
        Store { shards: (0..SHARDS).map(|_| shard()).collect(), width }
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        // A thread that panics in here ends the whole search, so a poisoned lock is never used for long.
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a state unless it is there. Returns its id and whether it is new.
    pub(crate) fn insert(&self, state: &[u32], parent: StateId) -> (StateId, bool) {
        let hash = hash_words(state);
        let index = (hash >> (64 - SHARD_BITS)) as usize;
        let (row, new) = self.shard(index).insert(state, parent, hash, self.width);
        ((index as u32) << ROW_BITS | row, new)
    }

    /// A copy of a state, and its parent.
    pub(crate) fn get(&self, id: StateId) -> (Vec<u32>, StateId) {
        let shard = self.shard((id >> ROW_BITS) as usize);
        let row = shard.row((id & ((1 << ROW_BITS) - 1)) as usize, self.width);
        (row[..self.width].to_vec(), row[self.width])
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> u64 {
        (0..SHARDS).map(|index| self.shard(index).rows as u64).sum()
    }

    /// How much memory they take.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |shard: &Shard| {
            8 * shard.table.len() + 4 * shard.chunks.len() * ROWS_PER_CHUNK * (self.width + 1)
        };
        (0..SHARDS).map(|index| bytes(&self.shard(index)) as u64).sum()
    }

    /// For each shard, how many states are in the shards before it: turns ids into consecutive numbers.
    pub(crate) fn offsets(&self) -> Offsets {
        let mut sum = 0;
        let before = (0..SHARDS).map(|index| {
            let offset = sum;
            sum += self.shard(index).rows;
            offset
        });
        Offsets(before.collect())
    }
}

/// Turns ids into consecutive numbers.
pub(crate) struct Offsets(Vec<usize>);

impl Offsets {
    pub(crate) fn number(&self, id: StateId) -> usize {
        self.0[(id >> ROW_BITS) as usize] + (id & ((1 << ROW_BITS) - 1)) as usize
    }
}

impl Shard {
    fn row(&self, row: usize, width: usize) -> &[u32] {
        let start = row % ROWS_PER_CHUNK * (width + 1);
        &self.chunks[row / ROWS_PER_CHUNK][start..=start + width]
    }

    fn insert(&mut self, state: &[u32], parent: StateId, hash: u64, width: usize) -> (u32, bool) {
        let mask = self.table.len() - 1;
        let tag = hash & 0xffff_ffff_0000_0000;
        let mut slot = hash as usize & mask;
        while self.table[slot] != 0 {
            let entry = self.table[slot];
            if entry & 0xffff_ffff_0000_0000 == tag {
                let row = (entry as u32 - 1) as usize;
                if self.row(row, width)[..width] == *state {
                    return (row as u32, false);
                }
            }
            slot = (slot + 1) & mask;
        }
        let row = self.rows;
        assert!(row < (1 << ROW_BITS) - 1, "the checker holds at most 4 billion states");
        self.rows += 1;
        if row.is_multiple_of(ROWS_PER_CHUNK) {
            self.chunks.push(vec![0; ROWS_PER_CHUNK * (width + 1)].into_boxed_slice());
        }
        let start = row % ROWS_PER_CHUNK * (width + 1);
        let chunk = &mut self.chunks[row / ROWS_PER_CHUNK];
        chunk[start..start + width].copy_from_slice(state);
        chunk[start + width] = parent;
        self.table[slot] = tag | (row as u64 + 1);
        if self.rows * 3 > self.table.len() * 2 {
            self.grow(width);
        }
        (row as u32, true)
    }

    fn grow(&mut self, width: usize) {
        let mut table = vec![0; self.table.len() * 2];
        let mask = table.len() - 1;
        for row in 0..self.rows {
            let hash = hash_words(&self.row(row, width)[..width]);
            let mut slot = hash as usize & mask;
            while table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            table[slot] = hash & 0xffff_ffff_0000_0000 | (row as u64 + 1);
        }
        self.table = table;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_kept_once_and_found_again() {
        let store = Store::new(3);
        let state = |number: u32| [number % 7, number / 7, number.wrapping_mul(77)];
        let ids: Vec<StateId> = (0..20_000)
            .map(|number| {
                let (id, new) = store.insert(&state(number), number);
                assert!(new);
                id
            })
            .collect();
        for (number, id) in (0..).zip(&ids) {
            assert_eq!(store.insert(&state(number), 0), (*id, false));
            assert_eq!(store.get(*id), (state(number).to_vec(), number));
        }
        assert_eq!(store.len(), 20_000);
        let offsets = store.offsets();
        let mut numbers: Vec<usize> = ids.iter().map(|&id| offsets.number(id)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..20_000));
    }
}
