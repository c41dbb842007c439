//! `tokenwood errata`: puts every defect back, one after the other, and prints what it leads to.

use std::fmt::Write;

use algorithms::Info;
use algorithms::info::{DefectInfo, Shows};
use algorithms::registry;
use algorithms::trace::Trace;
use anyhow::{Result, bail};
use checker::Job;
use clap::Args;
use simulator::random::{self, RandomJob};

use crate::Ended;
use crate::terminal::interrupt;
use crate::terminal::output::{self, note};
use crate::terminal::table;
use crate::workbench::check::{check, command};
use crate::workbench::memory;

/// Put every defect back, one after the other, and print what it leads to (as docs/errata.md).
///
/// Ctrl-C stops it and prints what was found so far; a second one ends it at once.
///
/// Exit code: 0 every defect shows; 2 wrong usage, or a defect does not show; 130 or 143 stopped by Ctrl-C or SIGTERM.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Only this algorithm
    name: Option<String>,
}

/// How many runs tell whether a rule is dearer than another.
const RUNS: u64 = 200;

const PREFACE: &str = "\
# Errors of the printed texts

Written by `tokenwood errata`, which puts each defect back and lets the checker find what it does; a test keeps this page
true to it. The number of a text is its number in the README's list of papers; \"mutant\" is an error that no text
makes but an implementer easily could. Nodes count from 0. How to read a step: `req2` node 2 requests, `1>0` the oldest
message from 1 to 0 is delivered, `1>0#1` the second oldest is, `exit1` node 1 leaves, `tmo1` its timer expires,
`lose1>0` a message is lost, `crash1` node 1 crashes, `restart1` it restarts, `/1` is what the algorithm picked.
";

const USUAL: &str = "
## The usual presentation of cited algorithms

Textbooks and course material usually present these algorithms without a rule that they need. The papers in which
they were published were not at hand: what follows is about the usual presentation, not about the originals.
";

/// Whether a defect is what textbooks teach, and not an error of one of the five texts.
fn is_usual_presentation(defect: &DefectInfo) -> bool {
    defect.source.starts_with("textbook form of")
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let wanted = wanted(arguments.name.as_deref())?;
    interrupt::listen()?;
    let (mut page, mut usual) = (PREFACE.to_string(), String::new());
    let mut left = wanted.iter();
    'all: for info in left.by_ref() {
        write!(page, "\n## {}\n\n{}\n", info.name, summary(info))?;
        for defect in info.defects {
            let found = section(info, defect);
            if interrupt::is_asked() {
                left = wanted[wanted.len() - left.len() - 1..].iter();
                break 'all;
            }
            let text = format!("\n{}", found?);
            if is_usual_presentation(defect) { usual += &text } else { page += &text }
        }
    }
    if !usual.is_empty() {
        write!(page, "{USUAL}{usual}")?;
    }
    output::print(format_args!("{}", at_terminal(&page)));
    if !interrupt::is_asked() {
        return Ok(Ended::Well);
    }
    let names: Vec<&str> = left.map(|info| info.name).collect();
    if names.is_empty() {
        return Ok(Ended::Well);
    }
    let text = format!(
        "Interrupted: the page is not complete. 'tokenwood errata NAME' does one of the others: {}",
        names.join(", ")
    );
    note!("{}", table::flowed(&text, 0));
    Ok(Ended::Interrupted)
}

/// The algorithms to go through: all that have defects, or the one that is named.
fn wanted(name: Option<&str>) -> Result<Vec<&'static Info>> {
    let Some(name) = name else {
        return Ok(registry::ALL.iter().filter(|info| !info.defects.is_empty()).collect());
    };
    registry::info(name)?;
    let Some(info) = registry::ALL.iter().find(|info| info.name == name) else {
        bail!("the errors of {name} are those of the algorithm in it: name that one alone");
    };
    if info.defects.is_empty() {
        bail!(
            "{name} has no defects to put back: 'tokenwood check --list-defects' lists those that there are"
        );
    }
    Ok(vec![info])
}

