//! Who was inside when, and whether that was right.

use std::collections::BTreeMap;

use service::{Definition, Time};

use super::{Line, WANTED};

/// What became of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Let in.
    pub granted: u64,
    /// Sent away: taken, or it took too long.
    pub refused: u64,
    /// Given up by whoever asked.
    pub given_up: u64,
    /// Sessions that were lost, with everything in them.
    pub lost: u64,
}

/// Somebody was inside.
#[derive(Clone, Copy, Debug)]
struct Stay {
    slot: u32,
    fence: u64,
    group: u32,
    from: Time,
    until: Time,
}

/// Everything that clients wrote down.
#[derive(Default)]
pub struct Ledger {
    /// Those who are inside, by process and number, with which resource.
    open: BTreeMap<(u32, u64), (usize, Stay)>,
    /// Those who have been, by resource.
    over: BTreeMap<usize, Vec<Stay>>,
    wrong: Vec<String>,
    tally: Tally,
}

impl Ledger {
    /// A line that a process wrote.
    pub fn write_down(&mut self, process: u32, line: &str) {
        match Line::read(line) {
            Some(Line::In { stay, wanted, slot, fence, group, at }) => {
                let inside = Stay { slot, fence, group, from: at, until: at };
                self.open.insert((process, stay), (wanted, inside));
            }
            Some(Line::Out { stay, at }) => self.close((process, stay), at),
            Some(Line::Wrong(what)) => self.wrong.push(format!("process {process}: {what}")),
            Some(Line::Sum(Tally { granted, refused, given_up, lost })) => {
                self.tally.granted += granted;
                self.tally.refused += refused;
                self.tally.given_up += given_up;
                self.tally.lost += lost;
            }
            // It was killed while it wrote.
            None => {}
        }
    }

    fn close(&mut self, key: (u32, u64), at: Time) {
        if let Some((wanted, stay)) = self.open.remove(&key) {
            self.over.entry(wanted).or_default().push(Stay { until: at, ..stay });
        }
    }

    /// A process is dead, and nobody in it is inside any more.
    pub fn died(&mut self, process: u32, at: Time) {
        let inside = self.open.range((process, 0)..=(process, u64::MAX)).map(|(key, _)| *key);
        for key in inside.collect::<Vec<_>>() {
            self.close(key, at);
        }
    }

    /// How many were inside in all, as far as they wrote it down.
    pub fn stays(&self) -> usize {
        self.over.values().map(Vec::len).sum::<usize>() + self.open.len()
    }

    /// What became of requests, of all processes that ended by themselves.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Everything that is wrong, a line each. All processes have ended.
    pub fn judge(&self) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        if let Some((process, _)) = self.open.keys().next() {
            wrong.push(format!("process {process} ended while somebody in it was inside"));
        }
        for (&wanted, stays) in &self.over {
            let Some(what) = WANTED.get(wanted) else { continue };
            let found = match what.definition {
                Definition::Slots(slots) => slots_wrong(stays, slots),
                Definition::RwLock => room_wrong(stays, Some(WRITER)),
                Definition::Room => room_wrong(stays, None),
            };
            wrong.extend(found.into_iter().map(|found| format!("{}: {found}", what.name)));
        }
        wrong
    }
}

/// The group that a writer writes down.
pub(super) const WRITER: u32 = 1;

/// Each slot has one holder at a time, and fences rise.
fn slots_wrong(stays: &[Stay], slots: u32) -> Option<String> {
    let mut last: BTreeMap<u32, Stay> = BTreeMap::new();
    for stay in in_order(stays) {
        if stay.slot >= slots {
            return Some(format!("slot {} of {slots}", stay.slot));
        }
        if let Some(before) = last.insert(stay.slot, stay) {
            if before.until > stay.from {
                let both = nanos(stay.from, before.until);
                return Some(format!("two in slot {} for {both} ns: {before:?}, {stay:?}", stay.slot));
            }
            if before.fence >= stay.fence {
                return Some(format!("the fence does not rise: {before:?}, {stay:?}"));
            }
        }
    }
    None
}

