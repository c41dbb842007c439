//! The thesis' claims about its implementation, judged by runs over sockets; and whether simulation and
//! sockets agree.

use simulator::Estimate;

use super::experiment::{CHAPTER_VI, ENTRIES_EACH, FACTOR, HEAVY, HOP, LIGHT, NODES, TOGETHER, TOKENS};
use super::model::{PROPOSED, RAYMOND};
use super::sockets::{Line, Measured, Pair, rivals};
use super::verdicts::{at_most, between, everywhere, excess, percent, unless_so};
use crate::{Claim, Verdict};

/// How far a mean over sockets may be from the simulated one to count as equal.
const TOLERANCE: f64 = 0.1;

/// Rates that differ by less are the same: they were multiplied.
const NEARLY: f64 = 1.0 + 1e-9;

/// Whether a run has the sizes of the thesis, so that its numbers can be compared.
fn as_in_thesis(line: &Line) -> bool {
    let sizes = |pair: &Pair| (pair.measured.setting.nodes, pair.measured.setting.tokens);
    line.pairs.iter().all(|pair| sizes(pair) == (NODES, TOKENS))
}

/// The run at the thesis' lightest load or a lighter one, if there is one.
fn light<'a>(line: &'a Line) -> Option<&'a Pair<'a>> {
    line.pairs.first().filter(|pair| pair.measured.rate <= LIGHT * FACTOR * NEARLY)
}

/// The run at the thesis' heaviest load or a heavier one, if there is one.
fn heavy<'a>(line: &'a Line) -> Option<&'a Pair<'a>> {
    line.pairs.last().filter(|pair| pair.measured.rate * NEARLY >= HEAVY * FACTOR)
}

/// The claims of figure 30.
pub(super) fn messages(lines: &[Line]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for line in lines {
        if line.algorithm == PROPOSED.algorithm && as_in_thesis(line) {
            let says = "The proposed algorithm sends three to four messages at light load.";
            let claim = |light: &Pair| between(CHAPTER_VI, says, (3.0, 4.0), light.messages().mean, 0.0);
            claims.extend(light(line).map(claim));
            let says = "It sends two messages at heavy load.";
            let claim = |heavy: &Pair| Claim::number(CHAPTER_VI, says, 2.0, heavy.messages().mean, 0.05);
            claims.extend(heavy(line).map(claim));
        }
        if line.algorithm == RAYMOND.algorithm {
            let means = || line.pairs.iter().map(|pair| pair.messages().mean);
            let mean = means().sum::<f64>() / line.pairs.len() as f64;
            if as_in_thesis(line) {
                let says = "Raymond's algorithm sends about 15 messages.";
                claims.push(unless_so(Claim::number(CHAPTER_VI, says, 15.0, mean, 0.03), TOGETHER));
            }
            claims.push(bounds(line));
        }
    }
    let says = "The proposed algorithm sends fewer messages than Raymond's.";
    claims.extend(better(lines, says, |pair| pair.messages().mean));
    let says = "The messages over sockets are those of the simulation.";
    let usual = "Over sockets every client enters equally often and then stops, so that a run ends with a lighter load. A simulated \
                 run ends with its last entry, and counts the messages of the requests that still wait.";
    claims.extend(same(lines, says, usual, |pair| (pair.simulated.messages_per_entry, pair.messages())));
    claims
}

fn bounds(line: &Line) -> Claim {
    let within = |pair: &Pair| {
        let setting = &pair.measured.setting;
        let (nodes, tokens) = (f64::from(setting.nodes), f64::from(setting.tokens));
        let allowed = 2.0 * nodes - tokens - 1.0..=2.0 * (nodes - 1.0);
        (pair.measured.rate, allowed.contains(&pair.messages().mean))
    };
    let holds: Vec<(f64, bool)> = line.pairs.iter().map(within).collect();
    let means = || line.pairs.iter().map(|pair| pair.messages().mean);
    let found = format!(
        "{:.2} to {:.2} messages",
        means().fold(f64::INFINITY, f64::min),
        means().fold(0.0, f64::max)
    );
    everywhere(CHAPTER_VI, "Raymond's algorithm sends between 2n−k−1 and 2(n−1) messages.", &holds, &found)
}

/// The claims of figure 31.
pub(super) fn waits(lines: &[Line]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (algorithm, says, printed) in [
        (PROPOSED.algorithm, "At high load the proposed algorithm waits 25 ms.", 25.0),
        (RAYMOND.algorithm, "At high load Raymond's algorithm waits about 27 ms.", 27.0),
    ] {
        let found = lines.iter().find(|line| line.algorithm == algorithm && as_in_thesis(line));
        let Some(heavy) = found.and_then(heavy) else { continue };
        let claim = Claim::number(CHAPTER_VI, says, printed, heavy.wait().mean, 0.12);
        let message = heavy.measured.message;
        let reason =
            format!("A message took {message:.2} ms here, and {HOP} ms between the thesis' machines.");
        claims.push(unless_so(claim, &reason));
    }
    let says = "The proposed algorithm waits less than Raymond's.";
    claims.extend(better(lines, says, |pair| pair.wait().mean));
    let says = "The waits over sockets are those of the simulation.";
    let usual = "Processes share the cores of their machine: messages are late together, and a client that is to leave has to wait \
                 for a core as well.";
    claims.extend(same(lines, says, usual, |pair| (pair.simulated.time_to_enter, pair.wait())));
    claims
}