/// The page as it is; at a terminal, with lines that fit it.
fn at_terminal(page: &str) -> String {
    if table::width().is_none() {
        return page.to_string();
    }
    let line = |line: &str| match line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) {
        Some(row) => {
            let (step, shows) = row.split_once(" | ").unwrap_or((row, ""));
            table::flowed(&format!("  {:10}  {shows}", step.trim_matches('`')), 14)
        }
        None if line.starts_with("- ") => table::flowed(line, 2),
        None => table::flowed(line, 0),
    };
    let lines = page.lines().filter(|line| !line.starts_with("|---")).map(line);
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn summary(info: &Info) -> String {
    format!("[{}](algorithms/{}.md). Source: {}.", info.title, info.name, info.source)
}

/// What is printed, what happens, what is right.
fn section(info: &Info, defect: &DefectInfo) -> Result<String> {
    let mut text = if is_usual_presentation(defect) {
        format!("### {}: {}\n\n", info.name, defect.name)
    } else {
        format!("### {}\n\n", defect.name)
    };
    writeln!(text, "- Where: {}", defect.source)?;
    writeln!(text, "- Printed: {}", defect.printed)?;
    writeln!(text, "- Right: {}", defect.right)?;
    match defect.shows {
        Shows::Search(property) => {
            let job = Job { only: Some(property), ..Job::of(&defect.scope, Some(defect.name)) };
            let Some((violation, trace)) = check(info.name, job, memory::usual())?.finding.violation else {
                bail!("{}: defect {} is not found in its scope", info.name, defect.name);
            };
            writeln!(
                text,
                "- What happens: {violation} (after {} steps, the shortest way)",
                trace.steps.len()
            )?;
            writeln!(
                text,
                "- Command: `{}`\n",
                command(info.name, defect.name, &defect.scope, defect.shows)
            )?;
            text += &steps(&trace);
        }
        Shows::Random(property, seed) => {
            let job = RandomJob::of(&defect.scope, Some(defect.name));
            let run = random::run(info.name, &job, seed)?;
            let Some(violation) = run.violation.filter(|violation| violation.property == property) else {
                bail!("{}: defect {} is not found with seed {seed}", info.name, defect.name);
            };
            writeln!(text, "- What happens: {violation} (in a random run of {} steps)", run.steps.len())?;
            writeln!(text, "- Command: `{}`", command(info.name, defect.name, &defect.scope, defect.shows))?;
        }
        Shows::Dearer(percent) => {
            let (right, wrong) = (messages(info, defect, None)?, messages(info, defect, Some(defect.name))?);
            if wrong * 100 < right * percent {
                bail!("{}: defect {} costs {wrong} messages, the right rule {right}", info.name, defect.name);
            }
            writeln!(
                text,
                "- What happens: nothing is violated, but {} messages instead of {} in {RUNS} random runs at light load",
                table::grouped(wrong),
                table::grouped(right)
            )?;
            writeln!(text, "- Command: `{}`", command(info.name, defect.name, &defect.scope, defect.shows))?;
        }
    }
    Ok(text)
}

fn steps(trace: &Trace) -> String {
    let mut text = "| step | |\n|---|---|\n".to_string();
    for step in &trace.steps {
        text += &format!("| `{}` | {} |\n", step.step, step.shows.join("; "));
    }
    text
}

/// How many messages the same runs cost with and without a defect.
fn messages(info: &Info, defect: &DefectInfo, put_back: Option<&str>) -> Result<u64> {
    let job = RandomJob { pause: 100, ..RandomJob::of(&defect.scope, put_back) };
    let mut sum = 0;
    for seed in 1..=RUNS {
        let run = random::run(info.name, &job, seed)?;
        if let Some(violation) = run.violation {
            bail!("{}: seed {seed}: {violation}", info.name);
        }
        sum += run.messages;
    }
    Ok(sum)
}
