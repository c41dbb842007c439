//! How a command says that it failed: a line for people, or with `--format json` an object for scripts.

use std::fmt::Display;

use crate::locks::endpoints::{NO_CLUSTER, is_unreached};
use crate::terminal::json;
use crate::terminal::output;

/// Says what failed and what to do next. Returns the exit code.
pub(crate) fn fail(exit_code: u8, message: impl Display, hint: Option<&str>) -> u8 {
    let message = message.to_string();
    let text = match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.clone(),
    };
    tell(exit_code, &text, &message, hint);
    exit_code
}

/// The same, where what to do is a command to copy: for people it has a line of its own.
pub(crate) fn fail_on_two_lines(exit_code: u8, message: &str, hint: &str) {
    tell(exit_code, &format!("{message}\n{hint}"), message, Some(hint));
}

/// Says that this error has ended a command. Returns the exit code.
pub(crate) fn fail_with(exit_code: u8, about: &str, error: &anyhow::Error) -> u8 {
    let text = format!("{about}{error:#}");
    // For people, what to do is part of such an error.
    let message = text.strip_suffix(NO_CLUSTER).map_or(&*text, |message| message.trim_end_matches("; "));
    let hint = is_unreached(error).then_some(NO_CLUSTER);
    tell(exit_code, &text, message, hint);
    exit_code
}

/// Refuses wrong usage, in the words of the parser, and ends the program.
pub(crate) fn refuse(error: &clap::Error) -> ! {
    // Help and versions are no errors.
    if !json::is_wanted() || !error.use_stderr() {
        error.exit();
    }
    let exit_code = u8::try_from(error.exit_code()).unwrap_or(2);
    let text = error.to_string();
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = parts.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first);
    let hints: Vec<String> = parts.filter(|part| !part.is_empty() && !part.starts_with("For more")).collect();
    let hint = hints.join("; ");
    tell(exit_code, message, message, (!hint.is_empty()).then_some(&hint));
    std::process::exit(exit_code.into());
}

fn tell(exit_code: u8, text: &str, message: &str, hint: Option<&str>) {
    match json::is_wanted() {
        true => output::to_stderr(format_args!("{}\n", json::error(message, hint, exit_code))),
        false => output::to_stderr(format_args!("tokenwood: {text}\n")),
    }
}
