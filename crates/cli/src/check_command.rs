//! `tokenwood check`: explores every run, or many random ones.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use algorithms::info::{Pace, Scope, Shows, Timing};
use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Case, Info, Property, Refusal, Setting};
use anyhow::{Result, anyhow, bail};
use checker::{Finding, Job, Progress, Verdict};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::output::say;
use crate::{Ended, check_report, random_command, table};

/// Explore every run of an algorithm at a small size, and check every property in every state.
///
/// Exit code: 0 all properties hold and everything was explored; 1 a property is violated (the shortest way there is printed and saved); 2 wrong usage; 3 stopped at a limit without a violation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The algorithm ('tokenwood algorithms' lists them), or partitioned(NAME)
    #[arg(required_unless_present_any = ["all", "list_defects"])]
    name: Option<String>,
    /// How many nodes
    #[arg(long, short = 'n', default_value_t = 3)]
    pub(crate) nodes: u32,
    /// How many may be inside at once (k)
    #[arg(long, short = 'k', default_value_t = 1)]
    pub(crate) tokens: u32,
    /// How often each node asks, at most
    #[arg(long, short = 'r', default_value_t = 1)]
    pub(crate) requests: u32,
    /// How many groups (for group mutual exclusion)
    #[arg(long, short = 'm', default_value_t = 1)]
    pub(crate) groups: u32,
    /// A request may name several groups and be served in any of them
    #[arg(long)]
    pub(crate) any_of: bool,
    /// Messages between two nodes arrive in order (the default is the weakest order the algorithm says it needs)
    #[arg(long, conflicts_with = "reorder")]
    fifo: bool,
    /// Messages overtake each other
    #[arg(long)]
    reorder: bool,
    /// So many messages may be lost
    #[arg(long, default_value_t = 0)]
    loss: u32,
    /// So many messages may arrive twice
    #[arg(long, default_value_t = 0)]
    duplicates: u32,
    /// Nodes may crash and come back so many times
    #[arg(long, default_value_t = 0)]
    crashes: u32,
    /// Each timer may run out so many times while messages are under way, and always when none is; 0 turns timers
    /// off. Default: 2 if something may go wrong or nothing works without timers, else 0
    #[arg(long)]
    firings: Option<u32>,
    /// Timers may run out so many times in all while messages are under way
    #[arg(long, default_value_t = 2)]
    early: u32,
    /// Time counts: a message takes at most so many ticks (for algorithms that rely on time; 1 if they need it)
    #[arg(long, value_name = "TICKS")]
    delay: Option<u32>,
    /// Time counts: a critical section takes exactly so many ticks
    #[arg(long, value_name = "TICKS")]
    section: Option<u32>,
    /// An option of the algorithm, as name=value
    #[arg(long = "set", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Short for --set inform=V
    #[arg(long, value_name = "V")]
    inform: Option<u32>,
    /// Short for --set choose=random or --set choose=last-seen
    #[arg(long)]
    choose: Option<String>,
    /// Put a printed error back (see --list-defects)
    #[arg(long)]
    defect: Option<String>,
    /// Ask for this property alone
    #[arg(long)]
    property: Option<String>,
    /// Stop at so many states (each costs about 100 bytes)
    #[arg(long, default_value_t = 100_000_000)]
    max_states: u64,
    /// How many threads search (default: all cores)
    #[arg(long)]
    threads: Option<usize>,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Where to save the trace of a violation (default: NAME.trace.json here)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Instead of exploring everything, take so many random runs, with delays over three orders of magnitude
    #[arg(long, value_name = "RUNS")]
    random: Option<u64>,
    /// The first seed of random runs
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// In random runs, clients pause so many times as long as everything else takes: 1 is heavy load, 100 light
    #[arg(long, default_value_t = 1)]
    pub(crate) pause: u64,
    /// Run the standard suite (or, with --random, the standard random runs) of all algorithms, or of the one named
    #[arg(long)]
    all: bool,
    /// List the errors of the printed texts that can be put back
    #[arg(long)]
    list_defects: bool,
}

impl Arguments {
    /// Whether an algorithm is meant: the one that is named, or all if none is.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|wanted| wanted == name)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For scripts
    Json,
}

