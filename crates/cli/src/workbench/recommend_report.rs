//! What `tokenwood recommend` prints: the ranking, what could not be used, and the recommendation with its reason.

use ::algorithms::registry;
use serde_json::{Map, Value, json};
use simulator::Plan;

use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};
use crate::workbench::algorithms;
use crate::workbench::candidates::Candidate;
use crate::workbench::plan_arguments;
use crate::workbench::recommend::{Found, Measured, Refused};

/// A runner-up this near is as good, as far as a simulation can tell.
const AS_GOOD: f64 = 1.02;
/// Jain's index so far below the best one is worth a warning.
const UNFAIR: f64 = 0.95;

pub(crate) fn print(plan: &Plan, found: &Found<'_>) {
    let Found { ranking, refused, seconds, all } = found;
    let setting = &plan.setting;
    let places = match (setting.tokens, setting.groups) {
        (_, groups) if groups > 1 => format!("{groups} groups"),
        (1, _) => "one token".to_string(),
        (tokens, _) => format!("{tokens} tokens"),
    };
    let hop = short(plan.mean_hop());
    let described = format!(
        "{}, {places}, rate {}, sections of {}, a hop of {hop}{}",
        table::count(setting.nodes.into(), "node"),
        plan.rate,
        plan.section.mean,
        plan_arguments::network(plan)
    );
    say!("{}", table::flowed(&described, 2));
    if !ranking.is_empty() {
        say!();
        let heading = ["", "algorithm", "wait", "p99", "longest", "messages", "words", "fairness", "needs"];
        let mut rows = vec![heading.map(str::to_string).to_vec()];
        rows.extend((1..).zip(*ranking).map(|(rank, measured)| row(rank, measured)));
        table::print_keyed(&rows, 2);
        let star = "* no other has both a shorter wait and fewer messages. Messages and words are per entry.";
        say!("\n{}", table::flowed(star, 2));
        for Measured { candidate, .. } in *ranking {
            if let Some(warning) = registry::warning(&candidate.algorithm, &candidate.setting()) {
                say!("{}", table::flowed(&format!("{}: {warning}.", candidate.label()), 2));
            }
        }
    }
    if !refused.is_empty() {
        say!("\nNot ranked:");
        for Refused { candidate, reason } in *refused {
            say!("{}", table::flowed(&format!("  {}: {reason}", candidate.label()), 4));
        }
    }
    if let Some(advice) = Advice::of(ranking) {
        say!("\n{}\n{}", table::flowed(&advice.extremes, 0), table::flowed(&advice.recommendation, 0));
    }
    if !ranking.is_empty() {
        say!("\n{} of {all} ranked in {seconds:.1} s; every property held at every event", ranking.len());
    }
}

/// A time without the digits that only a mean has.
pub(crate) fn short(time: f64) -> f64 {
    (time * 1e6).round() / 1e6
}

fn row(rank: usize, measured: &Measured) -> Vec<String> {
    let Measured { candidate, info, summary, on_front, .. } = measured;
    let wait = summary.time_to_enter;
    vec![
        format!("{rank}{}", if *on_front { "*" } else { "" }),
        candidate.label(),
        format!("{:.3} ± {:.3}", wait.mean, wait.stderr),
        format!("{:.3}", summary.wait_at(99.0)),
        format!("{:.3}", summary.longest_wait),
        format!("{:.2}", summary.messages_per_entry.mean),
        format!("{:.1}", summary.words_per_entry.mean),
        format!("{:.3}", summary.fairness.mean),
        algorithms::needs(&info.needs),
    ]
}

pub(crate) fn json(plan: &Plan, (seed, seeds): (u64, u64), found: &Found<'_>, map: &Value) {
    let Found { ranking, refused, seconds, all } = found;
    let partial = ranking.len() + refused.len() < *all;
    let advice = Advice::of(ranking);
    let label = |of: Option<&Measured>| of.map(|measured| measured.candidate.label());
    let report = json!({
        "nodes": plan.setting.nodes,
        "tokens": plan.setting.tokens,
        "groups": plan.setting.groups,
        "rate": plan.rate,
        "cs": plan.section.mean,
        "send": plan.send,
        "receive": plan.receive,
        "transit": plan.transit.mean,
        "hop": plan.mean_hop(),
        "topology": plan.topology.to_string(),
        "latencies": plan.latencies.as_ref().map(ToString::to_string),
        "sites": plan.latencies.as_ref().map(|_| plan.sites.to_string()),
        "multicast": plan.multicast,
        "slow": plan.slow.as_ref().map(ToString::to_string),
        "delay": plan.transit.shape.to_string(),
        "seed": seed,
        "seeds": seeds,
        "ranking": ranking.iter().map(measured_as_json).collect::<Vec<_>>(),
        "refused": refused.iter().map(|Refused { candidate, reason }| {
            json!({ "algorithm": candidate.algorithm, "options": options(candidate), "reason": reason })
        }).collect::<Vec<_>>(),
        "shortest_wait": label(advice.as_ref().map(|advice| advice.shortest)),
        "fewest_messages": label(advice.as_ref().map(|advice| advice.cheapest)),
        "recommended": label(advice.as_ref().map(|advice| advice.best)),
        "reason": advice.as_ref().map(|advice| advice.recommendation.clone()),
        "map": map,
        "partial": partial,
        "candidates": all,
        "seconds": seconds,
    });
    json::say(Schema::Recommend, &report);
}

