//! `tokenwood swarm --exhaustive`: everything that can happen to a small cluster, in every order.

use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use serde_json::json;
use swarm::exhaustive::{Explored, Size, explore};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::output::{note, say};
use crate::terminal::table;
use crate::testing::swarm::Arguments;

/// How many new states there are between two lines of progress.
const TOLD_EVERY: u64 = 50_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let mut size = Size { nodes: 3, ..Size::default() };
    if let Some(defect) = arguments.defect {
        match Size::that_shows(defect) {
            Some(shows) => size = shows,
            None => bail!("this defect needs clocks or a control plane: leave out --exhaustive"),
        }
    }
    size.adjust(&arguments.with).map_err(|wrong| anyhow!("--with: {wrong}"))?;
    let (begun, mut told) = (Instant::now(), 0);
    // A panic of a node is a finding.
    std::panic::set_hook(Box::new(|_| {}));
    let found = explore(&size, |so_far| {
        if so_far.states - told >= TOLD_EVERY {
            told = so_far.states;
            let states = table::grouped(so_far.states);
            note!("{states} states, {} steps deep, {:.0} s", so_far.depth, begun.elapsed().as_secs_f64());
        }
    });
    let _ = std::panic::take_hook();
    tell(arguments, &size, &found, begun);
    Ok(match (&found.violation, found.complete) {
        (Some(_), _) => Ended::Violated,
        (None, false) => Ended::Unknown,
        (None, true) => Ended::Well,
    })
}

fn tell(arguments: &Arguments, size: &Size, found: &Explored, begun: Instant) {
    if arguments.format == Format::Json {
        let violation = found.violation.as_ref();
        let (wrong, way) = violation.map(|(violation, way)| (violation.to_string(), way)).unzip();
        return say!(
            "{}",
            json!({
                "states": found.states,
                "steps": found.steps,
                "depth": found.depth,
                "looked_whether_served": found.sampled,
                "views": found.views,
                "complete": found.complete,
                "wrong": wrong,
                "way": way,
            })
        );
    }
    let kind = match size.groups {
        0 => format!("{} slots", size.slots),
        groups => format!("a room with {groups} groups"),
    };
    let Size { nodes, clients, askers, rounds, failures, timers, .. } = size;
    let clients = (nodes * clients).min(*askers);
    say!(
        "{nodes} nodes, {kind}, {clients} clients that acquire {rounds} times, {failures} failures, {timers} timers:"
    );
    let [states, steps, sampled] = [found.states, found.steps, found.sampled].map(table::grouped);
    say!(
        "{states} states, {steps} steps, {} deep, up to {} views; from {sampled} states checked that every client is served; {:.1} s.",
        found.depth,
        found.views,
        begun.elapsed().as_secs_f64()
    );
    match &found.violation {
        Some((wrong, way)) => {
            say!("WRONG after {} steps: {wrong}", way.len());
            way.iter().for_each(|step| say!("  {step}"));
        }
        None if found.complete => say!("Exhausted: nothing is wrong."),
        None => say!("Not exhausted: nothing is wrong so far. --with most-states=… explores more."),
    }
}