/// A check with what it is called with and how long it took.
pub(crate) struct Checked {
    pub(crate) name: String,
    pub(crate) job: Job,
    pub(crate) reorders: bool,
    pub(crate) finding: Finding,
    pub(crate) seconds: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    if arguments.list_defects {
        return list_defects(arguments);
    }
    if arguments.all {
        if let Some(name) = &arguments.name {
            registry::info(name)?;
        }
        return arguments
            .random
            .map_or_else(|| run_suite(arguments), |runs| random_command::run_all(runs, arguments));
    }
    let name = arguments.name.as_deref().unwrap_or_default();
    let job = job(arguments)?;
    if let Some(runs) = arguments.random {
        return random_command::run(name, &job, runs, arguments);
    }
    let checked = check(name, job)?;
    let saved = match &checked.finding.violation {
        Some((_, trace)) => {
            let file = arguments.trace.clone().unwrap_or_else(|| trace_file(name, &checked.job.case.setting));
            check_report::save(trace, &file)?;
            Some(file)
        }
        None => None,
    };
    match arguments.format {
        Format::Json => say!("{}", check_report::as_json(&checked)),
        Format::Table => check_report::print(&checked, saved.as_deref()),
    }
    Ok(ended(&checked.finding))
}

fn ended(finding: &Finding) -> Ended {
    match finding.verdict() {
        Verdict::Holds => Ended::Well,
        Verdict::Violated => Ended::Violated,
        Verdict::Unknown => Ended::Unknown,
    }
}

fn trace_file(name: &str, setting: &Setting) -> PathBuf {
    let defect = setting.defect.as_ref().map_or(String::new(), |defect| format!(".{defect}"));
    PathBuf::from(format!("{}{defect}.trace.json", name.replace(['(', ')'], "-")))
}

fn threads(arguments: &Arguments) -> Result<usize> {
    match arguments.threads {
        Some(0) => bail!("there must be at least one thread: leave --threads out to use all cores"),
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

fn job(arguments: &Arguments) -> Result<Job> {
    let mut options = Vec::new();
    for option in &arguments.options {
        let Some((name, value)) = option.split_once('=') else { bail!("'{option}' is not NAME=VALUE") };
        options.push((name.to_string(), value.to_string()));
    }
    options.extend(arguments.inform.map(|inform| ("inform".to_string(), inform.to_string())));
    options.extend(arguments.choose.clone().map(|choose| ("choose".to_string(), choose)));
    let only = match arguments.property.as_deref() {
        Some(name) => Some(Property::named(name).ok_or_else(|| {
            let names: Vec<&str> = Property::ALL.iter().map(|property| property.name()).collect();
            anyhow!("there is no property '{name}'; there are {}", names.join(", "))
        })?),
        None => None,
    };
    let faulty = arguments.loss + arguments.duplicates + arguments.crashes > 0;
    let info = registry::info(arguments.name.as_deref().unwrap_or_default())?;
    let relies_on_timers = !info.timers.is_empty() && info.needs.timing == Timing::Asynchronous;
    let setting = Setting {
        nodes: arguments.nodes,
        tokens: arguments.tokens,
        groups: arguments.groups,
        options,
        defect: arguments.defect.clone(),
    };
    let case = Case {
        setting,
        requests: arguments.requests,
        any_of: arguments.any_of,
        reorder: if arguments.reorder { Some(true) } else { arguments.fifo.then_some(false) },
        losses: arguments.loss,
        duplicates: arguments.duplicates,
        crashes: arguments.crashes,
        firings: arguments.firings.unwrap_or(if faulty || relies_on_timers { 2 } else { 0 }),
        early: arguments.early,
        pace: pace(arguments, &info),
    };
    Ok(Job { case, only, max_states: arguments.max_states, threads: threads(arguments)? })
}

/// How long things take: as the flags say, or one tick each if the algorithm is nothing without a clock.
fn pace(arguments: &Arguments, info: &Info) -> Option<Pace> {
    let needed = info.needs.timing == Timing::BoundedDelayConstantSections;
    let given = arguments.delay.is_some() || arguments.section.is_some();
    let pace = Pace { delay: arguments.delay.unwrap_or(1), section: arguments.section.unwrap_or(1) };
    (needed || given).then_some(pace)
}

struct Check<'a>(&'a Job);

impl Visitor for Check<'_> {
    type Output = Result<(Finding, bool), Refusal>;
    fn visit<A: Algorithm>(self) -> Self::Output {
        let line = ProgressLine::new(A::INFO.name);
        let finding = checker::check::<A>(self.0, &|progress| line.show(progress))?;
        line.clear();
        Ok((finding, self.0.case.reorders(&A::INFO)))
    }
}

