//! `tokenwood simulate`: runs an algorithm under a load and prints what it costs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use algorithms::trace::Trace;
use algorithms::{Violation, registry};
use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value, json};
use simulator::fault::{Faults, Verb};
use simulator::workload::Workload;
use simulator::{Estimate, Outcome, Plan, Point, Summary};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count, grouped};
use crate::workbench::check_report;
use crate::workbench::plan_arguments::{self, PlanArguments};
use crate::workbench::{simulated, sweep, sweep_report};

/// Simulate an algorithm under a load, and measure how long clients wait and how many messages it takes.
///
/// Times are in any unit you like, the rate is per that unit. The defaults are the thesis' model: 30 nodes, 3 tokens, Ts = Tr = 0.1, Tt = 0.8, E = 0.0002. They are not the options of the thesis' algorithm: in its figures 'proposed' is bulgannawar-vaidya with --choose last-seen --inform 2. Every property is checked at every event. A seed decides everything: the same seed gives the same results on every machine and any number of cores.
///
/// Ctrl-C stops it and prints what was measured so far; a second one ends it at once.
///
/// Exit code: 0 measured; 1 a property was violated (the run's trace is saved); 2 wrong usage; 130 or 143 stopped by Ctrl-C or SIGTERM without a violation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The algorithm ('tokenwood algorithms' lists them), or partitioned(NAME)
    name: String,
    #[command(flatten)]
    plan: PlanArguments,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs, each from its own seed; errors are those of the mean over them
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Do not check the properties: for measuring speed only
    #[arg(long)]
    no_check: bool,
    /// Write every step of the first run to this file, for 'tokenwood trace'
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let info = registry::info(&arguments.name)?;
    let mut plan = arguments.plan.plan(info)?;
    arguments.plan.refuse_ignored(&plan, info)?;
    plan.check = !arguments.no_check;
    let point =
        Point { algorithm: arguments.name.clone(), plan, seed: arguments.seed, seeds: arguments.seeds };
    point.validate()?;
    interrupt::listen()?;
    let began = Instant::now();
    let measured = measure(&point)?;
    let seconds = began.elapsed().as_secs_f64();
    if let Some(warning) = registry::warning(&point.algorithm, &point.plan.setting) {
        note!("tokenwood: warning: {warning}");
    }
    let violation = measured.summary.violation.as_ref();
    let saved = violation.is_some() || arguments.trace.is_some() && measured.partial.is_none();
    let file = saved.then(|| arguments.trace.clone().unwrap_or_else(|| trace_file(&point)));
    let save = |file| save_trace(&point, violation, file);
    // Where nothing can be written, the results stay.
    if arguments.format == Format::Json {
        let saved = file.as_deref().map(save).transpose().map(Option::flatten);
        let mut facts = as_json(&point, &measured, seconds);
        facts["parameters"] = json!(sweep::parameters(&point)?);
        facts["trace_file"] = json!(saved.as_ref().ok().copied().flatten().map(Path::to_string_lossy));
        json::say(Schema::Simulate, &facts);
        saved?;
    } else {
        print(&point, &measured, seconds);
        if let Some(file) = file.as_deref().map(save).transpose()?.flatten() {
            let what = if violation.is_some() { "it" } else { "the first run" };
            say!("Saved; 'tokenwood trace {}' replays {what}.", file.display());
        }
    }
    Ok(match (violation, &measured.partial) {
        (Some(_), _) => Ended::Violated,
        (None, Some(_)) => Ended::Interrupted,
        (None, None) => Ended::Well,
    })
}

/// What was measured of a point.
struct Measured {
    summary: Summary,
    /// If a signal has stopped it.
    partial: Option<Partial>,
}

/// How far a point has come.
struct Partial {
    /// The seeds of the runs that are finished.
    finished: Vec<u64>,
    /// Of the one run that is measured although it is not finished: how many entries it has.
    entries: Option<u64>,
}

