//! A storm: many clients that act at random, connections that are cut, programs that are killed; and a judge
//! that checks afterwards whether conflicting grants were ever held at the same time.
//!
//! Clients run in processes of their own ([`live`]) and log when they enter and leave, by a clock that all
//! processes of a machine share. A client that is killed counts as inside until its process is dead. The
//! judge ([`Ledger`]) checks all overlaps, not a sample.

mod course;
mod ledger;
mod program;
mod proxy;

use service::{Definition, Time};
use transport::clock;

pub(crate) use course::StormClients;
pub use course::{ClientArguments, Outcome, Storm, run, run_clients};
pub use ledger::{Arrival, Finding, Ledger, Tally};
pub use program::{live, say};
pub use proxy::Proxy;

/// A resource that clients use.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: &'static str,
    /// Its definition.
    pub definition: Definition,
}

/// The resources: some of every kind, and few enough that clients compete.
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

/// The resource of this number. Beyond the listed ones there are any number of mutexes.
pub fn wanted(number: usize) -> (String, Definition) {
    match WANTED.get(number) {
        Some(wanted) => (wanted.name.to_string(), wanted.definition),
        None => (format!("storm/own-{number}"), Definition::MUTEX),
    }
}

/// The groups of rooms.
const GROUPS: [&str; 3] = ["red", "green", "blue"];

/// A line of a client's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The client entered.
    In {
        /// Its number for this stay.
        stay: u64,
        /// The resource.
        wanted: usize,
        /// The slot.
        slot: u32,
        /// The fence.
        fence: u64,
        /// The group.
        group: u32,
        /// When it made its request.
        asked: Time,
        /// When it entered.
        at: Time,
    },
    /// The client left, or learned that its grant is over.
    Out {
        /// Its number for this stay.
        stay: u64,
        /// When it left.
        at: Time,
    },
    /// A violation that the client noticed itself.
    Wrong(String),
    /// At the end: the outcomes of all requests.
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

    /// `None` for an incomplete line, as a killed process leaves it.
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
