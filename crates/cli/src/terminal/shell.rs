//! Completions for shells, and manual pages: both from the one table of commands.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Ended;
use crate::commands::Cli;
use crate::terminal::output::{self, say};

/// Print completions for a shell
///
/// For bash: tokenwood completions bash > ~/.local/share/bash-completion/completions/tokenwood. For zsh: write them to a file
/// _tokenwood in a folder of $fpath. For fish: to ~/.config/fish/completions/tokenwood.fish.
#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Write a manual page for each command into a folder
#[derive(Args)]
pub(crate) struct ManArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Ended> {
    let mut bytes = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "tokenwood", &mut bytes);
    output::print(format_args!("{}", String::from_utf8_lossy(&bytes)));
    Ok(Ended::Well)
}

pub(crate) fn man(arguments: &ManArguments) -> Result<Ended> {
    let folder = arguments.out.display();
    std::fs::create_dir_all(&arguments.out).with_context(|| format!("cannot make {folder}"))?;
    // Long help is for terminals: a manual page has sections of its own.
    let command = Cli::command().after_long_help("");
    clap_mangen::generate_to(command, &arguments.out)
        .with_context(|| format!("cannot write into {folder}"))?;
    say!("The manual pages are in {folder}: try 'man -l {folder}/tokenwood.1'");
    Ok(Ended::Well)
}
