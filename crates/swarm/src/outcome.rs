//! A run with everything that can become of it, and the smallest plan that still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::plan::{Happened, Plan};

/// So many runs are tried at most to find a smaller plan.
const MOST_TRIES: u32 = 120;

/// Runs a plan from a seed. A node that finds that it does what it cannot is a violation like any other.
pub fn outcome(plan: &Plan, seed: u64) -> Happened {
    guarded(|| crate::run(plan, seed))
        .unwrap_or_else(|wrong| Happened { violations: vec![wrong], ..Happened::default() })
}

/// Does something. A node that finds that it does what it cannot says so by a panic.
pub(crate) fn guarded<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        what.unwrap_or_else(|| "a node ended".to_string())
    })
}

/// A smaller plan that fails from the same seed in the same way (by a violation, or by somebody who is stuck): fewer of
/// everything, and shorter, as long as it does. The effort is bounded, so there may be a smaller one.
pub fn shrunk(plan: &Plan, seed: u64) -> Plan {
    let violates = !outcome(plan, seed).violations.is_empty();
    let fails = |plan: &Plan| {
        let happened = outcome(plan, seed);
        happened.violations.is_empty() != violates && happened.wrong().is_some()
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
                if tries > MOST_TRIES {
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

/// What is made smaller, in this order: what makes a run shorter first, then all counts.
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
