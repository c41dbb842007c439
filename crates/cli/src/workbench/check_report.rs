//! What a check found, for people and for scripts.

use std::path::Path;

use algorithms::trace::Trace;
use algorithms::{Property, Setting, registry};
use anyhow::{Context, Result};
use checker::{Finding, Stopped, Symmetry, Verdict};
use player::trace_file;
use serde_json::{Value, json};

use crate::terminal::output::{note, say};
use crate::terminal::table::{self, count, grouped};
use crate::workbench::algorithms::needs;
use crate::workbench::check::Checked;
use crate::workbench::memory;
use crate::workbench::trace::print_steps;
use crate::workbench::whole_file;

/// Saves a trace: the whole file, or nothing.
pub(crate) fn save(trace: &Trace, file: &Path) -> Result<()> {
    let cannot = || format!("cannot save the trace to {}", file.display());
    whole_file::write(file, trace_file::print(trace).as_bytes()).with_context(cannot)
}

/// Saves the trace of a violation, and returns where it is. If that cannot be done, the violation is still one.
pub(crate) fn saved<'a>(trace: &Trace, file: &'a Path) -> Option<&'a Path> {
    let saved = save(trace, file);
    if let Err(error) = &saved {
        note!("tokenwood: {error:#}; --trace FILE saves it elsewhere");
    }
    saved.is_ok().then_some(file)
}

/// Saves the trace of a violation that has been printed.
pub(crate) fn save_if_possible(trace: &Trace, file: &Path) {
    if let Some(file) = saved(trace, file) {
        say!("Saved; 'tokenwood trace {}' replays it.", file.display());
    }
}

/// One object with everything. The trace of a violation is saved to this file.
pub(crate) fn as_json(checked: &Checked, trace_file: Option<&Path>) -> Value {
    let Checked { name, job, reorders, finding, seconds, most_bytes } = checked;
    let case = &job.case;
    let steps = finding.violation.iter().flat_map(|(_, trace)| &trace.steps);
    json!({
        "algorithm": name,
        "nodes": case.setting.nodes,
        "tokens": case.setting.tokens,
        "requests": case.allowance.requests,
        "groups": case.setting.groups,
        "any_of": case.allowance.any_of,
        "clients": case.allowance.clients,
        "cancels": case.allowance.cancels,
        "options": case.setting.options.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "defect": case.setting.defect,
        "network": if *reorders { "reorder" } else { "fifo" },
        "loss": case.allowance.losses,
        "duplicates": case.allowance.duplicates,
        "crashes": case.allowance.crashes,
        "firings": case.allowance.firings,
        "early": case.allowance.early,
        "delay": case.allowance.pace.map(|pace| pace.delay),
        "section": case.allowance.pace.map(|pace| pace.section),
        "threads": job.threads,
        "symmetry": job.symmetry.name(),
        "renamings": finding.renamings,
        "client_renamings": finding.client_renamings,
        "represented": finding.represented,
        "states": finding.states,
        "transitions": finding.transitions,
        "depth": finding.depth,
        "bytes_per_state": finding.bytes_per_state,
        "exhausted": finding.exhausted,
        "partial": finding.stopped.is_some(),
        "stopped_by": finding.stopped.map(Stopped::name),
        "max_memory_bytes": (*most_bytes < u64::MAX).then_some(*most_bytes),
        "verdict": finding.verdict().name(),
        "violated": finding.violation.as_ref().map(|(violation, _)| violation.property.name()),
        "detail": finding.violation.as_ref().map(|(violation, _)| &violation.detail),
        "properties": finding.properties.iter()
            .map(|(property, verdict)| (property.name(), verdict.name())).collect::<std::collections::BTreeMap<_, _>>(),
        "sometimes": finding.sometimes.iter()
            .map(|seen| (seen.what, seen.seen)).collect::<std::collections::BTreeMap<_, _>>(),
        "trace": steps.map(|step| json!({ "step": step.step, "shows": step.shows })).collect::<Vec<_>>(),
        "trace_file": trace_file.map(Path::to_string_lossy),
        "seconds": seconds,
    })
}

