//! Two algorithms under the same load, entry by entry.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use algorithms::registry;
use serde::{Deserialize, Serialize};
use simulator::{Outcome, Plan, Recording, Summary};

use crate::limits::MOST_COMPARED;
use crate::outline::{Outline, Pen};
use crate::play::Violated;
use crate::refusal::{Refusal, RefusalKind};
use crate::run::Run;
use crate::setting::{Game, Links, Setting};
use crate::state::{Counts, Flight, NodeState, flight, nodes};

/// Two algorithms and a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareRequest {
    /// One algorithm.
    pub a: Setting,
    /// The other one.
    pub b: Setting,
    /// The load.
    #[serde(default)]
    pub load: Load,
    /// The seed of the load, the same for both.
    #[serde(default)]
    pub seed: u64,
}

/// A load: parameters of the simulator by name, such as `rate`, `cs`, `transit` and `entries`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load(pub BTreeMap<String, Value>);

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
}

/// The parameters that a load may set. Sizes, options and faults are parts of the setting.
const LOAD: &[&str] = &[
    "rate",
    "cs",
    "section",
    "send",
    "receive",
    "topology",
    "transit",
    "delay",
    "multicast",
    "workload",
    "group-choice",
    "entries",
    "warmup",
];

/// The two runs after as many entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareEntry {
    /// How many clients have entered in each of the runs, at least: one step may let several in.
    pub entry: u64,
    /// One run.
    pub a: Scene,
    /// The other one.
    pub b: Scene,
}

/// A run when a client has entered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    /// The number of steps so far.
    pub at: usize,
    /// The time.
    pub time: f64,
    /// What it has cost so far.
    pub counts: Counts,
    /// The nodes.
    pub nodes: Vec<NodeState>,
    /// The messages under way.
    pub flight: Vec<Flight>,
    /// How many more messages are under way than `flight` lists.
    pub more_flight: usize,
}

/// Both runs as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareAnswer {
    /// One run.
    pub a: Compared,
    /// The other one.
    pub b: Compared,
}

/// A run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// What ran.
    pub setting: Setting,
    /// Entries.
    pub entries: u64,
    /// Messages for each entry.
    pub messages_per_entry: f64,
    /// Words for each entry.
    pub words_per_entry: f64,
    /// The mean time from request to entry.
    pub mean_wait: f64,
    /// Half of the waits are no longer than this.
    pub p50_wait: f64,
    /// 99 of 100 waits are no longer than this.
    pub p99_wait: f64,
    /// The violation that ended the run, if one did.
    pub violated: Option<Violated>,
    /// The steps, to be played.
    pub steps: Vec<String>,
    /// The time of each step.
    pub times: Vec<f64>,
    /// The run as lines.
    pub outline: Outline,
}

/// A simulation is ended after so many looks at it, some ten thousand events each.
const MOST_LOOKS: u32 = 60;

/// More steps than this are too many to compare.
const MOST_STEPS: usize = 100_000;

/// The plan of a load for a setting.
pub(crate) fn plan(game: &Game, load: &Load, entries: u64, warmup: u64) -> Result<Plan, Refusal> {
    let info = registry::info(&game.setting.algorithm)?;
    let mut plan = Plan::of(info);
    plan.setting = game.system.setting().clone();
    plan.clients = game.clients.into();
    (plan.entries, plan.warmup) = (entries, warmup);
    plan.fifo = game.setting.links == Some(Links::Fifo);
    for (name, value) in &load.0 {
        if !LOAD.contains(&name.as_str()) {
            let name: String = name.chars().take(40).collect();
            let why = format!("a load has no '{name}'; it has {}", LOAD.join(", "));
            return Err(Refusal::new(RefusalKind::Setting, why));
        }
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        };
        plan.set(info, name, &value)?;
    }
    Ok(plan)
}

/// Called now and then while two algorithms are compared, also between two entries; may end that.
pub type CompareWatch<'a> = &'a dyn Fn() -> ControlFlow<()>;

/// Runs both algorithms and calls `each` with every entry. Returns both runs as a whole; nothing if `each` or `watch` has
/// ended it.
pub fn compare(
    request: &CompareRequest,
    each: &mut dyn FnMut(CompareEntry) -> ControlFlow<()>,
    watch: CompareWatch<'_>,
) -> Result<Option<CompareAnswer>, Refusal> {
    match both(request, each, watch) {
        Ok(answer) => Ok(Some(answer)),
        Err(Ended::Early) => Ok(None),
        Err(Ended::Refused(refusal)) => Err(refusal),
    }
}

