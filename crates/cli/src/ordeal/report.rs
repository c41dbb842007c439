//! What came of a scenario.

use serde_json::{Map, Value, json};

use crate::Ended;

/// What was counted, and what is wrong.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) scenario: &'static str,
    /// By name, in the order of columns.
    pub(crate) counted: Vec<(&'static str, Value)>,
    pub(crate) wrong: Vec<String>,
    /// Why it could not be run.
    pub(crate) not_run: Option<String>,
    /// Where what happened is kept, if anything is wrong.
    pub(crate) evidence: Option<String>,
}

impl Report {
    pub(crate) fn of(scenario: &'static str) -> Report {
        Report { scenario, ..Report::default() }
    }

    /// Writes down a number.
    pub(crate) fn count(&mut self, what: &'static str, value: impl Into<Value>) {
        self.counted.push((what, value.into()));
    }

    /// Writes down a length of time in seconds, with as many digits as mean anything.
    pub(crate) fn seconds(&mut self, what: &'static str, seconds: f64) {
        self.count(what, (seconds * 1000.0).round() / 1000.0);
    }

    /// Something that must be so, or is wrong.
    pub(crate) fn demand(&mut self, so: bool, otherwise: impl FnOnce() -> String) {
        if !so {
            self.wrong.push(otherwise());
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        match (&self.not_run, self.wrong.is_empty()) {
            (_, false) => Ended::Violated,
            (Some(_), true) => Ended::Unknown,
            (None, true) => Ended::Well,
        }
    }

    pub(crate) fn as_json(&self) -> Value {
        let counted: Map<String, Value> =
            self.counted.iter().map(|(what, value)| (what.to_string(), value.clone())).collect();
        json!({
            "scenario": self.scenario,
            "counted": counted,
            "wrong": self.wrong,
            "not_run": self.not_run,
            "evidence": self.evidence,
        })
    }

    /// A line for people.
    pub(crate) fn as_row(&self) -> Vec<String> {
        let verdict = match self.ended() {
            Ended::Well => "holds".to_string(),
            Ended::Unknown => "not run".to_string(),
            Ended::Violated => format!("{} WRONG", self.wrong.len()),
        };
        let counted = match &self.not_run {
            Some(why) => why.clone(),
            None => {
                let each =
                    self.counted.iter().map(|(what, value)| format!("{}: {value}", what.replace('_', " ")));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        vec![self.scenario.to_string(), verdict, counted]
    }
}
