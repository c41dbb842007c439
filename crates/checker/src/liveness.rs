//! Whether a state in which every client has been served is reachable from every state.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

    /// Calls `visit` with each state, whether all clients are served in it, and its successors; the last
    /// explored first.
    fn backwards(&self, mut visit: impl FnMut(StateId, bool, &[StateId])) {
        let mut end = self.0.len();
        while end > 0 {
            let (state, mark) = (self.0[end - 1], self.0[end - 2]);
            let start = end - 2 - (mark & !SERVED) as usize;
            visit(state, mark & SERVED != 0, &self.0[start..end - 2]);
            end = start;
        }
    }
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
    let pass = |log: &Log| {
        let mut changed = 0;
        log.backwards(|state, served, successors| {
            if !is_good(state) && (served || successors.iter().any(|&next| is_good(next))) {
                good[offsets.number(state)].store(true, Ordering::Relaxed);
                changed += 1;
            }
        });
        changed
    };
    // Links mostly lead from earlier to later states, so one backward pass settles nearly everything. Passes
    // repeat until nothing changes, for the links that lead back.
    let mut left = good.len();
    loop {
        let changed = sum_of_all(logs, pass);
        left -= changed;
        if left == 0 {
            return None;
        }
        if changed == 0 {
            break;
        }
    }
    let mut nearest: Option<(usize, StateId)> = None;
    for log in logs {
        let mut earliest = None;
        log.backwards(|state, _, _| {
            if !is_good(state) {
                earliest = Some(state);
            }
        });
        if let Some(state) = earliest {
            let far = distance(state);
            if nearest.is_none_or(|(near, _)| far < near) {
                nearest = Some((far, state));
            }
        }
    }
    nearest.map(|(_, state)| state)
}

/// The sum of what `count` finds in all logs, each in a thread of its own.
fn sum_of_all(logs: &[&Log], count: impl Fn(&Log) -> usize + Sync) -> usize {
    if let [log] = logs {
        return count(log);
    }
    let all = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for log in logs {
            scope.spawn(|| all.fetch_add(count(log), Ordering::Relaxed));
        }
    });
    all.into_inner()
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
