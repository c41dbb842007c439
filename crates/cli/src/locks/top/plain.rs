//! A frame as plain text, and as JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use service::core::Held;

use super::frame::{Frame, NodeFacts, NodeRow};
use super::sheets::{
    Column, NAMES, NODES, Order, WAITS, name_cells, node_cells, tells_handoffs, totals, wait_cells,
};
use crate::locks::list::{client_at, kind};
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// So many rows of names and of waits are printed.
const MOST_ROWS: usize = 20;
/// So many are in a document.
const MOST_IN_JSON: usize = 100;

/// Prints a frame for people.
pub(super) fn print(frame: &Frame) {
    say!("{}", table::flowed(&totals(frame).join(", "), 0));
    for trouble in &frame.troubles {
        say!("{}", table::flowed(&format!("! {trouble}"), 2));
    }
    let handoffs = tells_handoffs(frame);
    let nodes = frame.nodes.iter().map(node_cells).map(|mut cells| {
        if !handoffs {
            cells.drain(9..11);
        }
        cells
    });
    let mut columns = titles(&NODES);
    if !handoffs {
        columns.drain(9..11);
    }
    print_table(columns, nodes.collect());
    let names: Vec<Vec<String>> =
        Order::Grants.sorted(&frame.names).into_iter().take(MOST_ROWS).map(name_cells).collect();
    if frame.names.is_empty() {
        say!("\nNo name is in use at the nodes that answered.");
    } else {
        print_table(titles(&NAMES), names);
        if frame.names.len() > MOST_ROWS {
            let all = table::grouped(frame.names.len() as u64);
            say!("The {MOST_ROWS} names with the most grants, of {all}; --prefix chooses.");
        }
    }
    if !frame.waits.is_empty() {
        print_table(titles(&WAITS), frame.waits.iter().take(MOST_ROWS).map(wait_cells).collect());
    }
}

fn titles(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.title.to_string()).collect()
}

fn print_table(titles: Vec<String>, rows: Vec<Vec<String>>) {
    say!();
    table::print(&[vec![titles], rows].concat());
}

/// Prints a frame for scripts.
pub(super) fn print_json(frame: &Frame) {
    json::say(Schema::Top, &as_json(frame));
}

fn as_json(frame: &Frame) -> Value {
    let at = frame.at.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let names = Order::Grants.sorted(&frame.names).into_iter().take(MOST_IN_JSON).map(|row| {
        let (kind, slots) = kind(row.definition);
        json!({
            "name": row.name,
            "kind": kind,
            "slots": slots,
            "grants_per_second": row.grants_per_second,
            "holders": row.holders,
            "waiters": row.waiters,
            "more": row.more,
            "longest_wait_seconds": row.longest_wait.as_ref().map(Duration::as_secs_f64),
            "held_longest": at_node(row.longest_hold.as_ref()),
        })
    });
    let waits = frame.waits.iter().take(MOST_IN_JSON).map(|row| {
        json!({
            "name": row.name,
            "waiter": client_at(row.node, &row.waiter),
            "held_longest": at_node(row.holder.as_ref()),
        })
    });
    json!({
        "unix_seconds": at.as_secs_f64(),
        "cluster": frame.cluster,
        "epoch": frame.epoch,
        "leader": frame.leader,
        "nodes": frame.nodes.iter().map(node_json).collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
        "names_known": frame.names.len(),
        "round_seconds": frame.round.as_ref().map(Duration::as_secs_f64),
        "waits": waits.collect::<Vec<_>>(),
        "grants": frame.grants,
        "waiting": frame.waiting,
        "troubles": frame.troubles,
    })
}

fn at_node(held: Option<&(u32, Held)>) -> Value {
    held.map_or(Value::Null, |(node, held)| client_at(*node, held))
}

fn node_json(row: &NodeRow) -> Value {
    let told = row.told.as_ref();
    let unreachable = told.map(|told| {
        let seconds =
            |(node, since): &(u32, Duration)| json!({ "node": node, "seconds": since.as_secs_f64() });
        told.unreachable.iter().map(seconds).collect::<Vec<_>>()
    });
    json!({
        "node": row.id,
        "endpoint": row.endpoint,
        "member": row.member,
        "leads": row.leads,
        "epoch": told.map(|told| told.epoch),
        "lease_left_seconds": told.map(|told| told.lease_left.as_secs_f64()),
        "sessions": told.map(|told| told.sessions),
        "holds": told.and_then(|told| told.holds),
        "waits": told.and_then(|told| told.waits),
        "names": told.map(|told| told.names),
        "grants": told.map(|told| told.grants),
        "grants_per_second": told.and_then(|told| told.grants_per_second),
        "sent_per_second": told.and_then(|told| told.sent_per_second),
        "handoffs_local_per_second": told.and_then(|told| told.handoffs_local_per_second),
        "handoffs_remote_per_second": told.and_then(|told| told.handoffs_remote_per_second),
        "unreachable": unreachable,
        "certificate_left_seconds": told.and_then(certificate_left),
        "silent_seconds": row.silent.as_ref().map(|(since, _)| since.as_secs_f64()),
        "error": row.silent.as_ref().map(|(_, why)| why),
    })
}

fn certificate_left(told: &NodeFacts) -> Option<f64> {
    told.certificate_left.as_ref().map(Duration::as_secs_f64)
}
