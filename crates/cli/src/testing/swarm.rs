//! `tokenwood swarm`: whole clusters with faults in simulated time, one after the other, from seeds.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde_json::json;
use service::Defect;
use swarm::{AdjustError, DEFECT_SEEDS, DefectSeed, Outcome, Plan};
use sync::IgnorePoison;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::recording::Recording;
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count};
use crate::testing::{swarm_exhaustive, swarm_recording};

/// Run whole clusters with faults in simulated time, and check that locks hold
///
/// Each seed draws a cluster, resources, clients, delays, clocks, and faults: nodes that die, stand still and come back,
/// partitions in both directions or one, leaders that change, nodes that join and leave, connections that are slow or cut, clients
/// that vanish. The nodes run the code of production. A run that fails is shrunk, and the last line is the command that repeats
/// it. Ctrl-C stops it and sums up the runs so far; a second one ends it at once. Exit code 0 if all is well, 1 if there were too
/// many holders or another violation, 3 if a client was not served in the end or something was not forgotten, 130 or 143 if
/// Ctrl-C or SIGTERM stopped it and all was well so far.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The first seed [default: 1; with --defect one that shows it]
    #[arg(long)]
    seed: Option<u64>,
    /// How many seeds, from the first upwards [default: 100; with --defect or --record 1; with --minutes as many as there is time for]
    #[arg(long)]
    runs: Option<u64>,
    /// Stop after this many minutes; with --runs, when the first limit is reached
    #[arg(long)]
    minutes: Option<u64>,
    /// By how many percent clocks are off at most; beyond 10 there may be too many holders, but fences must not fall
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=90))]
    drift: u64,
    /// Set these parts of the plan instead of drawing them, as NAME=NUMBER,…: nodes, clients, names,
    /// slots, groups, cuts, stalls, deaths, naps, crashes, pauses, partitions, joins, leaves,
    /// elections, lease-changes, resizes, forces, watchers, nonsense, strangers, lies, late-news, slice,
    /// most-requests, split, contradict, lease, drift, section, hop, client-hop, lasts; with
    /// --exhaustive: nodes, slots, groups, clients, askers, rounds, failures, timers, sample,
    /// most-states
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) with: String,
    /// Leave out a rule of the protocol, to see that it is needed (see --defects)
    #[arg(long, value_parser = named)]
    pub(crate) defect: Option<Defect>,
    /// List the defects: rules that can be left out
    #[arg(long, conflicts_with_all = ["seed", "runs", "minutes", "drift", "with", "defect", "exhaustive", "log", "record"])]
    defects: bool,
    /// Instead of drawing: explore everything that can happen to a small cluster, in every order
    #[arg(long, conflicts_with_all = ["seed", "runs", "minutes", "drift", "log", "record"])]
    exhaustive: bool,
    /// Show what happened in each run, event by event
    #[arg(long)]
    log: bool,
    /// Record one run in this file, for 'tokenwood trace FILE --open': the smallest found that fails, or else that of the seed.
    /// The file must not be there yet, or be empty
    #[arg(long, value_name = "FILE", conflicts_with = "minutes")]
    record: Option<PathBuf>,
    /// Lines for people, or one JSON object for scripts at the end
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

fn named(name: &str) -> Result<Defect, String> {
    Defect::named(name).ok_or_else(|| "no such defect: 'tokenwood swarm --defects' lists them".to_string())
}

