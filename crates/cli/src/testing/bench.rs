//! `tokenwood bench`: what locks cost on this machine, beside what its network costs at least.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use bench::{Effort, Figure, Outcome, SCENARIOS, Scenario};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Ended;
use crate::locks::endpoints::duration;
use crate::terminal::format::Format;
use crate::terminal::output::note;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};
use crate::testing::peers::{self, Placement};

/// Measure what locks cost on this machine, beside a bare round trip in the same run
///
/// Each scenario starts a cluster of its own in this process, with real sockets between nodes and to clients, on two
/// threads. Where something is promised, the last column says whether it held; a busy machine breaks promises about time,
/// so look at the lowest and the highest round too.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Which scenarios, or with --peers which workloads; all of them if none is named
    scenarios: Vec<String>,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    /// Measure other lock services beside ours instead: those of Redis, etcd and ZooKeeper that are installed
    #[arg(long, conflicts_with_all = ["save", "compare", "strict", "names"])]
    peers: bool,
    /// With --peers: which cores servers and clients run on
    #[arg(long, value_enum, default_value_t = Placement::Any, requires = "peers")]
    placement: Placement,
    /// How many rounds of each; the median counts [default: 3, with --peers 6]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// About how long each round measures
    #[arg(long, value_parser = duration, default_value = "1s")]
    time: Duration,
    /// How many names the scenario about their memory uses
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    names: u32,
    /// Write the figures to a file, to compare later ones with
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show beside each figure its value in this file
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// End with exit code 1 if a promise did not hold
    #[arg(long)]
    strict: bool,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// What `--save` keeps, as `--compare` reads it.
#[derive(Deserialize)]
struct Saved {
    scenarios: Vec<Outcome>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if arguments.peers {
        return peers::run(&peers::Plan {
            workloads: &arguments.scenarios,
            list: arguments.list,
            placement: arguments.placement,
            rounds: arguments.rounds.unwrap_or(6),
            time: arguments.time,
            format: arguments.format,
        });
    }
    if arguments.list {
        list(arguments.format);
        return Ok(Ended::Well);
    }
    let chosen = chosen(&arguments.scenarios)?;
    let before = arguments.compare.as_deref().map(read).transpose()?;
    let effort =
        Effort { rounds: arguments.rounds.unwrap_or(3), time: arguments.time, names: arguments.names };
    let mut outcomes = Vec::new();
    for (number, scenario) in chosen.iter().enumerate() {
        note!("{} of {}: {}", number + 1, chosen.len(), scenario.about);
        let outcome = scenario.run(&effort);
        outcomes.push(outcome.map_err(|error| anyhow!("{}: {error}", scenario.name))?);
    }
    let saved = Saved { scenarios: outcomes };
    if let Some(file) = &arguments.save {
        let cannot = || format!("cannot write {}", file.display());
        fs::write(file, json::pretty(Schema::Bench, &as_json(&saved, None))).with_context(cannot)?;
    }
    match arguments.format {
        Format::Json => json::say(Schema::Bench, &as_json(&saved, before.as_ref())),
        Format::Table => print(&saved, before.as_ref()),
    }
    let all_hold = saved.scenarios.iter().flat_map(|outcome| &outcome.figures).all(Figure::holds);
    Ok(if arguments.strict && !all_hold { Ended::Violated } else { Ended::Well })
}

fn list(format: Format) {
    if format == Format::Json {
        let all = SCENARIOS.iter().map(|scenario| json!({ "name": scenario.name, "about": scenario.about }));
        return json::say(Schema::BenchScenarios, &json!({ "scenarios": all.collect::<Vec<_>>() }));
    }
    let rows = SCENARIOS.iter().map(|scenario| vec![scenario.name.to_string(), scenario.about.to_string()]);
    let heading = vec!["scenario".to_string(), "what is measured".to_string()];
    table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
}

