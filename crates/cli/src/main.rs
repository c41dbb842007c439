//! `tokenwood`: the one program. `main` maps outcomes to exit codes; `commands.rs` lists all commands.

mod certs;
mod commands;
mod daemon;
mod locks;
mod terminal;
mod testing;
mod workbench;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use commands::{Cli, Ended};
use daemon::environment;
use locks::cluster::UNAVAILABLE;
use locks::endpoints::is_unreached;
use terminal::{failure, json, output, refused_value};

fn main() -> ExitCode {
    let command = refused_value::with_negative_numbers(Cli::command());
    let mut command = environment::without_empty_variables(command);
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.unwrap_or_else(|error| {
        json::want_if_among(std::env::args_os());
        let words: Vec<String> = std::env::args_os().filter_map(|word| word.into_string().ok()).collect();
        let error = refused_value::with_equals(error, &command, &words);
        failure::refuse(&refused_value::in_words(error, &command))
    });
    json::want_if_in(&matches);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| failure::refuse(&error));
    let Some(command) = cli.command else {
        output::print(format_args!(
            "Tokenwood: locks without a coordinator, and the workbench for the algorithms behind them.\n\n{}",
            commands::guide()
        ));
        return ExitCode::SUCCESS;
    };
    match command.run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let code = if is_unreached(&error) { UNAVAILABLE } else { 2 };
            ExitCode::from(failure::fail_with(code, "", &error))
        }
    }
}