fn better(lines: &[Line], says: &str, value: fn(&Pair) -> f64) -> Option<Claim> {
    let [ours, theirs] = rivals(lines)?;
    let both = || ours.pairs.iter().zip(&theirs.pairs);
    let less = |(one, other): (&Pair, &Pair)| (one.measured.rate, value(one) < value(other));
    let holds: Vec<(f64, bool)> = both().map(less).collect();
    let told = |(one, other): (&Pair, &Pair)| {
        format!("λ = {}: {:.2} and {:.2}", one.measured.rate, value(one), value(other))
    };
    let ends: Vec<String> = both().take(1).chain(both().skip(1).last()).map(told).collect();
    Some(everywhere("001 ch. VI sec. B, ch. VII", says, &holds, &ends.join(", ")))
}

/// Whether measurement and simulation agree: a difference counts if it exceeds both the tolerance and the
/// noise. The usual reason is that of the algorithms without timers.
fn same(lines: &[Line], says: &str, usual: &str, values: fn(&Pair) -> (Estimate, Estimate)) -> Option<Claim> {
    let mut compared = Vec::new();
    for pair in lines.iter().flat_map(|line| &line.pairs) {
        let (simulated, measured) = values(pair);
        let off = excess(measured.mean, simulated.mean);
        let noise = at_most(simulated, measured) && at_most(measured, simulated);
        compared.push((off.abs() > TOLERANCE && !noise, off, pair));
    }
    let all = compared.len();
    let differ = compared.iter().filter(|(differs, ..)| *differs).count();
    let differing = compared.iter().filter(|(differs, ..)| *differs).map(|(.., pair)| pair.measured);
    let reason = reason(&differing.collect::<Vec<_>>(), usual);
    // Among those that differ, if any do.
    let (differs, off, pair) = compared
        .into_iter()
        .max_by(|one, other| one.0.cmp(&other.0).then(one.1.abs().total_cmp(&other.1.abs())))?;
    let (simulated, measured) = values(pair);
    let found = format!(
        "{differ} of {all} pairs differ by more than {:.0} % and three standard errors; the farthest apart, {} at λ = {}: {:.3} \
         simulated, {:.3} measured ({})",
        TOLERANCE * 100.0,
        pair.measured.algorithm,
        pair.measured.rate,
        simulated.mean,
        measured.mean,
        percent(off)
    );
    let verdict =
        if differs { Verdict::Differs(format!("up to {}", percent(off))) } else { Verdict::Reproduces };
    Some(Claim { source: "ours", says: says.to_string(), found, verdict, reason })
}

/// Why these runs differ from their simulations. A simulated hop takes as long as the measured messages, for the timers,
/// too; over sockets the timers cannot know that.
fn reason(differing: &[&Measured], usual: &str) -> String {
    let (paced, others): (Vec<&Measured>, Vec<&Measured>) =
        differing.iter().partition(|measured| measured.pace.is_some());
    let mut reasons = Vec::new();
    if let Some(slowest) = paced.iter().max_by(|one, other| one.message.total_cmp(&other.message)) {
        let mut names: Vec<&str> = paced.iter().map(|measured| measured.algorithm.as_str()).collect();
        names.dedup();
        reasons.push(format!(
            "The timers of {} set its pace, and count {:.2} ms for a hop, where a message took at most {:.2} ms on average: \
             clients wait for the timers, and more requests gather meanwhile. The longer messages take, as with --hop {HOP}ms, \
             the closer the two are.",
            names.join(" and of "),
            slowest.pace.unwrap_or_default(),
            slowest.message
        ));
    }
    if !others.is_empty() {
        reasons.push(usual.to_string());
    }
    reasons.join(" ")
}

/// The claim of tables I and II.
pub(super) fn spread(line: &Line) -> Claim {
    let most = |value: fn(&Pair) -> f64| line.pairs.iter().map(value).fold(0.0, f64::max);
    let messages = most(|pair| pair.message_deviation() / pair.messages().mean);
    let waits = most(|pair| pair.wait_deviation() / pair.wait().mean);
    let says = "The standard deviations are small compared with the means (here: at most a tenth at 200 entries for each node).";
    let entries = line.pairs.first().map_or(ENTRIES_EACH, |pair| pair.measured.entries);
    // With fewer entries per node means vary more.
    let allowed = 0.1 * (f64::from(ENTRIES_EACH) / f64::from(entries)).sqrt().max(1.0);
    let found = format!(
        "at most {:.0} % of the mean for messages and {:.0} % for delays",
        messages * 100.0,
        waits * 100.0
    );
    let claim = Claim::holds(CHAPTER_VI, says, messages <= allowed && waits <= allowed, found);
    let reason = "At light load a wait is nothing or, rarely, another's section, so that means over few entries stray; and where \
                  requests go by clocks and ids, as in Raymond's algorithm, nodes with a high id wait longer.";
    unless_so(claim, reason)
}
