//! A run of the swarm as a recording: the log of the run, and what was found.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use service::Time;
use swarm::{Happened, Held, NodeChange, Outcome, Plan, RequestChange};

use crate::terminal::recording::{Header, Recording};

/// A line: when, where, what.
type Line = (Duration, Option<u32>, Value);

/// Writes what happened in a run.
pub(crate) fn write(
    recording: &mut Recording,
    (seed, plan, command): (u64, &Plan, &str),
    outcome: &Outcome,
) -> Result<()> {
    let title = match plan.defect {
        Some(defect) => format!("Swarm, seed {seed}, with the defect {}", defect.name()),
        None => format!("Swarm, seed {seed}"),
    };
    let nodes: Vec<u32> = (0..plan.nodes as u32).collect();
    recording.begin(&Header {
        kind: "swarm",
        title: &title,
        command: Some(command),
        nodes: &nodes,
        began_unix_seconds: None,
        names: None,
        prefixes: None,
    })?;
    for (time, node, event) in lines(plan, outcome) {
        recording.add(time, node, &event)?;
    }
    Ok(())
}

fn lines(plan: &Plan, outcome: &Outcome) -> Vec<Line> {
    // A run that a failed assertion ended does not say how long it was.
    let last = outcome.log.last().map_or(Duration::ZERO, |logged| since_start(logged.at));
    let end = outcome.simulated.max(last);
    let (mut lines, mut later, mut partitions) = (Vec::new(), Vec::new(), 0);
    for logged in &outcome.log {
        let time = since_start(logged.at);
        let (node, event) = as_json(&logged.what, plan, &mut partitions);
        // What lasts ends by itself: the log has its length only.
        let over = match &logged.what {
            Happened::Node(_, NodeChange::StandsStill(lasts)) => {
                Some((*lasts, json!({ "event": "goes_on" })))
            }
            Happened::Node(_, NodeChange::CutOff { lasts, .. }) => {
                Some((*lasts, json!({ "event": "reached" })))
            }
            Happened::Apart { lasts, .. } => {
                Some((*lasts, json!({ "event": "partition_ends", "number": partitions })))
            }
            _ => None,
        };
        later.extend(over.map(|(lasts, over)| (time + lasts, node, over)).filter(|(over, ..)| *over < end));
        lines.push((time, node, event));
    }
    lines.extend(later);
    lines.sort_by_key(|(time, ..)| *time);
    let found = |kind: &str, words: &String| {
        let names: Vec<String> = (0..plan.names).map(|name| format!("name {name}")).collect();
        let names: Vec<&String> = names.iter().filter(|name| mentions(words, name)).collect();
        (end, None, json!({ "event": "finding", "kind": kind, "words": words, "names": names }))
    };
    lines.extend(outcome.violations.iter().map(|words| found("violation", words)));
    lines.extend(outcome.stuck.iter().map(|words| found("stuck", words)));
    lines.push((end, None, json!({ "event": "ends" })));
    lines
}

/// Whether a sentence names this: `name 1` is not `name 12`.
fn mentions(words: &str, name: &str) -> bool {
    words
        .match_indices(name)
        .any(|(at, _)| !words[at + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

fn since_start(at: Time) -> Duration {
    Duration::from_nanos(at.0)
}

fn as_json(what: &Happened, plan: &Plan, partitions: &mut u64) -> (Option<u32>, Value) {
    match what {
        Happened::View { epoch, members } => {
            (None, json!({ "event": "view", "view": epoch, "members": members }))
        }
        Happened::Node(node, change) => (Some(*node as u32), of_node(change)),
        Happened::Apart { from, to, both, lasts } => {
            *partitions += 1;
            let event = json!({
                "event": "partition",
                "number": *partitions,
                "from": from,
                "to": to,
                "both": both,
                "seconds": lasts.as_secs_f64(),
            });
            (None, event)
        }
        Happened::Defined { name, definition } => {
            (None, json!({ "event": "defined", "name": name, "definition": definition }))
        }
        Happened::Request { client, node, request, name, change } => {
            let (event, held, why) = match change {
                RequestChange::Waits => ("waits", None, None),
                RequestChange::Granted(held) => ("granted", Some(held), None),
                RequestChange::Released(held) => ("released", Some(held), None),
                RequestChange::TakenAway(held) => ("taken_away", Some(held), None),
                RequestChange::GaveUp(why) => ("gave_up", None, Some(why)),
            };
            let (kind, slots) = match plan.groups {
                0 if plan.slots == 1 => ("mutex", 1),
                0 => ("semaphore", plan.slots),
                1 => ("rwlock", 1),
                _ => ("room", 1),
            };
            let event = json!({
                "event": event,
                "name": format!("name {name}"),
                "kind": kind,
                "slots": slots,
                "session": client,
                "request": request,
                "slot": held.map(|held| held.slot),
                "fence": held.map(|held| held.fence),
                "group": held.map(|held| &held.group).filter(|group| kind == "room" && !group.is_empty()),
                "groups": null,
                "shared": kind == "rwlock" && held.is_some_and(is_read),
                "label": null,
                "why": why,
            });
            (Some(*node as u32), event)
        }
        Happened::SessionOver { client, node, vanished } => {
            let event = json!({
                "event": "session_ended",
                "session": client,
                "ran_out": true,
                "vanished": vanished,
                "label": null,
            });
            (Some(*node as u32), event)
        }
    }
}

fn is_read(held: &Held) -> bool {
    held.group == "readers"
}

fn of_node(change: &NodeChange) -> Value {
    let plain = |event: &str| json!({ "event": event });
    match change {
        NodeChange::Enters(view) => json!({ "event": "enters", "view": view }),
        NodeChange::Leads => plain("leads"),
        NodeChange::Joins => plain("joins"),
        NodeChange::IsToLeave => plain("is_to_leave"),
        NodeChange::Left => plain("left"),
        NodeChange::Dies => plain("died"),
        NodeChange::ComesBack => plain("comes_back"),
        NodeChange::StandsStill(lasts) => json!({ "event": "stalls", "seconds": lasts.as_secs_f64() }),
        NodeChange::Excluded => plain("excluded"),
        NodeChange::NoLease => plain("lease_lapsed"),
        NodeChange::Leased => plain("leased"),
        NodeChange::CutOff { both, lasts } => {
            json!({ "event": "cut_off", "both": both, "seconds": lasts.as_secs_f64() })
        }
        NodeChange::LiesTo(other) => json!({ "event": "lies", "to": other }),
        NodeChange::Forces { name, slot, fence } => {
            json!({ "event": "force_released", "name": name, "slot": slot, "fence": fence })
        }
    }
}