/// All who are inside together are in the same group, a writer is alone, and every opening has a higher fence.
fn room_wrong(stays: &[Stay], alone: Option<u32>) -> Option<String> {
    // Of this opening: whoever stays longest.
    let mut opening: Option<Stay> = None;
    for stay in in_order(stays) {
        let Some(last) = opening else {
            opening = Some(stay);
            continue;
        };
        let together = last.until > stay.from;
        if together && (last.group != stay.group || alone == Some(stay.group)) {
            return Some(format!("they must not be inside together: {last:?}, {stay:?}"));
        }
        if stay.fence < last.fence || (stay.fence == last.fence && stay.group != last.group) {
            return Some(format!("the fence does not rise: {last:?}, {stay:?}"));
        }
        let until = last.until.max(stay.until);
        opening = Some(Stay { until, ..stay });
    }
    None
}

fn in_order(stays: &[Stay]) -> Vec<Stay> {
    let mut stays = stays.to_vec();
    stays.sort_by_key(|stay| (stay.from, stay.until));
    stays
}

fn nanos(from: Time, until: Time) -> u64 {
    until.0.saturating_sub(from.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTEX: usize = 0;
    const PAIR: usize = 3;
    const BOOK: usize = 5;
    const ROOM: usize = 6;

    /// Lines of process 1: who was inside, by slot, fence and group, from when to when.
    fn judged(wanted: usize, stays: &[(u32, u64, u32, u64, u64)]) -> Vec<String> {
        let mut ledger = Ledger::default();
        for (stay, &(slot, fence, group, from, until)) in (0..).zip(stays) {
            let at = Time(from);
            ledger.write_down(1, &Line::In { stay, wanted, slot, fence, group, at }.write());
            ledger.write_down(1, &Line::Out { stay, at: Time(until) }.write());
        }
        ledger.judge()
    }

    #[test]
    fn what_is_right_is_not_blamed() {
        assert_eq!(judged(MUTEX, &[(0, 1, 0, 0, 5), (0, 2, 0, 5, 9)]), [""; 0]);
        assert_eq!(judged(PAIR, &[(0, 1, 0, 0, 5), (1, 1, 0, 2, 9), (0, 2, 0, 6, 7)]), [""; 0]);
        assert_eq!(judged(BOOK, &[(0, 1, 0, 0, 5), (0, 1, 0, 2, 9), (0, 2, 1, 9, 10)]), [""; 0]);
        assert_eq!(judged(ROOM, &[(0, 1, 2, 0, 5), (0, 1, 2, 2, 9), (0, 2, 1, 9, 10)]), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_found() {
        for (wanted, stays) in [
            (MUTEX, &[(0, 1, 0, 0, 5), (0, 2, 0, 4, 9)][..]),
            (MUTEX, &[(0, 2, 0, 0, 5), (0, 2, 0, 6, 9)]),
            (PAIR, &[(2, 1, 0, 0, 5)]),
            (BOOK, &[(0, 1, 0, 0, 5), (0, 1, 1, 4, 9)]),
            (BOOK, &[(0, 1, 1, 0, 5), (0, 2, 1, 4, 9)]),
            (ROOM, &[(0, 1, 0, 0, 9), (0, 1, 0, 1, 2), (0, 2, 1, 8, 9)]),
            (ROOM, &[(0, 2, 0, 0, 1), (0, 1, 1, 8, 9)]),
        ] {
            assert_eq!(judged(wanted, stays).len(), 1, "{stays:?}");
        }
    }

    #[test]
    fn whoever_is_killed_is_inside_until_then() {
        let mut ledger = Ledger::default();
        ledger.write_down(1, "in 1 0 0 1 0 10");
        ledger.write_down(1, "in 2 1 0 1");
        ledger.died(1, Time(20));
        ledger.write_down(2, "in 1 0 0 2 0 19");
        ledger.write_down(2, "out 1 30");
        assert_eq!(ledger.judge().len(), 1);
        assert_eq!(ledger.stays(), 2);
        ledger.write_down(3, "in 1 1 0 2 0 19");
        assert_eq!(ledger.judge().len(), 2, "somebody forgot to leave");
    }
}
