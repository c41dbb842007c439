//! Text 004: group mutual exclusion with dynamic request sets: messages, concurrency, switches, delay,
//! faults.
//!
//! Times are counted as the text counts them: a message takes t_m = 1, a critical section t_c = 5, processors
//! cost nothing.

mod comparison;
mod faults;
mod load;
mod repair;
mod table_1;
mod words;

use algorithms::Algorithm;
use algorithms::drs_gme::DrsGme;
use simulator::time::Span;
use simulator::{Plan, Point};

use crate::page::{Dot, Origin, Series};
use crate::{Effort, Exhibit};

/// The delay of a message.
const T_M: f64 = 1.0;
/// The length of a critical section.
const T_C: f64 = 5.0;
/// The number of nodes, where it does not vary.
const NODES: u32 = 20;
const GROUPS: [u32; 4] = [1, 2, 5, 20];
const RATES: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0];

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    let mut all = vec![table_1::EXHIBIT];
    all.extend(load::EXHIBITS);
    all.push(words::EXHIBIT);
    all.extend(faults::EXHIBITS);
    all.extend(repair::EXHIBITS);
    all.push(comparison::EXHIBIT);
    all
}

/// The text's model with this many nodes and groups.
fn plan(effort: &Effort, nodes: u32, groups: u32, rate: f64) -> Plan {
    let mut plan = Plan::of(&DrsGme::INFO);
    (plan.setting.nodes, plan.setting.groups, plan.rate) = (nodes, groups, rate);
    (plan.send, plan.receive) = (0.0, 0.0);
    (plan.transit, plan.section) = (Span::constant(T_M), Span::constant(T_C));
    plan.entries = effort.entries(2000);
    plan.warmup = plan.entries / 5;
    plan
}

fn point(effort: &Effort, plan: Plan) -> Point {
    Point { algorithm: DrsGme::INFO.name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

/// Every request rate for one number of groups.
fn rates(effort: &Effort, groups: u32) -> Vec<(f64, Point)> {
    let rates = effort.thin(&RATES);
    rates.into_iter().map(|rate| (rate, point(effort, plan(effort, NODES, groups, rate)))).collect()
}

/// A constant curve.
fn level(label: &str, value: f64, from: f64, to: f64) -> Series {
    Series::new(label, Origin::Formula, vec![Dot::exact(from, value), Dot::exact(to, value)])
}
