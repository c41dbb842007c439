//! What a check found, for people and for scripts.

use std::fs;
use std::path::Path;

use algorithms::Property;
use algorithms::trace::Trace;
use anyhow::{Context, Result};
use checker::Verdict;
use serde_json::{Value, json};

use crate::terminal::output::say;
use crate::terminal::table::{self, grouped};
use crate::workbench::check::Checked;
use crate::workbench::trace::print_steps;
use crate::workbench::trace_file;

/// Saves a trace: the whole file, or nothing.
pub(crate) fn save(trace: &Trace, file: &Path) -> Result<()> {
    let unfinished = file.with_extension("json.part");
    let cannot = || format!("cannot save the trace to {}", file.display());
    fs::write(&unfinished, trace_file::print(trace)).with_context(cannot)?;
    fs::rename(&unfinished, file).with_context(cannot)
}

/// One object with everything.
pub(crate) fn as_json(checked: &Checked) -> Value {
    let Checked { name, job, reorders, finding, seconds } = checked;
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
        "symmetry": job.symmetry,
        "renamings": finding.renamings,
        "represented": finding.represented,
        "states": finding.states,
        "transitions": finding.transitions,
        "depth": finding.depth,
        "bytes_per_state": finding.bytes_per_state,
        "exhausted": finding.exhausted,
        "verdict": finding.verdict().name(),
        "violated": finding.violation.as_ref().map(|(violation, _)| violation.property.name()),
        "detail": finding.violation.as_ref().map(|(violation, _)| &violation.detail),
        "properties": finding.properties.iter()
            .map(|(property, verdict)| (property.name(), verdict.name())).collect::<std::collections::BTreeMap<_, _>>(),
        "sometimes": finding.sometimes.iter()
            .map(|seen| (seen.what, seen.seen)).collect::<std::collections::BTreeMap<_, _>>(),
        "trace": steps.map(|step| json!({ "step": step.step, "shows": step.shows })).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}

/// The report for people.
pub(crate) fn print(checked: &Checked, saved: Option<&Path>) {
    let Checked { name, job, reorders, finding, seconds } = checked;
    let network = if *reorders { "messages in any order" } else { "messages in order (FIFO)" };
    say!("{name}: {}, {network}", describe(checked));
    say!(
        "{} states, {} transitions, depth {}, {seconds:.2} s ({} states/s), {} bytes a state",
        grouped(finding.states),
        grouped(finding.transitions),
        finding.depth,
        grouped((finding.states as f64 / seconds) as u64),
        finding.bytes_per_state,
    );
    match job.symmetry {
        false => say!(),
        true => say!(
            "Symmetry: the states explored stand for {}, by {}.\n",
            grouped(finding.represented),
            count(finding.renamings, "renaming")
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
            say!("Violated after {} steps: {violation}", trace.steps.len());
            let shows: Vec<_> = trace.steps.iter().map(|step| step.shows.clone()).collect();
            print_steps(trace, &shows);
            if let Some(file) = saved {
                say!("Saved; 'tokenwood trace {}' replays it.", file.display());
            }
        }
        None if finding.exhausted => say!("{}", exhausted(&finding.properties)),
        None => say!(
            "Not exhausted: stopped at {} states without a violation. --max-states {} goes further.",
            grouped(finding.states),
            job.max_states.saturating_mul(4)
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
        count(case.setting.nodes, "node"),
        count(case.setting.tokens, "token"),
        format!("{} each", count(case.allowance.requests, "request")),
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
        faults.iter().filter(|(most, _)| *most > 0).map(|(most, what)| format!("up to {most} {what}")),
    );
    if case.allowance.firings > 0 {
        let (each, all) = (case.allowance.firings, case.allowance.early);
        words.push(format!("timers expire early up to {each} times each and {all} in all, and in silence"));
    }
    if let Some(pace) = case.allowance.pace {
        let (delay, section) = (count(pace.delay, "tick"), count(pace.section, "tick"));
        words.push(format!("messages take up to {delay}, sections {section}"));
    }
    words.join(", ")
}

fn count(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

pub(crate) fn suite_heading() -> String {
    format!("{:22} {:>12} {:>6} {:>9} {:>9}  setting", "algorithm", "states", "depth", "seconds", "verdict")
}

pub(crate) fn suite_row(checked: &Checked) -> String {
    let finding = &checked.finding;
    let network = if checked.reorders { "any order" } else { "FIFO" };
    format!(
        "{:22} {:>12} {:>6} {:>9.2} {:>9}  {}, {network}{}",
        checked.name,
        grouped(finding.states),
        finding.depth,
        checked.seconds,
        finding.verdict().name(),
        describe(checked),
        finding.violation.as_ref().map_or(String::new(), |(violation, _)| format!("  {violation}")),
    )
}
