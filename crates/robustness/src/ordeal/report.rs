//! What came of a scenario.

use serde_json::{Map, Value, json};

/// Whether everything held in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held.
    Holds,
    /// The scenario could not be run.
    NotRun,
    /// Something did not hold.
    Violated,
}

/// What was counted, and what is wrong.
#[derive(Default)]
pub struct Report {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// By name, in the order of columns.
    pub counted: Vec<(&'static str, Value)>,
    /// What did not hold.
    pub wrong: Vec<String>,
    /// Why it could not be run.
    pub not_run: Option<String>,
    /// Where what happened is kept, if anything is wrong.
    pub evidence: Option<String>,
}

impl Report {
    /// Nothing counted and nothing wrong so far.
    pub fn of(scenario: &'static str) -> Report {
        Report { scenario, ..Report::default() }
    }

    /// Writes down a number.
    pub fn count(&mut self, what: &'static str, value: impl Into<Value>) {
        self.counted.push((what, value.into()));
    }

    /// Writes down a length of time in seconds, with as many digits as mean anything.
    pub fn seconds(&mut self, what: &'static str, seconds: f64) {
        self.count(what, (seconds * 1000.0).round() / 1000.0);
    }

    /// Something that must be so, or is wrong.
    pub fn demand(&mut self, so: bool, otherwise: impl FnOnce() -> String) {
        if !so {
            self.wrong.push(otherwise());
        }
    }

    /// Whether everything held.
    pub fn verdict(&self) -> Verdict {
        match (&self.not_run, self.wrong.is_empty()) {
            (_, false) => Verdict::Violated,
            (Some(_), true) => Verdict::NotRun,
            (None, true) => Verdict::Holds,
        }
    }

    /// The report for scripts.
    pub fn as_json(&self) -> Value {
        let counted: Map<String, Value> =
            self.counted.iter().map(|(what, value)| (what.to_string(), value.clone())).collect();
        json!({
            "scenario": self.scenario,
            "verdict": match self.verdict() {
                Verdict::Holds => "holds",
                Verdict::NotRun => "not run",
                Verdict::Violated => "violated",
            },
            "counted": counted,
            "wrong": self.wrong,
            "not_run": self.not_run,
            "evidence": self.evidence,
        })
    }

    /// The verdict in a line for people, while other scenarios run.
    pub fn headline(&self) -> String {
        let verdict = match self.verdict() {
            Verdict::Holds => "holds".to_string(),
            Verdict::NotRun => "not run".to_string(),
            Verdict::Violated => format!("{} WRONG", self.wrong.len()),
        };
        let why = self.not_run.iter().map(|why| format!(" ({why})"));
        format!("{}: {verdict}", self.scenario) + &why.collect::<String>()
    }

    /// The whole report for people, a line for each number.
    pub fn lines(&self) -> Vec<String> {
        let number = |(what, value): &(&str, Value)| {
            format!("  {:<40} {:>10}", what.replace('_', " "), value.to_string())
        };
        let numbers = self.counted.iter().map(number);
        let wrong = self.wrong.iter().map(|wrong| format!("  WRONG: {wrong}"));
        let evidence = self.evidence.iter().map(|folder| format!("  History and logs are in {folder}"));
        std::iter::once(self.headline()).chain(numbers).chain(wrong).chain(evidence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_its_verdict_its_numbers_and_what_is_wrong() {
        let mut report = Report::of("kills");
        report.count("own_locks_of_others_during_to_before", 1.01);
        report.wrong.push("two clients hold slot 0".to_string());
        let lines = report.lines();
        assert_eq!(lines[0], "kills: 1 WRONG");
        assert_eq!(lines[1], "  own locks of others during to before           1.01");
        assert_eq!(lines[2], "  WRONG: two clients hold slot 0");
        assert!(lines.iter().all(|line| line.chars().count() <= 60));
    }
}
