//! `tokenwood recommend`: simulates every algorithm that fits a load and ranks them.

use std::time::Instant;

use algorithms::{Info, registry};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::Value;
use simulator::fault::Verb;
use simulator::plan::PARAMETERS;
use simulator::{Plan, Point, Summary};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;
use crate::terminal::{interrupt, table};
use crate::workbench::candidates::{self, Candidate};
use crate::workbench::plan_arguments::PlanArguments;
use crate::workbench::{recommend_map, recommend_report, simulated};

/// Simulate the algorithms that fit a load, and rank them by how long clients wait and how many messages it takes.
///
/// One token: all mutexes and k-mutexes. Several: all k-mutexes, and the mutexes with the nodes divided into k clusters. Several groups: the group mutexes. Options that matter are tried, too. What cannot be used there is listed with the reason.
///
/// The rule: the product of the mean wait (plus one hop) and the messages per entry (plus one) counts, the lower the better. So a tenth less waiting is worth about a tenth more messages, and an algorithm that another one beats in both is never recommended; those that no other beats in both are marked with *.
///
/// It ends with the nearest cell of the map that 'tokenwood map' draws, and who is best there by each measure.
///
/// Times are in any unit you like, the rate is per that unit; what is not given is as for 'tokenwood simulate'. A hop is the transit over one link of a topology, or the mean of the latencies between nodes, with both processors.
///
/// Ctrl-C stops it and ranks those that have been simulated; a second one ends it at once.
///
/// Exit code: 0 there is a recommendation; 2 wrong usage, or nothing fits; 130 or 143 stopped by Ctrl-C or SIGTERM.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    plan: PlanArguments,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs of each, each from its own seed
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// A candidate that was simulated.
pub(crate) struct Measured {
    pub(crate) candidate: Candidate,
    pub(crate) info: Info,
    pub(crate) summary: Summary,
    /// Wait plus a hop, times messages plus one.
    pub(crate) score: f64,
    /// No other has both a shorter wait and fewer messages.
    pub(crate) on_front: bool,
}

/// A candidate that cannot be used, and why.
pub(crate) struct Refused {
    pub(crate) candidate: Candidate,
    pub(crate) reason: String,
}

/// More messages than this are not simulated for one candidate: those that send very many are measured over fewer
/// entries.
const MOST_MESSAGES: f64 = 2e7;
/// But never over fewer than this.
const LEAST_ENTRIES: u64 = 200;

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let plan = common_plan(arguments)?;
    let candidates = candidates::all(&plan);
    let began = Instant::now();
    let each = (plan.entries + plan.warmup).saturating_mul(arguments.seeds);
    let progress = Progress::new("recommend", each.saturating_mul(candidates.len() as u64));
    let (mut ranking, mut refused) = (Vec::new(), Vec::new());
    interrupt::listen()?;
    let all = candidates.len();
    for candidate in candidates {
        let measured = measure(arguments, &candidate)?;
        if interrupt::is_asked() {
            break;
        }
        match measured {
            Ok((info, summary)) => {
                let score = score(&plan, &summary);
                ranking.push(Measured { candidate, info, summary, score, on_front: false });
            }
            Err(reason) => refused.push(Refused { candidate, reason }),
        }
        progress.add(each);
    }
    progress.finish();
    rank(&mut ranking);
    let seconds = began.elapsed().as_secs_f64();
    let found = Found { ranking: &ranking, refused: &refused, seconds, all };
    if ranking.len() + refused.len() < all {
        return Ok(interrupted(arguments, &plan, &found));
    }
    if arguments.format == Format::Json {
        let map = recommend_map::as_json(&plan)?;
        recommend_report::json(&plan, (arguments.seed, arguments.seeds), &found, &map);
    } else {
        recommend_report::print(&plan, &found);
        if !ranking.is_empty() {
            recommend_map::print(&plan)?;
        }
    }
    if ranking.is_empty() {
        bail!("no algorithm fits: the reasons are above; change the load or the faults they name");
    }
    Ok(if interrupt::is_asked() { Ended::Interrupted } else { Ended::Well })
}

/// What was found of all candidates.
pub(crate) struct Found<'a> {
    pub(crate) ranking: &'a [Measured],
    pub(crate) refused: &'a [Refused],
    pub(crate) seconds: f64,
    /// How many candidates there are; if they are more than those above, a signal has stopped it.
    pub(crate) all: usize,
}

/// Ranks those that have been simulated.
fn interrupted(arguments: &Arguments, plan: &Plan, found: &Found<'_>) -> Ended {
    if arguments.format == Format::Json {
        recommend_report::json(plan, (arguments.seed, arguments.seeds), found, &Value::Null);
        return Ended::Interrupted;
    }
    recommend_report::print(plan, found);
    let tried = found.ranking.len() + found.refused.len();
    let text = format!(
        "Interrupted: {tried} of {} were tried; one that was not may be better. The same command begins again; fewer \
         --seeds or --entries end sooner.",
        table::count(found.all as u64, "candidate")
    );
    say!("{}", table::flowed(&text, 0));
    Ended::Interrupted
}