/// The report for people.
pub(crate) fn print(checked: &Checked) {
    let Checked { name, job, reorders, finding, seconds, .. } = checked;
    let network = if *reorders { "messages in any order" } else { "messages in order (FIFO)" };
    say!("{}", table::flowed(&format!("{name}: {}, {network}", describe(checked)), 2));
    let numbers = format!(
        "{}, {}, depth {}, {seconds:.2} s ({} states/s), {} bytes a state",
        count(finding.states, "state"),
        count(finding.transitions, "transition"),
        finding.depth,
        grouped((finding.states as f64 / seconds) as u64),
        finding.bytes_per_state,
    );
    say!("{}", table::flowed(&numbers, 2));
    match job.symmetry {
        Symmetry::Off => say!(),
        _ => say!(
            "Symmetry: the states explored stand for {}, by {}.\n",
            grouped(finding.represented),
            renamings(finding)
        ),
    }
    let mut rows = vec![vec!["property".to_string(), "verdict".to_string()]];
    rows.extend(
        finding
            .properties
            .iter()
            .map(|(property, verdict)| vec![property.name().to_string(), verdict.name().to_string()]),
    );
    rows.extend(finding.sometimes.iter().map(|seen| {
        let verdict = if seen.seen { "seen" } else { "not seen" };
        vec![format!("sometimes: {}", seen.what), verdict.to_string()]
    }));
    table::print(&rows);
    say!();
    match &finding.violation {
        Some((violation, trace)) => {
            let steps = count(trace.steps.len() as u64, "step");
            say!("{}", table::flowed(&format!("Violated after {steps}: {violation}"), 2));
            print_steps_of(trace);
        }
        None => {
            let told = finding.stopped.map(|stopped| partial(checked, stopped));
            say!("{}", table::flowed(&told.unwrap_or_else(|| exhausted(&finding.properties)), 0));
        }
    }
}

/// The steps that lead to a violation, and whether the algorithm claims to bear them.
pub(crate) fn print_steps_of(trace: &Trace) {
    let shows: Vec<_> = trace.steps.iter().map(|step| step.shows.clone()).collect();
    print_steps(trace, &shows);
    if let Some(player::Beyond { at, step }) = player::beyond(trace) {
        say!(
            "{}",
            table::flowed(&beyond(&trace.algorithm, &trace.setting(), &format!("step {at}, {step},")), 0)
        );
    }
}

/// That something is more than an algorithm claims to bear.
pub(crate) fn beyond(name: &str, setting: &Setting, what: &str) -> String {
    let needs = registry::info_with(name, setting).map(|info| format!("; it needs: {}", needs(&info.needs)));
    format!("But {what} is beyond what {name} claims to bear{}.", needs.unwrap_or_default())
}

/// What a search has shown that did not end, and how to go on.
fn partial(checked: &Checked, stopped: Stopped) -> String {
    let Checked { name, job, finding, .. } = checked;
    let states = count(finding.states, "state");
    let depth = count(finding.depth.saturating_sub(1).into(), "step");
    let known = format!("no violation so far in {states}; every run of up to {depth} was explored");
    let is_symmetric =
        job.symmetry == Symmetry::Off && checker::is_symmetric(name, &job.case, Symmetry::On) == Ok(true);
    let symmetry = if is_symmetric { ", or --symmetry on, which counts renamed states once" } else { "" };
    let smaller = format!("fewer --nodes or --requests{symmetry}; --random 10000 samples runs of this size");
    match stopped {
        Stopped::States => {
            let more = job.max_states.saturating_mul(4);
            format!("Not exhausted: stopped at --max-states: {known}. --max-states {more} goes further.")
        }
        Stopped::Memory => {
            let limit = memory::in_words(checked.most_bytes);
            let more = memory::in_words(checked.most_bytes.saturating_mul(4)).replace(' ', "");
            format!(
                "Not exhausted: the search took {limit}, all that it may: {known}. Where there is more memory, \
                 --max-memory {more} goes further. With less: {smaller}."
            )
        }
        Stopped::Interrupt => format!(
            "Interrupted: {known}. A search keeps nothing: the same command begins again. What ends sooner: {smaller}."
        ),
    }
}

