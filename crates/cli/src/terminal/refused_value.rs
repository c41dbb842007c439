//! What the parser of the command line says about a value that is no number: what was expected, with an example.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// A minus before a number is part of it, and not another flag.
pub(crate) fn with_negative_numbers(command: Command) -> Command {
    let argument = |argument: clap::Arg| {
        let takes_values = argument.get_action().takes_values();
        if takes_values { argument.allow_negative_numbers(true) } else { argument }
    };
    command.mut_args(argument).mut_subcommands(with_negative_numbers)
}

/// The same refusal in words that help, where the standard library's do not.
pub(crate) fn in_words(error: Error, command: &Command) -> Error {
    if error.kind() != ErrorKind::ValueValidation {
        return error;
    }
    let is_negative = matches!(
        error.get(ContextKind::InvalidValue),
        Some(ContextValue::String(value)) if value.starts_with('-')
    );
    let expected = error.source().and_then(|why| {
        let number = why.downcast_ref::<ParseIntError>().map(|why| expected_whole(why.kind(), is_negative));
        let float =
            why.downcast_ref::<ParseFloatError>().map(|_| "expected a number, for example 0.5".to_string());
        number.or(float).or_else(|| expected_range(&why.to_string()))
    });
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match (expected, text(ContextKind::InvalidValue), text(ContextKind::InvalidArg)) {
        (Some(expected), Some(value), Some(flag)) => {
            Error::raw(error.kind(), format!("'{value}' is no value for {flag}: {expected}\n"))
                .with_cmd(command)
        }
        _ => error,
    }
}

/// A value that is taken for an argument of its own, because its flag takes values after an equals sign only.
pub(crate) fn with_equals(error: Error, command: &Command, words: &[String]) -> Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let called = words.iter().fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let takes = |flag: &str| {
        let name = flag.strip_prefix("--");
        let argument = called.get_arguments().find(|argument| argument.get_long() == name);
        name.is_some() && argument.is_some_and(clap::Arg::is_require_equals_set)
    };
    let Some(pair) = words.windows(2).find(|pair| pair[1] == *value && takes(&pair[0])) else { return error };
    let flag = &pair[0];
    let text = format!("'{value}' does not belong to {flag}: write {flag}={value}\n");
    Error::raw(ErrorKind::UnknownArgument, text).with_cmd(command)
}

fn expected_whole(why: &IntErrorKind, is_negative: bool) -> String {
    match why {
        IntErrorKind::PosOverflow => format!("expected a whole number of at most {}", u64::MAX),
        IntErrorKind::Empty => "expected a whole number, for example 3, and nothing is there".to_string(),
        _ if is_negative => "expected a whole number of at least 0".to_string(),
        // Its range is not known here.
        _ => "expected a whole number, for example 3".to_string(),
    }
}

/// From `300 is not in 1..=100`.
fn expected_range(why: &str) -> Option<String> {
    let (_, range) = why.split_once(" is not in ")?;
    let (least, most) = range.split_once("..")?;
    Some(match most.strip_prefix('=') {
        Some(most) => format!("expected a whole number from {least} to {most}"),
        None => format!("expected a whole number of at least {least}"),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn refusal(line: &str) -> String {
        let mut command = with_negative_numbers(crate::commands::Cli::command());
        let refused = command.try_get_matches_from_mut(line.split_whitespace()).expect_err("it is refused");
        let words: Vec<String> = line.split_whitespace().map(ToString::to_string).collect();
        in_words(with_equals(refused, &command, &words), &command).to_string()
    }

    #[test]
    fn values_that_are_no_numbers_say_what_is_one() {
        for (line, wanted) in [
            (
                "tokenwood check lamport --nodes three",
                "'three' is no value for --nodes <NODES>: expected a whole number",
            ),
            ("tokenwood check lamport --nodes -1", "expected a whole number from 0 to 4294967295"),
            ("tokenwood check lamport --nodes 4294967296", "expected a whole number from 0 to 4294967295"),
            ("tokenwood check lamport --random 1e3", "expected a whole number, for example 3"),
            ("tokenwood check lamport --random -3", "expected a whole number of at least 0"),
            ("tokenwood dev --nodes x", "expected a whole number, for example 3"),
            ("tokenwood check lamport --max-states 99999999999999999999", "of at most 18446744073709551615"),
            ("tokenwood check lamport --max-memory 8", "'8' has no unit: write a number with its unit"),
            (
                "tokenwood map --rates 0.1,fast",
                "'fast' is no value for --rates <RATE>: expected a number, for example 0.5",
            ),
            ("tokenwood map --groups 0", "'0' does not belong to --groups: write --groups=0"),
            ("tokenwood map --groups=2 3", "unexpected argument '3'"),
            ("tokenwood check lamport --threads 100000", "expected a whole number from 1 to 256"),
            ("tokenwood swarm --drift 91", "expected a whole number from 0 to 90"),
            ("tokenwood simulate lamport --set choose", "is not NAME=VALUE: write, for example"),
            ("tokenwood dev --nodes 0", "expected a whole number from 1 to 100"),
            ("tokenwood resize gpu many", "expected a whole number"),
        ] {
            let said = refusal(line);
            assert!(said.contains(wanted), "{line}: {said}");
            assert!(!said.contains("invalid digit") && !said.contains("..="), "{line}: {said}");
        }
    }
}
