//! JSON for scripts: each document names its schema and takes one line; errors and notes are JSON, too.

use std::ffi::OsString;
use std::fmt::Arguments;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ArgMatches;
use serde::Serialize;
use serde_json::json;

use crate::terminal::format::Format;
use crate::terminal::output;
use crate::terminal::schema::Schema;

/// Whether `--format json` was given. The notes of a command do not know its arguments.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether errors and notes are JSON.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// From now on, errors and notes are JSON if these arguments ask for it.
pub(crate) fn want_if_in(matches: &ArgMatches) {
    // A command without the flag does not know it.
    let format = matches.try_get_one::<Format>("format").ok().flatten();
    match (format, matches.subcommand()) {
        (Some(Format::Json), None) => WANTED.store(true, Ordering::Relaxed),
        (_, Some((_, matches))) => want_if_in(matches),
        (_, None) => {}
    }
}

/// The same for arguments that the parser has refused.
pub(crate) fn want_if_among(words: impl Iterator<Item = OsString>) {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let apart = words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    if apart || words.iter().any(|word| word == "--format=json") {
        WANTED.store(true, Ordering::Relaxed);
    }
}

/// A document: the name of its schema before its facts.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'a str,
    #[serde(flatten)]
    facts: &'a T,
}

/// A document on one line.
pub(crate) fn line(schema: Schema, facts: &impl Serialize) -> String {
    serde_json::to_string(&Document { schema: &schema.id(), facts }).expect("facts are names and numbers")
}

/// The same on several lines, for files that people read.
pub(crate) fn pretty(schema: Schema, facts: &impl Serialize) -> String {
    serde_json::to_string_pretty(&Document { schema: &schema.id(), facts })
        .expect("facts are names and numbers")
}

/// Prints a document. Standard output passes each line on at once, also into a pipe.
pub(crate) fn say(schema: Schema, facts: &impl Serialize) {
    output::print(format_args!("{}\n", line(schema, facts)));
}

/// A note as JSON, without what tells people that it is one.
pub(crate) fn note(text: Arguments<'_>) -> String {
    let text = text.to_string();
    let text = text.trim_start_matches('\r');
    let text = ["tokenwood: ", "note: "].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    line(Schema::Note, &json!({ "note": text }))
}

#[derive(Serialize)]
struct Failed<'a> {
    error: Failure<'a>,
}

#[derive(Serialize)]
struct Failure<'a> {
    message: &'a str,
    hint: Option<&'a str>,
    exit_code: u8,
}

/// An error as JSON.
pub(crate) fn error(message: &str, hint: Option<&str>, exit_code: u8) -> String {
    line(Schema::Error, &Failed { error: Failure { message, hint, exit_code } })
}
