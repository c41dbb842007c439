//! What to explore, and the result.

use std::ops::ControlFlow;

use algorithms::trace::Trace;
use algorithms::{Case, Erased, Info, Property, Scope, SettingError, System, Violation, World};

use crate::model::Model;
use crate::path;
use crate::search::SearchResult;

/// What to explore.
#[derive(Clone, Debug)]
pub struct Job {
    /// The system, its clients' behaviour and its faults.
    pub case: Case,
    /// Check this property alone.
    pub only: Option<Property>,
    /// The search stops at this many states.
    pub max_states: u64,
    /// How many threads search.
    pub threads: usize,
    /// Which states count as one.
    pub symmetry: Symmetry,
}

/// Which states count as one. An algorithm that tells apart what is to be exchanged is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// None: a state is a state.
    #[default]
    Off,
    /// States in which nodes have only exchanged their numbers.
    Nodes,
    /// States in which the clients of a node have only exchanged their numbers.
    Clients,
    /// Both, or whichever of them the algorithm allows.
    On,
}

/// Follows a search from outside: it is called now and then, and may end the search, for this reason.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<Stopped> + Sync);

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// States found.
    pub states: u64,
    /// Steps from the start.
    pub depth: u32,
    /// What the states take, with the log and the levels, and what the check at the end will add. The parts come on
    /// top of that.
    pub bytes: u64,
}

/// Why a search ended before it had explored everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// There were [`Job::max_states`].
    States,
    /// The search took all the memory that its watcher lets it take.
    Memory,
    /// The user wanted it.
    Interrupt,
}

impl Stopped {
    /// The word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Stopped::States => "states",
            Stopped::Memory => "memory",
            Stopped::Interrupt => "interrupt",
        }
    }
}

/// The result of a job.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The number of distinct states; with symmetry, of states that are not renamings of each other.
    pub states: u64,
    /// How many renamings of the nodes keep the initial state and were used, the identity included: 1 without
    /// symmetry of nodes.
    pub renamings: u32,
    /// How many renamings of the clients of each node were used, the identity included: 1 without symmetry of
    /// clients.
    pub client_renamings: u32,
    /// How many states the explored ones stand for: with symmetry, all their renamings. With symmetry of clients
    /// these are the states of a system in which any idle client makes the next request; without it, only the idle
    /// one with the lowest number does.
    pub represented: u64,
    /// The number of transitions between them.
    pub transitions: u64,
    /// The length of the longest of the shortest paths from the start.
    pub depth: u32,
    /// Whether the whole state space was explored.
    pub exhausted: bool,
    /// Why it was not, if no violation ended the search.
    pub stopped: Option<Stopped>,
    /// Memory used for each state.
    pub bytes_per_state: u64,
    /// All properties that apply, with their verdicts.
    pub properties: Vec<(Property, Verdict)>,
    /// The notes and events that must occur, and whether they did.
    pub sometimes: Vec<Seen>,
    /// The violation, if any, with the shortest trace to it.
    pub violation: Option<(Violation, Trace)>,
}

/// What is known about a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds in the whole state space.
    Holds,
    /// It does not hold.
    Violated,
    /// Not violated so far, but the search did not cover everything.
    Unknown,
    /// The search does not look at it: random runs do.
    NotChecked,
}

/// What a driver observes from outside, where two may be inside.
pub const TWO_INSIDE: &str = "two inside at once";

/// What a driver observes from outside.
pub const LONG_QUEUE: &str = "a queue longer than one";

/// An event that shows that the exploration was not vacuous.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The event.
    pub what: &'static str,
    /// Whether it occurred.
    pub seen: bool,
}

impl Symmetry {
    /// The word in JSON, as the option of the program has it.
    pub const fn name(self) -> &'static str {
        match self {
            Symmetry::Off => "off",
            Symmetry::Nodes => "nodes",
            Symmetry::Clients => "clients",
            Symmetry::On => "on",
        }
    }
}

impl Verdict {
    /// The word in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Unknown => "unknown",
            Verdict::NotChecked => "not-checked",
        }
    }
}

impl Finding {
    /// The verdict over all properties.
    pub fn verdict(&self) -> Verdict {
        match (&self.violation, self.exhausted) {
            (Some(_), _) => Verdict::Violated,
            (None, true) => Verdict::Holds,
            (None, false) => Verdict::Unknown,
        }
    }
}

