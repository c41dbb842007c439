//! `tokenwood check --random`: many random runs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Instant;

use algorithms::info::Allowance;
use algorithms::registry;
use algorithms::trace::Trace;
use algorithms::{Case, Conditions, Property, SettingError, Violation};
use anyhow::{Result, bail};
use checker::Job;
use serde_json::json;
use simulator::random::{self, RandomJob, standard};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::say;
use crate::terminal::progress::ProgressLine;
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count, grouped};
use crate::workbench::check_arguments::{Arguments, Random};
use crate::workbench::check_report;

/// What many runs came to.
struct Runs {
    done: u64,
    /// How many were wanted.
    of: u64,
    entries: u64,
    messages: u64,
    steps: u64,
    /// The first violation, with its seed.
    violation: Option<(u64, Violation, Trace)>,
}

impl Runs {
    fn are_partial(&self) -> bool {
        self.violation.is_none() && self.done < self.of
    }

    fn ended(&self) -> Ended {
        match &self.violation {
            Some(_) => Ended::Violated,
            None if self.are_partial() => Ended::Interrupted,
            None => Ended::Well,
        }
    }
}

/// So many seeds from this one on.
fn seeds(first: u64, runs: u64) -> Result<RangeInclusive<u64>> {
    if runs == 0 {
        bail!("--random 0 takes no run: try --random 1000");
    }
    match first.checked_add(runs - 1) {
        Some(last) => Ok(first..=last),
        None => bail!("there are no {} seeds from {first} on: take a smaller --seed", grouped(runs)),
    }
}

