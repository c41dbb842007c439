//! The stays of clients, and whether they were correct.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use service::{Definition, InWords, Time};

use super::{Line, wanted};

/// The outcomes of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Granted.
    pub granted: u64,
    /// Refused: held by others, or timed out.
    pub refused: u64,
    /// Cancelled by the client.
    pub given_up: u64,
    /// Sessions that were lost, with all their grants.
    pub lost: u64,
}

/// The stay of a client.
#[derive(Clone, Copy, Debug)]
struct Stay {
    process: u32,
    asked: Time,
    slot: u32,
    fence: u64,
    group: u32,
    from: Time,
    until: Time,
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stay { process, slot, fence, group, from, until, .. } = self;
        let [from, until] = [from, until].map(|at| at.0 as f64 / 1e9);
        write!(
            f,
            "a client of process {process} (slot {slot}, fence {fence}, group {group}, from {from:.6} s to {until:.6} s)"
        )
    }
}

/// An entry of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The client's process.
    pub process: u32,
    /// The resource.
    pub wanted: usize,
    /// When the client made its request.
    pub asked: Time,
    /// When the client entered.
    pub at: Time,
    /// When the client left.
    pub until: Time,
}

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Conflicting grants were held at the same time.
    Together(String),
    /// A fence does not rise.
    Fence(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Finding::Together(what) | Finding::Fence(what) | Finding::Other(what)) = self;
        f.write_str(what)
    }
}

/// The logs of all clients.
#[derive(Default)]
pub struct Ledger {
    /// Current stays, by process and number, with the resource.
    open: BTreeMap<(u32, u64), (usize, Stay)>,
    /// Finished stays, by resource.
    over: BTreeMap<usize, Vec<Stay>>,
    wrong: Vec<String>,
    tally: Tally,
}

impl Ledger {
    /// A line that a process wrote.
    pub fn write_down(&mut self, process: u32, line: &str) {
        match Line::read(line) {
            Some(Line::In { stay, wanted, slot, fence, group, asked, at }) => {
                let inside = Stay { process, asked, slot, fence, group, from: at, until: at };
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
            // The process was killed while it wrote.
            None => {}
        }
    }

    fn close(&mut self, key: (u32, u64), at: Time) {
        if let Some((wanted, stay)) = self.open.remove(&key) {
            self.over.entry(wanted).or_default().push(Stay { until: at, ..stay });
        }
    }

    /// A process is dead, and all its stays end.
    pub fn died(&mut self, process: u32, at: Time) {
        let inside = self.open.range((process, 0)..=(process, u64::MAX)).map(|(key, _)| *key);
        for key in inside.collect::<Vec<_>>() {
            self.close(key, at);
        }
    }

    /// The number of stays in all logs.
    pub fn stays(&self) -> usize {
        self.over.values().map(Vec::len).sum::<usize>() + self.open.len()
    }

    /// The outcomes of requests, of all processes that ended by themselves.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// All entries, by time; current stays have no end yet.
    pub fn arrivals(&self) -> Vec<Arrival> {
        let arrival = |wanted: usize, stay: &Stay| {
            let Stay { process, asked, from, until, .. } = *stay;
            Arrival { process, wanted, asked, at: from, until }
        };
        let over =
            self.over.iter().flat_map(|(wanted, stays)| stays.iter().map(|stay| arrival(*wanted, stay)));
        let open = self.open.values().map(|(wanted, stay)| arrival(*wanted, stay));
        let mut all: Vec<Arrival> = over.chain(open).collect();
        all.sort_by_key(|arrival| arrival.at);
        all
    }

    /// All violations. All processes have ended.
    pub fn judge(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.wrong.iter().cloned().map(Finding::Other).collect();
        if let Some((process, _)) = self.open.keys().next() {
            findings.push(Finding::Other(format!("process {process} ended with a client inside")));
        }
        for (&number, stays) in &self.over {
            let (name, definition) = wanted(number);
            let found = match definition {
                Definition::Slots(slots) => slots_wrong(&name, stays, slots),
                Definition::RwLock => room_wrong(&name, stays, Some(WRITER)),
                Definition::Room => room_wrong(&name, stays, None),
            };
            findings.extend(found);
        }
        findings
    }
}

/// The group that a writer logs.
pub(super) const WRITER: u32 = 1;

/// Each slot has one holder at a time, and fences rise.
fn slots_wrong(name: &str, stays: &[Stay], slots: u32) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut last, mut fences): (BTreeMap<u32, Stay>, BTreeSet<(u32, u64)>) = Default::default();
    for stay in in_order(stays) {
        if !fences.insert((stay.slot, stay.fence)) {
            findings.push(Finding::Other(format!(
                "{name}: a fence was granted twice, the second time to {stay}"
            )));
        }
        if stay.slot >= slots {
            findings.push(Finding::Other(format!(
                "{name}: slot {} was granted, and there are {slots}",
                stay.slot
            )));
        }
        let Some(before) = last.insert(stay.slot, stay) else { continue };
        if before.until > stay.from {
            let both = before.until - stay.from;
            findings.push(Finding::Together(format!(
                "{name}: two clients hold slot {} for {}: {before} and {stay}",
                stay.slot,
                InWords(both)
            )));
        }
        if before.fence >= stay.fence {
            findings.push(Finding::Fence(format!("{name}: the fence does not rise from {before} to {stay}")));
        }
    }
    findings
}

