//! What to explore, and what came out.

use std::sync::Mutex;

use algorithms::info::{Pace, Timing};
use algorithms::{Algorithm, Property, Refusal, Scope, Setting, Violation};

use crate::model::Model;
use crate::path;
use crate::search::{Ending, SearchResult};
use crate::trace::Trace;

/// What to explore.
#[derive(Clone, Debug)]
pub struct Job {
    /// Sizes, options, defect.
    pub setting: Setting,
    /// How often each node asks, at most.
    pub requests: u32,
    /// Whether a request may name several groups.
    pub any_of: bool,
    /// Whether messages may overtake each other; `None` for the weakest order that the algorithm declares enough.
    pub reorder: Option<bool>,
    /// How many messages may be lost.
    pub losses: u32,
    /// How many messages may arrive twice.
    pub duplicates: u32,
    /// How often nodes may crash and come back.
    pub crashes: u32,
    /// How often each timer of each node may run out while messages are under way; beyond that, only when the
    /// network is silent. 0 turns timers off.
    pub firings: u32,
    /// Time counts: messages and critical sections take this long, and timers run out just when they are due.
    pub pace: Option<Pace>,
    /// Ask for this property alone.
    pub only: Option<Property>,
    /// Stop at so many states.
    pub max_states: u64,
    /// How many threads search.
    pub threads: usize,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// States found.
    pub states: u64,
    /// Steps from the start.
    pub depth: u32,
}

/// What came out of a job.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Different states found.
    pub states: u64,
    /// Steps taken between them.
    pub transitions: u64,
    /// The longest of the shortest ways from the start.
    pub depth: u32,
    /// Whether everything was explored.
    pub exhausted: bool,
    /// Memory used for each state.
    pub bytes_per_state: u64,
    /// All properties that apply, with what is known of each.
    pub properties: Vec<(Property, Verdict)>,
    /// What happened somewhere, or never.
    pub sometimes: Vec<Seen>,
    /// What is wrong, if anything, with the shortest way there.
    pub violation: Option<(Violation, Trace)>,
}

/// What is known of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds in everything that was to be explored.
    Holds,
    /// It does not hold.
    Violated,
    /// Not violated so far, but not everything was explored.
    Unknown,
}

/// Something that shows that the exploration was not empty.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What.
    pub what: &'static str,
    /// Whether it happened.
    pub seen: bool,
}

impl Verdict {
    /// The word in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Unknown => "unknown",
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
    /// What a scope asks for.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Job {
        Job {
            setting: Setting::of(scope, defect),
            requests: scope.requests,
            any_of: scope.any_of,
            reorder: scope.reorder,
            losses: scope.losses,
            duplicates: scope.duplicates,
            crashes: scope.crashes,
            firings: scope.firings,
            pace: scope.pace,
            only: None,
            max_states: u64::MAX,
            threads: 1,
        }
    }

    /// Whether messages may overtake each other.
    pub fn reorders<A: Algorithm>(&self) -> bool {
        self.reorder.unwrap_or(!A::INFO.needs.fifo(self.setting.tokens))
    }

    /// Whether anything may be lost, doubled or crash.
    pub fn faulty(&self) -> bool {
        self.losses + self.duplicates + self.crashes > 0
    }

    pub(crate) fn validate<A: Algorithm>(&self) -> Result<(), Refusal> {
        self.setting.validate(&A::INFO)?;
        let refuse = |why: &str| Err(Refusal(why.to_string()));
        if self.setting.nodes > 64 {
            return refuse("the checker takes at most 64 nodes; beyond 5 or 6 nothing ends anyway");
        }
        let budgets = [self.requests, self.losses, self.duplicates, self.crashes, self.firings];
        if budgets.iter().any(|&budget| budget > 200) {
            return refuse("requests, losses, duplicates, crashes and firings must be 200 or less");
        }
        if self.requests == 0 {
            return refuse("nobody asks for anything: try --requests 1");
        }
        if self.pace.is_none() && A::INFO.needs.timing == Timing::BoundedDelayConstantSections {
            return Err(Refusal(format!(
                "{} needs a bound on delays and critical sections of one constant length: say --delay 1 --section 1",
                A::INFO.name
            )));
        }
        if self
            .pace
            .is_some_and(|pace| pace.delay == 0 || pace.section == 0 || pace.delay + pace.section > 20)
        {
            return refuse("delay and section must be at least 1 tick each and 20 at most together");
        }
        Ok(())
    }
}

/// Puts the report together.
pub(crate) fn conclude<A: Algorithm>(job: &Job, model: &Mutex<Model<A>>, result: SearchResult) -> Finding {
    let violation = match result.ending {
        Ending::Violated { violation, path } => {
            let steps = path::steps(model, job, &path);
            let trace = Trace::new::<A>(job, &violation, &steps);
            Some((violation, trace))
        }
        Ending::Exhausted | Ending::Cut => None,
    };
    let exhausted = violation.is_none() && !result.cut;
    let verdict = |property: Property| match &violation {
        Some((violation, _)) if violation.property == property => Verdict::Violated,
        None if exhausted => Verdict::Holds,
        _ => Verdict::Unknown,
    };
    let asked = |property: &Property| job.only.is_none_or(|only| only == *property);
    let applies = |property: &Property| asked(property) && property.applies(&A::INFO, job.faulty());
    let properties: Vec<_> =
        Property::ALL.into_iter().filter(applies).map(|property| (property, verdict(property))).collect();
    let mut sometimes = vec![Seen { what: "a queue longer than one", seen: result.longest_queue > 1 }];
    if job.setting.tokens > 1 || job.setting.groups > 1 {
        sometimes.insert(0, Seen { what: "two inside at once", seen: result.most_inside > 1 });
    }
    let notes = (0..).zip(A::INFO.sometimes);
    sometimes.extend(notes.map(|(bit, what)| Seen { what, seen: result.notes & (1 << bit) != 0 }));
    Finding {
        states: result.states,
        transitions: result.transitions,
        depth: result.depth,
        exhausted,
        bytes_per_state: result.bytes / result.states.max(1),
        properties,
        sometimes,
        violation,
    }
}
