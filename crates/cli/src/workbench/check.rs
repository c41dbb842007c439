//! `tokenwood check`: explores every run, or many random ones.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use algorithms::info::{Scope, Shows};
use algorithms::{Setting, registry};
use anyhow::Result;
use checker::{Finding, Job, Progress, Stopped, Verdict};
use serde_json::json;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::progress::ProgressLine;
use crate::terminal::schema::Schema;
use crate::terminal::table;
use crate::workbench::check_arguments::Arguments;
use crate::workbench::check_report;
use crate::workbench::memory::MemoryLimit;
use crate::workbench::random;

/// A check with what it is called with and how long it took.
pub(crate) struct Checked {
    pub(crate) name: String,
    pub(crate) job: Job,
    pub(crate) reorders: bool,
    pub(crate) finding: Finding,
    pub(crate) seconds: f64,
    /// How many bytes it was allowed to take.
    pub(crate) most_bytes: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if arguments.list_defects {
        return list_defects(arguments);
    }
    if arguments.all {
        arguments.refuse_for_all()?;
        interrupt::listen()?;
        return match arguments.random {
            Some(runs) => random::run_all(runs, arguments),
            None => run_suite(arguments),
        };
    }
    let name = arguments.name.as_deref().unwrap_or_default();
    let info = registry::info(name)?;
    let job = arguments.job(info)?;
    interrupt::listen()?;
    if let Some(random) = arguments.random_runs(info) {
        return random::run(name, &job, &random, arguments);
    }
    let checked = check(name, job, arguments.most_bytes())?;
    let usual = || trace_file(name, &checked.job.case.setting);
    let violation = checked.finding.violation.as_ref();
    let saved = violation.map(|(_, trace)| (trace, arguments.trace.clone().unwrap_or_else(usual)));
    match arguments.format {
        Format::Json => {
            let file = saved.as_ref().and_then(|(trace, file)| check_report::saved(trace, file));
            json::say(Schema::Check, &check_report::as_json(&checked, file));
        }
        Format::Table => {
            check_report::print(&checked);
            // After the verdict: where nothing can be written, the verdict stays.
            if let Some((trace, file)) = saved {
                check_report::save_if_possible(trace, &file);
            }
        }
    }
    Ok(ended(&checked.finding))
}

fn ended(finding: &Finding) -> Ended {
    match finding.verdict() {
        Verdict::Holds => Ended::Well,
        Verdict::Violated => Ended::Violated,
        _ if finding.stopped == Some(Stopped::Interrupt) => Ended::Interrupted,
        Verdict::Unknown | Verdict::NotChecked => Ended::Unknown,
    }
}

fn trace_file(name: &str, setting: &Setting) -> PathBuf {
    let defect = setting.defect.as_ref().map_or(String::new(), |defect| format!(".{defect}"));
    PathBuf::from(format!("{}{defect}.trace.json", name.replace(['(', ')'], "-")))
}

/// Checks once, with a progress line, until it takes too much memory or a signal asks to stop.
pub(crate) fn check(name: &str, job: Job, most_bytes: u64) -> Result<Checked> {
    let started = Instant::now();
    let info = registry::info(name)?;
    let (line, memory) = (ProgressLine::new(), MemoryLimit::new(most_bytes));
    let watch = |progress| {
        line.show(|| progress_text(info.name, started, progress));
        if memory.is_used_up(progress.bytes) {
            return ControlFlow::Break(Stopped::Memory);
        }
        interrupt::answer().map_break(|()| Stopped::Interrupt)
    };
    let finding = checker::check_watched(name, &job, &watch)?;
    line.clear();
    let reorders = job.case.reorders(info);
    let seconds = started.elapsed().as_secs_f64();
    Ok(Checked { name: name.to_string(), job, reorders, finding, seconds, most_bytes })
}

fn progress_text(name: &str, started: Instant, progress: Progress) -> String {
    let rate = progress.states as f64 / started.elapsed().as_secs_f64();
    let (states, rate) = (table::count(progress.states, "state"), table::grouped(rate as u64));
    format!("{name}: {states}, depth {}, {rate} per second", progress.depth)
}