/// What all candidates have in common; refuses what makes no sense for any of them.
fn common_plan(arguments: &Arguments) -> Result<Plan> {
    if arguments.seeds == 0 {
        bail!("there must be at least one seed: --seeds 1");
    }
    if arguments.seed.checked_add(arguments.seeds - 1).is_none() {
        bail!("there are no {} seeds from {} on: take a smaller --seed", arguments.seeds, arguments.seed);
    }
    for name in arguments.plan.given() {
        if name == "defect" || !PARAMETERS.iter().any(|parameter| parameter.name == name) {
            bail!("recommend tries the options of the algorithms itself: leave out {name}");
        }
        if name == "lose" {
            bail!(
                "recommend compares algorithms whose messages differ: give a share with --loss, not --lose"
            );
        }
    }
    // The two that take every load of their kind.
    let [single, grouped] = ["bulgannawar-vaidya", "drs-gme"].map(registry::info);
    let (single, grouped) = (single?, grouped?);
    let asked_for = arguments.plan.given().any(|name| name == "groups");
    let several = asked_for && arguments.plan.plan(grouped)?.setting.groups > 1;
    let info = if several { grouped } else { single };
    let plan = arguments.plan.plan(info)?;
    plan.validate(info)?;
    arguments.plan.refuse_ignored(&plan, info)?;
    Ok(plan)
}

/// Simulates a candidate; the inner error is why it cannot be used.
fn measure(arguments: &Arguments, candidate: &Candidate) -> Result<Result<(Info, Summary), String>> {
    let info = registry::info(&candidate.algorithm)?;
    let mut plan = arguments.plan.plan(info)?;
    plan.setting.tokens = candidate.tokens;
    for (name, value) in &candidate.options {
        plan.set(info, name, value)?;
    }
    let warmup = plan.warmup;
    // Options may change what it needs. What makes no sense with them is refused below.
    let info = registry::info_with(&candidate.algorithm, &plan.setting).unwrap_or(info);
    if let Some(reason) = unfit(info, &plan) {
        return Ok(Err(reason));
    }
    let mut point = Point { algorithm: candidate.algorithm.clone(), plan, seed: arguments.seed, seeds: 1 };
    if let Err(refusal) = point.validate() {
        return Ok(Err(refusal.to_string()));
    }
    let wanted = point.plan.entries;
    (point.plan.entries, point.plan.warmup) = (LEAST_ENTRIES.min(wanted), 0);
    // Without one, a signal has stopped it: the caller throws the result away.
    let stopped = || Err("it was not simulated".to_string());
    let Some(trial) = run_unless_stopped(&point)? else { return Ok(stopped()) };
    let messages = trial.messages_per_entry.mean.max(1.0) * arguments.seeds as f64;
    let affordable = ((MOST_MESSAGES / messages) as u64).max(LEAST_ENTRIES);
    point.plan.warmup = warmup.min(affordable);
    (point.plan.entries, point.seeds) = (wanted.min(affordable), arguments.seeds);
    let summary = if trial.violation.is_some() { Some(trial) } else { run_unless_stopped(&point)? };
    let Some(summary) = summary else { return Ok(stopped()) };
    Ok(match &summary.violation {
        Some((seed, violation)) => Err(format!("does not hold here: {violation} (seed {seed})")),
        None => Ok((*info, summary)),
    })
}

/// Runs a point; `None` if a signal asks to stop before it is complete.
fn run_unless_stopped(point: &Point) -> Result<Option<Summary>> {
    let mut simulated = simulated::simulate(std::slice::from_ref(point), &|_| ())?;
    Ok(simulated.summaries.pop())
}

/// Why an algorithm does not fit the network and the faults, by what it declares.
fn unfit(info: &Info, plan: &Plan) -> Option<String> {
    let (needs, faults) = (info.needs, &plan.faults);
    let verb = |verb: Verb| faults.verbs.iter().any(|fault| fault.verb == verb);
    let lost = (faults.loss > 0.0 || verb(Verb::Partition)) && !needs.tolerates_loss;
    let reordered = (!plan.fifo || faults.reorder > 0.0) && needs.fifo(plan.setting.tokens);
    let large = plan.setting.nodes > candidates::MOST_FOR_ALL_KNOWING
        && candidates::ALL_KNOWING.iter().any(|name| info.name.contains(name));
    let reasons = [
        (lost, "does not survive the loss of messages"),
        (faults.duplicate > 0.0 && !needs.tolerates_duplicates, "does not expect a message twice"),
        (verb(Verb::Crash) && !needs.tolerates_crashes, "does not survive crashes"),
        (reordered, "needs messages between two nodes to arrive in order"),
        (large, "every node keeps something about every other: not tried with more than 3000 nodes"),
    ];
    reasons.iter().find(|(holds, _)| *holds).map(|(_, reason)| (*reason).to_string())
}

fn score(plan: &Plan, summary: &Summary) -> f64 {
    (summary.time_to_enter.mean + plan.mean_hop()) * (summary.messages_per_entry.mean + 1.0)
}

/// Sorts by score and marks those that no other beats in both wait and messages.
fn rank(ranking: &mut [Measured]) {
    ranking.sort_by(|one, other| one.score.total_cmp(&other.score));
    let costs: Vec<(f64, f64)> = ranking.iter().map(Measured::cost).collect();
    for (measured, (wait, messages)) in ranking.iter_mut().zip(&costs) {
        let beats = |other: &(f64, f64)| {
            other.0 <= *wait && other.1 <= *messages && (other.0 < *wait || other.1 < *messages)
        };
        measured.on_front = !costs.iter().any(beats);
    }
}

impl Measured {
    /// Mean wait, and messages per entry.
    pub(crate) fn cost(&self) -> (f64, f64) {
        (self.summary.time_to_enter.mean, self.summary.messages_per_entry.mean)
    }
}
