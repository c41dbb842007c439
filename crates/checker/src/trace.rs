//! A run as a file: its setting, its steps and their effects. The drivers write it; `tokenwood trace` replays
//! and prints it.

use std::fmt;

use algorithms::{Algorithm, Property, Setting, Step, Violation, World};
use serde::{Deserialize, Serialize};

use crate::job::Job;

const FORMAT: &str = "tokenwood-trace";
const VERSION: u32 = 1;

/// A run in the form of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    format: String,
    version: u32,
    /// The algorithm's name.
    pub algorithm: String,
    nodes: u32,
    tokens: u32,
    groups: u32,
    options: Vec<(String, String)>,
    defect: Option<String>,
    faulty: bool,
    /// The property that is violated at the end, if any.
    pub violated: Option<String>,
    detail: Option<String>,
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
}

/// A step of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// The step, in the notation of schedules.
    pub step: String,
    /// Its effects, a line each.
    pub shows: Vec<String>,
}

/// Why a trace cannot be read or replayed, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTrace(pub(crate) String);

impl fmt::Display for BadTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTrace {}

impl Trace {
    /// The trace of a run that ends in a violation.
    pub(crate) fn new<A: Algorithm>(job: &Job, violation: &Violation, steps: &[Step]) -> Trace {
        Trace::of::<A>(&job.case.setting, job.case.faulty(), Some(violation), steps)
    }

    /// The trace of a run. The steps must be possible one after the other.
    pub fn of<A: Algorithm>(
        setting: &Setting,
        faulty: bool,
        violation: Option<&Violation>,
        steps: &[Step],
    ) -> Trace {
        let mut trace = Trace {
            format: FORMAT.to_string(),
            version: VERSION,
            algorithm: A::INFO.name.to_string(),
            nodes: setting.nodes,
            tokens: setting.tokens,
            groups: setting.groups,
            options: setting.options.clone(),
            defect: setting.defect.clone(),
            faulty,
            violated: violation.map(|violation| violation.property.name().to_string()),
            detail: violation.map(|violation| violation.detail.clone()),
            steps: steps.iter().map(|step| TraceStep { step: step.to_string(), shows: Vec::new() }).collect(),
        };
        if let Ok(replay) = trace.replay::<A>() {
            for (step, shows) in trace.steps.iter_mut().zip(replay.shows) {
                step.shows = shows;
            }
        }
        trace
    }

    /// Reads a trace from the text of a file.
    pub fn parse(text: &str) -> Result<Trace, BadTrace> {
        let bad = |why: String| BadTrace(format!("this is not a trace that can be read: {why}"));
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        if value.get("format").and_then(|format| format.as_str()) != Some(FORMAT) {
            return Err(bad(format!("it has no \"format\": \"{FORMAT}\"")));
        }
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(bad(format!("it has version {version}, this program reads {VERSION}")));
            }
            None => return Err(bad("it has no version".to_string())),
        }
        serde_json::from_value(value).map_err(|error| bad(error.to_string()))
    }

    /// The text of the file.
    pub fn print(&self) -> String {
        serde_json::to_string_pretty(self).expect("a trace has only text and numbers") + "\n"
    }

    /// The setting of the run.
    pub fn setting(&self) -> Setting {
        Setting {
            nodes: self.nodes,
            tokens: self.tokens,
            groups: self.groups,
            options: self.options.clone(),
            defect: self.defect.clone(),
        }
    }

    /// The violation at the end, in one line.
    pub fn verdict(&self) -> Option<String> {
        let violated = self.violated.as_ref()?;
        Some(format!("{violated}: {}", self.detail.as_deref().unwrap_or("")))
    }

    /// Replays the steps.
    pub fn replay<A: Algorithm>(&self) -> Result<Replay, BadTrace> {
        let refused = |error: &dyn fmt::Display| BadTrace(format!("this trace cannot be replayed: {error}"));
        let mut world = World::<A>::new(&self.setting(), self.faulty).map_err(|error| refused(&error))?;
        let mut shows = Vec::new();
        let mut last = None;
        for (index, TraceStep { step, .. }) in self.steps.iter().enumerate() {
            let number = index + 1;
            let step: Step = step.parse().map_err(|error| refused(&format!("step {number}: {error}")))?;
            let happened = world.take(&step).map_err(|error| refused(&format!("step {number}: {error}")))?;
            shows.push(happened.lines());
            last = happened.violation.map(|violation| violation.property);
        }
        let confirmed = match self.violated.as_deref().map(Property::named) {
            // A single run cannot show that the end is not reachable.
            None | Some(Some(Property::EndReachable)) => true,
            Some(Some(property)) => last == Some(property) || world.violates(property),
            Some(None) => false,
        };
        Ok(Replay { shows, confirmed })
    }
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The effects of each step, a line each.
    pub shows: Vec<Vec<String>>,
    /// Whether the steps lead to the violation that the trace names, if that is one that a single run can
    /// show.
    pub confirmed: bool,
}
