//! What the threads of a search know in common. Each list has its own lock, which is held for a look-up or an
//! insertion only: an algorithm never runs under it.

use std::hash::Hash;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sync::IgnorePoison;

use crate::fast_hash::FastMap;

/// Numbers for values, in the order of their first occurrence. Both lists share the values: making and freeing a
/// second copy would be work that threads wait for.
pub(super) struct Numbered<T>(RwLock<Values<T>>);

struct Values<T> {
    values: Vec<Arc<T>>,
    numbers: FastMap<Arc<T>, u32>,
}

impl<T: Eq + Hash> Numbered<T> {
    pub(super) fn new() -> Self {
        Numbered(RwLock::new(Values { values: Vec::new(), numbers: FastMap::default() }))
    }

    /// The value with this number.
    pub(super) fn get(&self, number: u32) -> Arc<T> {
        self.0.read().ignore_poison().values[number as usize].clone()
    }

    pub(super) fn number(&self, value: T) -> u32 {
        if let Some(&number) = self.0.read().ignore_poison().numbers.get(&value) {
            return number;
        }
        let value = Arc::new(value);
        let mut all = self.0.write().ignore_poison();
        let next = all.values.len() as u32;
        // Another thread may have been faster.
        let number = *all.numbers.entry(value.clone()).or_insert(next);
        if number == next {
            all.values.push(value);
        }
        number
    }
}

/// Answers to questions, each worked out when it is first asked.
pub(super) struct Answers<Q, A>(RwLock<FastMap<Q, A>>);

impl<Q, A> Default for Answers<Q, A> {
    fn default() -> Self {
        Answers(RwLock::default())
    }
}

impl<Q: Eq + Hash, A: Clone> Answers<Q, A> {
    fn read(&self) -> RwLockReadGuard<'_, FastMap<Q, A>> {
        self.0.read().ignore_poison()
    }

    fn write(&self) -> RwLockWriteGuard<'_, FastMap<Q, A>> {
        self.0.write().ignore_poison()
    }

    pub(super) fn get(&self, question: &Q) -> Option<A> {
        self.read().get(question).cloned()
    }

    /// Keeps an answer, and returns the one that is kept: two threads may work the same answer out, and the first
    /// is as good as the second.
    pub(super) fn keep(&self, question: Q, answer: A) -> A {
        self.write().entry(question).or_insert(answer).clone()
    }
}
