//! The tables: which columns they have, and what is in them, for a screen and for plain text.

use std::time::Duration;

use super::frame::{Frame, NameRow, NodeFacts, NodeRow, WaitRow, client};
use crate::locks::holders::time_in_words;
use crate::locks::list::kind;
use crate::terminal::progress::short;

/// A column of a table.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// How wide it is; a column that grows takes a part of what is left.
    pub(super) width: usize,
    pub(super) grows: bool,
    pub(super) right: bool,
    /// A narrow screen is without columns of high rank.
    pub(super) rank: u8,
}

const fn number(title: &'static str, width: usize, rank: u8) -> Column {
    Column { title, width, grows: false, right: true, rank }
}

const fn text(title: &'static str, width: usize, grows: bool, rank: u8) -> Column {
    Column { title, width, grows, right: false, rank }
}

/// What a table of names shows. The first column says which row it is.
pub(super) const NAMES: [Column; 7] = [
    text("name", 12, true, 0),
    number("grants/s", 8, 0),
    number("hold", 5, 0),
    number("wait", 5, 0),
    number("longest", 9, 0),
    text("kind", 9, false, 0),
    text("held longest by", 24, true, 1),
];

pub(super) const WAITS: [Column; 6] = [
    number("waits for", 9, 0),
    text("name", 12, true, 0),
    text("who", 16, true, 0),
    number("node", 4, 1),
    text("held by", 16, true, 0),
    number("held for", 9, 2),
];

pub(super) const NODES: [Column; 12] = [
    number("node", 4, 0),
    text("state", 9, false, 0),
    number("lease", 5, 0),
    number("sess.", 5, 0),
    number("hold", 4, 0),
    number("wait", 4, 0),
    number("names", 6, 0),
    number("grants/s", 8, 0),
    number("sent/s", 7, 1),
    number("local/s", 7, 3),
    number("remote/s", 8, 3),
    text("endpoint", 18, true, 2),
];

/// What is not known.
const UNKNOWN: &str = "–";

fn known<T>(value: Option<T>, say: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_string(), say)
}

/// So many in a second, in a few characters.
pub(super) fn rate(per_second: f64) -> String {
    if per_second > 0.0 && per_second < 9.95 { format!("{per_second:.1}") } else { short(per_second) }
}

/// So many, in four characters up to a billion.
fn counted(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        1_000_000..10_000_000 => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
        _ => format!("{}M", number / 1_000_000),
    }
}

pub(super) fn name_cells(row: &NameRow) -> Vec<String> {
    let more = if row.more { "+" } else { "" };
    let what = match kind(row.definition) {
        ("semaphore", slots) => format!("{slots} slots"),
        (kind, _) => kind.to_string(),
    };
    vec![
        row.name.to_string(),
        known(row.grants_per_second, rate),
        format!("{}{more}", counted(row.holders)),
        format!("{}{more}", counted(row.waiters)),
        known(row.longest_wait, time_in_words),
        what,
        known(row.longest_hold.as_ref(), |(node, held)| client(*node, held)),
    ]
}

pub(super) fn wait_cells(row: &WaitRow) -> Vec<String> {
    let holder = row.holder.as_ref();
    vec![
        time_in_words(row.waiter.since),
        row.name.to_string(),
        client(row.node, &row.waiter),
        row.node.to_string(),
        known(holder, |(node, held)| client(*node, held)),
        known(holder, |(_, held)| time_in_words(held.since)),
    ]
}

/// What a node is, in a word or two.
pub(super) fn state(row: &NodeRow) -> &'static str {
    match &row.told {
        None if row.silent.is_some() && !row.member => "away",
        None if row.silent.is_some() => "no answer",
        None => "…",
        Some(told) if told.lease_left.is_zero() => "no lease",
        Some(_) if row.leads => "leads",
        Some(told) if !told.unreachable.is_empty() => "cut off",
        Some(_) => "serves",
    }
}

pub(super) fn node_cells(row: &NodeRow) -> Vec<String> {
    let told = row.told.as_ref();
    let some = |of: fn(&NodeFacts) -> Option<u64>| known(told.and_then(of), counted);
    let per_second = |of: fn(&NodeFacts) -> Option<f64>| known(told.and_then(of), rate);
    vec![
        row.id.to_string(),
        state(row).to_string(),
        known(told, |told| lease(told.lease_left)),
        some(|told| Some(told.sessions)),
        some(|told| told.holds),
        some(|told| told.waits),
        some(|told| Some(told.names)),
        per_second(|told| told.grants_per_second),
        per_second(|told| told.sent_per_second),
        per_second(|told| told.handoffs_local_per_second),
        per_second(|told| told.handoffs_remote_per_second),
        known(row.endpoint.clone(), |endpoint| endpoint),
    ]
}

