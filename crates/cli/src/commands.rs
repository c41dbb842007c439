//! All commands: the one table that the guide, `--help` and the checks of the documentation use.

use std::fmt::Write;

use anyhow::Result;
use clap::{Parser, Subcommand};
use robustness::{conformance, ordeal as trials, storm as storms};

use crate::locks::endpoints;
use crate::terminal::interrupt;
use crate::{certs, daemon, locks, terminal, testing, workbench};

/// Locks without a coordinator, and the workbench for the algorithms behind them.
#[derive(Parser)]
#[command(name = "tokenwood", version, about, max_term_width = 100, after_long_help = guide())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Dev(daemon::dev::Arguments),
    Run(locks::run::Arguments),
    /// The guardian of a command of 'run'
    #[command(hide = true)]
    Guardian,
    /// What a guardian starts, to become the command
    #[command(hide = true)]
    Guarded(locks::run::Guarded),
    Acquire(locks::acquire::AcquireArguments),
    Renew(locks::acquire::RenewArguments),
    Release(locks::acquire::ReleaseArguments),
    Locks(locks::list::ListArguments),
    Inspect(locks::inspect::Arguments),
    Watch(locks::watch::Arguments),
    Top(locks::top::Arguments),
    Ui(locks::ui::Arguments),
    Define(locks::define::DefineArguments),
    Resize(locks::define::ResizeArguments),
    Undefine(locks::define::UndefineArguments),
    /// List all definitions
    Definitions(locks::cluster::Asking),
    /// Show the state of all nodes of the cluster
    Status(locks::cluster::Asking),
    /// Say whether a node serves and a majority is there, for scripts
    ///
    /// Exit code 0: the node serves and a majority of the voters is there. 1: it answers, and that is not so. 69: no node could
    /// be reached. Name the node with --endpoint.
    Health(locks::cluster::Asking),
    Members(locks::members::Arguments),
    Auth(locks::auth::Arguments),
    Audit(locks::audit::Arguments),
    Node(daemon::node::Arguments),
    Certs(certs::Arguments),
    Bench(testing::bench::Arguments),
    Storm(testing::storm::Arguments),
    Swarm(testing::swarm::Arguments),
    Ordeal(testing::ordeal::Arguments),
    Conformance(testing::conformance::Arguments),
    #[command(hide = true)]
    ConformanceAgent(conformance::agents::Arguments),
    #[command(hide = true)]
    OrdealClient(trials::editor::Arguments),
    #[command(hide = true)]
    OrdealStrangers(trials::strangers::process::Arguments),
    /// A command that prints the time until it is killed
    #[command(hide = true)]
    OrdealBeat(trials::commands::BeatArguments),
    #[command(hide = true)]
    StormClients(storms::ClientArguments),
    Check(Box<workbench::check_arguments::Arguments>),
    Play(workbench::play::Arguments),
    Simulate(Box<workbench::simulate::Arguments>),
    Sweep(Box<workbench::sweep::Arguments>),
    Merge(workbench::merge::Arguments),
    Reproduce(workbench::reproduce::Arguments),
    Recommend(Box<workbench::recommend::Arguments>),
    Map(workbench::map::Arguments),
    Algorithms(workbench::algorithms::Arguments),
    Trace(workbench::trace::Arguments),
    Errata(workbench::errata::Arguments),
    Schema(terminal::schema::Arguments),
    Completions(terminal::shell::CompletionsArguments),
    Man(terminal::shell::ManArguments),
    Seat(workbench::seat::Arguments),
}

