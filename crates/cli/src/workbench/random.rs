//! `tokenwood check --random`: many random runs.

use std::path::PathBuf;
use std::time::Instant;

use algorithms::info::Allowance;
use algorithms::registry;
use algorithms::trace::Trace;
use algorithms::{Case, Conditions, Property, SettingError, Violation};
use anyhow::Result;
use checker::Job;
use serde_json::json;
use simulator::random::{self, RandomJob, standard};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::table::grouped;
use crate::workbench::check_arguments::{Arguments, Random};
use crate::workbench::check_report;
use crate::workbench::trace::print_steps;

/// What many runs came to.
struct Runs {
    done: u64,
    entries: u64,
    messages: u64,
    steps: u64,
    /// The first violation, with its seed.
    violation: Option<(u64, Violation, Trace)>,
}

/// Runs from one seed after the other until there is a violation that is asked for.
fn run_seeds(
    name: &str,
    job: &RandomJob,
    only: Option<Property>,
    seeds: std::ops::Range<u64>,
) -> Result<Runs, SettingError> {
    let mut runs = Runs { done: 0, entries: 0, messages: 0, steps: 0, violation: None };
    for seed in seeds {
        let run = random::run(name, job, seed)?;
        runs.done += 1;
        runs.entries += run.entries;
        runs.messages += run.messages;
        runs.steps += run.steps.len() as u64;
        let wanted = |violation: &Violation| only.is_none_or(|only| only == violation.property);
        if let Some(violation) = run.violation.filter(wanted) {
            let system = registry::system(name, &job.case.setting)?;
            let trace = Trace::record(system, job.case.allowance.conditions(), Some(&violation), &run.steps);
            runs.violation = Some((seed, violation, trace));
            break;
        }
    }
    Ok(runs)
}

pub(crate) fn run(name: &str, job: &Job, wanted: &Random, format: Format) -> Result<Ended> {
    let random = RandomJob { case: job.case.clone(), pause: wanted.pause };
    let started = Instant::now();
    let seeds = wanted.seed..wanted.seed.saturating_add(wanted.runs);
    let runs = run_seeds(name, &random, job.only, seeds)?;
    let seconds = started.elapsed().as_secs_f64();
    let file = PathBuf::from(format!("{}.random.trace.json", name.replace(['(', ')'], "-")));
    if let Some((_, _, trace)) = &runs.violation {
        check_report::save(trace, &file)?;
    }
    if format == Format::Json {
        say!("{}", as_json(name, &job.case, &runs, seconds));
    } else {
        print(name, &runs, seconds, &file);
    }
    Ok(if runs.violation.is_some() { Ended::Violated } else { Ended::Well })
}

/// All algorithms in their standard settings, so many runs for each algorithm.
pub(crate) fn run_all(runs: u64, arguments: &Arguments) -> Result<Ended> {
    let mut ended = Ended::Well;
    let seed = arguments.seed.unwrap_or(1);
    for info in registry::ALL.iter().filter(|info| arguments.wants(info.name)) {
        let jobs = standard(info);
        let each = runs.div_ceil(jobs.len() as u64);
        for job in &jobs {
            let started = Instant::now();
            let seeds = seed..seed.saturating_add(each);
            let runs = run_seeds(info.name, job, None, seeds)?;
            let seconds = started.elapsed().as_secs_f64();
            if runs.violation.is_some() {
                ended = Ended::Violated;
            }
            if arguments.format == Format::Json {
                say!("{}", as_json(info.name, &job.case, &runs, seconds));
            } else {
                say!("{}", summary(info.name, &job.case, &runs, seconds));
            }
        }
    }
    Ok(ended)
}

fn summary(name: &str, case: &Case, runs: &Runs, seconds: f64) -> String {
    let Case { setting, allowance: Allowance { losses, duplicates, crashes, .. } } = case;
    let options: Vec<String> =
        setting.options.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    let faults = if case.allowance.conditions() == Conditions::Faulty {
        format!(", {losses} losses, {duplicates} duplicates, {crashes} crashes a run")
    } else {
        String::new()
    };
    let verdict = runs
        .violation
        .as_ref()
        .map_or("no violation, no client stuck".to_string(), |(seed, violation, _)| {
            format!("VIOLATED with seed {seed}: {violation}")
        });
    format!(
        "{name:22} {:>7} runs {:>9} entries {:>10} messages {seconds:>7.2} s  n={} k={} m={}{}{}{faults}: {verdict}",
        grouped(runs.done),
        grouped(runs.entries),
        grouped(runs.messages),
        setting.nodes,
        setting.tokens,
        setting.groups,
        if case.allowance.any_of { ", any of several" } else { "" },
        options.concat(),
    )
}

fn as_json(name: &str, case: &Case, runs: &Runs, seconds: f64) -> serde_json::Value {
    let violation = runs.violation.as_ref();
    json!({
        "algorithm": name,
        "nodes": case.setting.nodes,
        "tokens": case.setting.tokens,
        "requests": case.allowance.requests,
        "runs": runs.done,
        "entries": runs.entries,
        "messages": runs.messages,
        "exhausted": false,
        "verdict": if violation.is_some() { "violated" } else { "unknown" },
        "violated": violation.map(|(_, violation, _)| violation.property.name()),
        "detail": violation.map(|(_, violation, _)| &violation.detail),
        "seed": violation.map(|(seed, _, _)| seed),
        "trace": violation.map_or(&[][..], |(_, _, trace)| &trace.steps).iter()
            .map(|step| json!({ "step": step.step, "shows": step.shows })).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}

fn print(name: &str, runs: &Runs, seconds: f64, file: &std::path::Path) {
    say!(
        "{name}: {} random runs, {} entries, {} messages ({:.2} an entry), {} steps, {seconds:.2} s",
        grouped(runs.done),
        grouped(runs.entries),
        grouped(runs.messages),
        runs.messages as f64 / runs.entries.max(1) as f64,
        grouped(runs.steps),
    );
    match &runs.violation {
        None => say!("No violation, no client left waiting. (Random runs prove no more than that.)"),
        Some((seed, violation, trace)) => {
            say!("Violated with seed {seed} after {} steps: {violation}", trace.steps.len());
            let shows: Vec<_> = trace.steps.iter().map(|step| step.shows.clone()).collect();
            print_steps(trace, &shows);
            say!("Saved; 'tokenwood trace {}' replays it.", file.display());
        }
    }
}
