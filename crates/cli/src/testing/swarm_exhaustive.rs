//! `tokenwood swarm --exhaustive`: everything that can happen to a small cluster, in every order.

use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use serde_json::json;
use swarm::exhaustive::{Explored, Size, explore};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count};
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
    interrupt::listen()?;
    let (begun, mut told) = (Instant::now(), 0);
    // A panic of a node is a finding.
    std::panic::set_hook(Box::new(|_| {}));
    let found = explore(&size, |so_far| {
        if so_far.states - told >= TOLD_EVERY {
            told = so_far.states;
            let states = table::grouped(so_far.states);
            note!("{states} states, {} steps deep, {:.0} s", so_far.depth, begun.elapsed().as_secs_f64());
        }
        interrupt::answer()
    });
    let _ = std::panic::take_hook();
    tell(arguments, &size, &found, begun);
    Ok(match (&found.violation, found.complete) {
        (Some(_), _) => Ended::Violated,
        (None, false) if interrupt::is_asked() => Ended::Interrupted,
        (None, false) => Ended::Unknown,
        (None, true) => Ended::Well,
    })
}

fn tell(arguments: &Arguments, size: &Size, found: &Explored, begun: Instant) {
    if arguments.format == Format::Json {
        let violation = found.violation.as_ref();
        let (wrong, way) = violation.map(|(violation, way)| (violation.to_string(), way)).unzip();
        return json::say(
            Schema::SwarmExhaustive,
            &json!({
                "nodes": size.nodes,
                "slots": (size.groups == 0).then_some(size.slots),
                "groups": size.groups,
                "clients": (size.nodes * size.clients).min(size.askers),
                "rounds": size.rounds,
                "failures": size.failures,
                "timers": size.timers,
                "most_states": size.most_states,
                "states": found.states,
                "steps": found.steps,
                "depth": found.depth,
                "looked_whether_served": found.sampled,
                "views": found.views,
                "complete": found.complete,
                "partial": !found.complete && found.violation.is_none(),
                "wrong": wrong,
                "way": way,
                "seconds": begun.elapsed().as_secs_f64(),
            }),
        );
    }
    let kind = match size.groups {
        0 => count(size.slots.into(), "slot"),
        groups => format!("a room with {}", count(groups.into(), "group")),
    };
    let Size { nodes, clients, askers, rounds, failures, timers, .. } = size;
    let clients = (nodes * clients).min(*askers);
    let (nodes, clients) = (count(*nodes as u64, "node"), count(clients as u64, "client"));
    let (rounds, failures) = (count((*rounds).into(), "time"), count((*failures).into(), "failure"));
    let timers = count((*timers).into(), "timer");
    let text = format!("{nodes}, {kind}, {clients} that acquire {rounds}, {failures}, {timers}:");
    say!("{}", table::flowed(&text, 2));
    let (states, steps) = (count(found.states, "state"), count(found.steps, "step"));
    let text = format!(
        "{states}, {steps}, {} deep, up to {}; from {} checked that every client is served; {:.1} s.",
        found.depth,
        count(found.views, "view"),
        count(found.sampled, "state"),
        begun.elapsed().as_secs_f64()
    );
    say!("{}", table::flowed(&text, 2));
    match &found.violation {
        Some((wrong, way)) => {
            say!(
                "{}",
                table::flowed(&format!("WRONG after {}: {wrong}", count(way.len() as u64, "step")), 2)
            );
            way.iter().for_each(|step| say!("  {step}"));
        }
        None if found.complete => say!("Exhausted: nothing is wrong."),
        None if interrupt::is_asked() => {
            let text = "Interrupted: nothing is wrong so far. A search keeps nothing: the same command begins again; \
                        --with nodes=2 or rounds=1 ends sooner.";
            say!("{}", table::flowed(text, 0));
        }
        None => {
            let more = size.most_states.saturating_mul(4);
            say!("Not exhausted: nothing is wrong so far. --with most-states={more} explores more.");
        }
    }
}
