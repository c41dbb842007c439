//! A recording of the swarm or of a cluster, summed up.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count};

/// What is read of the first line.
#[derive(Deserialize)]
struct Header {
    schema: String,
    kind: String,
    title: String,
    command: Option<String>,
    nodes: Vec<u32>,
}

/// What is read of the others.
#[derive(Deserialize)]
struct Line {
    time: f64,
    node: Option<u32>,
    event: String,
    #[serde(flatten)]
    facts: BTreeMap<String, Value>,
}

/// Whether a text means to be a recording.
pub(crate) fn is_meant(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Heading {
        schema: String,
    }
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str(first)
        .is_ok_and(|heading: Heading| heading.schema.starts_with("tokenwood.recording/"))
}

/// A recording in a few facts.
#[derive(Serialize)]
pub(crate) struct Summary {
    kind: String,
    title: String,
    command: Option<String>,
    seconds: f64,
    nodes: BTreeSet<u32>,
    /// How many events there are, by kind.
    events: BTreeMap<String, u64>,
    /// Events that the program which recorded did not keep up with.
    missed: u64,
    views: Vec<View>,
    findings: Vec<String>,
    /// Whether the recording was ended, and not cut off.
    complete: bool,
}

#[derive(Serialize)]
struct View {
    time: f64,
    view: u64,
    members: Vec<u64>,
}

impl Summary {
    pub(crate) fn of(text: &str) -> Result<Summary> {
        let mut lines = (1..).zip(text.split_inclusive('\n'));
        let header: Header = match lines.next() {
            Some((_, first)) => serde_json::from_str(first).context("line 1 does not begin a recording")?,
            None => bail!("the recording is empty"),
        };
        if header.schema != Schema::Recording.id() {
            bail!("this is {}, and this program reads {}", header.schema, Schema::Recording.id());
        }
        let mut summary = Summary {
            kind: header.kind,
            title: header.title,
            command: header.command,
            seconds: 0.0,
            nodes: header.nodes.into_iter().collect(),
            events: BTreeMap::new(),
            missed: 0,
            views: Vec::new(),
            findings: Vec::new(),
            complete: false,
        };
        for (number, line) in lines {
            match serde_json::from_str(line) {
                Ok(line) => summary.add(line),
                // A program that was killed may leave a part of its last line.
                Err(_) if !line.ends_with('\n') => break,
                Err(error) => bail!("line {number}: {error}"),
            }
        }
        Ok(summary)
    }

    fn add(&mut self, line: Line) {
        let Line { time, node, event, facts } = line;
        self.seconds = self.seconds.max(time);
        self.nodes.extend(node);
        match event.as_str() {
            "view" => {
                let members = facts.get("members").and_then(Value::as_array).into_iter().flatten();
                let members = members.filter_map(Value::as_u64).collect();
                let view = facts.get("view").and_then(Value::as_u64).unwrap_or_default();
                self.views.push(View { time, view, members });
            }
            "finding" => {
                self.findings.extend(facts.get("words").and_then(Value::as_str).map(str::to_string));
            }
            "missed" => self.missed += facts.get("count").and_then(Value::as_u64).unwrap_or_default(),
            "ends" => {
                self.complete = true;
                return;
            }
            _ => {}
        }
        *self.events.entry(event).or_default() += 1;
    }

    pub(crate) fn print(&self) {
        let events = self.events.values().sum();
        say!(
            "{}: {:.1} s, {}, {}, {}",
            self.title,
            self.seconds,
            count(self.nodes.len() as u64, "node"),
            count(self.views.len() as u64, "view"),
            count(events, "event"),
        );
        if let Some(command) = &self.command {
            say!("This repeats it: {command}");
        }
        let mut rows = vec![["event", "times"].map(str::to_string).to_vec()];
        let by_kind =
            self.events.iter().map(|(event, times)| vec![event.replace('_', " "), table::grouped(*times)]);
        rows.extend(by_kind);
        table::print(&rows);
        for View { time, view, members } in &self.views {
            let members: Vec<String> = members.iter().map(ToString::to_string).collect();
            match members.is_empty() {
                true => say!("{time:8.3} s  view {view} without nodes"),
                false => say!("{time:8.3} s  view {view} with nodes {}", members.join(", ")),
            }
        }
        if self.missed > 0 {
            say!(
                "missed: {}, because the program that recorded did not keep up",
                count(self.missed, "event")
            );
        }
        for finding in &self.findings {
            say!("{}", table::flowed(&format!("found: {finding}"), 2));
        }
        if !self.complete {
            say!(
                "The recording ends without its last line: the program that wrote it was killed, or still writes."
            );
        }
    }
}
