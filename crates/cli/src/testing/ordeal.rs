//! `tokenwood ordeal`: real nodes, real clients and faults of every kind, judged afterwards.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use robustness::ordeal::report::{Report, Verdict};
use robustness::ordeal::trial::{Plan, folder};
use robustness::ordeal::{SCENARIOS, Scenario, network};
use serde_json::{Value, json};

use crate::Ended;
use crate::locks::endpoints::{duration, runtime};
use crate::terminal::format::Format;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::signals::Signals;
use crate::terminal::{json, table};

/// Kill, stop, cut off, starve and crowd real nodes, and check that locks hold
///
/// Starts nodes and clients as processes of their own, each node in a network of its own where that is allowed. Clients
/// increment numbers in a store, under locks: once in a store that checks fences, once in one that does not. The faults
/// depend on the scenario. Afterwards a judge checks what all clients recorded: never too many holders, fences that rise, no
/// lost update, and every client served in the end.
///
/// Nothing outside is touched: networks and small disks are made in namespaces that end with this program, and clocks run
/// wrong only in single processes, and only in builds with the feature 'faults'. Exit code 1 if anything is wrong, 3 if a
/// scenario could not be run. If anything is wrong, a folder keeps the history and the logs.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Which scenarios to run; all of them if none is named
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// List the scenarios and exit
    #[arg(long)]
    list: bool,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long each scenario injects faults; below 10, each takes a short form
    #[arg(long, value_name = "N", default_value_t = 30)]
    seconds: u64,
    /// How many nodes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// The length of node leases, where the scenario does not set it
    #[arg(long, value_parser = duration, default_value = "1s")]
    lease: Duration,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// This program is inside namespaces of its own
    #[arg(long, hide = true)]
    inside: bool,
    /// Do without namespaces
    #[arg(long, hide = true)]
    outside: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.list {
        list(arguments.format);
        return Ok(Ended::Well as u8);
    }
    let chosen = chosen(&arguments.scenarios)?;
    let cannot = match (arguments.inside, arguments.outside) {
        (true, _) => None,
        (_, true) => Some("--outside was given".to_string()),
        _ => network::cannot(),
    };
    if !arguments.inside && cannot.is_none() {
        return runtime()?.block_on(async {
            let mut signals = Signals::listen()?;
            network::go_inside(async { _ = signals.next().await }).await
        });
    }
    if arguments.inside {
        network::arrive()?;
    }
    if let Some(why) = &cannot {
        note!("tokenwood: nodes share the network of this machine: {why}");
    }
    let reports: Result<Option<Vec<Report>>> = runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            reports = go_through(&chosen, arguments, cannot.as_deref()) => Ok(Some(reports)),
            _ = signals.next() => Ok(None),
            () = network::until_nobody_is_outside(), if arguments.inside => Ok(None),
        }
    });
    let Some(reports) = reports? else {
        // By now everything that ran has ended; what it left behind is of no use.
        chosen.iter().for_each(|scenario| _ = std::fs::remove_dir_all(folder(scenario.name)));
        remove_my_folder(arguments);
        bail!("stopped before the end: nothing is reported");
    };
    remove_my_folder(arguments);
    tell(arguments, &reports, cannot.as_deref());
    Ok(reports.iter().map(ended).fold(Ended::Well, Ended::worse) as u8)
}

fn list(format: Format) {
    let needs = |each: &Scenario| {
        let needs = [(each.needs_networks, "namespaces"), (each.needs_faults, "faults")];
        needs.iter().filter(|(needs, _)| *needs).map(|(_, what)| *what).collect::<Vec<_>>()
    };
    if format == Format::Json {
        let all = SCENARIOS
            .iter()
            .map(|each| json!({ "name": each.name, "needs": needs(each), "about": each.about }));
        let facts = json!({ "scenarios": all.collect::<Vec<_>>(), "has_faults": node::FAULTS });
        return json::say(Schema::OrdealScenarios, &facts);
    }
    let mut rows = vec![["scenario", "needs", "what happens"].map(str::to_string).to_vec()];
    rows.extend(
        SCENARIOS
            .iter()
            .map(|each| vec![each.name.to_string(), needs(each).join(", "), each.about.to_string()]),
    );
    table::print(&rows);
    if !node::FAULTS {
        say!("\nThis build has no faults: cargo run --release --features faults -- ordeal NAME");
    }
}

fn ended(report: &Report) -> Ended {
    match report.verdict() {
        Verdict::Holds => Ended::Well,
        Verdict::NotRun => Ended::Unknown,
        Verdict::Violated => Ended::Violated,
    }
}

/// What was made for the time inside; it stays if anything is kept in it.
fn remove_my_folder(arguments: &Arguments) {
    if arguments.inside {
        _ = std::fs::remove_dir(std::env::temp_dir());
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Scenario>> {
    for name in names {
        if !SCENARIOS.iter().any(|scenario| scenario.name == name) {
            bail!("there is no scenario '{name}'; 'tokenwood ordeal --list' lists them");
        }
    }
    let is_chosen = |scenario: &&Scenario| names.is_empty() || names.iter().any(|name| name == scenario.name);
    Ok(SCENARIOS.iter().filter(is_chosen).collect())
}

async fn go_through(chosen: &[&Scenario], arguments: &Arguments, cannot: Option<&str>) -> Vec<Report> {
    let plan = Plan {
        nodes: arguments.nodes,
        lease: arguments.lease,
        time: Duration::from_secs(arguments.seconds),
        seed: arguments.seed,
        networks: cannot.is_none(),
    };
    let mut reports = Vec::new();
    for scenario in chosen {
        let without = cannot.filter(|_| scenario.needs_networks).map(str::to_string);
        let report = match scenario.not_in_this_build().or(without) {
            Some(why) => Report { not_run: Some(why), ..Report::of(scenario.name) },
            // A cluster that does not come back, or does not even start, is wrong as well.
            None => (scenario.run)(plan).await.unwrap_or_else(|error| {
                let (wrong, folder) = (vec![format!("{error:#}")], folder(scenario.name));
                let evidence = folder.exists().then(|| folder.display().to_string());
                Report { wrong, evidence, ..Report::of(scenario.name) }
            }),
        };
        if arguments.format == Format::Table {
            note!("{}", report.headline());
        }
        reports.push(report);
    }
    reports
}

fn tell(arguments: &Arguments, reports: &[Report], shared_network: Option<&str>) {
    if arguments.format == Format::Json {
        let wrong: usize = reports.iter().map(|report| report.wrong.len()).sum();
        let each: Vec<Value> = reports.iter().map(Report::as_json).collect();
        let facts = json!({
            "seed": arguments.seed, "violations": wrong, "scenarios": each, "shared_network": shared_network,
        });
        return json::say(Schema::Ordeal, &facts);
    }
    reports.iter().flat_map(Report::lines).for_each(|line| say!("{line}"));
}
