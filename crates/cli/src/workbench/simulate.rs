//! `tokenwood simulate`: runs an algorithm under a load and prints what it costs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use algorithms::registry;
use algorithms::trace::Trace;
use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value, json};
use simulator::workload::Workload;
use simulator::{Estimate, Plan, Point, Summary};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::table::{self, grouped};
use crate::workbench::check_report;
use crate::workbench::plan_arguments::{self, PlanArguments};

/// Simulate an algorithm under a load, and measure how long clients wait and how many messages it takes.
///
/// Times are in any unit you like, the rate is per that unit. The defaults are the thesis' model: 30 nodes, 3 tokens, Ts = Tr = 0.1, Tt = 0.8, E = 0.0002. Every property is checked at every event. A seed decides everything: the same seed gives the same results on every machine and any number of cores.
///
/// Exit code: 0 measured; 1 a property was violated (the run's trace is saved); 2 wrong usage.
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
    plan.check = !arguments.no_check;
    let point =
        Point { algorithm: arguments.name.clone(), plan, seed: arguments.seed, seeds: arguments.seeds };
    point.validate()?;
    let began = Instant::now();
    let summary = point.run()?;
    let seconds = began.elapsed().as_secs_f64();
    let default = PathBuf::from(format!("{}.trace.json", point.algorithm.replace(['(', ')'], "-")));
    let file = arguments.trace.as_deref().unwrap_or(&default);
    if arguments.trace.is_some() || summary.violation.is_some() {
        let seed = summary.violation.as_ref().map_or(point.seed, |(seed, _)| *seed);
        let outcome = point.record(seed)?;
        let system = registry::system(&point.algorithm, &point.plan.setting)?;
        let (conditions, violation) = (point.plan.conditions(system.info()), outcome.violation.as_ref());
        let trace = Trace::record(system, conditions, violation, &outcome.steps);
        check_report::save(&trace, file)?;
    }
    if arguments.format == Format::Json {
        say!("{}", as_json(&point, &summary, seconds));
    } else {
        print(&point, &summary, seconds, file, arguments.trace.is_some());
    }
    Ok(if summary.violation.is_some() { Ended::Violated } else { Ended::Well })
}

/// What was measured, for scripts. `seconds` is the only value that differs from run to run.
pub(crate) fn as_json(point: &Point, summary: &Summary, seconds: f64) -> Value {
    let by_kind: Map<String, Value> = summary
        .messages_by_kind
        .iter()
        .map(|(kind, estimate)| ((*kind).to_string(), json!(estimate.mean)))
        .collect();
    let stderr = |estimate: Estimate| estimate.stderr;
    json!({
        "algorithm": point.algorithm,
        "nodes": point.plan.setting.nodes,
        "tokens": point.plan.setting.tokens,
        "groups": point.plan.setting.groups,
        "rate": point.plan.rate,
        "entries": summary.entries,
        "seed": point.seed,
        "seeds": summary.seeds,
        "time_to_enter": {
            "mean": summary.time_to_enter.mean,
            "stderr": summary.time_to_enter.stderr,
            "p50": summary.wait_at(50.0),
            "p99": summary.wait_at(99.0),
            "max": simulator::time::units(summary.waits.max()),
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
            "sync_delay": stderr(summary.sync_delay),
            "throughput": stderr(summary.throughput),
            "fairness": stderr(summary.fairness),
        },
        "violation": summary.violation.as_ref().map(|(seed, violation)| json!({
            "property": violation.property.name(), "detail": violation.detail, "seed": seed,
        })),
        "messages": summary.messages,
        "seconds": seconds,
    })
}

fn print(point: &Point, summary: &Summary, seconds: f64, trace: &Path, asked_for: bool) {
    let Plan { setting, rate, .. } = &point.plan;
    let groups = if setting.groups > 1 { format!(", {} groups", setting.groups) } else { String::new() };
    let tokens = if setting.tokens > 1 { format!(", {} tokens", setting.tokens) } else { String::new() };
    let network = plan_arguments::network(&point.plan);
    say!("{}, {} nodes{tokens}{groups}, rate {rate}{network}", point.algorithm, setting.nodes);
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
    row("response time", with_error(summary.response), "from request to exit".to_string());
    if matches!(point.plan.workload, Workload::Once(_)) {
        row(
            "until all is over",
            with_error(summary.settled),
            "the last exit or the last message".to_string(),
        );
    }
    row("throughput", with_error(summary.throughput), "entries per unit of time".to_string());
    row("inside on average", with_error(summary.concurrency), format!("at most {}", summary.most_inside));
    if setting.groups > 1 {
        let most = format!("a client waited for at most {}", summary.most_switches_waited);
        row("group switches per entry", with_error(summary.switches_per_entry), most);
    }
    let range =
        format!("{} to {} entries a node", grouped(summary.fewest_entries), grouped(summary.most_entries));
    row("fairness (Jain)", with_error(summary.fairness), range);
    row("bytes per node", grouped(summary.bytes_per_node), "state and driver, at the end".to_string());
    table::print(&rows);
    let (entries, seeds, messages) = (grouped(summary.entries), summary.seeds, grouped(summary.messages));
    let runs = if seeds == 1 { "1 run".to_string() } else { format!("{seeds} runs") };
    say!("{entries} entries in {runs}, {messages} messages in {seconds:.2} s");
    match &summary.violation {
        Some((seed, violation)) => {
            say!("VIOLATED in the run from seed {seed}: {violation}");
            say!("'tokenwood trace {}' shows what happened", trace.display());
        }
        None if !point.plan.check => say!("the properties were not checked"),
        None => say!("every property held at every event"),
    }
    if asked_for && summary.violation.is_none() {
        say!("'tokenwood trace {}' replays the first run", trace.display());
    }
}
