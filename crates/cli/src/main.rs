//! `tokenwood`: the one program. `main` maps outcomes to exit codes; `commands.rs` lists all commands.

#![forbid(unsafe_code)]

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
use terminal::output;

fn main() -> ExitCode {
    let matches = environment::without_empty_variables(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
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
            output::note!("tokenwood: {error:#}");
            ExitCode::from(2)
        }
    }
}