/// The figures for scripts, each with its promise and its value before.
fn as_json(saved: &Saved, before: Option<&Saved>) -> Value {
    let outcome = |outcome: &Outcome| {
        let figures = outcome.figures.iter().map(|figure| {
            let before = before.and_then(|before| find(before, &outcome.scenario, &figure.what));
            let mut value = json!(figure);
            value["holds"] = json!(figure.bound.map(|_| figure.holds()));
            value["before"] = json!(before.map(|before| before.value));
            value["differs"] = json!(before.map(|before| figure.differs(before)));
            value
        });
        json!({ "scenario": outcome.scenario, "figures": figures.collect::<Vec<_>>() })
    };
    json!({ "scenarios": saved.scenarios.iter().map(outcome).collect::<Vec<_>>() })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(SCENARIOS.iter().collect());
    }
    let find = |name: &String| {
        let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
        found.with_context(|| format!("there is no scenario '{name}'; 'tokenwood bench --list' lists them"))
    };
    names.iter().map(find).collect()
}

fn read(file: &Path) -> Result<Saved> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let Ok(saved) = serde_json::from_str(&text) else {
        bail!("{} was not written by 'tokenwood bench --save'", file.display());
    };
    Ok(saved)
}

fn print(saved: &Saved, before: Option<&Saved>) {
    let mut heading = vec!["scenario", "figure", "", "rounds", "promised"];
    if before.is_some() {
        heading.extend(["before", "change"]);
    }
    let mut rows = vec![heading.into_iter().map(str::to_string).collect::<Vec<_>>()];
    for outcome in &saved.scenarios {
        for (place, figure) in outcome.figures.iter().enumerate() {
            let scenario = if place == 0 { outcome.scenario.clone() } else { String::new() };
            let mut row =
                vec![scenario, figure.what.clone(), with_unit(figure), rounds(figure), promise(figure)];
            if let Some(before) = before {
                row.extend(change(figure, find(before, &outcome.scenario, &figure.what)));
            }
            rows.push(row);
        }
    }
    table::print(&rows);
}

fn find<'a>(saved: &'a Saved, scenario: &str, what: &str) -> Option<&'a Figure> {
    let outcome = saved.scenarios.iter().find(|outcome| outcome.scenario == scenario)?;
    outcome.figures.iter().find(|figure| figure.what == what)
}

fn with_unit(figure: &Figure) -> String {
    format!("{} {}", short(figure.value), figure.unit)
}

fn rounds(figure: &Figure) -> String {
    if figure.low == figure.high {
        return String::new();
    }
    format!("{} to {}", short(figure.low), short(figure.high))
}

fn promise(figure: &Figure) -> String {
    match figure.bound {
        None => String::new(),
        Some(bound) => {
            format!("{bound} {}: {}", figure.unit, if figure.holds() { "holds" } else { "DOES NOT HOLD" })
        }
    }
}

fn change(figure: &Figure, before: Option<&Figure>) -> [String; 2] {
    let Some(before) = before else { return [String::new(), String::new()] };
    let change = match (before.value == 0.0, figure.differs(before)) {
        (_, false) => "none beyond rounds".to_string(),
        (true, true) => "new".to_string(),
        (false, true) => format!("{:+.0} %", (figure.value / before.value - 1.0) * 100.0),
    };
    [with_unit(before), change]
}

/// Three digits are all that such figures are worth.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => table::grouped(value.round() as u64),
        large if large >= 100.0 => format!("{value:.0}"),
        large if large >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_string(),
        small if small < 0.001 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let written = [1_234_567.8, 123.4, 12.34, 1.234, 0.0, 0.000_012_3].map(short);
        assert_eq!(written, ["1,234,568", "123", "12.3", "1.234", "0", "1.2e-5"]);
    }

    #[test]
    fn scenarios_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), SCENARIOS.len());
        assert_eq!(chosen(&["rooms".to_string()]).unwrap()[0].name, "rooms");
        assert!(chosen(&["room".to_string()]).is_err());
    }
}
