//! What a sweep found, for people.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::Ended;
use crate::terminal::output::{note, say};
use crate::terminal::table::{self, count, grouped};
use crate::workbench::sweep_file::{Header, Row};
use crate::workbench::sweep_grid::{Sweep, flag, quoted};
use crate::workbench::sweep_results::Files;

/// Longer tables are for other programs.
const MOST_ROWS: usize = 40;
/// More refused combinations than this are only counted.
const MOST_NOTES: usize = 5;

/// A sweep that has been run.
pub(crate) struct Finished<'a> {
    pub(crate) header: &'a Header,
    pub(crate) rows: &'a BTreeMap<u64, Row>,
    /// How many of the rows were there before.
    pub(crate) before: usize,
    pub(crate) seconds: f64,
    /// The points that a signal has left over.
    pub(crate) missing: &'a [u64],
    /// Whether it is one of several parts.
    pub(crate) is_part: bool,
}

/// Whether anything was violated.
pub(crate) fn ended(rows: &BTreeMap<u64, Row>) -> Ended {
    let violated = rows.values().any(|row| !row.measures.get("violation").is_null());
    if violated { Ended::Violated } else { Ended::Well }
}

/// Says which combinations are left out.
pub(crate) fn note_refused(sweep: &Sweep) {
    for refused in sweep.refused.iter().take(MOST_NOTES) {
        note!("note: left out {refused}");
    }
    if sweep.refused.len() > MOST_NOTES {
        note!("note: left out {} combinations in all; the JSON lists them", sweep.refused.len());
    }
}

/// The report. A part has no results yet, only its journal.
pub(crate) fn print(finished: &Finished<'_>, files: &Files, journal: &Path) {
    let Finished { header, rows, before, seconds, missing, is_part } = finished;
    let earlier = match before {
        0 => String::new(),
        1 => " (1 was there already)".to_string(),
        _ => format!(" ({} were there already)", grouped(*before as u64)),
    };
    print_table(header, rows);
    let points = count(rows.len() as u64, "point");
    let (shard, name) = (header.shard, journal.display());
    if !missing.is_empty() {
        let of = count((rows.len() + missing.len()) as u64, "point");
        let done = grouped(rows.len() as u64);
        say!(
            "{}",
            table::flowed(
                &format!("Interrupted: {done} of {of}{earlier} are kept in {name}. This resumes:"),
                0
            )
        );
        say!("{}", what_to_run(header, journal, missing));
    } else if !is_part {
        say!("{points}{earlier} in {seconds:.2} s: {}, {}", files.csv.display(), files.json.display());
    } else {
        say!("shard {shard}: {points}{earlier} in {seconds:.2} s: {name}");
        let all = files.csv.with_extension(format!("*-of-{}.journal", shard.of));
        let out = quoted(&files.csv.to_string_lossy());
        say!("when all shards are there: tokenwood merge {} --out {out}", all.display());
    }
    print_violations(&header.sweep, rows);
}

/// What was merged, and from how many journals.
pub(crate) fn print_merged(header: &Header, rows: &BTreeMap<u64, Row>, journals: usize, files: &Files) {
    print_table(header, rows);
    let (points, journals) = (count(rows.len() as u64, "point"), count(journals as u64, "journal"));
    let (csv, json) = (files.csv.display(), files.json.display());
    say!("{points} from {journals}: {csv}, {json}");
    print_violations(&header.sweep, rows);
}

fn print_table(header: &Header, rows: &BTreeMap<u64, Row>) {
    let varied: Vec<&str> = header.sweep.vary.iter().map(|varied| varied.parameter.as_str()).collect();
    let mut heading = vec!["algorithm"];
    heading.extend(&varied);
    heading.extend(["time to enter", "messages per entry", "throughput", "fairness"]);
    let mut table = vec![heading.into_iter().map(str::to_string).collect::<Vec<_>>()];
    for row in rows.values().take(MOST_ROWS) {
        let mut cells = vec![row.algorithm.clone()];
        cells.extend(varied.iter().map(|name| plain(row.parameters.get(name))));
        let measures = ["time_to_enter", "messages_per_entry", "throughput", "fairness"];
        cells.extend(measures.map(|name| with_error(row, name)));
        if !row.measures.get("violation").is_null() {
            cells.push("VIOLATED".to_string());
        }
        table.push(cells);
    }
    table::print_keyed(&table, 1 + varied.len());
    if rows.len() > MOST_ROWS {
        say!("… and {} more", grouped((rows.len() - MOST_ROWS) as u64));
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

fn with_error(row: &Row, name: &str) -> String {
    let number = |name: &str| row.measures.get(name).as_f64().unwrap_or_default();
    let (mean, error) = (number(name), number(&format!("{name}_stderr")));
    if error == 0.0 { format!("{mean:.4}") } else { format!("{mean:.4} ± {error:.4}") }
}

/// Says what was violated first, and how to look at it.
fn print_violations(sweep: &Sweep, rows: &BTreeMap<u64, Row>) {
    let mut violated = rows.values().filter(|row| !row.measures.get("violation").is_null());
    let Some(first) = violated.next() else { return };
    let others = violated.count();
    let others = if others == 0 { String::new() } else { format!(" (and in {others} more)") };
    say!("VIOLATED in point {}{others}: {}", first.point, plain(first.measures.get("violation")));
    let mut words = vec![format!("tokenwood simulate {}", quoted(&first.algorithm))];
    let varied = |name: &str| sweep.vary.iter().any(|varied| varied.parameter == name);
    let fixed = sweep.fixed.iter().filter(|(name, _)| !varied(name));
    words.extend(fixed.map(|(name, value)| flag(name, value)));
    for name in sweep.vary.iter().map(|varied| varied.parameter.as_str()) {
        // Several faults are one value here, and several flags there.
        let value = plain(first.parameters.get(name));
        words.extend(value.split("; ").map(|value| flag(name, value)));
    }
    words.push(format!("--seed {}", plain(first.measures.get("violation_seed"))));
    say!("'{}' saves its trace", words.join(" "));
}

/// Which numbers, in a few words: `1-3, 7`.
pub(crate) fn numbers(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    const MOST: usize = 20;
    let text = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let mut words: Vec<String> = runs.iter().take(MOST).map(text).collect();
    if runs.len() > MOST {
        words.push("…".to_string());
    }
    words.join(", ")
}

/// What has to be run for the points that are missing: the command, and for which shards.
pub(crate) fn what_to_run(header: &Header, journal: &Path, missing: &[u64]) -> String {
    let out = Files::out_of_journal(journal, header.shard);
    let out = quoted(&out.to_string_lossy());
    let command = header.sweep.command();
    let of = header.shard.of;
    if of == 1 {
        return format!("{command} --out {out}");
    }
    let mut shards: Vec<u64> = missing.iter().map(|point| (point - 1) % of + 1).collect();
    shards.sort_unstable();
    shards.dedup();
    match shards[..] {
        [shard] => format!("{command} --shard {shard}/{of} --out {out}"),
        _ => format!("{command} --shard I/{of} --out {out}  (for I = {})", numbers(&shards)),
    }
}
