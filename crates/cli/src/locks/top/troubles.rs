//! What is wrong, missing or out of date, said plainly; the worst first.

use std::time::Duration;

use super::frame::{Frame, NodeFacts, NodeRow};
use super::model::Model;
use crate::daemon::encryption::CERTIFICATE_ENDS_SOON;
use crate::locks::holders::time_in_words;
use crate::terminal::table::count;

pub(super) fn of(frame: &Frame, model: &Model) -> Vec<String> {
    let mut troubles = Vec::new();
    if frame.nodes.iter().all(|row| row.told.is_none()) {
        troubles.push(match frame.nodes.iter().all(|row| row.silent.is_some()) {
            true => "No node answers: nothing is known of the cluster now.".to_string(),
            false => "No node has answered yet.".to_string(),
        });
    } else if !frame.grants {
        let why = frame.waiting.clone().unwrap_or_else(|| "no node that answers has a lease".to_string());
        troubles.push(format!("The cluster grants nothing: {why}."));
    } else if let Some(waiting) = &frame.waiting {
        troubles.push(format!("Leases will lapse: {waiting}."));
    } else if frame.leader.is_none() {
        troubles.push("No node that answers knows a leader.".to_string());
    }
    let has_view = frame.epoch.is_some();
    for row in &frame.nodes {
        troubles.extend(of_node(row, has_view, frame.grants));
    }
    if let Some((id, left)) = frame.certificate.filter(|(_, left)| *left < CERTIFICATE_ENDS_SOON) {
        troubles.push(match left {
            Duration::ZERO => format!("The certificate of node {id} has ended."),
            left => format!("The certificate of node {id} ends in {}.", time_in_words(left)),
        });
    }
    for (id, node) in &model.nodes {
        if node.answer.as_ref().is_some_and(|sample| sample.counters.is_none()) && node.silent.is_none() {
            troubles.push(format!("Node {id} is of an older version: it does not tell names and waits."));
        }
        if node.too_many {
            let kept = count(node.names.len() as u64, "name");
            troubles.push(format!("Only {kept} of node {id} are shown: choose a prefix with '/'."));
        }
    }
    troubles
}

fn of_node(row: &NodeRow, has_view: bool, grants: bool) -> Vec<String> {
    let id = row.id;
    if let Some((since, why)) = &row.silent {
        let since = time_in_words(*since);
        let member = if has_view && !row.member { ", and it is no member now" } else { "" };
        return vec![format!(
            "Node {id}: no answer for {since}: {why}{member}. What its clients hold and wait for is not shown."
        )];
    }
    let Some(NodeFacts { lease_left, unreachable, .. }) = &row.told else { return Vec::new() };
    let mut troubles = Vec::new();
    if lease_left.is_zero() && grants {
        troubles
            .push(format!("Node {id} has no lease and grants nothing: what it shows may be out of date."));
    }
    for (other, since) in unreachable {
        troubles.push(format!("Node {id} has not reached node {other} for {}.", time_in_words(*since)));
    }
    troubles
}