/// All clients inside together are in the same group, a writer is alone, and every opening has a higher
/// fence.
fn room_wrong(name: &str, stays: &[Stay], alone: Option<u32>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The longest stay of this opening.
    let mut opening: Option<Stay> = None;
    for stay in in_order(stays) {
        let Some(last) = opening else {
            opening = Some(stay);
            continue;
        };
        let together = last.until > stay.from;
        if together && (last.group != stay.group || alone == Some(stay.group)) {
            findings.push(Finding::Together(format!(
                "{name}: two clients hold it that exclude each other: {last} and {stay}"
            )));
        }
        if stay.fence < last.fence || (stay.fence == last.fence && stay.group != last.group) {
            findings.push(Finding::Fence(format!("{name}: the fence does not rise from {last} to {stay}")));
        }
        let until = last.until.max(stay.until);
        opening = Some(Stay { until, ..stay });
    }
    findings
}

fn in_order(stays: &[Stay]) -> Vec<Stay> {
    let mut stays = stays.to_vec();
    stays.sort_by_key(|stay| (stay.from, stay.until));
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTEX: usize = 0;
    const PAIR: usize = 3;
    const BOOK: usize = 5;
    const ROOM: usize = 6;

    /// Lines of process 1: stays by slot, fence and group, with begin and end.
    fn judged(wanted: usize, stays: &[(u32, u64, u32, u64, u64)]) -> Vec<Finding> {
        let mut ledger = Ledger::default();
        for (stay, &(slot, fence, group, from, until)) in (0..).zip(stays) {
            let at = Time(from);
            ledger.write_down(1, &Line::In { stay, wanted, slot, fence, group, asked: at, at }.write());
            ledger.write_down(1, &Line::Out { stay, at: Time(until) }.write());
        }
        ledger.judge()
    }

    #[test]
    fn what_is_right_is_not_blamed() {
        assert_eq!(judged(MUTEX, &[(0, 1, 0, 0, 5), (0, 2, 0, 5, 9)]), []);
        assert_eq!(judged(PAIR, &[(0, 1, 0, 0, 5), (1, 1, 0, 2, 9), (0, 2, 0, 6, 7)]), []);
        assert_eq!(judged(BOOK, &[(0, 1, 0, 0, 5), (0, 1, 0, 2, 9), (0, 2, 1, 9, 10)]), []);
        assert_eq!(judged(ROOM, &[(0, 1, 2, 0, 5), (0, 1, 2, 2, 9), (0, 2, 1, 9, 10)]), []);
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
            assert!(!judged(wanted, stays).is_empty(), "{stays:?}");
        }
    }

    #[test]
    fn a_killed_client_holds_until_then() {
        let mut ledger = Ledger::default();
        ledger.write_down(1, "in 1 0 0 1 0 9 10");
        ledger.write_down(1, "in 2 1 0 1");
        ledger.died(1, Time(20));
        ledger.write_down(2, "in 1 0 0 2 0 18 19");
        ledger.write_down(2, "out 1 30");
        assert_eq!(ledger.judge().len(), 1);
        assert_eq!(ledger.stays(), 2);
        ledger.write_down(3, "in 1 1 0 2 0 18 19");
        assert_eq!(ledger.judge().len(), 2, "a client did not leave");
    }
}
