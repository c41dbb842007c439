//! `tokenwood health`: one node, for scripts: whether it serves, and whether a majority is there.

use anyhow::Result;
use serde::Serialize;

use crate::locks::cluster::{Around, Asking, UNAVAILABLE};
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{failure, json};

/// The exit code for a node that answers, and does not serve or has no majority.
const DEGRADED: u8 = 1;

pub(crate) fn run(asking: &Asking) -> Result<u8> {
    let around = match asking.around() {
        Ok(around) => around,
        Err(error) => {
            // A probe has one document to read, whatever happens.
            if asking.format == Format::Json {
                json::say(
                    Schema::Health,
                    &Health { reason: Some(format!("{error:#}")), ..Health::default() },
                );
            }
            return Ok(failure::fail_with(UNAVAILABLE, "", &error));
        }
    };
    let trouble = trouble(&around);
    if asking.format == Format::Json {
        json::say(Schema::Health, &Health::of(&around, trouble.clone()));
    } else {
        let Around { cluster, endpoint, .. } = &around;
        let who = format!("node {} of cluster '{}' at {endpoint}", cluster.asked, cluster.name);
        match &trouble {
            None => say!("{who}: healthy, in view {}", cluster.in_view),
            Some(why) => say!("{who}: degraded: {why}"),
        }
    }
    Ok(if trouble.is_some() { DEGRADED } else { 0 })
}

/// What is wrong with a node, if anything is.
fn trouble(around: &Around) -> Option<String> {
    let leased = !around.cluster.lease_left.is_zero();
    // A node with a lease was confirmed by a majority a moment ago.
    let waiting = around.waiting().filter(|_| !leased || around.cluster.leader.is_none());
    match (waiting, leased) {
        (Some(waiting), _) => Some(waiting),
        (None, true) => None,
        (None, false) => Some("no lease: the node grants nothing".to_string()),
    }
}

/// The answer for scripts. Without a node that answers, nothing but the reason is known.
#[derive(Default, Serialize)]
struct Health<'a> {
    healthy: bool,
    reason: Option<String>,
    cluster: Option<&'a str>,
    node: Option<u32>,
    endpoint: Option<&'a str>,
    view: Option<u64>,
    leader: Option<u32>,
    majority: Option<bool>,
    lease_left_seconds: Option<f64>,
}

impl Health<'_> {
    fn of(around: &Around, trouble: Option<String>) -> Health<'_> {
        let cluster = &around.cluster;
        Health {
            healthy: trouble.is_none(),
            reason: trouble,
            cluster: Some(&cluster.name),
            node: Some(cluster.asked),
            endpoint: Some(&around.endpoint),
            view: Some(cluster.in_view),
            leader: cluster.leader,
            majority: Some(around.voters.majority),
            lease_left_seconds: Some(cluster.lease_left.as_secs_f64()),
        }
    }
}