/// Runs from one seed after the other until there is a violation that is asked for, or a signal asks to stop.
fn run_seeds(
    name: &str,
    job: &RandomJob,
    only: Option<Property>,
    seeds: RangeInclusive<u64>,
) -> Result<Runs, SettingError> {
    let of = seeds.end() - seeds.start() + 1;
    let mut runs = Runs { done: 0, of, entries: 0, messages: 0, steps: 0, violation: None };
    let line = ProgressLine::new();
    for seed in seeds {
        if interrupt::is_asked() {
            break;
        }
        line.show(|| format!("{name}: {} of {}", grouped(runs.done), count(of, "random run")));
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
    line.clear();
    Ok(runs)
}

pub(crate) fn run(name: &str, job: &Job, wanted: &Random, arguments: &Arguments) -> Result<Ended> {
    let seeds = seeds(wanted.seed, wanted.runs)?;
    let random = RandomJob { case: job.case.clone(), pause: wanted.pause };
    let started = Instant::now();
    let runs = run_seeds(name, &random, job.only, seeds)?;
    let seconds = started.elapsed().as_secs_f64();
    let usual = || PathBuf::from(format!("{}.random.trace.json", name.replace(['(', ')'], "-")));
    let violation = runs.violation.as_ref();
    let saved = violation.map(|(_, _, trace)| (trace, arguments.trace.clone().unwrap_or_else(usual)));
    if arguments.format == Format::Json {
        let mut facts = as_json(name, &job.case, wanted.seed, &runs, seconds);
        let file = saved.as_ref().and_then(|(trace, file)| check_report::saved(trace, file));
        facts["trace_file"] = json!(file.map(Path::to_string_lossy));
        json::say(Schema::CheckRandom, &facts);
    } else {
        print(name, wanted.seed, &runs, seconds);
        if let Some((trace, file)) = saved {
            check_report::save_if_possible(trace, &file);
        }
    }
    Ok(runs.ended())
}

/// All algorithms in their standard settings, so many runs for each algorithm.
pub(crate) fn run_all(runs: u64, arguments: &Arguments) -> Result<Ended> {
    let mut ended = Ended::Well;
    let seed = arguments.seed.unwrap_or(1);
    seeds(seed, runs)?;
    for info in registry::ALL.iter().filter(|info| arguments.wants(info.name)) {
        let jobs = standard(info);
        let each = runs.div_ceil(jobs.len() as u64);
        for job in &jobs {
            let started = Instant::now();
            if interrupt::is_asked() {
                return Ok(ended.worse(Ended::Interrupted));
            }
            let runs = run_seeds(info.name, job, None, seeds(seed, each)?)?;
            let seconds = started.elapsed().as_secs_f64();
            ended = ended.worse(runs.ended());
            if arguments.format == Format::Json {
                json::say(Schema::CheckRandom, &as_json(info.name, &job.case, seed, &runs, seconds));
            } else {
                say!("{}", table::flowed(&summary(info.name, &job.case, &runs, seconds), 2));
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
        let number = |number: &u32, what: &str| count((*number).into(), what);
        let (losses, duplicates) = (number(losses, "loss"), number(duplicates, "duplicate"));
        format!(", {losses}, {duplicates}, {} a run", number(crashes, "crash"))
    } else {
        String::new()
    };
    let verdict = match &runs.violation {
        Some((seed, violation, _)) => format!("VIOLATED with seed {seed}: {violation}"),
        None if runs.are_partial() => {
            format!("interrupted, no violation so far in these of {}", grouped(runs.of))
        }
        None => "no violation, no client stuck".to_string(),
    };
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

fn as_json(name: &str, case: &Case, first_seed: u64, runs: &Runs, seconds: f64) -> serde_json::Value {
    let violation = runs.violation.as_ref();
    let Case { setting, allowance } = case;
    json!({
        "algorithm": name,
        "nodes": setting.nodes,
        "tokens": setting.tokens,
        "requests": allowance.requests,
        "groups": setting.groups,
        "any_of": allowance.any_of,
        "options": setting.options.iter().cloned().collect::<BTreeMap<_, _>>(),
        "defect": setting.defect,
        "loss": allowance.losses,
        "duplicates": allowance.duplicates,
        "crashes": allowance.crashes,
        "first_seed": first_seed,
        "steps": runs.steps,
        "trace_file": null,
        "runs": runs.done,
        "entries": runs.entries,
        "messages": runs.messages,
        "exhausted": false,
        "of_runs": runs.of,
        "partial": runs.are_partial(),
        "verdict": if violation.is_some() { "violated" } else { "unknown" },
        "violated": violation.map(|(_, violation, _)| violation.property.name()),
        "detail": violation.map(|(_, violation, _)| &violation.detail),
        "seed": violation.map(|(seed, _, _)| seed),
        "trace": violation.map_or(&[][..], |(_, _, trace)| &trace.steps).iter()
            .map(|step| json!({ "step": step.step, "shows": step.shows })).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}

fn print(name: &str, first: u64, runs: &Runs, seconds: f64) {
    let numbers = format!(
        "{name}: {}, {}, {} ({:.2} an entry), {}, {seconds:.2} s",
        count(runs.done, "random run"),
        count(runs.entries, "entry"),
        count(runs.messages, "message"),
        runs.messages as f64 / runs.entries.max(1) as f64,
        count(runs.steps, "step"),
    );
    say!("{}", table::flowed(&numbers, 2));
    match &runs.violation {
        None if runs.are_partial() => {
            let (next, rest) = (first + runs.done, runs.of - runs.done);
            let done = format!(
                "Interrupted: no violation so far in {} of {}",
                grouped(runs.done),
                count(runs.of, "run")
            );
            say!("{}", table::flowed(&format!("{done}. --random {rest} --seed {next} takes the others."), 0));
        }
        None => {
            let text = "No violation, no client left waiting. (Random runs prove no more than that.)";
            say!("{}", table::flowed(text, 0));
        }
        Some((seed, violation, trace)) => {
            let steps = count(trace.steps.len() as u64, "step");
            say!("{}", table::flowed(&format!("Violated with seed {seed} after {steps}: {violation}"), 2));
            check_report::print_steps_of(trace);
        }
    }
}
