//! `tokenwood reproduce --sockets`: the thesis' experiment, a process for each node, TCP between them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use algorithms::{Kind, registry};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use figures::Effort;
use figures::thesis::sockets as thesis_sockets;
use figures::thesis::sockets::{Measured, Sample};
use sockets::{Plan, Report, Tally};

use crate::locks::endpoints::{duration, runtime};
use crate::terminal::progress::Progress;
use crate::terminal::table::count;
use crate::workbench::record_file::Record;
use crate::workbench::seat::{in_processes, on_seats};

/// The most processes that are started.
const MOST_NODES: u32 = 64;
/// The most entries of a node: all it does is kept in memory.
const MOST_ENTRIES: u32 = 10_000;
/// What the timers of an algorithm allow for a message, beyond the delay that was asked for.
const MOST_BEYOND: Duration = Duration::from_millis(1);
/// Rates between these leave pauses of a microsecond to a hundred seconds.
const RATES: std::ops::RangeInclusive<f64> = 0.00001..=1000.0;

/// What is run, if not what the thesis ran.
#[derive(Args)]
#[command(next_help_heading = "With --sockets")]
pub(crate) struct Experiment {
    /// An algorithm; repeat it for several [default: bulgannawar-vaidya and raymond-k]
    #[arg(long = "algorithm", value_name = "NAME")]
    algorithms: Vec<String>,
    /// A machine that 'tokenwood seat --listen HOST:PORT' runs on; repeat it for each, the first is node 0 [default: processes on this machine]
    #[arg(long = "seat", value_name = "HOST:PORT")]
    seats: Vec<String>,
    /// An option of every algorithm that is run
    #[arg(long = "set", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// How many processes [default: 9, or one for each --seat]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// How many clients may be in the critical section at once [default: 3 for a k-mutex, else 1]
    #[arg(long, value_name = "K")]
    tokens: Option<u32>,
    /// How many groups, for group mutual exclusion; each request is for one of them [default: 3 for a group mutex, else 1]
    #[arg(long, value_name = "M")]
    groups: Option<u32>,
    /// How many times each node enters [default: 200; 20 with --quick]
    #[arg(long, value_name = "N")]
    entries: Option<u32>,
    /// How often a client that has left requests again, per millisecond [default: those of the thesis, times 100; see docs/reproduction.md]
    #[arg(long, value_name = "RATE,...", value_delimiter = ',')]
    rates: Vec<f64>,
    /// Delay messages until they have taken this long: 6.5ms for the thesis' network [default: no delay]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    hop: Option<Duration>,
    /// Keep a record of each run in this folder; 'tokenwood trace FILE' replays it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

/// A run that is planned.
pub(crate) struct Planned {
    algorithm: String,
    rate: f64,
    plan: Plan,
}

/// What was measured.
pub(crate) struct Outcome {
    /// Run by run.
    pub(crate) measured: Vec<Measured>,
    /// In a line.
    pub(crate) summary: String,
}

impl Experiment {
    /// The flags that ask for the same again.
    pub(crate) fn command(&self, effort: &Effort) -> String {
        let mut flags = String::new();
        for algorithm in &self.algorithms {
            flags += &format!(" --algorithm '{algorithm}'");
        }
        for seat in &self.seats {
            flags += &format!(" --seat {seat}");
        }
        for option in &self.options {
            flags += &format!(" --set {option}");
        }
        let thesis = thesis_sockets::experiment();
        let sizes = [
            ("nodes", self.nodes.filter(|nodes| *nodes != thesis.nodes)),
            ("tokens", self.tokens),
            ("groups", self.groups),
            ("entries", Some(self.entries(effort))),
        ];
        for (name, value) in sizes {
            flags += &value.map_or(String::new(), |value| format!(" --{name} {value}"));
        }
        if !self.rates.is_empty() {
            let rates: Vec<String> = self.rates.iter().map(f64::to_string).collect();
            flags += &format!(" --rates {}", rates.join(","));
        }
        flags + &self.hop.map_or(String::new(), |hop| format!(" --hop {}ms", hop.as_secs_f64() * 1e3))
    }

