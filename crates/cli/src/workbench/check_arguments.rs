//! The flags of `tokenwood check`, and what they ask for.

use std::path::PathBuf;

use algorithms::info::{Clients, DefectInfo, Pace, Shows};
use algorithms::{Case, Conditions, Info, Property, Scope, registry};
use anyhow::{Result, anyhow, bail};
use checker::{Job, Symmetry};
use clap::{Args, ValueEnum};

use crate::terminal::format::Format;
use crate::workbench::{memory, plan_arguments, threads};

/// The flags that describe one setting: a suite has its own.
const OF_ONE_SETTING: [&str; 23] = [
    "nodes",
    "tokens",
    "requests",
    "groups",
    "any_of",
    "clients",
    "cancels",
    "fifo",
    "reorder",
    "loss",
    "duplicates",
    "crashes",
    "firings",
    "early",
    "delay",
    "section",
    "options",
    "inform",
    "choose",
    "defect",
    "property",
    "trace",
    "pause",
];

/// The flags that say how to check, whatever it is.
const OF_CHECKS: [&str; 7] = ["max_states", "max_memory", "threads", "symmetry", "random", "seed", "all"];

/// How many states are explored at most, unless the user says otherwise.
const MOST_STATES: u64 = 100_000_000;

/// Explore every run of an algorithm at a small size, and check every property in every state.
///
/// Ctrl-C stops it and prints what it has found so far; a second one ends it at once.
///
/// Exit code: 0 all properties hold and everything was explored; 1 a property is violated (the shortest run that shows it is printed and saved); 2 wrong usage; 3 stopped at a limit without a violation; 130 or 143 stopped by Ctrl-C or SIGTERM without a violation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The algorithm ('tokenwood algorithms' lists them), or partitioned(NAME)
    #[arg(required_unless_present_any = ["all", "list_defects"])]
    pub(crate) name: Option<String>,
    /// How many nodes [default: 3]
    #[arg(long, short = 'n')]
    nodes: Option<u32>,
    /// How many clients may be in the critical section at once (k) [default: 1]
    #[arg(long, short = 'k')]
    tokens: Option<u32>,
    /// How many requests each node makes, at most [default: 1]
    #[arg(long, short = 'r')]
    requests: Option<u32>,
    /// How many groups, for group mutual exclusion [default: 1]
    #[arg(long, short = 'm')]
    groups: Option<u32>,
    /// A request may name several groups and be served in any of them
    #[arg(long)]
    pub(crate) any_of: bool,
    /// How many clients of a node wait or are inside at the same time, at most, where it serves several [default: 1]
    #[arg(long)]
    clients: Option<u32>,
    /// Waiters may cancel, where the algorithm allows it
    #[arg(long)]
    cancels: bool,
    /// Messages between two nodes arrive in order (the default is the weakest order the algorithm says it needs)
    #[arg(long, conflicts_with = "reorder")]
    fifo: bool,
    /// Messages may overtake each other
    #[arg(long)]
    reorder: bool,
    /// How many messages may be lost [default: 0]
    #[arg(long)]
    loss: Option<u32>,
    /// How many messages may arrive twice [default: 0]
    #[arg(long)]
    duplicates: Option<u32>,
    /// How many times nodes may crash and restart [default: 0]
    #[arg(long)]
    crashes: Option<u32>,
    /// How many times each timer may expire while messages are under way; when none is, it always may. 0 turns timers off
    /// [default: 2 with faults or if the algorithm relies on timers, else 0]
    #[arg(long)]
    firings: Option<u32>,
    /// How many times timers may expire in all while messages are under way [default: 2]
    #[arg(long)]
    early: Option<u32>,
    /// Time counts: a message takes at most this many ticks [default: 1 if the algorithm relies on time]
    #[arg(long, value_name = "TICKS")]
    delay: Option<u32>,
    /// Time counts: a critical section takes exactly this many ticks
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
    /// Put a defect back (see --list-defects); all other flags default to what shows it
    #[arg(long)]
    defect: Option<String>,
    /// Check this property alone
    #[arg(long)]
    property: Option<String>,
    /// Stop at this many states (each costs about 100 bytes) [default: 100000000]
    #[arg(long)]
    max_states: Option<u64>,
    /// Stop when the search takes this much memory, such as 8GiB [default: three quarters of what the machine and its
    /// control groups have left]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    max_memory: Option<u64>,
    /// How many threads search (default: all cores)
    #[arg(long, value_parser = threads::range())]
    threads: Option<usize>,
    /// Count states that differ only in who is who as one: fewer states, the same verdicts. With --all, where the algorithm
    /// does not tell them apart
    #[arg(long, value_enum, default_value_t = SymmetryOption::Off)]
    symmetry: SymmetryOption,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Where to save the trace of a violation (default: NAME.trace.json here)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Instead of exploring everything, take this many random runs, with delays over three orders of magnitude
    #[arg(long, value_name = "RUNS")]
    pub(crate) random: Option<u64>,
    /// The first seed of random runs [default: 1]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// In random runs, clients pause this many times as long as everything else takes: 1 is heavy load, 100 light
    /// [default: 1]
    #[arg(long)]
    pub(crate) pause: Option<u64>,
    /// Run the standard suite (or, with --random, the standard random runs) of all algorithms, or of the one named
    #[arg(long, conflicts_with_all = OF_ONE_SETTING)]
    pub(crate) all: bool,
    /// List the defects that can be put back: errors of the papers, and mutants
    #[arg(long, conflicts_with_all = OF_ONE_SETTING, conflicts_with_all = OF_CHECKS)]
    pub(crate) list_defects: bool,
}