/// What an exhausted search without a violation has shown.
fn exhausted(properties: &[(Property, Verdict)]) -> String {
    let skipped = properties.iter().filter(|(_, verdict)| *verdict == Verdict::NotChecked);
    let skipped: Vec<&str> = skipped.map(|(property, _)| property.name()).collect();
    match skipped.is_empty() {
        true => "Exhausted: all properties hold in every run of this size.".to_string(),
        false => format!(
            "Exhausted: all other properties hold in every run of this size. Random runs check {}: --random 1000.",
            skipped.join(", ")
        ),
    }
}

fn describe(checked: &Checked) -> String {
    let case = &checked.job.case;
    let mut words = vec![
        count(case.setting.nodes.into(), "node"),
        count(case.setting.tokens.into(), "token"),
        format!("{} each", count(case.allowance.requests.into(), "request")),
    ];
    if case.setting.groups > 1 {
        let any_of = if case.allowance.any_of { " (any of several)" } else { "" };
        words.push(format!("{} groups{any_of}", case.setting.groups));
    }
    if case.allowance.clients > 1 {
        words.push(format!("up to {} clients at each node", case.allowance.clients));
    }
    if case.allowance.cancels {
        words.push("which may cancel".to_string());
    }
    words.extend(case.setting.options.iter().map(|(name, value)| format!("{name}={value}")));
    words.extend(case.setting.defect.iter().map(|defect| format!("with defect {defect}")));
    let faults = [
        (case.allowance.losses, "loss"),
        (case.allowance.duplicates, "duplicate"),
        (case.allowance.crashes, "crash"),
    ];
    words.extend(
        faults
            .iter()
            .filter(|(most, _)| *most > 0)
            .map(|(most, what)| format!("up to {}", count((*most).into(), what))),
    );
    if case.allowance.firings > 0 {
        let (each, all) = (count(case.allowance.firings.into(), "time"), case.allowance.early);
        words.push(format!("timers expire early up to {each} each and {all} in all, and in silence"));
    }
    if let Some(pace) = case.allowance.pace {
        let (delay, section) = (count(pace.delay.into(), "tick"), count(pace.section.into(), "tick"));
        words.push(format!("messages take up to {delay}, sections {section}"));
    }
    words.join(", ")
}

/// By how many renamings states are alike.
fn renamings(finding: &Finding) -> String {
    let (nodes, clients) = (finding.renamings, finding.client_renamings);
    match clients {
        1 => format!("{} of the nodes", count(nodes.into(), "renaming")),
        _ if nodes == 1 => format!("{} of the clients of each node", count(clients.into(), "renaming")),
        _ => format!("{} of the nodes and {clients} of the clients of each", count(nodes.into(), "renaming")),
    }
}

/// A terminal with fewer columns gets the setting of a check below its numbers.
const WIDE: usize = 100;

fn is_narrow() -> bool {
    table::width().is_some_and(|width| width < WIDE)
}

pub(crate) fn suite_heading() -> String {
    let numbers = suite_numbers("algorithm", ["states", "depth", "seconds", "verdict"].map(str::to_string));
    if is_narrow() { format!("{numbers}\n  setting") } else { format!("{numbers}  setting") }
}

pub(crate) fn suite_row(checked: &Checked) -> String {
    let finding = &checked.finding;
    let network = if checked.reorders { "any order" } else { "FIFO" };
    let verdict = match finding.stopped {
        Some(Stopped::Interrupt) => "partial",
        _ => finding.verdict().name(),
    };
    let numbers = [
        grouped(finding.states),
        finding.depth.to_string(),
        format!("{:.2}", checked.seconds),
        verdict.to_string(),
    ];
    let violation = finding.violation.as_ref();
    let violation = violation.map_or(String::new(), |(violation, _)| format!("  {violation}"));
    let setting = format!("{}, {network}{violation}", describe(checked));
    let numbers = suite_numbers(&checked.name, numbers);
    if is_narrow() {
        return format!("{numbers}\n{}", table::flowed(&format!("  {setting}"), 2));
    }
    format!("{numbers}  {setting}")
}

fn suite_numbers(name: &str, [states, depth, seconds, verdict]: [String; 4]) -> String {
    if is_narrow() {
        return format!("{name:20} {states:>11} {depth:>5} {seconds:>8} {verdict:>8}");
    }
    format!("{name:22} {states:>12} {depth:>6} {seconds:>9} {verdict:>9}")
}
