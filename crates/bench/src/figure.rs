//! Measured figures, and their bounds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The scenario.
    pub scenario: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A measured figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub what: String,
    /// The median of all rounds.
    pub value: f64,
    /// The lowest of all rounds.
    pub low: f64,
    /// The highest of all rounds.
    pub high: f64,
    /// The unit.
    pub unit: String,
    /// The bound that it should keep, if there is one.
    pub bound: Option<Bound>,
}

/// The bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// At most this much.
    AtMost(f64),
    /// At least this much.
    AtLeast(f64),
}

impl Figure {
    pub(crate) fn new(what: &str, value: f64, unit: &str) -> Figure {
        let (what, unit) = (what.to_string(), unit.to_string());
        Figure { what, value, low: value, high: value, unit, bound: None }
    }

    pub(crate) fn at_most(self, limit: f64) -> Figure {
        Figure { bound: Some(Bound::AtMost(limit)), ..self }
    }

    pub(crate) fn at_least(self, limit: f64) -> Figure {
        Figure { bound: Some(Bound::AtLeast(limit)), ..self }
    }

    /// Whether it keeps its bound; true if there is none.
    pub fn holds(&self) -> bool {
        match self.bound {
            None => true,
            Some(Bound::AtMost(limit)) => self.value <= limit,
            Some(Bound::AtLeast(limit)) => self.value >= limit,
        }
    }

    /// Whether another measurement of the same figure differs by more than the spread between rounds.
    pub fn differs(&self, other: &Figure) -> bool {
        self.low > other.high || self.high < other.low
    }
}

impl Outcome {
    /// Combines rounds of the same scenario. There is at least one.
    pub(crate) fn of_rounds(mut rounds: Vec<Outcome>) -> Option<Outcome> {
        let mut outcome = rounds.pop()?;
        for (place, figure) in outcome.figures.iter_mut().enumerate() {
            let others = rounds.iter().filter_map(|round| round.figures.get(place));
            let mut values: Vec<f64> = others.map(|other| other.value).chain([figure.value]).collect();
            figure.value = median(&mut values);
            (figure.low, figure.high) = (quantile(&mut values, 0.0), quantile(&mut values, 1.0));
        }
        Some(outcome)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(limit) => write!(f, "≤ {limit}"),
            Bound::AtLeast(limit) => write!(f, "≥ {limit}"),
        }
    }
}

/// The value that this share of the values is below. Sorts.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len().saturating_sub(1) as f64 * share).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// Jain's fairness index: 1 if all shares are equal, 1/n if one has everything.
pub(crate) fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_fairness() {
        let mut values = vec![5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&mut values), 3.0);
        assert_eq!(quantile(&mut values, 1.0), 5.0);
        assert_eq!(jain(&[7, 7, 7]), 1.0);
        assert_eq!(jain(&[9, 0, 0]), 1.0 / 3.0);
    }

    #[test]
    fn rounds_are_put_together() {
        let round =
            |value| Outcome { scenario: "x".into(), figures: vec![Figure::new("cost", value, "µs")] };
        let all = Outcome::of_rounds(vec![round(3.0), round(1.0), round(2.0)]).unwrap();
        let figure = &all.figures[0];
        assert_eq!((figure.low, figure.value, figure.high), (1.0, 2.0, 3.0));
        assert!(!figure.differs(&Figure::new("cost", 3.0, "µs")));
        assert!(figure.differs(&Figure::new("cost", 3.1, "µs")));
    }

    #[test]
    fn bounds() {
        let figure = Figure::new("cost", 2.0, "×");
        assert!(figure.holds());
        assert!(figure.clone().at_most(2.0).holds());
        assert!(!figure.clone().at_most(1.9).holds());
        assert!(!figure.at_least(2.1).holds());
    }
}