/// What all runs gave together.
#[derive(Default)]
struct Sum {
    runs: u64,
    violations: Vec<(u64, String)>,
    stuck: Vec<(u64, String)>,
    excused: u64,
    grants: u64,
    views: u64,
    crashes: u64,
    excluded: u64,
    joined: u64,
    resized: u64,
    forced: u64,
    watched: u64,
    missed: u64,
    left: u64,
    partitions: u64,
    elections: u64,
    simulated: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if arguments.defects {
        list(arguments);
        return Ok(Ended::Well);
    }
    if arguments.exhaustive {
        return swarm_exhaustive::run(arguments);
    }
    arguments.refuse_empty()?;
    arguments.plan(1).map_err(|wrong| anyhow!("--with: {wrong}"))?;
    let mut recording = arguments.record.as_deref().map(Recording::create).transpose()?;
    interrupt::listen()?;
    let begun = Instant::now();
    let limit = arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let (next, sum) = (AtomicU64::new(0), Mutex::new(Sum::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // A panic is reported in the line of its run.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while limit.is_none_or(|limit| begun.elapsed() < limit) && !interrupt::is_asked() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.runs() {
                        return;
                    }
                    let Some(seed) = arguments.first().checked_add(number) else { return };
                    let outcome = arguments
                        .plan(seed)
                        .map_or_else(|_| Outcome::default(), |plan| swarm::run_catching_panics(&plan, seed));
                    let mut sum = sum.lock().ignore_poison();
                    sum.add(arguments, seed, outcome);
                    sum.progress(arguments, begun);
                }
            });
        }
    });
    let sum = sum.into_inner().ignore_poison();
    let smallest = sum.first_wrong().map(|seed| (seed, smallest(arguments, seed)));
    let recorded = match recording.as_mut().filter(|_| sum.runs > 0) {
        Some(recording) => record(arguments, smallest.as_ref(), recording).map(|()| true),
        None => Ok(false),
    };
    let _ = std::panic::take_hook();
    let again = smallest.map(|(seed, plan)| repeats(arguments, seed, &plan) + " --log");
    sum.tell(arguments, begun, again.as_deref(), recording.as_ref().filter(|_| matches!(recorded, Ok(true))));
    recorded?;
    Ok(match (sum.violations.is_empty(), sum.stuck.is_empty()) {
        (false, _) => Ended::Violated,
        (true, false) => Ended::Unknown,
        (true, true) if sum.is_partial(arguments) => Ended::Interrupted,
        (true, true) => Ended::Well,
    })
}

impl Arguments {
    fn first(&self) -> u64 {
        self.seed.unwrap_or_else(|| self.defect.map_or(1, |defect| DefectSeed::of(defect).seed))
    }

    /// Refuses what would run nothing, or less than is asked for.
    fn refuse_empty(&self) -> Result<()> {
        if self.runs == Some(0) {
            bail!("--runs 0 runs nothing: try --runs 100");
        }
        if self.minutes == Some(0) {
            bail!("--minutes 0 leaves no time for a run: try --minutes 1");
        }
        if let Some(runs) = self.runs
            && self.first().checked_add(runs - 1).is_none()
        {
            bail!(
                "there are no {} seeds from {} on: take a smaller --seed",
                table::grouped(runs),
                self.first()
            );
        }
        if self.log && self.format == Format::Json {
            bail!("--log shows lines for people, and JSON is one object: leave out one of the two");
        }
        if self.record.is_some() && self.runs() != 1 {
            bail!("--record records one run: leave out --runs, and name its seed with --seed");
        }
        Ok(())
    }

    fn runs(&self) -> u64 {
        let unless_said = match self.minutes {
            Some(_) => u64::MAX,
            None if self.defect.is_some() || self.record.is_some() => 1,
            None => 100,
        };
        self.runs.unwrap_or(unless_said)
    }

    /// What a seed stands for, before anything is changed.
    fn drawn(&self, seed: u64) -> Plan {
        let drawn = Plan { drift: self.drift, ..Plan::drawn(seed) };
        self.defect.map_or(drawn, |defect| DefectSeed::of(defect).plan(seed, Some(defect)))
    }

    fn plan(&self, seed: u64) -> Result<Plan, AdjustError> {
        let mut plan = self.drawn(seed);
        plan.drift = self.drift;
        plan.adjust(&self.with)?;
        Ok(plan)
    }
}

/// The smallest plan found that shows the failure of a seed.
fn smallest(arguments: &Arguments, seed: u64) -> Plan {
    let plan = arguments.plan(seed).unwrap_or_else(|_| arguments.drawn(seed));
    swarm::shrink(&plan, seed, &interrupt::is_asked)
}