fn measured_as_json(measured: &Measured) -> Value {
    let Measured { candidate, info, summary, score, on_front } = measured;
    json!({
        "algorithm": candidate.algorithm,
        "options": options(candidate),
        "label": candidate.label(),
        "score": score,
        "on_front": on_front,
        "entries": summary.entries,
        "time_to_enter": {
            "mean": summary.time_to_enter.mean,
            "stderr": summary.time_to_enter.error(),
            "p50": summary.wait_at(50.0),
            "p99": summary.wait_at(99.0),
            "max": summary.longest_entered,
        },
        "longest_wait": summary.longest_wait,
        "messages_per_entry": summary.messages_per_entry.mean,
        "words_per_entry": summary.words_per_entry.mean,
        "fairness": summary.fairness.mean,
        "needs": algorithms::needs_as_json(&info.needs),
    })
}

fn options(candidate: &Candidate) -> Map<String, Value> {
    candidate.options.iter().map(|(name, value)| ((*name).to_string(), json!(value))).collect()
}

/// Who is best at what, in words.
struct Advice<'a> {
    shortest: &'a Measured,
    cheapest: &'a Measured,
    best: &'a Measured,
    extremes: String,
    recommendation: String,
}

impl Advice<'_> {
    /// From a ranking, the best first.
    fn of(ranking: &[Measured]) -> Option<Advice<'_>> {
        let best = ranking.first()?;
        let by_wait = |one: &&Measured, other: &&Measured| one.cost().partial_cmp(&other.cost()).unwrap();
        let by_messages = |one: &&Measured, other: &&Measured| {
            let [one, other] = [one, other].map(|measured| (measured.cost().1, measured.cost().0));
            one.partial_cmp(&other).unwrap()
        };
        let shortest = ranking.iter().min_by(by_wait)?;
        let cheapest = ranking.iter().min_by(by_messages)?;
        let extremes = format!(
            "Shortest wait: {} ({:.3}, {:.2} messages). Fewest messages: {} ({:.2}, wait {:.3}).",
            shortest.candidate.label(),
            shortest.cost().0,
            shortest.cost().1,
            cheapest.candidate.label(),
            cheapest.cost().1,
            cheapest.cost().0,
        );
        let recommendation = recommendation(ranking, best, shortest, cheapest);
        Some(Advice { shortest, cheapest, best, extremes, recommendation })
    }
}

fn recommendation(ranking: &[Measured], best: &Measured, shortest: &Measured, cheapest: &Measured) -> String {
    let is = |one: &Measured, other: &Measured| one.candidate == other.candidate;
    let why = match (is(best, shortest), is(best, cheapest)) {
        _ if ranking.len() == 1 => "nothing else fits".to_string(),
        (true, true) => "it has the shortest wait and the fewest messages".to_string(),
        (true, false) => "it has the shortest wait, and no more messages than that is worth".to_string(),
        (false, true) => "it has the fewest messages, and no longer wait than that is worth".to_string(),
        (false, false) => {
            let percent = |part: f64, of: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
            format!(
                "the best product of the two: {:.0} % of the messages of {}, {:.0} % of the wait of {}",
                percent(best.cost().1, shortest.cost().1),
                shortest.candidate.label(),
                percent(best.cost().0, cheapest.cost().0),
                cheapest.candidate.label(),
            )
        }
    };
    let mut text = format!("Recommended: {}: {why}.", best.candidate.label());
    let near: Vec<String> = ranking[1..]
        .iter()
        .take_while(|other| other.score <= best.score * AS_GOOD)
        .map(|other| other.candidate.label())
        .collect();
    if !near.is_empty() {
        text += &format!(" As good within 2 %: {}.", near.join(", "));
    }
    if best.candidate.algorithm.starts_with("partitioned") {
        text += " Its clusters do not help each other: an uneven load (--workload skewed) is worth a try.";
    }
    let fairest = ranking.iter().map(|other| other.summary.fairness.mean).fold(0.0, f64::max);
    let fairness = best.summary.fairness.mean;
    if fairness < UNFAIR * fairest {
        text += &format!(" But it is not fair: Jain's index {fairness:.2}, others reach {fairest:.2}.");
    }
    text
}