impl Command {
    /// Runs the command. Returns its exit code.
    pub(crate) fn run(self) -> Result<u8> {
        let ended = match self {
            Command::Dev(arguments) => daemon::dev::run(&arguments),
            // It ends as its command does.
            Command::Run(arguments) => return locks::run::run(&arguments),
            Command::Guardian => return locks::run::guardian::run(),
            Command::Guarded(arguments) => return Ok(locks::run::guarded(&arguments)),
            Command::Acquire(arguments) => return locks::acquire::acquire(&arguments),
            Command::Renew(arguments) => return locks::acquire::renew(&arguments),
            Command::Release(arguments) => return locks::acquire::release(&arguments),
            Command::Locks(arguments) => return locks::list::list(&arguments),
            Command::Inspect(arguments) => return locks::inspect::run(&arguments),
            Command::Watch(arguments) => locks::watch::run(&arguments),
            Command::Top(arguments) => return locks::top::run(&arguments),
            Command::Ui(arguments) => locks::ui::run(&arguments),
            Command::Define(arguments) => locks::define::define(&arguments),
            Command::Resize(arguments) => locks::define::resize(&arguments),
            Command::Undefine(arguments) => locks::define::undefine(&arguments),
            Command::Definitions(arguments) => locks::define::list(&arguments),
            Command::Status(arguments) => return locks::list::status(&arguments),
            Command::Health(arguments) => return locks::health::run(&arguments),
            Command::Members(arguments) => return locks::members::run(&arguments),
            Command::Auth(arguments) => return locks::auth::run(&arguments),
            Command::Audit(arguments) => return locks::audit::run(&arguments),
            Command::Node(arguments) => daemon::node::run(&arguments),
            Command::Certs(arguments) => certs::run(&arguments),
            Command::Bench(arguments) => testing::bench::run(&arguments),
            Command::Storm(arguments) => testing::storm::run(&arguments),
            Command::Swarm(arguments) => testing::swarm::run(&arguments),
            Command::Ordeal(arguments) => return testing::ordeal::run(&arguments),
            Command::Conformance(arguments) => testing::conformance::run(&arguments),
            Command::ConformanceAgent(arguments) => {
                conformance::agents::run(&arguments).map(|()| Ended::Well)
            }
            Command::OrdealClient(arguments) => finished(trials::editor::run(&arguments)),
            Command::OrdealStrangers(arguments) => finished(async {
                trials::strangers::process::run(&arguments).await;
                Ok(())
            }),
            Command::OrdealBeat(arguments) => trials::commands::beat(&arguments).map(|()| Ended::Well),
            Command::StormClients(arguments) => finished(async {
                storms::run_clients(&arguments).await;
                Ok(())
            }),
            Command::Check(arguments) => workbench::check::run(&arguments),
            Command::Play(arguments) => workbench::play::run(&arguments),
            Command::Simulate(arguments) => workbench::simulate::run(&arguments),
            Command::Sweep(arguments) => workbench::sweep::run(&arguments),
            Command::Merge(arguments) => workbench::merge::run(&arguments),
            Command::Reproduce(arguments) => workbench::reproduce::run(&arguments),
            Command::Recommend(arguments) => workbench::recommend::run(&arguments),
            Command::Map(arguments) => workbench::map::run(&arguments),
            Command::Algorithms(arguments) => workbench::algorithms::run(&arguments),
            Command::Trace(arguments) => workbench::trace::run(&arguments),
            Command::Errata(arguments) => workbench::errata::run(&arguments),
            Command::Schema(arguments) => terminal::schema::run(&arguments),
            Command::Completions(arguments) => terminal::shell::completions(&arguments),
            Command::Man(arguments) => terminal::shell::man(&arguments),
            Command::Seat(arguments) => workbench::seat::run(&arguments),
        };
        Ok(match ended? {
            Ended::Interrupted => interrupt::code(),
            ended => ended as u8,
        })
    }
}

/// Runs a part of a storm or an ordeal to its end.
fn finished(part: impl Future<Output = Result<()>>) -> Result<Ended> {
    endpoints::runtime()?.block_on(part)?;
    Ok(Ended::Well)
}

/// How a command ended, beyond errors in its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All that was checked holds.
    Well = 0,
    /// Stopped at a limit, nothing violated so far.
    Unknown = 3,
    /// A signal has asked to stop, nothing violated so far; the exit code says which.
    Interrupted = 130,
    /// A property is violated.
    Violated = 1,
}

impl Ended {
    /// The one of the two that a user must hear of: a violation before all else.
    pub(crate) fn worse(self, other: Ended) -> Ended {
        let all = [Ended::Violated, Ended::Interrupted, Ended::Unknown];
        all.into_iter().find(|ended| [self, other].contains(ended)).unwrap_or(Ended::Well)
    }
}

/// A line of the guide: what to type, and what it does.
pub(crate) struct Example {
    pub(crate) line: &'static str,
    what: &'static str,
}

