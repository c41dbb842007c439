//! `tokenwood swarm`: whole clusters with faults in simulated time, one after the other, from seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use swarm::{Happened, Plan};

use crate::check_arguments::Format;
use crate::output::say;
use crate::{Ended, table};

/// Run whole clusters with faults in simulated time, and judge what their clients believe
///
/// Each seed draws a cluster, resources, clients, delays, clocks, and what goes wrong: nodes that die, stand still and come back,
/// partitions in both directions or one, leaders that change, connections that are cut, clients that vanish. The nodes decide with
/// the code of production. Exit code 0 if all is well, 1 if somebody was inside who should not have been, 3 if somebody was not
/// served in the end or something was not forgotten.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, from the first upwards
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// Stop after so many minutes, however many seeds are left
    #[arg(long)]
    minutes: Option<u64>,
    /// By how many percent clocks are off at most; beyond 10 too many may be inside, but fences must not fall
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=90))]
    drift: u64,
    /// Show what happened in each run, event by event
    #[arg(long)]
    log: bool,
    /// Lines for people, or one JSON object for scripts at the end
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
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
    partitions: u64,
    elections: u64,
    simulated: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let begun = Instant::now();
    let limit = arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let (next, sum) = (AtomicU64::new(0), Mutex::new(Sum::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // What a run that fails says goes into its line.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while limit.is_none_or(|limit| begun.elapsed() < limit) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.runs {
                        return;
                    }
                    let seed = arguments.seed + number;
                    let happened = one(arguments, seed);
                    let mut sum = sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    sum.add(arguments, seed, happened);
                    sum.progress(arguments, begun);
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let sum = sum.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    sum.tell(arguments, begun);
    Ok(match (sum.violations.is_empty(), sum.stuck.is_empty()) {
        (false, _) => Ended::Violated,
        (true, false) => Ended::Unknown,
        (true, true) => Ended::Well,
    })
}

fn one(arguments: &Arguments, seed: u64) -> Happened {
    let plan = Plan { drift: arguments.drift, ..Plan::drawn(seed) };
    catch_unwind(AssertUnwindSafe(|| swarm::run(&plan, seed))).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        let violations = vec![what.unwrap_or_else(|| "a node ended".to_string())];
        Happened { violations, ..Happened::default() }
    })
}

impl Sum {
    fn add(&mut self, arguments: &Arguments, seed: u64, happened: Happened) {
        self.runs += 1;
        self.excused += happened.excused;
        self.grants += happened.grants;
        self.views += happened.views;
        self.crashes += happened.crashes;
        self.excluded += happened.excluded;
        self.partitions += happened.partitions;
        self.elections += happened.elections;
        self.simulated += happened.simulated;
        let judged = match (happened.violations.first(), happened.stuck.first()) {
            (Some(wrong), _) => format!("VIOLATION {wrong}"),
            (None, Some(stuck)) => format!("STUCK {stuck}"),
            (None, None) => "well".to_string(),
        };
        if arguments.format == Format::Table && (arguments.log || judged != "well" || arguments.runs <= 20) {
            happened.log.iter().filter(|_| arguments.log).for_each(|line| say!("  {line}"));
            let Happened { grants, views, crashes, partitions, .. } = happened;
            say!(
                "seed {seed}: {grants} grants, {views} views, {crashes} crashes, {partitions} partitions: {judged}"
            );
            if judged != "well" {
                say!("  again: tokenwood swarm --seed {seed} --runs 1 --drift {} --log", arguments.drift);
            }
        }
        self.violations.extend(happened.violations.into_iter().map(|wrong| (seed, wrong)));
        self.stuck.extend(happened.stuck.into_iter().map(|stuck| (seed, stuck)));
    }

    /// Now and then a line says how far it has come.
    fn progress(&self, arguments: &Arguments, begun: Instant) {
        if self.runs.is_multiple_of(100) && self.runs < arguments.runs {
            eprintln!("{} of {} runs, {}", self.runs, arguments.runs, self.pace(begun));
        }
    }

    fn pace(&self, begun: Instant) -> String {
        let hours = self.simulated.as_secs_f64() / 3600.0;
        let faster = self.simulated.as_secs_f64() / begun.elapsed().as_secs_f64();
        format!("{hours:.1} simulated hours, {faster:.0} for each real one")
    }

    fn tell(&self, arguments: &Arguments, begun: Instant) {
        if arguments.format == Format::Json {
            let seeds = |of: &[(u64, String)]| {
                of.iter().map(|(seed, what)| json!({ "seed": seed, "what": what })).collect::<Vec<_>>()
            };
            say!(
                "{}",
                json!({
                    "runs": self.runs,
                    "violations": self.violations.len(),
                    "stuck": self.stuck.len(),
                    "simulated_seconds": self.simulated.as_secs_f64(),
                    "grants": self.grants,
                    "views": self.views,
                    "crashes": self.crashes,
                    "partitions": self.partitions,
                    "elections": self.elections,
                    "left_out": self.excluded,
                    "beyond_bounds": self.excused,
                    "violated": seeds(&self.violations),
                    "left_waiting": seeds(&self.stuck),
                })
            );
            return;
        }
        let numbers = [self.grants, self.views, self.crashes, self.partitions, self.elections, self.excluded];
        let [grants, views, crashes, partitions, elections, excluded] = numbers.map(table::grouped);
        say!("{} runs, {}.", table::grouped(self.runs), self.pace(begun));
        say!(
            "{grants} grants, {views} views, {crashes} nodes died, {excluded} were left out alive, {partitions} partitions, {elections} times somebody else led."
        );
        if arguments.drift > 10 {
            let times = table::grouped(self.excused);
            say!(
                "Clocks were off by more than the bound: {times} times too many were inside. Fences did not fall unless it says so."
            );
        }
        let (violations, stuck) = (self.violations.len(), self.stuck.len());
        say!("{violations} violations, {stuck} stuck.");
    }
}