/// Simulates until a signal asks to stop. Then finished runs count; only if there are none, the first unfinished one does.
fn measure(point: &Point) -> Result<Measured> {
    let mut simulated = simulated::simulate_visibly("simulate", std::slice::from_ref(point))?;
    if let Some(summary) = simulated.summaries.pop() {
        return Ok(Measured { summary, partial: None });
    }
    let runs = simulated.incomplete.pop().map(|(_, runs)| runs).unwrap_or_default();
    let (finished, unfinished): (Vec<Outcome>, Vec<Outcome>) = runs.into_iter().partition(|run| run.finished);
    let seeds = finished.iter().map(|run| run.seed).collect();
    if !finished.is_empty() {
        let partial = Partial { finished: seeds, entries: None };
        return Ok(Measured { summary: Summary::of(&finished), partial: Some(partial) });
    }
    let first = unfinished.into_iter().find(|run| run.measures.entries > 0);
    let runs: Vec<Outcome> = first.into_iter().collect();
    let summary = Summary::of(&runs);
    let entries = Some(summary.entries);
    Ok(Measured { summary, partial: Some(Partial { finished: seeds, entries }) })
}

/// Where a trace goes unless --trace names a file.
fn trace_file(point: &Point) -> PathBuf {
    PathBuf::from(format!("{}.trace.json", point.algorithm.replace(['(', ')'], "-")))
}

/// Saves every step of the first run, or of the one with a violation, and returns where it is. Only without a violation is
/// it an error if that cannot be done.
fn save_trace<'a>(
    point: &Point,
    violated: Option<&(u64, Violation)>,
    file: &'a Path,
) -> Result<Option<&'a Path>> {
    let outcome = point.record(violated.map_or(point.seed, |(seed, _)| *seed))?;
    let system = registry::system(&point.algorithm, &point.plan.setting)?;
    let (conditions, violation) = (point.plan.conditions(system.info()), outcome.violation.as_ref());
    let trace = Trace::record(system, conditions, violation, &outcome.steps);
    if violated.is_some() {
        return Ok(check_report::saved(&trace, file));
    }
    check_report::save(&trace, file)?;
    Ok(Some(file))
}

/// What was measured, for scripts. `seconds` is the only value that differs from run to run.
fn as_json(point: &Point, measured: &Measured, seconds: f64) -> Value {
    let summary = &measured.summary;
    let by_kind: Map<String, Value> = summary
        .messages_by_kind
        .iter()
        .map(|(kind, estimate)| ((*kind).to_string(), json!(estimate.mean)))
        .collect();
    let stderr = |estimate: Estimate| estimate.error();
    json!({
        "algorithm": point.algorithm,
        "options": options(point).into_iter().collect::<BTreeMap<_, _>>(),
        "nodes": point.plan.setting.nodes,
        "tokens": point.plan.setting.tokens,
        "groups": point.plan.setting.groups,
        "rate": point.plan.rate,
        "entries": summary.entries,
        "seed": point.seed,
        "seeds": summary.seeds,
        "time_to_enter": {
            "mean": summary.time_to_enter.mean,
            "stderr": stderr(summary.time_to_enter),
            "p50": summary.wait_at(50.0),
            "p99": summary.wait_at(99.0),
            "max": summary.longest_entered,
        },
        "messages_per_entry": summary.messages_per_entry.mean,
        "messages_by_kind": by_kind,
        "words_per_message": summary.words_per_message.mean,
        "words_per_entry": summary.words_per_entry.mean,
        "sync_delay": summary.sync_delay.mean,
        "changeover": summary.changeover.mean,
        "response_time": summary.response.mean,
        "settled": summary.settled.mean,
        "throughput": summary.throughput.mean,
        "concurrency": summary.concurrency.mean,
        "most_inside": summary.most_inside,
        "switches_per_entry": summary.switches_per_entry.mean,
        "most_switches_waited": summary.most_switches_waited,
        "fairness": summary.fairness.mean,
        "fewest_entries": summary.fewest_entries,
        "most_entries": summary.most_entries,
        "longest_wait": summary.longest_wait,
        "longest_queue": summary.longest_queue,
        "bytes_per_node": summary.bytes_per_node,
        "stderr": {
            "messages_per_entry": stderr(summary.messages_per_entry),
            "words_per_message": stderr(summary.words_per_message),
            "words_per_entry": stderr(summary.words_per_entry),
            "response_time": stderr(summary.response),
            "settled": stderr(summary.settled),
            "concurrency": stderr(summary.concurrency),
            "switches_per_entry": stderr(summary.switches_per_entry),
            "sync_delay": stderr(summary.sync_delay),
            "throughput": stderr(summary.throughput),
            "fairness": stderr(summary.fairness),
        },
        "violation": summary.violation.as_ref().map(|(seed, violation)| json!({
            "property": violation.property.name(), "detail": violation.detail, "seed": seed,
        })),
        "messages": summary.messages,
        "checked": point.plan.check,
        "unfinished_entries": measured.partial.as_ref().and_then(|partial| partial.entries),
        "partial": measured.partial.is_some(),
        "seeds_wanted": point.seeds,
        "seeds_finished": measured.partial.as_ref().map(|partial| &partial.finished),
        "seconds": seconds,
    })
}

