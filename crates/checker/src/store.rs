//! The states found so far: fixed rows of numbers in shards, each behind its own lock, so that several
//! threads can add to it at once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use sync::IgnorePoison;

use crate::fast_hash::hash_words;
use crate::row::Rows;

/// The id of a state: the shard in the upper bits, the row in the lower ones.
pub(crate) type StateId = u32;

const SHARD_BITS: u32 = 6;
const ROW_BITS: u32 = 32 - SHARD_BITS;
const SHARDS: usize = 1 << SHARD_BITS;
/// The rows of the first chunk of a shard. Each further chunk has as many rows as all before it, so growing copies
/// nothing, and a shard asks for memory a dozen times.
const FIRST_ROWS: usize = 1 << 8;
/// An entry of a table without a row. It is not 0: then the memory of a new table would be read, with its zeroes, before
/// it is written, and each page that is written after that stops the other threads for a moment.
const EMPTY: u64 = u64::MAX;
/// The bits of an entry that are part of the hash.
const TAG: u64 = 0xffff_ffff_0000_0000;

pub(crate) struct Store {
    shards: Vec<Mutex<Shard>>,
    width: usize,
    /// The memory that they take.
    bytes: AtomicU64,
}

/// States to be added to the store.
pub(crate) struct Batch {
    states: Rows,
    parents: Vec<StateId>,
    hashes: Vec<u64>,
    ids: Vec<StateId>,
    /// The states in the order of their shards.
    order: Vec<u32>,
    /// Those that were not in the store before.
    new: Vec<u32>,
}

impl Batch {
    pub(crate) fn new(width: usize) -> Batch {
        let (parents, hashes) = (Vec::new(), Vec::new());
        let (ids, order, new) = (Vec::new(), Vec::new(), Vec::new());
        Batch { states: Rows::new(width), parents, hashes, ids, order, new }
    }

    pub(crate) fn add(&mut self, state: &[u32], parent: StateId) {
        self.states.push(state);
        self.parents.push(parent);
        self.hashes.push(hash_words(state));
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// The ids of the states, in the order in which they were added to the batch, once they are in the store.
    pub(crate) fn ids(&self) -> &[StateId] {
        &self.ids
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.parents.clear();
        self.hashes.clear();
    }

    /// Counting sort, so that states of one shard keep the order in which they were added.
    fn sort_by_shard(&mut self) {
        let mut starts = [0u32; SHARDS + 1];
        for &hash in &self.hashes {
            starts[shard_of(hash) + 1] += 1;
        }
        for shard in 0..SHARDS {
            starts[shard + 1] += starts[shard];
        }
        self.order.clear();
        self.order.resize(self.hashes.len(), 0);
        for (item, &hash) in (0..).zip(&self.hashes) {
            let place = &mut starts[shard_of(hash)];
            self.order[*place as usize] = item;
            *place += 1;
        }
        self.ids.clear();
        self.ids.resize(self.hashes.len(), 0);
    }
}

fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

struct Shard {
    /// Open addressing: [`EMPTY`], or the upper half is part of the hash and the lower half the row.
    table: Vec<u64>,
    /// The rows: `width` numbers of state and one for the parent. Only the last chunk has room left.
    chunks: Vec<Vec<u32>>,
    rows: usize,
}

/// The chunk of a row, and the place of the row in it.
#[inline]
fn place(row: usize) -> (usize, usize) {
    let chunk = (row / FIRST_ROWS + 1).ilog2() as usize;
    (chunk, row - first_row(chunk))
}

/// The first row of a chunk.
#[inline]
fn first_row(chunk: usize) -> usize {
    ((1 << chunk) - 1) * FIRST_ROWS
}

impl Store {
    pub(crate) fn new(width: usize) -> Store {
        let shards: Vec<_> =
            (0..SHARDS).map(|_| Shard { table: vec![EMPTY; 16], chunks: Vec::new(), rows: 0 }).collect();
        let bytes = shards.iter().map(|shard| shard.bytes(width)).sum::<u64>().into();
        Store { shards: shards.into_iter().map(Mutex::new).collect(), width, bytes }
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        // A thread that panics here ends the whole search, so a poisoned lock is never used for long.
        self.shards[index].lock().ignore_poison()
    }

    /// Adds a state unless it is already there.
    pub(crate) fn insert(&self, state: &[u32], parent: StateId) -> StateId {
        let mut batch = Batch::new(self.width);
        batch.add(state, parent);
        self.insert_all(&mut batch, |_, _| {});
        batch.ids[0]
    }