/// Why there is no answer.
enum Ended {
    /// The caller wants none any more.
    Early,
    Refused(Refusal),
}

impl<E: Into<Refusal>> From<E> for Ended {
    fn from(error: E) -> Ended {
        Ended::Refused(error.into())
    }
}

fn go_on(answer: ControlFlow<()>) -> Result<(), Ended> {
    if answer.is_break() { Err(Ended::Early) } else { Ok(()) }
}

fn both(
    request: &CompareRequest,
    each: &mut dyn FnMut(CompareEntry) -> ControlFlow<()>,
    watch: CompareWatch<'_>,
) -> Result<CompareAnswer, Ended> {
    let (a, b) = (request.a.accept()?, request.b.accept()?);
    let (first, second) = (simulate(&a, request, watch)?, simulate(&b, request, watch)?);
    let (mut a, mut b) = (Side::new(&a, first, watch), Side::new(&b, second, watch));
    // In step by entries, also where one step lets several clients in.
    for entry in 1.. {
        let (Some(a), Some(b)) = (a.at_entry(entry)?, b.at_entry(entry)?) else { break };
        go_on(each(CompareEntry { entry, a, b }))?;
    }
    Ok(CompareAnswer { a: a.finish()?, b: b.finish()? })
}

fn simulate(game: &Game, request: &CompareRequest, watch: CompareWatch<'_>) -> Result<Outcome, Ended> {
    let plan = plan(game, &request.load, 60, 0)?;
    let entries = plan.entries_of_a_run();
    if entries > MOST_COMPARED {
        return Err(Refusal::bounds("entries that are compared", entries, MOST_COMPARED).into());
    }
    // A run that never ends, because of a defect, would fill the memory with its steps.
    let looks = Cell::new(0);
    let ended = Cell::new(false);
    let look = |_| {
        looks.set(looks.get() + 1);
        ended.set(watch().is_break());
        if ended.get() || looks.get() > MOST_LOOKS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let name = &game.setting.algorithm;
    let outcome = simulator::run_watched(name, &plan, request.seed, Recording::On, &look)?;
    if ended.get() {
        return Err(Ended::Early);
    }
    if outcome.steps.len() > MOST_STEPS {
        return Err(Refusal::bounds("steps that are compared", outcome.steps.len(), MOST_STEPS).into());
    }
    Ok(outcome)
}

/// One of the runs, replayed.
struct Side<'a> {
    run: Run<'a>,
    pen: Pen,
    outcome: Outcome,
    watch: CompareWatch<'a>,
}

impl<'a> Side<'a> {
    fn new(game: &'a Game, outcome: Outcome, watch: CompareWatch<'a>) -> Side<'a> {
        let mut run = Run::start(game);
        (run.most_steps, run.draws) = (MOST_STEPS, false);
        Side { pen: Pen::new(&run), run, outcome, watch }
    }

    /// Replays up to the entry of this number. `None` if the run has fewer.
    fn at_entry(&mut self, number: u64) -> Result<Option<Scene>, Ended> {
        while self.run.world.entries < number {
            if self.run.at == self.outcome.steps.len() {
                return Ok(None);
            }
            self.step()?;
        }
        let (flight, more_flight) = flight(&self.run);
        Ok(Some(Scene {
            at: self.run.at,
            time: self.outcome.times[self.run.at - 1],
            counts: Counts::of(&self.run),
            nodes: nodes(&self.run),
            flight,
            more_flight,
        }))
    }

    fn step(&mut self) -> Result<(), Ended> {
        go_on((self.watch)())?;
        let happened = self.run.take(&self.outcome.steps[self.run.at])?;
        self.pen.draw(&self.run, &happened);
        Ok(())
    }

    fn finish(mut self) -> Result<Compared, Ended> {
        while self.run.at < self.outcome.steps.len() {
            self.step()?;
        }
        let at = self.run.at;
        let summary = Summary::of(std::slice::from_ref(&self.outcome));
        let violated = self.outcome.violation.as_ref().map(|violation| Violated {
            at,
            property: violation.property.name(),
            detail: violation.detail.clone(),
        });
        Ok(Compared {
            setting: self.run.game.setting.clone(),
            entries: summary.entries,
            messages_per_entry: summary.messages_per_entry.mean,
            words_per_entry: summary.words_per_entry.mean,
            mean_wait: summary.time_to_enter.mean,
            p50_wait: summary.wait_at(50.0),
            p99_wait: summary.wait_at(99.0),
            violated,
            steps: self.outcome.steps.iter().map(ToString::to_string).collect(),
            times: self.outcome.times,
            outline: self.pen.finish(usize::MAX),
        })
    }
}
