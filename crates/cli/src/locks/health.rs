//! `tokenwood health`: one node, for scripts: whether it serves, and whether a majority is there.

use anyhow::Result;
use serde_json::{Value, json};

use crate::locks::cluster::{Around, Asking, UNAVAILABLE};
use crate::terminal::format::Format;
use crate::terminal::output::{note, say};

/// The exit code for a node that answers, and does not serve or has no majority.
const DEGRADED: u8 = 1;

pub(crate) fn run(asking: &Asking) -> Result<u8> {
    let around = match asking.around() {
        Ok(around) => around,
        Err(error) => {
            note!("tokenwood: {error:#}");
            if asking.format == Format::Json {
                say!("{}", json!({ "healthy": false, "error": format!("{error:#}") }));
            }
            return Ok(UNAVAILABLE);
        }
    };
    let trouble = trouble(&around);
    if asking.format == Format::Json {
        say!("{}", as_json(&around, trouble.as_deref()));
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

fn as_json(around: &Around, trouble: Option<&str>) -> Value {
    let cluster = &around.cluster;
    json!({
        "healthy": trouble.is_none(),
        "reason": trouble,
        "cluster": cluster.name,
        "node": cluster.asked,
        "endpoint": around.endpoint,
        "view": cluster.in_view,
        "leader": cluster.leader,
        "majority": around.voters.majority,
        "lease_left_seconds": cluster.lease_left.as_secs_f64(),
    })
}
