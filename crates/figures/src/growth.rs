//! Ours: how messages and waits grow with the number of nodes and tokens, beside the theory.
//!
//! Times are counted in hops: a message takes 1, processors and critical sections nothing.

mod nodes;
mod tokens;

use simulator::time::Span;
use simulator::workload::Workload;
use simulator::{Plan, Point};

use crate::page::{Dot, Origin, Series};
use crate::{Effort, Exhibit};

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    let mut all = nodes::EXHIBITS.to_vec();
    all.push(tokens::EXHIBIT);
    all
}

/// The load.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// One request at a time.
    Light,
    /// All clients, all the time.
    Full,
}

/// A point with this many nodes and tokens. The largest systems run from fewer seeds.
fn point(effort: &Effort, algorithm: &str, (nodes, tokens): (u32, u32), load: Load) -> Point {
    let mut plan = Plan::default();
    (plan.setting.nodes, plan.setting.tokens) = (nodes, tokens);
    (plan.send, plan.receive) = (0.0, 0.0);
    (plan.transit, plan.section) = (Span::constant(1.0), Span::constant(0.0));
    let n = u64::from(nodes);
    match load {
        Load::Light => {
            (plan.rate, plan.workload) = (1.0, Workload::Single);
            // Dynamic trees settle only after all nodes have asked several times.
            plan.warmup = if effort.quick { 4 * n } else { 8 * n };
            plan.entries = effort.entries(4000).max(1000);
        }
        Load::Full => {
            plan.rate = 10.0;
            // Clients that asked at the very beginning wait longer, up to two and a half rounds.
            plan.warmup = 4 * n;
            // Whole rounds, so that every node's turn is in the mean.
            plan.entries = effort.entries(2000).max(if n > 10_000 { n } else { 2 * n });
        }
    }
    let most_seeds = if effort.quick { 10_000 } else { 100_000 } / n;
    let seeds = effort.seeds.min(most_seeds.clamp(1, if effort.quick { 3 } else { 20 }));
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds }
}

/// A title from the label of an axis.
fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// A formula at these x values.
fn formula(label: &str, sizes: &[u32], value: impl Fn(f64) -> f64) -> Series {
    let dots = sizes.iter().map(|&x| Dot::exact(f64::from(x), value(f64::from(x)))).collect();
    Series::new(label, Origin::Formula, dots)
}

/// The exponent with which a curve grows: the slope of the straight line nearest to it where both axes are
/// logarithmic.
fn exponent(dots: &[Dot]) -> f64 {
    let logs: Vec<(f64, f64)> = dots.iter().map(|dot| (dot.x.ln(), dot.y.max(1e-9).ln())).collect();
    let count = logs.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let both: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    let square: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    if square == 0.0 { 0.0 } else { both / square }
}

/// H(n), the sum of 1/i for i up to n.
fn harmonic(n: f64) -> f64 {
    (1..=n as u64).rev().map(|i| 1.0 / i as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_known_curves() {
        let curve = |power: f64| -> Vec<Dot> {
            [10.0f64, 100.0, 1000.0].map(|x| Dot::exact(x, 3.0 * x.powf(power))).to_vec()
        };
        for power in [0.0, 0.5, 1.0] {
            assert!((exponent(&curve(power)) - power).abs() < 1e-9);
        }
        assert!((harmonic(4.0) - 25.0 / 12.0).abs() < 1e-12);
    }
}
