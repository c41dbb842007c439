//! `tokenwood trace`: replays a trace, or the record of a run over sockets, and prints it step by step.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use algorithms::trace::Trace;
use algorithms::{Setting, Step};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use http_door::player::{Opened, What};
use player::{Shared, trace_file};
use serde::Serialize;
use serde_json::json;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::{self, note, say};
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count};
use crate::workbench::link::Link;
use crate::workbench::play;
use crate::workbench::record_file::Record;
use crate::workbench::recording::{self, Summary};

/// Replay a trace that a check saved, or the record of a run over sockets, and print it step by step; sum up a recording.
///
/// A recording is what 'tokenwood watch --record' and 'tokenwood swarm --record' write. A link that the player shared has the whole run in it: no server is asked.
///
/// The algorithm as it is now takes the steps again. Those of a record must have the same effects as in the processes, and messages must arrive as they were sent. Steps read: req2 node 2 requests; 1>0 the oldest message from 1 to 0 is delivered; exit1 node 1 leaves; tmo1 its timer expires; lose1>0 a message is lost; crash1, restart1; /2 is what the algorithm picked.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file; or a link of the player to a run, in quotes
    #[arg(value_name = "FILE or LINK")]
    file: PathBuf,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Show it in a browser instead, to step through it, go back and try other ways; Ctrl-C ends it
    #[arg(long, conflicts_with = "format")]
    open: bool,
    /// The address of the page, on this machine [default: 127.0.0.1:7730, or another port if that is taken]
    #[arg(long, value_name = "ADDRESS", requires = "open")]
    listen: Option<SocketAddr>,
}

/// A trace with what its steps do now, for scripts.
#[derive(Serialize)]
struct Replayed<'a> {
    #[serde(flatten)]
    trace: &'a Trace,
    /// The first step that no longer does what the file says.
    changed_at_step: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if let Some(link) = arguments.file.to_str().filter(|text| Link::is_meant(text)) {
        return linked(&Link::parse(link)?, arguments);
    }
    let file = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("cannot read {file}"))?;
    let Some(text) = String::from_utf8(bytes).ok().filter(|text| text.contains("tokenwood")) else {
        bail!(
            "{file} is none of the files that this command reads: a trace ('tokenwood check' saves that of a violation, \
             'tokenwood simulate NAME --trace FILE' that of a run), a record of 'tokenwood reproduce --sockets --record DIR', \
             a recording of 'tokenwood watch' or 'swarm'"
        );
    };
    if recording::is_meant(&text) {
        return recorded(text, arguments).with_context(|| format!("{file}"));
    }
    if Record::is_meant(&text) {
        return replay_record(&text, arguments).with_context(|| format!("{file}"));
    }
    let trace = trace_file::parse(&text).with_context(|| format!("{file}"))?;
    replay_trace(trace, &file.to_string(), arguments)
}

/// Replays the run that a link has.
fn linked(link: &Link, arguments: &Arguments) -> Result<Ended> {
    let shared = link.run()?;
    if arguments.open {
        // With the step that the link shows.
        return play::show(arguments.listen, true, Opened { first: link.place.clone(), what: None });
    }
    let trace = player::to_trace(&shared).context("the link")?;
    replay_trace(trace, "the link", arguments)
}

/// Replays a trace.
fn replay_trace(trace: Trace, file: &str, arguments: &Arguments) -> Result<Ended> {
    let replay = trace.replay().with_context(|| file.to_string())?;
    if !replay.confirmed {
        let violated = trace.violated.as_deref().unwrap_or("?");
        return Err(anyhow!("{file}: its steps can be taken, but they do not violate {violated}"));
    }
    let differs = trace.steps.iter().zip(&replay.shows).position(|(step, shows)| step.shows != *shows);
    let changed_at_step = differs.map(|index| index + 1);
    if arguments.open {
        if let Some(number) = changed_at_step {
            note!("step {number} no longer does what the trace says: the algorithm has changed since");
        }
        return show(player::of_trace(&trace), arguments);
    }
    if arguments.format == Format::Json {
        let mut replayed = trace;
        for (step, shows) in replayed.steps.iter_mut().zip(replay.shows) {
            step.shows = shows;
        }
        json::say(Schema::Trace, &Replayed { trace: &replayed, changed_at_step });
        return Ok(Ended::Well);
    }
    print_setting(&trace.algorithm, &trace.setting());
    print_steps(&trace, &replay.shows);
    if let Some(verdict) = trace.verdict() {
        say!("violated: {verdict}");
    }
    if let Some(number) = changed_at_step {
        return Err(anyhow!(
            "{file}: step {number} no longer does what the trace says: the algorithm has changed since"
        ));
    }
    Ok(Ended::Well)
}