/// Which states count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SymmetryOption {
    /// Nodes and clients, or whichever of them the algorithm does not tell apart
    On,
    /// States in which nodes have only exchanged their numbers
    Nodes,
    /// States in which the clients of a node have only exchanged their numbers
    Clients,
    /// A state is a state
    Off,
}

impl From<SymmetryOption> for Symmetry {
    fn from(option: SymmetryOption) -> Symmetry {
        match option {
            SymmetryOption::On => Symmetry::On,
            SymmetryOption::Nodes => Symmetry::Nodes,
            SymmetryOption::Clients => Symmetry::Clients,
            SymmetryOption::Off => Symmetry::Off,
        }
    }
}

impl Arguments {
    /// Whether an algorithm is meant: the one that is named, or all if none is.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|wanted| wanted == name)
    }

    /// Refuses what makes no sense for all algorithms: a name that has no suite and no defects of its own, and flags that
    /// a suite would ignore.
    pub(crate) fn refuse_for_all(&self) -> Result<()> {
        if self.random.is_none() && self.seed.is_some() {
            bail!("--seed is for random runs: add --random 1000, or leave it out");
        }
        let of_search = [
            ("--max-states", self.max_states.is_some()),
            ("--max-memory", self.max_memory.is_some()),
            ("--threads", self.threads.is_some()),
            ("--symmetry", Symmetry::from(self.symmetry) != Symmetry::Off),
        ];
        let given = of_search.iter().find(|(_, is_given)| *is_given);
        if let Some((flag, _)) = given.filter(|_| self.random.is_some()) {
            bail!("{flag} is for exploring everything, and these are random runs: leave it out");
        }
        let Some(name) = self.name.as_deref() else { return Ok(()) };
        registry::info(name)?;
        if !registry::ALL.iter().any(|info| info.name == name) {
            bail!(
                "{name} has no suite and no defects of its own: name the algorithm in it, or leave out this flag"
            );
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// How many random runs to take, from which seed, with which pauses; `None` to explore everything. A defect that shows
    /// only in random runs is looked for there.
    pub(crate) fn random_runs(&self, info: &Info) -> Option<Random> {
        let (runs, seed, pause) = match self.defect(info).map(|defect| defect.shows) {
            Some(Shows::Random(_, seed)) => (Some(1), seed, 1),
            Some(Shows::Dearer(_)) => (Some(200), 1, 100),
            Some(Shows::Search(_)) | None => (None, 1, 1),
        };
        let runs = self.random.or(runs)?;
        Some(Random { runs, seed: self.seed.unwrap_or(seed), pause: self.pause.unwrap_or(pause) })
    }

    fn defect(&self, info: &Info) -> Option<&'static DefectInfo> {
        let name = self.defect.as_deref()?;
        info.defects.iter().find(|defect| defect.name == name)
    }

    /// What is to be checked: what the flags say and, where they are silent, what shows the defect.
    pub(crate) fn job(&self, info: &Info) -> Result<Job> {
        let only = match self.property.as_deref() {
            Some(name) => Some(Property::named(name).ok_or_else(|| {
                let names: Vec<&str> = Property::ALL.iter().map(|property| property.name()).collect();
                anyhow!("there is no property '{name}'; there are {}", names.join(", "))
            })?),
            None => None,
        };
        self.refuse_ignored(info)?;
        let symmetry = Symmetry::from(self.symmetry);
        Ok(Job {
            case: self.case(info)?,
            only,
            max_states: self.most_states(),
            threads: self.threads(),
            symmetry,
        })
    }

    fn most_states(&self) -> u64 {
        self.max_states.unwrap_or(MOST_STATES)
    }

    /// How many bytes a search may take.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.max_memory.unwrap_or_else(memory::usual)
    }

    /// Refuses flags that would make no difference.
    fn refuse_ignored(&self, info: &Info) -> Result<()> {
        let is_random = self.random_runs(info).is_some();
        if Symmetry::from(self.symmetry) != Symmetry::Off && is_random {
            bail!("random runs take one state after the other: --symmetry is for exploring all of them");
        }
        let of_search = [
            ("--max-states", self.max_states.is_some()),
            ("--max-memory", self.max_memory.is_some()),
            ("--threads", self.threads.is_some()),
        ];
        let of_random_runs = [("--seed", self.seed.is_some()), ("--pause", self.pause.is_some())];
        let given = |flags: &[(&'static str, bool)]| {
            flags.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
        };
        if let Some(flag) = given(&of_search).filter(|_| is_random) {
            bail!("{flag} is for exploring everything, and these are random runs: leave it out");
        }
        if let Some(flag) = given(&of_random_runs).filter(|_| !is_random) {
            bail!("{flag} is for random runs: add --random 1000, or leave it out");
        }
        // What shows a defect may be said again.
        let scope = self.defect(info).map(|defect| defect.scope.allowance);
        let (early, pace) = (scope.map(|scope| scope.early), scope.and_then(|scope| scope.pace));
        let of_counted_time = [
            ("--early", self.early.is_some() && self.early != early),
            ("--delay", self.delay.is_some() && self.delay != pace.map(|pace| pace.delay)),
            ("--section", self.section.is_some() && self.section != pace.map(|pace| pace.section)),
        ];
        if let Some(flag) = given(&of_counted_time).filter(|_| is_random) {
            bail!("{flag} is for exploring everything: in random runs, times are drawn; leave it out");
        }
        Ok(())
    }

    /// Refuses flags about timers and groups that this algorithm does not have.
    fn refuse_absent(&self, info: &Info, case: &Case) -> Result<()> {
        let timers = [("--firings", self.firings.unwrap_or(0) > 0), ("--early", self.early.is_some())];
        let timers = timers.iter().find(|(_, is_given)| *is_given);
        if let Some((flag, _)) = timers.filter(|_| info.timers.is_empty()) {
            bail!("{} has no timers: leave out {flag}", info.name);
        }
        if self.early.is_some() && case.allowance.firings == 0 {
            bail!("timers are off, so --early makes no difference: add --firings 1, or leave it out");
        }
        if self.any_of && case.setting.groups < 2 {
            bail!("--any-of is about requests that name several groups: add --groups 2, or leave it out");
        }
        Ok(())
    }

    /// The job for a scope of the standard suite. Symmetry is used where there is any.
    pub(crate) fn suite_job(&self, name: &str, scope: &Scope) -> Result<Job> {
        let job = Job { threads: self.threads(), max_states: self.most_states(), ..Job::of(scope, None) };
        let symmetry = Symmetry::from(self.symmetry);
        let is_symmetric = checker::is_symmetric(name, &job.case, symmetry)?;
        Ok(Job { symmetry: if is_symmetric { symmetry } else { Symmetry::Off }, ..job })
    }

    fn case(&self, info: &Info) -> Result<Case> {
        let scope = self.defect(info).map_or(Scope::new(3, 1, 1), |defect| defect.scope);
        let mut case = Case::of(&scope, self.defect.as_deref());
        let flags = [
            (&mut case.setting.nodes, self.nodes),
            (&mut case.setting.tokens, self.tokens),
            (&mut case.setting.groups, self.groups),
            (&mut case.allowance.requests, self.requests),
            (&mut case.allowance.clients, self.clients),
            (&mut case.allowance.losses, self.loss),
            (&mut case.allowance.duplicates, self.duplicates),
            (&mut case.allowance.crashes, self.crashes),
            (&mut case.allowance.early, self.early),
        ];
        for (value, flag) in flags {
            *value = flag.unwrap_or(*value);
        }
        let mut given = Vec::new();
        for option in &self.options {
            given.push(plan_arguments::pair(option)?);
        }
        given.extend(self.inform.map(|inform| ("inform".to_string(), inform.to_string())));
        given.extend(self.choose.clone().map(|choose| ("choose".to_string(), choose)));
        plan_arguments::refuse_repeated(given.iter().map(|(name, _)| name.as_str()))?;
        // What is given replaces what the scope of a defect says.
        case.setting.options.retain(|(name, _)| !given.iter().any(|(other, _)| other == name));
        case.setting.options.extend(given);
        // Some options change what the algorithm needs.
        let info = registry::info_with(info.name, &case.setting)?;
        let needs_timers = case.allowance.conditions() == Conditions::Faulty || info.relies_on_timers();
        case.allowance.firings = self.firings.unwrap_or(if needs_timers {
            scope.allowance.firings.max(2)
        } else {
            scope.allowance.firings
        });
        case.allowance.any_of |= self.any_of;
        case.allowance.cancels |= self.cancels;
        self.refuse_absent(info, &case)?;
        if info.clients == Clients::OneEach && (case.allowance.clients != 1 || case.allowance.cancels) {
            bail!(
                "{} serves one client per node, which cannot cancel: leave out --clients and --cancels",
                info.name
            );
        }
        if self.reorder || self.fifo {
            case.allowance.reorder = Some(self.reorder);
        }
        if self.delay.is_some() || self.section.is_some() || info.relies_on_pace() {
            let Pace { delay, section } = scope.allowance.pace.unwrap_or(Pace { delay: 1, section: 1 });
            let (delay, section) = (self.delay.unwrap_or(delay), self.section.unwrap_or(section));
            case.allowance.pace = Some(Pace { delay, section });
        }
        Ok(case)
    }
}

/// The random runs to take.
pub(crate) struct Random {
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    pub(crate) pause: u64,
}
