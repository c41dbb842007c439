//! Plans from one line of text, and their runs, for the tests.

use algorithms::registry;
use simulator::{Outcome, Plan, Point, Recording, Summary};

/// The plan for an algorithm with these parameters, written `nodes=3 rate=1`.
pub(crate) fn plan(algorithm: &str, parameters: &str) -> Plan {
    let info = registry::info(algorithm).unwrap();
    let mut plan = Plan::of(info);
    for pair in parameters.split_whitespace() {
        let (name, value) = pair.split_once('=').unwrap_or_else(|| panic!("{pair} is not name=value"));
        plan.set(info, name, value).unwrap_or_else(|refusal| panic!("{algorithm} {pair}: {refusal}"));
    }
    plan
}

/// One run, with its steps, without a violation.
pub(crate) fn outcome(algorithm: &str, parameters: &str, seed: u64) -> Outcome {
    let outcome = simulator::run(algorithm, &plan(algorithm, parameters), seed, Recording::On);
    let outcome = outcome.unwrap_or_else(|refusal| panic!("{algorithm} {parameters}: {refusal}"));
    assert_eq!(outcome.violation, None, "{algorithm} {parameters}");
    outcome
}

/// A summary of several runs without a violation.
pub(crate) fn summary(algorithm: &str, parameters: &str, seeds: u64) -> Summary {
    let plan = plan(algorithm, parameters);
    let point = Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds };
    let summary = point.run().unwrap_or_else(|refusal| panic!("{algorithm} {parameters}: {refusal}"));
    assert_eq!(summary.violation, None, "{algorithm} {parameters}");
    summary
}

/// Fails unless a number is near the expected one, within this share of it (0.02: 2 %).
pub(crate) fn assert_near(what: &str, measured: f64, expected: f64, share: f64) {
    let off = (measured - expected).abs();
    assert!(off <= share * expected.abs(), "{what}: {measured}, expected {expected}");
}