/// Sums up a recording, or shows it.
fn recorded(text: String, arguments: &Arguments) -> Result<Ended> {
    let summary = Summary::of(&text)?;
    if arguments.open {
        let opened = Opened { first: "/ui/recording".to_string(), what: Some(What::Recording(text)) };
        return play::show(arguments.listen, true, opened);
    }
    match arguments.format {
        Format::Json => json::say(Schema::RecordingSummary, &summary),
        Format::Table => summary.print(),
    }
    Ok(Ended::Well)
}

/// Shows a run in a browser.
fn show(shared: Shared, arguments: &Arguments) -> Result<Ended> {
    play::show(arguments.listen, true, play::shown(shared)?)
}

/// Replays a run over sockets.
fn replay_record(text: &str, arguments: &Arguments) -> Result<Ended> {
    let record = Record::parse(text)?;
    let (algorithm, setting) = (record.algorithm.clone(), record.plan.setting.clone());
    if arguments.open {
        let mut steps = Vec::new();
        record.judge(Some(&mut |step: &Step, _| steps.push(step.to_string())))?;
        let setting = player::Setting {
            nodes: Some(setting.nodes.into()),
            tokens: Some(setting.tokens.into()),
            groups: Some(setting.groups.into()),
            options: setting.options.into_iter().collect(),
            defect: setting.defect,
            ..player::Setting::of(&algorithm)
        };
        return show(Shared { setting, steps }, arguments);
    }
    if arguments.format == Format::Json {
        let mut steps = Vec::new();
        let tally = record.judge(Some(&mut |step: &Step, shows| {
            steps.push(json!({ "step": step.to_string(), "shows": shows }));
        }))?;
        let messages = tally.sent();
        let facts = json!({
            "algorithm": algorithm,
            "nodes": setting.nodes,
            "tokens": setting.tokens,
            "groups": setting.groups,
            "options": setting.options.iter().cloned().collect::<BTreeMap<_, _>>(),
            "defect": setting.defect,
            "entries": tally.visits.len(),
            "messages": messages,
            "identical": true,
            "steps": steps,
        });
        json::say(Schema::Replay, &facts);
        return Ok(Ended::Well);
    }
    print_setting(&algorithm, &setting);
    let mut number = 0;
    let tally = record.judge(Some(&mut |step: &Step, shows: Vec<String>| {
        number += 1;
        say!("{number:6}  {:10}  {}", step.to_string(), shows.first().map_or("", String::as_str));
        shows.iter().skip(1).for_each(|line| say!("{:20}{line}", ""));
    }))?;
    let (steps, entries, messages) = (tally.replayed, tally.visits.len() as u64, tally.sent());
    say!(
        "{}, {}, {}: replayed, every effect is the same as it was over sockets",
        count(steps, "step"),
        count(entries, "entry"),
        count(messages, "message")
    );
    Ok(Ended::Well)
}

fn print_setting(algorithm: &str, setting: &Setting) {
    let (nodes, tokens) = (count(setting.nodes.into(), "node"), count(setting.tokens.into(), "token"));
    output::print(format_args!("{algorithm}: {nodes}, {tokens}"));
    if setting.groups > 1 {
        output::print(format_args!(", {} groups", setting.groups));
    }
    for (name, value) in &setting.options {
        output::print(format_args!(", {name}={value}"));
    }
    say!("{}", setting.defect.as_ref().map_or(String::new(), |defect| format!(", defect {defect}")));
}

/// Prints the steps of a trace, with what each leads to.
pub(crate) fn print_steps(trace: &Trace, shows: &[Vec<String>]) {
    let width = trace.steps.iter().map(|step| step.step.len()).max().unwrap_or(0);
    for (index, (step, shows)) in trace.steps.iter().zip(shows).enumerate() {
        let first = shows.first().map_or("", String::as_str);
        let indent = width + 8;
        say!("{}", table::flowed(&format!("{:4}  {:width$}  {first}", index + 1, step.step), indent));
        for line in shows.iter().skip(1) {
            say!("{}", table::flowed(&format!("{:indent$}{line}", ""), indent));
        }
    }
}
