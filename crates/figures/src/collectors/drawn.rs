//! What the authors of 000 drew: the formulas of their public program, which are not those that the text prints.

use super::formulas::{MESSAGE, SECTION};
use super::{Against, Case, GROUPS, LARGEST, Measure, TOKENS};

/// The number of groups in figures 12 to 15, which the captions do not give.
pub(super) const GROUPS_OF_12: u32 = 5;

/// The parameters of the program for one x value. The text has one Q; here the requests come from a list of their own,
/// whose length may be another number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    tokens: f64,
    pub(super) groups: f64,
    nodes: f64,
    /// The number of requests in each group that asks.
    pub(super) requests: Vec<f64>,
}

/// The powers of two below a number; 1 in any case.
pub(super) fn powers_below(nodes: u32) -> Vec<u32> {
    let powers = std::iter::successors(Some(1_u32), |power| power.checked_mul(2));
    powers
        .enumerate()
        .take_while(|&(index, power)| index == 0 || power < nodes)
        .map(|(_, power)| power)
        .collect()
}

impl Drawn {
    pub(super) fn of(against: Against, x: u32) -> Drawn {
        let (tokens, groups, nodes) = match against {
            Against::Tokens => (x, GROUPS, LARGEST),
            Against::Groups => (TOKENS, x, LARGEST),
            Against::Nodes => (TOKENS, GROUPS_OF_12, x),
        };
        // All eight groups ask in figures 8 to 11, whatever q is.
        let requests = if against == Against::Nodes { powers_below(nodes) } else { powers_below(2 * nodes) };
        Drawn {
            tokens: f64::from(tokens),
            groups: f64::from(groups),
            nodes: f64::from(nodes),
            requests: requests.into_iter().map(f64::from).collect(),
        }
    }

    /// The curve of the proposed algorithm.
    pub(super) fn proposed(&self, measure: Measure, case: Case) -> f64 {
        match (measure, case) {
            (Measure::Time, Case::One) => 4.0 * MESSAGE + self.nodes / self.share() * (MESSAGE + SECTION),
            (Measure::Time, Case::Two) => {
                let half = |requests: f64| requests / self.share() * (MESSAGE + SECTION) / 2.0;
                let last =
                    self.requests.iter().fold(0.0, |before, &size| half(size) + 2.0 * MESSAGE - before);
                4.0 * MESSAGE + last
            }
            // The text has this formula, with 3Q for 4Q, for case 2.
            (Measure::Messages, Case::One) => {
                let first = self.requests[0];
                let rest = 0.75 * (self.groups + 1.0) * (self.all() - first);
                4.0 * self.groups + self.all() + first / self.share() + rest
            }
            // The text has this one, with N for 2N, for case 1.
            (Measure::Messages, Case::Two) => self.groups * (4.0 + self.nodes * (2.0 + 1.0 / self.share())),
        }
    }

    /// The curve of Chaudhuri and Edward's algorithm.
    pub(super) fn edward(&self, measure: Measure, case: Case) -> f64 {
        match (measure, case) {
            (Measure::Time, Case::One) => 4.0 * MESSAGE + self.nodes * (MESSAGE + SECTION),
            (Measure::Time, Case::Two) => {
                let largest = self.requests.iter().copied().fold(0.0, f64::max);
                4.0 * MESSAGE + largest * (MESSAGE + SECTION)
            }
            (Measure::Messages, Case::One) => 2.0 * self.groups * (2.0 + self.nodes),
            (Measure::Messages, Case::Two) => 4.0 * self.groups + 2.0 * self.all(),
        }
    }

    /// S.
    fn share(&self) -> f64 {
        self.tokens / (self.groups + 1.0)
    }

    fn all(&self) -> f64 {
        self.requests.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the program, by hand.
    #[test]
    fn the_curves_are_those_of_the_program() {
        let near =
            |value: f64, expected: f64| assert!((value - expected).abs() < 0.01, "{value}, not {expected}");
        let (time, messages, one, two) = (Measure::Time, Measure::Messages, Case::One, Case::Two);
        let expected = [
            (1, [47.2, 63.6, 21.12, 30.6], [100.0, 100.0, 30.0, 22.0]),
            (3, [61.6, 43.6, 32.12, 51.8], [220.0, 160.0, 50.0, 26.0]),
            (10, [112.0, 58.0, 98.12, 126.0], [640.0, 520.0, 120.0, 50.0]),
            (25, [220.0, 99.6, 186.12, 285.0], [1540.0, 1000.0, 270.0, 82.0]),
            (33, [277.6, 115.6, 362.12, 369.8], [2020.0, 1960.0, 350.0, 146.0]),
            (50, [400.0, 115.6, 362.12, 550.0], [3040.0, 1960.0, 520.0, 146.0]),
        ];
        for (nodes, proposed, edward) in expected {
            let drawn = Drawn::of(Against::Nodes, nodes);
            for (index, (measure, case)) in
                [(time, one), (time, two), (messages, one), (messages, two)].into_iter().enumerate()
            {
                near(drawn.proposed(measure, case), proposed[index]);
                near(drawn.edward(measure, case), edward[index]);
            }
        }
        for (tokens, proposed) in
            [(8, [8680.0, 2908.75, 2002.62, 3232.0]), (98, [745.31, 274.18, 2001.59, 2174.04])]
        {
            let drawn = Drawn::of(Against::Tokens, tokens);
            near(drawn.proposed(time, one), proposed[0]);
            near(drawn.proposed(time, two), proposed[1]);
            near(drawn.proposed(messages, one), proposed[2]);
            near(drawn.proposed(messages, two), proposed[3]);
            near(drawn.edward(time, one), 7720.0);
            near(drawn.edward(messages, one), 2080.0);
            near(drawn.edward(messages, two), 542.0);
        }
    }

    #[test]
    fn powers_of_two_below_a_number() {
        assert_eq!(powers_below(1), [1]);
        assert_eq!(powers_below(2), [1]);
        assert_eq!(powers_below(33), [1, 2, 4, 8, 16, 32]);
        assert_eq!(powers_below(256).last(), Some(&128));
    }
}