impl Job {
    /// The job that a scope describes.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Job {
        Job {
            case: Case::of(scope, defect),
            only: None,
            max_states: u64::MAX,
            threads: 1,
            symmetry: Symmetry::Off,
        }
    }

    pub(crate) fn validate(&self, info: &Info) -> Result<(), SettingError> {
        self.validate_from(info, false)
    }

    /// The same for a search that may begin in a later state, in which clients need make no more requests.
    pub(crate) fn validate_from(&self, info: &Info, begins_later: bool) -> Result<(), SettingError> {
        let case = &self.case;
        case.setting.validate(info)?;
        let refuse = |why: &str| Err(SettingError(why.to_string()));
        if case.setting.nodes > 64 {
            return refuse("the checker takes at most 64 nodes; beyond 5 or 6 nothing ends anyway");
        }
        let budgets = [
            case.allowance.requests,
            case.allowance.losses,
            case.allowance.duplicates,
            case.allowance.crashes,
            case.allowance.firings,
            case.allowance.early,
        ];
        if budgets.iter().any(|&budget| budget > 200) {
            return refuse("requests, losses, duplicates, crashes, firings and early must be 200 or less");
        }
        if let Some(only) = self.only.filter(|only| !only.is_decided_by_search()) {
            return Err(SettingError(format!(
                "{only} compares an entry with earlier ones, which the search does not keep: try --random 1000"
            )));
        }
        if case.allowance.requests == 0 && !begins_later {
            return refuse("nobody asks for anything: try --requests 1");
        }
        if case
            .allowance
            .pace
            .is_some_and(|pace| pace.delay == 0 || pace.section == 0 || pace.delay + pace.section > 20)
        {
            return refuse("delay and section must be at least 1 tick each and 20 at most together");
        }
        Ok(())
    }

    /// Refuses to search without time if the algorithm relies on it with the options of this job.
    pub(crate) fn refuse_without_pace(&self, info: &Info) -> Result<(), SettingError> {
        if self.case.allowance.pace.is_some() || !info.relies_on_pace() {
            return Ok(());
        }
        Err(SettingError(format!(
            "{} needs a bound on delays and critical sections of one constant length: say --delay 1 --section 1",
            info.name
        )))
    }
}

/// Assembles the report.
pub(crate) fn conclude(job: &Job, system: &System<Erased>, model: &Model, result: SearchResult) -> Finding {
    let info = system.info();
    let violation = result.violation.map(|(violation, path)| {
        let conditions = job.case.allowance.conditions();
        let steps = path::steps(model, World::start(system.clone(), conditions), &path);
        let trace = Trace::record(system.clone(), conditions, Some(&violation), &steps);
        (violation, trace)
    });
    let stopped = result.stopped.filter(|_| violation.is_none());
    let exhausted = violation.is_none() && stopped.is_none();
    let verdict = |property: Property| match &violation {
        _ if !property.is_decided_by_search() => Verdict::NotChecked,
        Some((violation, _)) if violation.property == property => Verdict::Violated,
        None if exhausted => Verdict::Holds,
        _ => Verdict::Unknown,
    };
    let asked = |property: &Property| job.only.is_none_or(|only| only == *property);
    let applies =
        |property: &Property| asked(property) && property.applies(info, job.case.allowance.conditions());
    let properties: Vec<_> =
        Property::ALL.into_iter().filter(applies).map(|property| (property, verdict(property))).collect();
    let mut sometimes = vec![Seen { what: LONG_QUEUE, seen: result.longest_queue > 1 }];
    if job.case.setting.tokens > 1 || job.case.setting.groups > 1 {
        sometimes.insert(0, Seen { what: TWO_INSIDE, seen: result.most_inside > 1 });
    }
    let notes = (0..).zip(info.sometimes);
    sometimes.extend(notes.map(|(bit, what)| Seen { what, seen: result.notes & (1 << bit) != 0 }));
    let renamings = model.node_renamings().len().max(1) as u32;
    let client_renamings = model.client_renamings().len().max(1) as u32;
    Finding {
        states: result.states,
        renamings,
        client_renamings,
        represented: result.represented,
        transitions: result.transitions,
        depth: result.depth,
        exhausted,
        stopped,
        bytes_per_state: result.bytes / result.states.max(1),
        properties,
        sometimes,
        violation,
    }
}
