//! The states of one level, and which thread explores which of them.

use std::ops::Range;
use std::sync::Mutex;

use sync::IgnorePoison;

use crate::row::{RowLayout, Rows};
use crate::store::StateId;

/// So many states are taken from the frontier at once, at most: their successors go to the store together, and the more
/// they are, the more of them are in the same shard.
const MOST_AT_ONCE: usize = 2048;
/// And so many at least, while there are as many.
const LEAST_AT_ONCE: usize = 128;
/// With fewer states than this for each, waking other threads takes longer than the work.
pub(super) const WORTH_WAKING: usize = 512;

/// States with their ids.
pub(super) struct Found {
    pub(super) ids: Vec<StateId>,
    pub(super) rows: Rows,
}

impl Found {
    pub(super) fn new(layout: RowLayout) -> Found {
        Found { ids: Vec::new(), rows: Rows::new(layout.width()) }
    }

    pub(super) fn push(&mut self, id: StateId, words: &[u32]) {
        self.ids.push(id);
        self.rows.push(words);
    }

    fn emptied(mut self) -> Found {
        self.ids.clear();
        self.rows.clear();
        self
    }

    pub(super) fn bytes(&self) -> u64 {
        self.rows.bytes() + 4 * self.ids.len() as u64
    }
}

/// The states of a level, by the worker that found them.
pub(super) struct Frontier(Vec<Share>);

/// The states that one worker found, and which of them nobody has taken yet.
struct Share {
    found: Found,
    left: Mutex<Range<usize>>,
}

impl Frontier {
    pub(super) fn new(found: Vec<Found>) -> Frontier {
        let share = |found: Found| Share { left: Mutex::new(0..found.ids.len()), found };
        Frontier(found.into_iter().map(share).collect())
    }

    /// Some states for the worker with this number: those that it found itself first. They are made of parts that
    /// it has just used, so they are still in the caches of its core. It takes those of others from the end, away
    /// from where the others are.
    pub(super) fn take(&self, worker: usize) -> Option<(&Found, Range<usize>)> {
        let own = self.0.get(worker).and_then(|share| Some((&share.found, share.take_first()?)));
        own.or_else(|| self.0.iter().find_map(|share| Some((&share.found, share.take_last()?))))
    }

    /// How many states it has.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|share| share.found.ids.len()).sum()
    }

    /// Its lists, without the states.
    pub(super) fn emptied(self) -> impl Iterator<Item = Found> {
        self.0.into_iter().map(|share| share.found.emptied())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|share| share.found.bytes()).sum()
    }
}

impl Share {
    fn take_first(&self) -> Option<Range<usize>> {
        let mut left = self.left.lock().ignore_poison();
        let taken = left.start..left.start + at_once(&left);
        left.start = taken.end;
        (!taken.is_empty()).then_some(taken)
    }

    fn take_last(&self) -> Option<Range<usize>> {
        let mut left = self.left.lock().ignore_poison();
        let taken = left.end - at_once(&left)..left.end;
        left.end = taken.start;
        (!taken.is_empty()).then_some(taken)
    }
}

/// How many of these states to take: fewer towards the end, so that all threads are done at about the same time.
fn at_once(left: &Range<usize>) -> usize {
    (left.len() / 4).clamp(LEAST_AT_ONCE, MOST_AT_ONCE).min(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: Range<StateId>) -> Found {
        let layout = RowLayout::new(1);
        let mut found = Found::new(layout);
        ids.for_each(|id| found.push(id, &[0; 3]));
        found
    }

    #[test]
    fn a_worker_takes_its_own_states_and_then_the_last_of_another() {
        let all = 2 * LEAST_AT_ONCE as StateId + 1;
        let frontier = Frontier::new(vec![found(0..all), found(all..all + 1)]);
        let takes = |worker| {
            let (found, range) = frontier.take(worker)?;
            Some((found.ids[range.start], range.len()))
        };
        assert_eq!(takes(1), Some((all, 1)));
        assert_eq!(takes(1), Some((all - LEAST_AT_ONCE as StateId, LEAST_AT_ONCE)));
        assert_eq!(takes(0), Some((0, LEAST_AT_ONCE)));
        assert_eq!(takes(2), Some((LEAST_AT_ONCE as StateId, 1)));
        assert_eq!((takes(0), takes(1)), (None, None));
    }

    #[test]
    fn a_worker_takes_fewer_states_towards_the_end() {
        let all = 16 * MOST_AT_ONCE;
        let frontier = Frontier::new(vec![found(0..all as StateId)]);
        let sizes: Vec<usize> = std::iter::from_fn(|| Some(frontier.take(0)?.1.len())).collect();
        assert_eq!((sizes.iter().sum::<usize>(), sizes[0]), (all, MOST_AT_ONCE));
        assert!(
            sizes.is_sorted_by(|first, next| first >= next) && sizes[sizes.len() - 2] == LEAST_AT_ONCE,
            "{sizes:?}"
        );
    }
}