fn print(point: &Point, measured: &Measured, seconds: f64) {
    let summary = &measured.summary;
    if summary.seeds == 0 {
        return say!("Interrupted before anything was measured; the same command begins again.");
    }
    print_heading(point);
    let with_error = |estimate: Estimate| match estimate.stderr {
        0.0 => format!("{:.4}", estimate.mean),
        error => format!("{:.4} ± {error:.4}", estimate.mean),
    };
    let kinds: Vec<String> = summary
        .messages_by_kind
        .iter()
        .map(|(kind, estimate)| format!("{kind} {:.3}", estimate.mean))
        .collect();
    let mut rows = vec![vec!["measure".to_string(), "value".to_string(), String::new()]];
    let mut row = |name: &str, value: String, note: String| rows.push(vec![name.to_string(), value, note]);
    let wait = |percentile| format!("{:.4}", summary.wait_at(percentile));
    row("time to enter", with_error(summary.time_to_enter), String::new());
    row("  half wait at most", wait(50.0), String::new());
    row("  99 in 100 wait at most", wait(99.0), String::new());
    row(
        "  longest",
        format!("{:.4}", summary.longest_wait),
        "including those that had not ended".to_string(),
    );
    row("messages per entry", with_error(summary.messages_per_entry), kinds.join(", "));
    row("words per message", with_error(summary.words_per_message), String::new());
    row("words per entry", with_error(summary.words_per_entry), String::new());
    row(
        "synchronisation delay",
        with_error(summary.sync_delay),
        "from an exit to the entry it makes possible".to_string(),
    );
    row(
        "response time",
        with_error(summary.response),
        "from request to exit, of those that left".to_string(),
    );
    if matches!(point.plan.workload, Workload::Once(_)) {
        row(
            "until all is over",
            with_error(summary.settled),
            "the last exit or the last message".to_string(),
        );
    }
    row("throughput", with_error(summary.throughput), "entries per unit of time".to_string());
    row("inside on average", with_error(summary.concurrency), format!("at most {}", summary.most_inside));
    if point.plan.setting.groups > 1 {
        let most = format!("a client waited for at most {}", summary.most_switches_waited);
        row("group switches per entry", with_error(summary.switches_per_entry), most);
    }
    let range =
        format!("{} to {} entries a node", grouped(summary.fewest_entries), grouped(summary.most_entries));
    row("fairness (Jain)", with_error(summary.fairness), range);
    row("bytes per node", grouped(summary.bytes_per_node), "state and driver, at the end".to_string());
    table::print(&rows);
    print_verdict(point, measured, seconds);
}

/// What was simulated.
fn print_heading(point: &Point) {
    let Plan { setting, rate, .. } = &point.plan;
    let groups = if setting.groups > 1 { format!(", {} groups", setting.groups) } else { String::new() };
    let tokens = if setting.tokens > 1 { format!(", {} tokens", setting.tokens) } else { String::new() };
    let (nodes, network) = (count(setting.nodes.into(), "node"), plan_arguments::network(&point.plan));
    let algorithm = &point.algorithm;
    let faults: String =
        faults(&point.plan).iter().map(|(name, value)| format!(", {name} {value}")).collect();
    let described = format!("{algorithm}, {nodes}{tokens}{groups}, rate {rate}{network}{faults}");
    say!("{}", table::flowed(&described, 2));
    let options: Vec<String> = options(point).iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !options.is_empty() {
        say!("{}", table::flowed(&format!("options: {}", options.join(" ")), 2));
    }
}

