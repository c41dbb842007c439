//! A run in a form that can be kept: its setting, its steps and their effects. Every driver that records steps
//! makes a trace of them, and a trace is replayed here.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::erased::Erased;
use crate::info::Conditions;
use crate::properties::{Property, Violation};
use crate::registry;
use crate::schedule::{NotAStep, Step};
use crate::setting::{Setting, SettingError};
use crate::system::System;
use crate::world::{StepError, World};

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceStep {
    /// The step, in the notation of schedules.
    pub step: String,
    /// Its effects, a line each.
    pub shows: Vec<String>,
}

/// Why a trace cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// There is no algorithm of its name.
    Algorithm(SettingError),
    /// The algorithm refuses its setting.
    Setting(SettingError),
    /// The text of the step of this number, from 1, cannot be read.
    Unreadable(usize, NotAStep),
    /// The step of this number, from 1, is not possible.
    Impossible(usize, StepError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = "this trace cannot be replayed";
        match self {
            ReplayError::Algorithm(error) => write!(f, "{error}"),
            ReplayError::Setting(error) => write!(f, "{refused}: {error}"),
            ReplayError::Unreadable(number, error) => write!(f, "{refused}: step {number}: {error}"),
            ReplayError::Impossible(number, error) => write!(f, "{refused}: step {number}: {error}"),
        }
    }
}

impl core::error::Error for ReplayError {}

impl Trace {
    /// What `format` says in a file.
    pub const FORMAT: &'static str = "tokenwood-trace";

    /// The version of the format that is written and read.
    pub const VERSION: u32 = 1;

    /// The trace of a run of this system. The steps must be possible one after the other.
    pub fn record(
        system: System<Erased>,
        conditions: Conditions,
        violation: Option<&Violation>,
        steps: &[Step],
    ) -> Trace {
        let (info, setting) = (system.info(), system.setting().clone());
        let mut world = World::start(system, conditions);
        let mut shows: Vec<Vec<String>> = Vec::new();
        for step in steps {
            let Ok(happened) = world.take(step) else { break };
            shows.push(happened.lines());
        }
        if shows.len() < steps.len() {
            // A step that is not possible leaves a trace that tells no effects.
            shows.clear();
        }
        let shows = shows.into_iter().chain(core::iter::repeat(Vec::new()));
        let steps = steps.iter().zip(shows).map(|(step, shows)| TraceStep { step: step.to_string(), shows });
        Trace {
            format: Trace::FORMAT.to_string(),
            version: Trace::VERSION,
            algorithm: info.name.to_string(),
            nodes: setting.nodes,
            tokens: setting.tokens,
            groups: setting.groups,
            options: setting.options,
            defect: setting.defect,
            faulty: conditions == Conditions::Faulty,
            violated: violation.map(|violation| violation.property.name().to_string()),
            detail: violation.map(|violation| violation.detail.clone()),
            steps: steps.collect(),
        }
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

    /// Whether messages may be lost or duplicated or nodes may crash in the run.
    pub fn conditions(&self) -> Conditions {
        if self.faulty { Conditions::Faulty } else { Conditions::Reliable }
    }

    /// The violation at the end, in one line.
    pub fn verdict(&self) -> Option<String> {
        let violated = self.violated.as_ref()?;
        Some(alloc::format!("{violated}: {}", self.detail.as_deref().unwrap_or("")))
    }

    /// Replays the steps with the algorithm that the trace names.
    pub fn replay(&self) -> Result<Replay, ReplayError> {
        registry::info(&self.algorithm).map_err(ReplayError::Algorithm)?;
        let system = registry::system(&self.algorithm, &self.setting()).map_err(ReplayError::Setting)?;
        let mut world = World::start(system, self.conditions());
        let mut shows = Vec::new();
        let mut last = None;
        for (number, TraceStep { step, .. }) in (1..).zip(&self.steps) {
            let step: Step = step.parse().map_err(|error| ReplayError::Unreadable(number, error))?;
            let happened = world.take(&step).map_err(|error| ReplayError::Impossible(number, error))?;
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