/// Records a run: the smallest that fails, or else the only one. The same plan and seed give the same run again.
fn record(arguments: &Arguments, smallest: Option<&(u64, Plan)>, recording: &mut Recording) -> Result<()> {
    let (seed, plan) = match smallest {
        Some((seed, plan)) => (*seed, plan.clone()),
        None => (
            arguments.first(),
            arguments.plan(arguments.first()).map_err(|wrong| anyhow!("--with: {wrong}"))?,
        ),
    };
    let (command, outcome) = (repeats(arguments, seed, &plan), swarm::run_catching_panics(&plan, seed));
    swarm_recording::write(recording, (seed, &plan, &command), &outcome)
}

/// The command that runs this plan.
fn repeats(arguments: &Arguments, seed: u64, plan: &Plan) -> String {
    let with = plan.differences(&arguments.drawn(seed));
    let mut command = format!("tokenwood swarm --seed {seed} --runs 1");
    if arguments.drift != 10 {
        command += &format!(" --drift {}", arguments.drift);
    }
    if let Some(defect) = arguments.defect {
        command += &format!(" --defect {}", defect.name());
    }
    if !with.is_empty() {
        command += &format!(" --with {with}");
    }
    command
}

fn list(arguments: &Arguments) {
    if arguments.format == Format::Json {
        let defects: Vec<_> = DEFECT_SEEDS
            .iter()
            .map(|shown| json!({ "name": shown.defect.name(), "about": shown.defect.about(), "seed": shown.seed }))
            .collect();
        return json::say(Schema::SwarmDefects, &json!({ "defects": defects }));
    }
    let longest = Defect::ALL.iter().map(|defect| defect.name().len()).max().unwrap_or(0);
    for defect in Defect::ALL {
        say!("{:longest$}  {}", defect.name(), defect.about());
    }
}

impl Sum {
    fn add(&mut self, arguments: &Arguments, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.excused += outcome.excused;
        self.grants += outcome.grants;
        self.views += outcome.views;
        self.crashes += outcome.crashes;
        self.excluded += outcome.excluded;
        self.joined += outcome.joined;
        self.resized += outcome.resized;
        self.forced += outcome.forced;
        self.watched += outcome.watched;
        self.missed += outcome.missed;
        self.left += outcome.left;
        self.partitions += outcome.partitions;
        self.elections += outcome.elections;
        self.simulated += outcome.simulated;
        let judged = match (outcome.violations.first(), outcome.stuck.first()) {
            (Some(wrong), _) => format!("VIOLATION {wrong}"),
            (None, Some(stuck)) => format!("STUCK {stuck}"),
            (None, None) => "well".to_string(),
        };
        if arguments.format == Format::Table {
            outcome.log.iter().filter(|_| arguments.log).for_each(|line| say!("  {line}"));
            let Outcome { grants, views, crashes, partitions, .. } = outcome;
            let numbers = [(grants, "grant"), (views, "view"), (crashes, "crash"), (partitions, "partition")];
            let numbers = numbers.map(|(number, what)| table::count(number, what)).join(", ");
            say!("{}", table::flowed(&format!("seed {seed}: {numbers}: {judged}"), 2));
        }
        self.violations.extend(outcome.violations.into_iter().map(|wrong| (seed, wrong)));
        self.stuck.extend(outcome.stuck.into_iter().map(|stuck| (seed, stuck)));
    }

    /// Notes now and then how many runs are done.
    fn progress(&self, arguments: &Arguments, begun: Instant) {
        if self.runs.is_multiple_of(100) && self.runs < arguments.runs() {
            let of = arguments.runs.map_or(String::new(), |runs| format!(" of {runs}"));
            note!("{}{of} runs, {}", self.runs, self.pace(begun));
        }
    }

    /// Whether a signal has stopped it before all was done.
    fn is_partial(&self, arguments: &Arguments) -> bool {
        interrupt::is_asked() && self.runs < arguments.runs()
    }

