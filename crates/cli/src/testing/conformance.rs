//! `tokenwood conformance`: the cases that a client of any language has to pass, played with real nodes.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use robustness::conformance::{self, CAPABILITIES, Case, FILES, Outcome, Plan, Verdict, suite};
use serde_json::{Value, json};

use crate::Ended;
use crate::locks::endpoints::{duration, runtime};
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::signals::Signals;
use crate::terminal::table::count;
use crate::terminal::{json, table};

/// Try a client of any language with real nodes, by the conformance suite
///
/// An agent is a program that drives a client: it reads one JSON command on each line of its standard input, and writes one
/// JSON event on each line of its standard output; docs/conformance.md describes both. Starts clusters of three nodes on this
/// machine, and an agent for each actor of a case. Afterwards a judge checks what all actors held. A case that fails while
/// this machine is too slow for the leases is played again, three times at most.
///
/// Exit code 1 if a case fails, 3 if the client cannot do something that --without does not name, or the other way round.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Which cases to play; all of them if none is named
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// The command of an agent; with several, the actors of each case use them in turn
    #[arg(long = "agent", value_name = "COMMAND", required_unless_present = "list")]
    agents: Vec<String>,
    /// What the client cannot do, by name: the agent has to say so as well, with the reason
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', value_parser = capability)]
    without: Vec<String>,
    /// The length of node leases: all times of the suite are multiples of it
    #[arg(long, value_parser = duration, default_value = "1s")]
    lease: Duration,
    /// List the cases and exit; as JSON, in full
    #[arg(long)]
    list: bool,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

fn capability(text: &str) -> Result<String, String> {
    let names = CAPABILITIES.map(|(name, _)| name);
    match names.contains(&text) {
        true => Ok(text.to_string()),
        false => Err(format!("there is no capability '{text}': they are {}", names.join(", "))),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let cases = chosen(&arguments.cases)?;
    if arguments.list {
        list(&cases, arguments.format)?;
        return Ok(Ended::Well);
    }
    let Arguments { agents, without, lease, .. } = arguments;
    let plan = Plan { agents: agents.clone(), without: without.clone(), lease: *lease };
    let played: Result<Option<Outcome>> = runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            outcome = conformance::run(&plan, cases) => outcome.map(Some),
            _ = signals.next() => Ok(None),
        }
    });
    let Some(outcome) = played? else { bail!("stopped before the end: nothing is reported") };
    match arguments.format {
        Format::Json => json::say(Schema::Conformance, &as_json(&outcome)),
        Format::Table => show(&outcome),
    }
    let failed = outcome.verdicts.iter().any(|verdict| !verdict.wrong.is_empty());
    let without = if outcome.wrong.is_empty() { Ended::Well } else { Ended::Unknown };
    Ok(if failed { Ended::Violated } else { without })
}

fn chosen(names: &[String]) -> Result<Vec<Case>> {
    let mut cases = suite()?;
    if let Some(unknown) = names.iter().find(|name| !cases.iter().any(|case| case.name == **name)) {
        bail!("there is no case '{unknown}'; 'tokenwood conformance --list' lists them");
    }
    cases.retain(|case| names.is_empty() || names.contains(&case.name));
    Ok(cases)
}

fn list(cases: &[Case], format: Format) -> Result<()> {
    if format == Format::Json {
        for (name, text) in FILES.iter().filter(|(name, _)| cases.iter().any(|case| case.name == *name)) {
            let mut case: Value = serde_json::from_str(text)?;
            if case.as_object_mut().and_then(|fields| fields.remove("schema")).is_none() {
                bail!("{name}.json names no schema");
            }
            json::say(Schema::ConformanceCase, &case);
        }
        return Ok(());
    }
    let mut rows = vec![["case", "needs", "what it shows"].map(str::to_string).to_vec()];
    rows.extend(cases.iter().map(|case| vec![case.name.clone(), case.needs.join(", "), case.about.clone()]));
    table::print(&rows);
    Ok(())
}

fn name_of(verdict: &Verdict) -> &'static str {
    match (verdict.wrong.is_empty(), &verdict.not_run) {
        (false, _) => "failed",
        (true, Some(_)) => "not-run",
        (true, None) => "passed",
    }
}

fn as_json(outcome: &Outcome) -> Value {
    let case = |verdict: &Verdict| {
        json!({
            "case": verdict.case.name,
            "verdict": name_of(verdict),
            "wrong": verdict.wrong,
            "not_run": verdict.not_run,
            "attempts": verdict.attempts,
            "seconds": verdict.time.as_secs_f64(),
        })
    };
    let cases: Vec<Value> = outcome.verdicts.iter().map(case).collect();
    json!({ "clients": outcome.clients, "cases": cases, "unexpected": outcome.wrong })
}

fn show(outcome: &Outcome) {
    say!("{}\n", outcome.clients.join(", "));
    let mut rows = vec![["case", "verdict", "took", "about"].map(str::to_string).to_vec()];
    rows.extend(outcome.verdicts.iter().map(|verdict| {
        let again =
            if verdict.attempts > 1 { format!(" ({} attempts)", verdict.attempts) } else { String::new() };
        let took = format!("{:.1} s{again}", verdict.time.as_secs_f64());
        let about = verdict.not_run.as_ref().unwrap_or(&verdict.case.about).clone();
        vec![verdict.case.name.clone(), name_of(verdict).to_string(), took, about]
    }));
    table::print(&rows);
    say!("");
    for verdict in &outcome.verdicts {
        verdict.wrong.iter().for_each(|wrong| say!("WRONG: {}: {wrong}", verdict.case.name));
    }
    outcome.wrong.iter().for_each(|wrong| say!("WRONG: {wrong}"));
    let number =
        |name: &str| outcome.verdicts.iter().filter(|verdict| name_of(verdict) == name).count() as u64;
    let (passed, failed, not_run) = (number("passed"), number("failed"), number("not-run"));
    say!("{} passed, {failed} failed, {not_run} not run.", count(passed, "case"));
}