/// Checks once, with a progress line.
pub(crate) fn check(name: &str, job: Job) -> Result<Checked> {
    let started = Instant::now();
    let (finding, reorders) = registry::visit(name, Check(&job))??;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Checked { name: name.to_string(), job, reorders, finding, seconds })
}

/// A line on the terminal that is written over twice a second; nothing if nobody looks.
struct ProgressLine {
    name: &'static str,
    started: Instant,
    last: Mutex<Instant>,
}

impl ProgressLine {
    fn new(name: &'static str) -> ProgressLine {
        let now = Instant::now();
        ProgressLine { name, started: now, last: Mutex::new(now) }
    }

    fn show(&self, progress: Progress) {
        // Another thread is at it: no need to wait for it.
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed() < Duration::from_millis(500) || !std::io::stderr().is_terminal() {
            return;
        }
        *last = Instant::now();
        let rate = progress.states as f64 / self.started.elapsed().as_secs_f64();
        let (states, rate) = (table::grouped(progress.states), table::grouped(rate as u64));
        eprint!("\r{}: {states} states, depth {}, {rate} per second\x1b[K", self.name, progress.depth);
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}

fn run_suite(arguments: &Arguments) -> Result<Ended> {
    let mut worst = Ended::Well;
    let mut all = Vec::new();
    let mut never_seen = Vec::new();
    if arguments.format == Format::Table {
        say!("{}", check_report::suite_heading());
    }
    for info in registry::ALL.iter().filter(|info| arguments.wants(info.name)) {
        let mut seen = vec![false; info.sometimes.len()];
        for scope in info.suite {
            let job = Job {
                threads: threads(arguments)?,
                max_states: arguments.max_states,
                ..Job::of(scope, None)
            };
            let checked = check(info.name, job)?;
            for (what, seen) in info.sometimes.iter().zip(&mut seen) {
                *seen |= checked.finding.sometimes.iter().any(|note| note.what == *what && note.seen);
            }
            worst = worst.max(ended(&checked.finding));
            match arguments.format {
                Format::Table => say!("{}", check_report::suite_row(&checked)),
                Format::Json => all.push(check_report::as_json(&checked)),
            }
        }
        let missing = info.sometimes.iter().zip(seen).filter(|(_, seen)| !seen && !info.suite.is_empty());
        never_seen.extend(missing.map(|(what, _)| format!("{}: {what}", info.name)));
    }
    if arguments.format == Format::Json {
        say!("{}", json!({ "checks": all, "never_seen": never_seen }));
    }
    for what in &never_seen {
        eprintln!("never seen in the suite, so it shows less than it should: {what}");
    }
    Ok(if never_seen.is_empty() { worst } else { worst.max(Ended::Unknown) })
}

fn list_defects(arguments: &Arguments) -> Result<Ended> {
    let shows = |shows: Shows| match shows {
        Shows::Search(property) => property.name().to_string(),
        Shows::Random(property, seed) => format!("{property} (random run, seed {seed})"),
        Shows::Dearer(percent) => format!("{percent} % of the messages"),
    };
    let all = registry::ALL.iter().flat_map(|info| info.defects.iter().map(move |defect| (info, defect)));
    let all: Vec<_> =
        all.filter(|(info, _)| arguments.name.as_deref().is_none_or(|name| name == info.name)).collect();
    if arguments.format == Format::Json {
        let all: Vec<_> = all
            .iter()
            .map(|(info, defect)| {
                json!({
                    "algorithm": info.name, "defect": defect.name, "source": defect.source,
                    "printed": defect.printed, "right": defect.right, "violates": shows(defect.shows),
                    "command": command(info.name, defect.name, &defect.scope, defect.shows),
                })
            })
            .collect();
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(Ended::Well);
    }
    for (info, defect) in all {
        say!("{} · {} ({})", info.name, defect.name, defect.source);
        say!("    printed: {}", defect.printed);
        say!("    right:   {}", defect.right);
        say!("    leads to {}", shows(defect.shows));
        say!("    {}\n", command(info.name, defect.name, &defect.scope, defect.shows));
    }
    Ok(Ended::Well)
}

/// The command that shows a defect.
pub(crate) fn command(name: &str, defect: &str, scope: &Scope, shows: Shows) -> String {
    let mut words = format!("tokenwood check {name} --defect {defect} {scope}");
    match shows {
        Shows::Search(property) => words += &format!(" --property {property}"),
        Shows::Random(property, seed) => words += &format!(" --property {property} --random 1 --seed {seed}"),
        Shows::Dearer(_) => words += " --random 200 --pause 100",
    }
    words
}