/// How much was simulated, and whether all was right.
fn print_verdict(point: &Point, measured: &Measured, seconds: f64) {
    let summary = &measured.summary;
    let (entries, messages) = (count(summary.entries, "entry"), count(summary.messages, "message"));
    let runs = count(summary.seeds, "run");
    say!("{}", table::flowed(&format!("{entries} in {runs}, {messages} in {seconds:.2} s"), 0));
    let told = match &summary.violation {
        Some((seed, violation)) => format!("VIOLATED in the run from seed {seed}: {violation}"),
        None if !point.plan.check => "the properties were not checked".to_string(),
        None => "every property held at every event".to_string(),
    };
    say!("{}", table::flowed(&told, 2));
    if let Some(fault) = summary.violation.as_ref().and_then(|_| not_borne(point)) {
        say!("{}", table::flowed(&check_report::beyond(&point.algorithm, &point.plan.setting, fault), 0));
    }
    if let Some(partial) = &measured.partial {
        say!("{}", table::flowed(&how_to_go_on(point, partial), 0));
    }
}

/// The faults of a plan, each as its flag takes it.
fn faults(plan: &Plan) -> Vec<(&'static str, String)> {
    let Faults { loss, lose, duplicate, reorder, verbs } = &plan.faults;
    let shares = [("loss", loss), ("duplicate", duplicate), ("reorder", reorder)];
    let shares = shares.into_iter().filter(|(_, share)| **share > 0.0);
    let shares = shares.map(|(name, share)| (name, share.to_string()));
    let lose = lose.iter().map(|lost| ("lose", lost.to_string()));
    shares.chain(lose).chain(verbs.iter().map(|verb| ("fault", format!("'{verb}'")))).collect()
}

/// The options of the algorithm with the values that they have, also where nothing is set.
fn options(point: &Point) -> Vec<(&'static str, String)> {
    let setting = &point.plan.setting;
    let info = registry::info_with(&point.algorithm, setting);
    info.map(|info| setting.effective_options(info)).unwrap_or_default()
}

/// A fault of the plan that the algorithm does not claim to bear.
fn not_borne(point: &Point) -> Option<&'static str> {
    let Plan { setting, faults, .. } = &point.plan;
    let needs = registry::info_with(&point.algorithm, setting).ok()?.needs;
    let has = |verb| faults.verbs.iter().any(|fault| fault.verb == verb);
    let loses = faults.loss > 0.0 || !faults.lose.is_empty();
    let all = [
        ("a loss", loses && !needs.tolerates_loss),
        ("a partition", has(Verb::Partition) && !needs.tolerates_loss),
        ("a duplicate", faults.duplicate > 0.0 && !needs.tolerates_duplicates),
        ("a crash", has(Verb::Crash) && !needs.tolerates_crashes),
        ("a reordering", faults.reorder > 0.0 && needs.fifo(setting.tokens)),
    ];
    all.into_iter().find(|(_, beyond)| *beyond).map(|(fault, _)| fault)
}

/// How far it has come, and which flags simulate the rest.
fn how_to_go_on(point: &Point, partial: &Partial) -> String {
    let (wanted, done) = (count(point.seeds, "run"), partial.finished.len() as u64);
    if let Some(entries) = partial.entries {
        let of = grouped(point.plan.entries);
        return format!(
            "Interrupted: none of {wanted} is finished; this is one that has measured {} of {of} entries. \
             A run keeps nothing: the same command begins again; --entries takes fewer.",
            grouped(entries)
        );
    }
    let seeds = sweep_report::numbers(&partial.finished);
    let next = (point.seed..).find(|seed| !partial.finished.contains(seed)).unwrap_or(point.seed);
    format!(
        "Interrupted: {} of {wanted} are measured, from the seeds {seeds}. --seed {next} --seeds {} simulates the rest.",
        grouped(done),
        point.seeds - (next - point.seed)
    )
}
