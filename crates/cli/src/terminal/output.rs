//! Standard output and standard error that may lose their readers. `tokenwood … | head` ends quietly; what goes to standard
//! error is only a note, and no command ends or panics because it cannot be written.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use crate::terminal::failure;
use crate::terminal::json;

/// Prints like `println!`.
macro_rules! say {
    () => { $crate::terminal::output::print(format_args!("\n")) };
    ($($text:tt)*) => { $crate::terminal::output::print(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints to standard error like `eprintln!`, and goes on if that cannot be written.
macro_rules! note {
    ($($text:tt)*) => { $crate::terminal::output::log_line(format_args!($($text)*)) };
}

/// The same without an end of the line, for lines that are drawn again and again.
macro_rules! draw {
    ($($text:tt)*) => { $crate::terminal::output::to_stderr(format_args!($($text)*)) };
}

pub(crate) use {draw, note, say};

/// Prints; ends the program if standard output has no reader any more.
pub(crate) fn print(text: Arguments<'_>) {
    if let Err(error) = std::io::stdout().write_fmt(text) {
        if error.kind() != ErrorKind::BrokenPipe {
            std::process::exit(failure::fail(2, format_args!("cannot write: {error}"), None).into());
        }
        std::process::exit(0);
    }
}

/// Prints where a cluster is that serves from now on. It goes on serving also if that has no reader.
pub(crate) fn announce(text: Arguments<'_>) {
    _ = std::io::stdout().write_fmt(text);
}

/// Writes a line to standard error, if anything reads that. For scripts it is an object.
pub(crate) fn log_line(line: Arguments<'_>) {
    match json::is_wanted() {
        true => to_stderr(format_args!("{}\n", json::note(line))),
        false => to_stderr(format_args!("{line}\n")),
    }
}

pub(crate) fn to_stderr(text: Arguments<'_>) {
    // All of it at once, so that lines of several threads do not mix.
    _ = std::io::stderr().write_all(text.to_string().as_bytes());
}