    /// Adds all new states of a batch, and sets the ids of all. Calls `found` with each new state, in the order of the
    /// batch: neighbours there differ in a part or two, so the search finds the others in the caches of its core.
    ///
    /// Works shard by shard, so that each is locked once. A shard that another thread has locked comes last: going to
    /// sleep and waking up takes longer than the work on a shard.
    pub(crate) fn insert_all(&self, batch: &mut Batch, mut found: impl FnMut(StateId, &[u32])) {
        batch.sort_by_shard();
        batch.new.clear();
        let mut locked: Vec<(usize, Range<usize>)> = Vec::new();
        let mut start = 0;
        while let Some(&first) = batch.order.get(start) {
            let index = shard_of(batch.hashes[first as usize]);
            let others = |&item: &u32| shard_of(batch.hashes[item as usize]) != index;
            let end =
                batch.order[start..].iter().position(others).map_or(batch.order.len(), |end| start + end);
            match self.shards[index].try_lock() {
                Ok(mut shard) => self.insert_into(index, &mut shard, batch, start..end),
                Err(_) => locked.push((index, start..end)),
            }
            start = end;
        }
        for (index, items) in locked {
            self.insert_into(index, &mut self.shard(index), batch, items);
        }
        batch.new.sort_unstable();
        for &item in &batch.new {
            found(batch.ids[item as usize], batch.states.get(item as usize));
        }
    }

    /// Adds the states of a batch that belong to one shard. All places are read before any is changed: these reads do
    /// not wait for each other, and they take most of the time.
    fn insert_into(&self, index: usize, shard: &mut Shard, batch: &mut Batch, items: Range<usize>) {
        let Batch { states, parents, hashes, ids, order, new } = batch;
        let (before, items) = (shard.bytes(self.width), &order[items]);
        let looks = items.iter().map(|&item| shard.look(hashes[item as usize]));
        std::hint::black_box(looks.fold(0, u64::wrapping_add));
        for &place in items {
            let item = place as usize;
            let (row, is_new) = shard.insert(states.get(item), parents[item], hashes[item], self.width);
            ids[item] = (index as u32) << ROW_BITS | row;
            if is_new {
                new.push(place);
            }
        }
        let more = shard.bytes(self.width) - before;
        if more > 0 {
            self.bytes.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// A copy of a state, and its parent.
    pub(crate) fn get(&self, id: StateId) -> (Vec<u32>, StateId) {
        let shard = self.shard((id >> ROW_BITS) as usize);
        let row = shard.row((id & ((1 << ROW_BITS) - 1)) as usize, self.width);
        (row[..self.width].to_vec(), row[self.width])
    }

    /// The number of states.
    pub(crate) fn len(&self) -> u64 {
        (0..SHARDS).map(|index| self.shard(index).rows as u64).sum()
    }

    /// The memory that they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
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
    /// Room that no row has used yet takes no memory.
    fn bytes(&self, width: usize) -> u64 {
        (8 * self.table.len() + 4 * self.rows * (width + 1)) as u64
    }

    fn row(&self, row: usize, width: usize) -> &[u32] {
        let (chunk, place) = place(row);
        let start = place * (width + 1);
        &self.chunks[chunk][start..=start + width]
    }

    /// Reads the table entry where a state with this hash would be.
    fn look(&self, hash: u64) -> u64 {
        self.table[hash as usize & (self.table.len() - 1)]
    }

    fn insert(&mut self, state: &[u32], parent: StateId, hash: u64, width: usize) -> (u32, bool) {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while self.table[slot] != EMPTY {
            let entry = self.table[slot];
            if entry & TAG == hash & TAG && self.row(entry as u32 as usize, width)[..width] == *state {
                return (entry as u32, false);
            }
            slot = (slot + 1) & mask;
        }
        let row = self.rows;
        assert!(row < (1 << ROW_BITS) - 1, "the checker holds at most 4 billion states");
        self.rows += 1;
        let (chunk, place) = place(row);
        if place == 0 {
            self.chunks.push(Vec::with_capacity((FIRST_ROWS << chunk) * (width + 1)));
        }
        let chunk = &mut self.chunks[chunk];
        chunk.extend_from_slice(state);
        chunk.push(parent);
        self.table[slot] = hash & TAG | row as u64;
        if self.rows * 3 > self.table.len() * 2 {
            self.grow(width);
        }
        (row as u32, true)
    }

    fn grow(&mut self, width: usize) {
        let mut table = vec![EMPTY; self.table.len() * 2];
        let mask = table.len() - 1;
        for row in 0..self.rows {
            let hash = hash_words(&self.row(row, width)[..width]);
            let mut slot = hash as usize & mask;
            while table[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            table[slot] = hash & TAG | row as u64;
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
        let ids: Vec<StateId> = (0..20_000).map(|number| store.insert(&state(number), number)).collect();
        for (number, id) in (0..).zip(&ids) {
            assert_eq!(store.insert(&state(number), 0), *id);
            assert_eq!(store.get(*id), (state(number).to_vec(), number));
        }
        assert_eq!(store.len(), 20_000);
        let offsets = store.offsets();
        let mut numbers: Vec<usize> = ids.iter().map(|&id| offsets.number(id)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..20_000));
    }

    /// Many shards take part, and one state comes twice.
    #[test]
    fn new_states_are_reported_once_and_in_the_order_of_the_batch() {
        let (store, mut batch, mut reported) = (Store::new(1), Batch::new(1), Vec::new());
        store.insert(&[70], 0);
        for state in (0..100).chain([50]) {
            batch.add(&[state], 0);
        }
        store.insert_all(&mut batch, |id, state| {
            assert_eq!(store.get(id).0, state);
            reported.push(state[0]);
        });
        assert!(reported.into_iter().eq((0..100).filter(|&state| state != 70)));
    }
}