    /// A flag that was given, if any was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--algorithm", !self.algorithms.is_empty()),
            ("--seat", !self.seats.is_empty()),
            ("--set", !self.options.is_empty()),
            ("--nodes", self.nodes.is_some()),
            ("--tokens", self.tokens.is_some()),
            ("--groups", self.groups.is_some()),
            ("--entries", self.entries.is_some()),
            ("--rates", !self.rates.is_empty()),
            ("--hop", self.hop.is_some()),
            ("--record", self.record.is_some()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    fn entries(&self, effort: &Effort) -> u32 {
        let thesis = thesis_sockets::experiment().entries;
        self.entries.unwrap_or(if effort.quick { thesis / 10 } else { thesis })
    }

    /// As many as there are seats, if there are any.
    fn number_of_nodes(&self, usual: u32) -> Result<u32> {
        let seats = self.seats.len() as u32;
        if let Some(twice) =
            (1..self.seats.len()).find(|&index| self.seats[..index].contains(&self.seats[index]))
        {
            let seat = &self.seats[twice];
            bail!(
                "--seat {seat} is given twice: a seat is one node; for two on a machine start two, at two ports"
            );
        }
        match self.nodes {
            Some(nodes) if seats > 0 && nodes != seats => {
                let seats = count(seats as u64, "seat");
                bail!("--nodes {nodes} does not fit {seats}, one for each node: leave --nodes out")
            }
            Some(nodes) => Ok(nodes),
            None if seats > 0 => Ok(seats),
            None => Ok(usual),
        }
    }

    /// All runs, or why one of them is not possible, before anything is started.
    pub(crate) fn runs(&self, effort: &Effort) -> Result<Vec<Planned>> {
        let thesis = thesis_sockets::experiment();
        let algorithms = if self.algorithms.is_empty() { &thesis.algorithms } else { &self.algorithms };
        let rates = if self.rates.is_empty() { effort.thin(&thesis.rates) } else { self.rates.clone() };
        let (nodes, entries) = (self.number_of_nodes(thesis.nodes)?, self.entries(effort));
        if !(1..=MOST_NODES).contains(&nodes) {
            bail!("--nodes must be between 1 and {MOST_NODES}, not {nodes}: each is a process");
        }
        if !(1..=MOST_ENTRIES).contains(&entries) {
            bail!("--entries must be between 1 and {MOST_ENTRIES}, not {entries}");
        }
        if let Some(rate) = rates.iter().find(|rate| !RATES.contains(rate)) {
            let (least, most) = (RATES.start(), RATES.end());
            bail!("--rates must be between {least} and {most} requests per millisecond, not {rate}");
        }
        let mut runs = Vec::new();
        for (number, algorithm) in algorithms.iter().enumerate() {
            if algorithms[..number].contains(algorithm) {
                bail!("--algorithm {algorithm} is given twice");
            }
            let info = registry::info(algorithm)?;
            let usual = if info.kind == Kind::KMutex { thesis.tokens } else { 1 };
            let tokens = self.tokens.unwrap_or(usual);
            let mut setting = thesis_sockets::setting(algorithm, nodes, tokens);
            setting.groups = self.groups.unwrap_or(simulator::Plan::of(info).setting.groups);
            for option in &self.options {
                let Some(pair) = option.split_once('=') else {
                    bail!("--set takes NAME=VALUE, not '{option}'")
                };
                setting = setting.with(&[pair]);
            }
            sockets::validate(algorithm, &setting).map_err(|error| anyhow!(error))?;
            let mut plan = Plan {
                section: Duration::from_secs_f64(thesis.section * 1e-3),
                shortest_delay: self.hop.unwrap_or_default(),
                ..Plan::new(setting, entries, 1)
            };
            let info = registry::info_with(algorithm, &plan.setting)?;
            if info.relies_on_timers() {
                // These timers detect no failures and only set a pace: about as long as messages and sections take.
                plan.longest_delay = plan.shortest_delay + MOST_BEYOND;
                plan.longest_section = 2 * plan.section;
            }
            for &rate in &rates {
                let plan = Plan { think: Duration::from_secs_f64(1e-3 / rate), ..plan.clone() };
                runs.push(Planned { algorithm: algorithm.clone(), rate, plan });
            }
        }
        Ok(runs)
    }

    /// Runs one after the other, each in processes of its own, and judges each.
    pub(crate) fn measure(&self, runs: &[Planned]) -> Result<Outcome> {
        if let Some(folder) = &self.record {
            let cannot =
                || format!("cannot create the folder '{}': choose another with --record", folder.display());
            fs::create_dir_all(folder).with_context(cannot)?;
        }
        let began = Instant::now();
        let entries =
            |planned: &Planned| u64::from(planned.plan.setting.nodes) * u64::from(planned.plan.entries);
        let progress = Progress::new("sockets", runs.iter().map(entries).sum());
        let mut whole = Tally::default();
        let mut measured = Vec::new();
        for planned in runs {
            let run = self.run(planned, &progress);
            if run.is_err() {
                progress.finish();
            }
            let (tally, numbers) =
                run.with_context(|| format!("{}, rate {}", planned.algorithm, planned.rate))?;
            whole.replayed += tally.replayed;
            whole.add(tally);
            measured.push(numbers);
        }
        progress.finish();
        let clocks = match whole.clock_error {
            Duration::ZERO => String::new(),
            error => format!(
                "; on {} machines, whose clocks are known within {:.3} ms",
                self.seats.len(),
                milliseconds(error)
            ),
        };
        let groups = match runs.iter().map(|planned| planned.plan.setting.groups).max() {
            Some(groups) if groups > 1 => format!(" in {groups} groups"),
            _ => String::new(),
        };
        let summary = format!(
            "{} over TCP, {}{groups}, {} in {:.0} s; {} replayed, every effect the same{clocks}",
            count(runs.len() as u64, "run"),
            count(whole.visits.len() as u64, "entry"),
            count(whole.sent(), "message"),
            began.elapsed().as_secs_f64(),
            count(whole.replayed, "step"),
        );
        Ok(Outcome { measured, summary })
    }

    fn run(&self, planned: &Planned, progress: &Progress) -> Result<(Tally, Measured)> {
        let Planned { algorithm, rate, plan } = planned;
        let mut seen = 0;
        let add = |entries| {
            progress.add(entries - seen);
            seen = entries;
        };
        let reports = if self.seats.is_empty() {
            runtime()?.block_on(in_processes(algorithm, plan, add))?
        } else {
            runtime()?.block_on(on_seats(&self.seats, algorithm, plan, add))?
        };
        let samples = reports.iter().map(sample).collect();
        let record = Record::new(algorithm, plan, reports);
        if let Some(folder) = &self.record {
            record.write(&folder.join(format!("{algorithm}-{rate}.json")))?;
        }
        let tally = record.judge(None)?;
        let numbers = Measured {
            algorithm: algorithm.clone(),
            setting: plan.setting.clone(),
            rate: *rate,
            entries: plan.entries,
            samples,
            message: milliseconds(tally.mean_travel()),
            section: milliseconds(tally.mean_section()),
            think: milliseconds(tally.mean_think()),
            pace: registry::info_with(algorithm, &plan.setting)?
                .relies_on_timers()
                .then(|| milliseconds(plan.longest_delay)),
            clock_error: milliseconds(tally.clock_error),
        };
        Ok((tally, numbers))
    }
}

fn sample(report: &Report) -> Sample {
    let Report { tally, .. } = report;
    Sample { messages: tally.messages_per_entry(), wait: milliseconds(tally.mean_wait()) }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
