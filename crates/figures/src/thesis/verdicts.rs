//! Comparisons that turn numbers into claims. No verdict is written by hand.

use simulator::Estimate;

use crate::{Claim, Verdict};

/// Three standard errors count as noise: with two, one of the many comparisons would always seem significant.
const NOISE: f64 = 3.0;

/// Whether the first is at most the second, within the noise.
pub(super) fn at_most(first: Estimate, second: Estimate) -> bool {
    first.mean <= second.mean + NOISE * (first.stderr.powi(2) + second.stderr.powi(2)).sqrt()
}

/// By how much the first is more than the second, as a share of the second.
pub(super) fn excess(first: f64, second: f64) -> f64 {
    (first - second) / second
}

/// A change in percent, with its sign.
pub(super) fn percent(change: f64) -> String {
    let text = format!("{:+.1} %", change * 100.0);
    // A change too small to show has no sign.
    if text == "-0.0 %" || text == "+0.0 %" { "0.0 %".to_string() } else { text }
}

/// A claim about every λ: it reproduces if it holds at all of them, differs if it holds at more than half of
/// them.
pub(super) fn everywhere(source: &'static str, says: &str, holds: &[(f64, bool)], found: &str) -> Claim {
    let exceptions: Vec<String> =
        holds.iter().filter(|(_, holds)| !holds).map(|(rate, _)| rate.to_string()).collect();
    let all = holds.len();
    let verdict = match exceptions.len() {
        0 => Verdict::Reproduces,
        some if 2 * some < all => Verdict::Differs(format!("not at {some} of {all} values of λ")),
        _ => Verdict::DoesNot,
    };
    let where_not = match exceptions.len() {
        0 => format!("so at all {all} values of λ"),
        _ => format!("not so at λ = {}", exceptions.join(", ")),
    };
    Claim {
        source,
        says: says.to_string(),
        found: format!("{where_not}; {found}"),
        verdict,
        reason: String::new(),
    }
}

/// A claim about most λ: it has to hold at more than half of them.
pub(super) fn mostly(source: &'static str, says: &str, holds: &[(f64, bool)], found: &str) -> Claim {
    let claim = everywhere(source, says, holds, found);
    let most = 2 * holds.iter().filter(|(_, holds)| *holds).count() > holds.len();
    Claim { verdict: if most { Verdict::Reproduces } else { Verdict::DoesNot }, ..claim }
}

/// A number that the text puts between two others: a difference is counted from the nearer one. `edge` is the
/// tolerance, as a share.
pub(super) fn between(
    source: &'static str,
    says: &str,
    (low, high): (f64, f64),
    ours: f64,
    edge: f64,
) -> Claim {
    let off = if ours < low {
        excess(ours, low)
    } else if ours > high {
        excess(ours, high)
    } else {
        0.0
    };
    let verdict = if off.abs() <= edge { Verdict::Reproduces } else { Verdict::Differs(percent(off)) };
    Claim { source, says: says.to_string(), found: format!("{ours:.3}"), verdict, reason: String::new() }
}

/// A pair of numbers that are claimed to be equal, and where they were taken.
pub(super) struct Pair {
    pub(super) place: String,
    pub(super) first: f64,
    pub(super) second: f64,
}

/// Numbers claimed to be equal: the worst pair decides.
pub(super) fn alike(source: &'static str, says: &str, pairs: &[Pair], tolerance: f64) -> Claim {
    let off = |pair: &&Pair| excess(pair.second, pair.first).abs();
    let worst = pairs.iter().max_by(|one, other| off(one).total_cmp(&off(other)));
    let Some(worst) = worst else {
        return Claim::holds(source, says, true, "nothing to compare".to_string());
    };
    let beyond = pairs.iter().filter(|pair| off(pair) > tolerance).count();
    let verdict = match beyond {
        0 => Verdict::Reproduces,
        _ => Verdict::Differs(format!("up to {}", percent(excess(worst.second, worst.first)))),
    };
    let change = percent(excess(worst.second, worst.first));
    let example = format!("{}: {:.3} and {:.3} ({change})", worst.place, worst.first, worst.second);
    let found = match pairs.len() {
        1 => example,
        all if off(&worst) == 0.0 => format!("all {all} pairs are equal"),
        all => format!(
            "{beyond} of {all} pairs differ by more than {:.0} %; most at {example}",
            tolerance * 100.0
        ),
    };
    Claim { source, says: says.to_string(), found, verdict, reason: String::new() }
}

/// A claim about several things: the exceptions are named.
pub(super) fn each(source: &'static str, says: &str, all: usize, not: &[&str], found: String) -> Claim {
    let verdict = match not.len() {
        0 => Verdict::Reproduces,
        some if some < all => Verdict::Differs(format!("not {}", not.join(", "))),
        _ => Verdict::DoesNot,
    };
    Claim { source, says: says.to_string(), found, verdict, reason: String::new() }
}

/// Adds a reason where a claim does not reproduce.
pub(super) fn unless_so(claim: Claim, reason: &str) -> Claim {
    if claim.verdict == Verdict::Reproduces { claim } else { claim.because(reason) }
}

/// Replaces the finding by a sentence.
pub(super) fn finding(claim: Claim, found: String) -> Claim {
    Claim { found, ..claim }
}
