//! The cost of locks, beside the minimum cost of the network.
//!
//! Every scenario starts a cluster of its own in this process, with real sockets between nodes and to
//! clients, and measures its floor in the same run: the time of a bare round trip of as many bytes between
//! two tasks of the same runtime. Machines differ and are busy; ratios to the floor can still be compared.

#![forbid(unsafe_code)]

mod cluster;
mod contended;
pub mod cpu;
mod encrypted;
mod error;
mod figure;
mod floor;
mod handoff;
pub mod http;
mod names;
pub mod peers;
mod uncontended;

use std::time::Duration;

pub use error::Error;
pub use figure::{Bound, Figure, Outcome};

/// A benchmark scenario.
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description, in a line.
    pub about: &'static str,
    run: Run,
}

type Run = fn(&Effort) -> Result<Vec<Figure>, Error>;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of rounds of each scenario.
    pub rounds: u32,
    /// The approximate length of each round.
    pub time: Duration,
    /// The number of names for the memory of names.
    pub names: u32,
}

impl Scenario {
    /// Runs the scenario.
    pub fn run(&self, effort: &Effort) -> Result<Outcome, Error> {
        let mut rounds = Vec::new();
        for _ in 0..effort.rounds.max(1) {
            rounds.push(Outcome { scenario: self.name.to_string(), figures: (self.run)(effort)? });
        }
        Outcome::of_rounds(rounds).ok_or_else(|| Error::Measurement("nothing was measured".to_string()))
    }
}

/// All scenarios.
pub const SCENARIOS: [Scenario; 16] = [
    Scenario {
        name: "embedded",
        about: "take and release a lock whose token is here, in the node's own process",
        run: uncontended::embedded,
    },
    Scenario {
        name: "client",
        about: "take and release a free lock through a client of the node",
        run: uncontended::through_client,
    },
    Scenario {
        name: "own-lock",
        about: "three clients at three nodes, each with a lock of its own",
        run: uncontended::own_locks,
    },
    Scenario { name: "contended-3", about: "3 clients over 3 nodes want one lock", run: contended::three },
    Scenario { name: "contended-9", about: "9 clients over 3 nodes want one lock", run: contended::nine },
    Scenario { name: "contended-30", about: "30 clients over 3 nodes want one lock", run: contended::thirty },
    Scenario {
        name: "contended-100",
        about: "100 clients over 3 nodes want one lock",
        run: contended::hundred,
    },
    Scenario {
        name: "many-names",
        about: "30 clients over 3 nodes, each time one of 1,000 names",
        run: contended::many_names,
    },
    Scenario {
        name: "semaphore",
        about: "30 clients over 3 nodes want one of 3 slots",
        run: contended::semaphore,
    },
    Scenario {
        name: "rooms",
        about: "30 clients over 3 nodes in 2 groups want the same room",
        run: contended::rooms,
    },
    Scenario {
        name: "hand-off-embedded",
        about: "from a release at one node to the grant at another, in the nodes' own process",
        run: handoff::embedded,
    },
    Scenario {
        name: "hand-off-client",
        about: "the same between clients of the two nodes",
        run: handoff::between_clients,
    },
    Scenario {
        name: "encrypted",
        about: "what encryption adds to a client's cycle and to a hand-off, beside the same without it",
        run: encrypted::price,
    },
    Scenario {
        name: "http",
        about: "acquire and release a free lock at the HTTP door, beside a handler that answers at once",
        run: http::cycle,
    },
    Scenario {
        name: "scraped",
        about: "30 clients over 3 nodes want one lock, while each node is scraped 100 times a second",
        run: http::scraped,
    },
    Scenario { name: "names", about: "the memory of names that are used once each", run: names::memory },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Not the speed, which no test can check, but the figures that do not depend on the machine.
    #[test]
    fn every_scenario_gives_figures_and_messages_are_as_few_as_promised() {
        let effort = Effort { rounds: 1, time: Duration::from_millis(100), names: 1_000 };
        for scenario in &SCENARIOS {
            let outcome = scenario.run(&effort).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
            assert!(!outcome.figures.is_empty(), "{}", scenario.name);
            for figure in &outcome.figures {
                assert!(figure.value.is_finite(), "{} {figure:?}", scenario.name);
                // In so short a run the first requests, which search for the token, have too much weight.
                let short = Figure { value: figure.value * 0.95, ..figure.clone() };
                let counts = figure.what.starts_with("messages");
                assert!(!counts || short.holds(), "{} {figure:?}", scenario.name);
            }
        }
    }
}