fn run_suite(arguments: &Arguments) -> Result<Ended> {
    let mut worst = Ended::Well;
    let mut all = Vec::new();
    let mut never_seen = Vec::new();
    if arguments.format == Format::Table {
        say!("{}", check_report::suite_heading());
    }
    let wanted: Vec<_> = registry::ALL.iter().filter(|info| arguments.wants(info.name)).collect();
    let settings = wanted.iter().map(|info| info.suite.len()).sum::<usize>();
    let mut checks = 0;
    for info in wanted {
        let mut seen = vec![false; info.sometimes.len()];
        for scope in info.suite {
            if interrupt::is_asked() {
                break;
            }
            let checked = check(info.name, arguments.suite_job(info.name, scope)?, arguments.most_bytes())?;
            for (what, seen) in info.sometimes.iter().zip(&mut seen) {
                *seen |= checked.finding.sometimes.iter().any(|note| note.what == *what && note.seen);
            }
            worst = worst.worse(ended(&checked.finding));
            checks += usize::from(checked.finding.stopped != Some(Stopped::Interrupt));
            match arguments.format {
                Format::Table => say!("{}", check_report::suite_row(&checked)),
                Format::Json => all.push(check_report::as_json(&checked, None)),
            }
        }
        if interrupt::is_asked() {
            break;
        }
        let missing = info.sometimes.iter().zip(seen).filter(|(_, seen)| !seen && !info.suite.is_empty());
        never_seen.extend(missing.map(|(what, _)| format!("{}: {what}", info.name)));
    }
    if arguments.format == Format::Json {
        let partial = checks < settings;
        let facts =
            json!({ "checks": all, "never_seen": never_seen, "partial": partial, "settings": settings });
        json::say(Schema::CheckSuite, &facts);
    }
    for what in &never_seen {
        note!("never seen in the suite, which shows less than it should: {what}");
    }
    if checks < settings {
        if arguments.format == Format::Table {
            let checked =
                format!("Interrupted: {checks} of {} were checked", table::count(settings as u64, "setting"));
            say!(
                "{}",
                table::flowed(&format!("{checked}. 'tokenwood check NAME --all' checks one algorithm."), 0)
            );
        }
        return Ok(worst.worse(Ended::Interrupted));
    }
    Ok(if never_seen.is_empty() { worst } else { worst.worse(Ended::Unknown) })
}

fn list_defects(arguments: &Arguments) -> Result<Ended> {
    arguments.refuse_for_all()?;
    let shows = |shows: Shows| match shows {
        Shows::Search(property) => property.name().to_string(),
        Shows::Random(property, seed) => format!("{property} (random run, seed {seed})"),
        Shows::Dearer(percent) => format!("{percent} % of the messages"),
    };
    let all = registry::ALL.iter().flat_map(|info| info.defects.iter().map(move |defect| (info, defect)));
    let all: Vec<_> =
        all.filter(|(info, _)| arguments.name.as_deref().is_none_or(|name| name == info.name)).collect();
    if arguments.format == Format::Json {
        let all: Vec<_> = all
            .iter()
            .map(|(info, defect)| {
                json!({
                    "algorithm": info.name, "defect": defect.name, "source": defect.source,
                    "printed": defect.printed, "right": defect.right, "violates": shows(defect.shows),
                    "command": command(info.name, defect.name, &defect.scope, defect.shows),
                })
            })
            .collect();
        json::say(Schema::Defects, &json!({ "defects": all }));
        return Ok(Ended::Well);
    }
    for (info, defect) in all {
        say!("{}", table::flowed(&format!("{} · {} ({})", info.name, defect.name, defect.source), 2));
        let command = command(info.name, defect.name, &defect.scope, defect.shows);
        say!("{}", table::flowed(&format!("    printed: {}", defect.printed), 13));
        say!("{}", table::flowed(&format!("    right:   {}", defect.right), 13));
        say!("    leads to {}", shows(defect.shows));
        say!("{}\n", table::flowed(&format!("    {command}"), 6));
    }
    Ok(Ended::Well)
}

/// The command that shows a defect.
pub(crate) fn command(name: &str, defect: &str, scope: &Scope, shows: Shows) -> String {
    let mut words = format!("tokenwood check {name} --defect {defect} {scope}");
    match shows {
        Shows::Search(property) => words += &format!(" --property {property}"),
        Shows::Random(property, seed) => words += &format!(" --property {property} --random 1 --seed {seed}"),
        Shows::Dearer(_) => words += " --random 200 --pause 100",
    }
    words
}
