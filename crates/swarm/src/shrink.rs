//! A run with panics caught, and the smallest plan that still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::plan::{Outcome, Plan};
use crate::run::Run;

/// At most this many runs are tried to find a smaller plan.
const MOST_TRIES: u32 = 120;

/// Runs a plan from a seed. A failed assertion of a node is a violation like any other.
pub fn run_catching_panics(plan: &Plan, seed: u64) -> Outcome {
    let mut begun = None;
    let ended = guarded(|| begun.insert(Run::new(plan, seed)).finish());
    ended.unwrap_or_else(|Panicked(message)| {
        let log = begun.map(|run| run.outcome.log).unwrap_or_default();
        Outcome { violations: vec![message], log, ..Outcome::default() }
    })
}

/// An assertion of a node failed, with this message.
pub(crate) struct Panicked(pub(crate) String);

/// Runs a closure. A node reports a failed assertion by a panic.
pub(crate) fn guarded<T>(act: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Panicked(what.unwrap_or_else(|| "a node ended".to_string()))
    })
}

/// A smaller plan that fails from the same seed in the same way (by a violation, or by a request that is
/// stuck): fewer of everything, and shorter. The effort is bounded, so there may be a smaller one; it ends as soon as
/// `is_enough`.
pub fn shrink(plan: &Plan, seed: u64, is_enough: &dyn Fn() -> bool) -> Plan {
    let violates = !run_catching_panics(plan, seed).violations.is_empty();
    let fails = |plan: &Plan| {
        let outcome = run_catching_panics(plan, seed);
        outcome.violations.is_empty() != violates && outcome.failure().is_some()
    };
    let (mut smallest, mut tries) = (plan.clone(), 0);
    loop {
        let before = smallest.clone();
        for key in shrinking() {
            let value = smallest.get(key).unwrap_or(0);
            for less in [least(key), value / 2, value.saturating_sub(1)] {
                let mut smaller = smallest.clone();
                smaller.set(key, less.max(least(key)));
                tries += 1;
                if tries > MOST_TRIES || is_enough() {
                    return smallest;
                }
                if smaller.get(key) < smallest.get(key) && fails(&smaller) {
                    smallest = smaller;
                    break;
                }
            }
        }
        if smallest == before {
            return smallest;
        }
    }
}

/// The keys to shrink, in this order: those that shorten a run first, then all counts.
fn shrinking() -> impl Iterator<Item = &'static str> {
    let times = ["lasts", "lease", "drift", "section", "hop", "client-hop", "split"];
    let counts = Plan::KEYS.into_iter().filter(move |key| !times.contains(key));
    std::iter::once("lasts").chain(counts)
}

fn least(key: &str) -> u64 {
    match key {
        "lasts" => 1000,
        "clients" | "names" | "nodes" | "slots" => 1,
        _ => 0,
    }
}
