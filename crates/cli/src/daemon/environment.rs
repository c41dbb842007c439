//! The environment of this program: variables and limits.

use clap::Command;
use clap::builder::Resettable;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A variable that is empty counts as one that is not set: so scripts can unset what they inherited.
pub(crate) fn without_empty_variables(command: Command) -> Command {
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| {
            if argument.get_env().is_some_and(is_empty) { argument.env(Resettable::Reset) } else { argument }
        })
        .mut_subcommands(without_empty_variables)
}

/// As many files as this user may have open: every client is one.
pub(crate) fn allow_most_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised =
        current == maximum || setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let now = getrlimit(Resource::Nofile).current;
    // No number means that there is no limit.
    let [before, now] = [current, now].map(|limit| limit.unwrap_or(u64::MAX));
    tracing::debug!(target: "tokenwood", before, now, raised, "how many files may be open");
}

/// Says which variables are for tests and have no effect in this build.
pub(crate) fn warn_of_fault_variables() {
    for name in [transport::clock::FAKE, control::SLOW_DISK, node::faults::FAULT] {
        let set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if set && node::FAULTS {
            tracing::warn!(target: "tokenwood", "{name} is set: this node injects its faults");
        } else if set {
            tracing::warn!(target: "tokenwood", "{name} is ignored: this build has no faults");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_commands_make_sense() {
        crate::commands::Cli::command().debug_assert();
        super::without_empty_variables(crate::commands::Cli::command()).debug_assert();
    }
}
