//! Standard output that somebody may stop reading: `tokenwood … | head` ends quietly.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Prints like `println!`.
macro_rules! say {
    () => { $crate::output::print(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use say;

/// Prints; ends the program if nobody listens any more.
pub(crate) fn print(text: Arguments<'_>) {
    if let Err(error) = std::io::stdout().write_fmt(text) {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("tokenwood: cannot write: {error}");
            std::process::exit(2);
        }
        std::process::exit(0);
    }
}
