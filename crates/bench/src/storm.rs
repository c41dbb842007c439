//! A storm: many clients that do anything at any time, connections that are cut, programs that are killed; and a judge
//! who finds out afterwards whether anybody was ever inside who should not have been.
//!
//! Clients live in processes of their own ([`live`]) and write down when they went in and out, by a clock that is the same
//! for all processes of a machine. Whoever is killed is inside until it is dead. The judge ([`Ledger`]) looks at what
//! overlaps: that is not a sample but everything that happened.

mod ledger;
mod program;
mod proxy;

use client::clock;
use service::{Definition, Time};

pub use ledger::{Arrival, Finding, Ledger, Tally};
pub use program::{live, say};
pub use proxy::Proxy;

/// Something that clients want.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its name,
    pub name: &'static str,
    /// and what it is.
    pub definition: Definition,
}

/// What clients want: a bit of everything, and little enough that they meet.
pub const WANTED: [Wanted; 8] = [
    Wanted { name: "storm/a", definition: Definition::MUTEX },
    Wanted { name: "storm/b", definition: Definition::MUTEX },
    Wanted { name: "storm/c", definition: Definition::MUTEX },
    Wanted { name: "storm/pair", definition: Definition::Slots(2) },
    Wanted { name: "storm/many", definition: Definition::Slots(7) },
    Wanted { name: "storm/book", definition: Definition::RwLock },
    Wanted { name: "storm/room", definition: Definition::Room },
    Wanted { name: "storm/hall", definition: Definition::Room },
];

/// What is wanted by this number. Beyond those that are listed there are mutexes, as many as anybody likes.
pub fn wanted(number: usize) -> (String, Definition) {
    match WANTED.get(number) {
        Some(wanted) => (wanted.name.to_string(), wanted.definition),
        None => (format!("storm/own-{number}"), Definition::MUTEX),
    }
}

/// The groups of rooms.
const GROUPS: [&str; 3] = ["red", "green", "blue"];

/// What a client writes down, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// It went in.
    In {
        /// Its number for that,
        stay: u64,
        /// which resource,
        wanted: usize,
        /// by which slot,
        slot: u32,
        /// fence
        fence: u64,
        /// and group,
        group: u32,
        /// since when it had wanted to,
        asked: Time,
        /// and when.
        at: Time,
    },
    /// It stopped to believe that it is inside.
    Out {
        /// Its number for that,
        stay: u64,
        /// and when.
        at: Time,
    },
    /// Something is wrong.
    Wrong(String),
    /// At the end: what became of all requests.
    Sum(Tally),
}

impl Line {
    fn write(&self) -> String {
        match self {
            Line::In { stay, wanted, slot, fence, group, asked, at } => {
                format!("in {stay} {wanted} {slot} {fence} {group} {} {}", asked.0, at.0)
            }
            Line::Out { stay, at } => format!("out {stay} {}", at.0),
            Line::Wrong(what) => format!("wrong {what}"),
            Line::Sum(Tally { granted, refused, given_up, lost }) => {
                format!("sum {granted} {refused} {given_up} {lost}")
            }
        }
    }

    /// `None` for half a line, as somebody leaves it who is killed.
    fn read(text: &str) -> Option<Line> {
        let (kind, rest) = text.split_once(' ')?;
        if kind == "wrong" {
            return Some(Line::Wrong(rest.to_string()));
        }
        let numbers: Vec<u64> = rest.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        Some(match (kind, &numbers[..]) {
            ("in", &[stay, wanted, slot, fence, group, asked, at]) => Line::In {
                stay,
                wanted: usize::try_from(wanted).ok()?,
                slot: u32::try_from(slot).ok()?,
                fence,
                group: u32::try_from(group).ok()?,
                asked: Time(asked),
                at: Time(at),
            },
            ("out", &[stay, at]) => Line::Out { stay, at: Time(at) },
            ("sum", &[granted, refused, given_up, lost]) => {
                Line::Sum(Tally { granted, refused, given_up, lost })
            }
            _ => return None,
        })
    }
}

/// Splitmix: the same storm from the same seed, as far as the operating system lets it be the same.
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below this.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) % limit.max(1)
    }
}

/// Now, by the clock that all processes share.
pub fn now() -> Time {
    clock::machine_now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_read_again_and_halves_cannot() {
        let lines = [
            Line::In { stay: 3, wanted: 1, slot: 0, fence: 1 << 40, group: 2, asked: Time(4), at: Time(5) },
            Line::Out { stay: 3, at: Time(9) },
            Line::Wrong("waits in vain".to_string()),
            Line::Sum(Tally { granted: 1, refused: 2, given_up: 3, lost: 4 }),
        ];
        for line in lines {
            assert_eq!(Line::read(&line.write()), Some(line));
        }
        for half in ["", "in", "in 3 1 0", "out 3", "out 3 ", "sum 1 2 3"] {
            assert_eq!(Line::read(half), None, "{half}");
        }
    }
}