    /// Which runs are done, and how to take the others.
    fn how_to_go_on(&self, arguments: &Arguments) -> String {
        let (first, next) = (arguments.first(), arguments.first().saturating_add(self.runs));
        let done = match self.runs {
            0 => "no run is done".to_string(),
            1 => format!("the run from seed {first} is done"),
            _ => format!("the runs from seeds {first} to {} are done", next - 1),
        };
        let rest = match (arguments.runs, arguments.minutes) {
            (None, Some(minutes)) => format!("--seed {next} --minutes {minutes} goes on"),
            _ => format!("--seed {next} --runs {} takes the others", arguments.runs() - self.runs),
        };
        format!("Interrupted: {done}. {rest}.")
    }

    fn pace(&self, begun: Instant) -> String {
        let simulated = match self.simulated.as_secs_f64() {
            seconds if seconds < 3600.0 => format!("{:.1} simulated minutes", seconds / 60.0),
            seconds => format!("{:.1} simulated hours", seconds / 3600.0),
        };
        let faster = self.simulated.as_secs_f64() / begun.elapsed().as_secs_f64();
        format!("{simulated}, {faster:.0} for each real one")
    }

    /// The first seed that shows something wrong; a violation rather than a stuck client.
    fn first_wrong(&self) -> Option<u64> {
        let first = |of: &[(u64, String)]| of.iter().map(|(seed, _)| *seed).min();
        first(&self.violations).or(first(&self.stuck))
    }

    fn tell(
        &self,
        arguments: &Arguments,
        begun: Instant,
        smallest: Option<&str>,
        recorded: Option<&Recording>,
    ) {
        if arguments.format == Format::Json {
            let seeds = |of: &[(u64, String)]| {
                of.iter().map(|(seed, what)| json!({ "seed": seed, "what": what })).collect::<Vec<_>>()
            };
            json::say(
                Schema::Swarm,
                &json!({
                    "runs": self.runs,
                    "violations": self.violations.len(),
                    "stuck": self.stuck.len(),
                    "simulated_seconds": self.simulated.as_secs_f64(),
                    "grants": self.grants,
                    "views": self.views,
                    "crashes": self.crashes,
                    "partitions": self.partitions,
                    "elections": self.elections,
                    "excluded": self.excluded,
                    "beyond_bounds": self.excused,
                    "violated": seeds(&self.violations),
                    "left_waiting": seeds(&self.stuck),
                    "joined": self.joined,
                    "resized": self.resized,
                    "forced": self.forced,
                    "watched": self.watched,
                    "missed": self.missed,
                    "left": self.left,
                    "again": smallest,
                    "recorded": recorded.map(|recording| recording.path().display().to_string()),
                    "partial": self.is_partial(arguments),
                    "next_seed": self.is_partial(arguments).then(|| arguments.first().saturating_add(self.runs)),
                    "drift_percent": arguments.drift,
                    "seconds": begun.elapsed().as_secs_f64(),
                }),
            );
            return;
        }
        say!("{}, {}.", count(self.runs, "run"), self.pace(begun));
        let [excluded, joined, left, missed] =
            [self.excluded, self.joined, self.left, self.missed].map(table::grouped);
        let text = format!(
            "{}, {}, {} died, {excluded} excluded alive, {joined} joined, {left} left, {}, {}, {}, {}; watchers saw {} and missed {missed}.",
            count(self.grants, "grant"),
            count(self.views, "view"),
            count(self.crashes, "node"),
            count(self.partitions, "partition"),
            count(self.elections, "leader change"),
            count(self.resized, "definition"),
            count(self.forced, "forced release"),
            count(self.watched, "event"),
        );
        say!("{}", table::flowed(&text, 0));
        if arguments.drift > 10 {
            let times = count(self.excused, "time");
            let text = format!(
                "Clocks were off by more than the bound: {times} there were too many holders. Fences did not fall unless listed as a violation."
            );
            say!("{}", table::flowed(&text, 0));
        }
        say!("{}, {} stuck.", count(self.violations.len() as u64, "violation"), self.stuck.len());
        if let Some(smallest) = smallest {
            say!("Smallest plan found that fails: {smallest}");
        }
        if let Some(recording) = recorded {
            say!("Recorded. This shows it: {}", recording.how_to_open());
        }
        if self.is_partial(arguments) {
            say!("{}", table::flowed(&self.how_to_go_on(arguments), 0));
        }
    }
}
