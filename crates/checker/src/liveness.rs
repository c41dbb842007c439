//! Whether a state in which every client has been served is reachable from every state.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::{StateId, Store};

/// The successors of each state, in the order of exploration, written so that it can be read backwards: the
/// successors, then their number with a mark for "all served", then the state.
#[derive(Default)]
pub(crate) struct Log(Vec<u32>);

const SERVED: u32 = 1 << 31;

impl Log {
    pub(crate) fn add(&mut self, state: StateId, served: bool, successors: impl Iterator<Item = StateId>) {
        let before = self.0.len();
        self.0.extend(successors);
        let count = (self.0.len() - before) as u32;
        self.0.push(count | if served { SERVED } else { 0 });
        self.0.push(state);
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * self.0.len() as u64
    }

    /// The places of all states, that of the last explored one first.
    fn backwards(&self) -> impl Iterator<Item = usize> {
        let last = self.0.len().checked_sub(1);
        std::iter::successors(last, |&place| self.entry(place).start.checked_sub(1))
    }

    /// What was logged of the state at this place.
    fn entry(&self, place: usize) -> Entry<'_> {
        let (state, mark) = (self.0[place], self.0[place - 1]);
        let start = place - 1 - (mark & !SERVED) as usize;
        Entry { state, served: mark & SERVED != 0, successors: &self.0[start..place - 1], start }
    }
}

/// What is logged of a state.
struct Entry<'a> {
    state: StateId,
    /// All clients are served in it.
    served: bool,
    successors: &'a [StateId],
    /// Where the entry begins.
    start: usize,
}

/// The nearest state from which the end is not reachable, if there is one. Each log is read by a thread of its
/// own: states only ever become good, so a thread that has not seen another's change yet is late and not wrong.
pub(crate) fn stuck_state(
    store: &Store,
    logs: &[&Log],
    distance: impl Fn(StateId) -> usize,
) -> Option<StateId> {
    let offsets = store.offsets();
    let good: Vec<AtomicBool> = (0..store.len()).map(|_| AtomicBool::new(false)).collect();
    let is_good = |state: StateId| good[offsets.number(state)].load(Ordering::Relaxed);
    // Whether a state is not good yet.
    let is_left = |log: &Log, place: usize| {
        let Entry { state, served, successors, .. } = log.entry(place);
        let becomes_good = served || successors.iter().any(|&next| is_good(next));
        if becomes_good {
            good[offsets.number(state)].store(true, Ordering::Relaxed);
        }
        !becomes_good
    };
    // Links mostly lead from earlier to later states, so one backward pass settles nearly everything. The rest is
    // looked at until nothing changes, for the links that lead back and for what another thread was late with.
    let mut left = of_each(logs, |_, log| log.backwards().filter(|&place| is_left(log, place)).collect());
    loop {
        let before = count(&left);
        left = of_each(logs, |number, log| {
            let places: &Vec<usize> = &left[number];
            places.iter().copied().filter(|&place| is_left(log, place)).collect()
        });
        match count(&left) {
            0 => return None,
            after if after == before => break,
            _ => {}
        }
    }
    // The last place of a log is that of its first state, which is nearer than the others.
    let earliest = logs.iter().zip(&left).filter_map(|(log, left)| Some(log.entry(*left.last()?).state));
    earliest.min_by_key(|&state| distance(state))
}

/// How many places these are.
fn count(places: &[Vec<usize>]) -> usize {
    places.iter().map(Vec::len).sum()
}

/// What `find` finds in each log, by the number of the log, each in a thread of its own.
fn of_each(logs: &[&Log], find: impl Fn(usize, &Log) -> Vec<usize> + Sync) -> Vec<Vec<usize>> {
    if let [log] = logs {
        return vec![find(0, log)];
    }
    std::thread::scope(|scope| {
        let find = &find;
        let threads: Vec<_> =
            logs.iter().enumerate().map(|(number, log)| scope.spawn(move || find(number, log))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 → 1 → 2 (served), 1 → 3 ⇄ 4: from 3 and 4 nothing leads out.
    #[test]
    fn a_cycle_without_a_way_out_is_found() {
        let store = Store::new(1);
        let id = |number: u32| store.insert(&[number], 0);
        let ids: Vec<StateId> = (0..5).map(id).collect();
        let mut log = Log::default();
        log.add(ids[0], false, [ids[1]].into_iter());
        log.add(ids[1], false, [ids[2], ids[3]].into_iter());
        log.add(ids[2], true, [].into_iter());
        log.add(ids[3], false, [ids[4]].into_iter());
        log.add(ids[4], false, [ids[3]].into_iter());
        assert_eq!(stuck_state(&store, &[&log], |_| 0), Some(ids[3]));
    }

    /// 0 → 1 → 2 → 1, 2 → 0, 1 → 3 (served): everything leads to the end, partly by links that lead back.
    #[test]
    fn links_that_lead_back_count() {
        let store = Store::new(1);
        let id = |number: u32| store.insert(&[number], 0);
        let ids: Vec<StateId> = (0..4).map(id).collect();
        let mut log = Log::default();
        log.add(ids[0], false, [ids[2]].into_iter());
        log.add(ids[1], false, [ids[3]].into_iter());
        log.add(ids[2], false, [ids[1], ids[0]].into_iter());
        log.add(ids[3], true, [].into_iter());
        assert_eq!(stuck_state(&store, &[&log], |_| 0), None);
    }
}