fn lease(left: Duration) -> String {
    if left.as_secs() < 100 { format!("{:.1} s", left.as_secs_f64()) } else { time_in_words(left) }
}

/// Whether any node tells hand-offs: otherwise there is nothing to show in their columns.
pub(super) fn tells_handoffs(frame: &Frame) -> bool {
    let told = |row: &NodeRow| {
        row.told
            .as_ref()
            .is_some_and(|told| told.handoffs_local_per_second.or(told.handoffs_remote_per_second).is_some())
    };
    frame.nodes.iter().any(told)
}

/// What the whole cluster does, the most important first.
pub(super) fn totals(frame: &Frame) -> Vec<String> {
    let mut parts = Vec::new();
    let sum = |of: fn(&NodeFacts) -> Option<f64>| frame.sum(of);
    parts.push(format!("{} grants/s", known(sum(|told| told.grants_per_second), rate)));
    let whole = |of: fn(&NodeFacts) -> Option<u64>| known(sum_of(frame, of), counted);
    parts.push(format!("{} hold", whole(|told| told.holds)));
    parts.push(format!("{} wait", whole(|told| told.waits)));
    parts.push(format!("{} sessions", whole(|told| Some(told.sessions))));
    let handoffs = [
        (sum(|told| told.handoffs_local_per_second), "local"),
        (sum(|told| told.handoffs_remote_per_second), "remote"),
    ];
    for (per_second, which) in handoffs {
        parts.extend(per_second.map(|per_second| format!("{} {which} hand-offs/s", rate(per_second))));
    }
    parts.push(format!("{} messages/s", known(sum(|told| told.sent_per_second), rate)));
    if let Some((id, left)) = frame.certificate {
        parts.push(format!("certificate of node {id} ends in {}", time_in_words(left)));
    }
    parts
}

fn sum_of(frame: &Frame, of: fn(&NodeFacts) -> Option<u64>) -> Option<u64> {
    let told = frame.nodes.iter().filter_map(|row| of(row.told.as_ref()?));
    told.fold(None, |sum, more| Some(sum.unwrap_or(0) + more))
}

/// How the names are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Grants,
    Waiters,
    Holders,
    LongestWait,
    Name,
}

impl Order {
    pub(super) const ALL: [Order; 5] =
        [Order::Grants, Order::Waiters, Order::Holders, Order::LongestWait, Order::Name];

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Order::Grants => "by grants/s",
            Order::Waiters => "by waiters",
            Order::Holders => "by holders",
            Order::LongestWait => "by longest wait",
            Order::Name => "by name",
        }
    }

    /// The names in this order, and equal ones by name.
    pub(super) fn sorted(self, names: &[NameRow]) -> Vec<&NameRow> {
        let mut rows: Vec<&NameRow> = names.iter().collect();
        match self {
            // The order of sorting is stable, and names come in theirs.
            Order::Grants => rows.sort_by(|one, other| other.heat().total_cmp(&one.heat())),
            Order::Waiters => rows.sort_by_key(|row| std::cmp::Reverse(row.waiters)),
            Order::Holders => rows.sort_by_key(|row| std::cmp::Reverse(row.holders)),
            Order::LongestWait => rows.sort_by_key(|row| std::cmp::Reverse(row.longest_wait)),
            Order::Name => {}
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        let numbers = [(0, "0"), (9_999, "9999"), (10_240, "10k"), (999_999, "999k"), (1_250_000, "1.2M")];
        for (number, expected) in numbers {
            assert_eq!(counted(number), expected);
        }
        assert_eq!(counted(99_000_000), "99M");
        assert_eq!([rate(0.0), rate(0.26), rate(9.97), rate(123_456.0)], ["0", "0.3", "10", "123 k"]);
    }

    #[test]
    fn all_columns_that_are_always_shown_fit_sixty_characters() {
        for columns in [&NAMES[..], &WAITS, &NODES] {
            let always = columns.iter().filter(|column| column.rank == 0);
            assert!(always.map(|column| column.width + 2).sum::<usize>() - 2 <= 60);
        }
    }
}