const fn example(line: &'static str, what: &'static str) -> Example {
    Example { line, what }
}

/// The guide: the commands that beginners need, by subject.
pub(crate) const GUIDE: [(&str, &[Example]); 2] = [
    (
        "Locks",
        &[
            example("tokenwood dev", "a cluster of three nodes on this machine, to try things"),
            example("tokenwood run backup -- ./backup.sh", "run a command while holding a lock"),
            example("tokenwood run gpu --slots 2 -- ./train.sh", "at most two holders at once"),
            example("tokenwood locks", "holders and waiters of all locks"),
            example("tokenwood inspect gpu", "everything about one lock"),
            example("tokenwood watch", "events at all nodes, as they happen"),
            example("tokenwood top", "the whole cluster, live: nodes, hot names, waits"),
            example("tokenwood ui --no-open", "the address of the page of a node, for a browser"),
            example("tokenwood status", "the state of all nodes"),
            example("tokenwood members", "the nodes of the cluster; 'members invite' adds one"),
            example("grant=$(tokenwood acquire backup --quiet)", "hold a lock in a script, then"),
            example("tokenwood release $grant", "release it"),
            example("tokenwood define gpu --slots 4", "define a name for all clients"),
            example("tokenwood resize gpu 8", "change its number of slots, in use or not"),
            example("tokenwood release --force gpu --slot 3", "revoke a lock from its holder"),
            example("tokenwood bench", "measure what locks cost, beside a bare round trip"),
            example("tokenwood bench --peers", "measure Redis, etcd and ZooKeeper beside it"),
            example("tokenwood storm", "kill clients, cut connections, and check that locks hold"),
            example("tokenwood swarm --runs 1000", "whole clusters with faults, in simulated time"),
            example("tokenwood ordeal", "real nodes: killed, stopped, cut off, out of disk"),
        ],
    ),
    (
        "The workbench",
        &[
            example("tokenwood algorithms", "list the algorithms: kind, source, needs, cost"),
            example("tokenwood check naimi-trehel --nodes 3", "explore every run of three nodes"),
            example("tokenwood check bulgannawar-vaidya --nodes 3 --tokens 2 --requests 2", ""),
            example(
                "tokenwood check bulgannawar-vaidya --defect holding-not-set",
                "put a defect back and see what it does",
            ),
            example("tokenwood play bulgannawar-vaidya", "play it in a browser, step by step"),
            example("tokenwood trace FILE", "replay what a check found, step by step"),
            example("tokenwood check --list-defects", "list the defects: errors of the papers, and mutants"),
            example("tokenwood errata", "put all of them back and print what each leads to"),
            example("tokenwood check --all", "the standard suite"),
            example(
                "tokenwood simulate bulgannawar-vaidya --rate 0.1",
                "how long clients wait, how many messages it takes",
            ),
            example(
                "tokenwood recommend --nodes 30 --tokens 3 --rate 0.01 --cs 0.0002 --transit 0.8",
                "which algorithm fits a load",
            ),
            example("tokenwood map --nodes 30 --tokens 3", "which algorithm is best where"),
            example(
                "tokenwood sweep raymond-k --vary rate=0.01..1x10 --out load.csv",
                "measure every combination; resumable, shardable",
            ),
            example(
                "tokenwood reproduce --all --quick --out report",
                "the papers' figures and claims, computed again",
            ),
            example(
                "tokenwood reproduce --sockets --out sockets",
                "the thesis' experiment with nine processes over TCP",
            ),
        ],
    ),
];

/// An example that is longer has its explanation on the next line.
const WIDEST: usize = 48;

/// The guide as people read it.
pub(crate) fn guide() -> String {
    let mut text = String::new();
    for (subject, examples) in GUIDE {
        _ = writeln!(text, "{subject}:");
        for Example { line, what } in examples {
            let line = if line.len() > WIDEST && !what.is_empty() {
                _ = writeln!(text, "  {line}");
                ""
            } else {
                line
            };
            _ = writeln!(text, "{}", format!("  {line:WIDEST$}  {what}").trim_end());
        }
        text.push('\n');
    }
    text.push_str("'tokenwood COMMAND --help' describes one command.\n");
    text
}

#[cfg(test)]
mod tests;
