//! `tokenwood`: the one program. `main` maps outcomes to exit codes; each command has its own file.

#![forbid(unsafe_code)]

mod acquire_command;
mod algorithms_command;
mod bench_command;
mod candidates;
mod check_arguments;
mod check_command;
mod check_report;
mod client_processes;
mod cluster;
mod define_command;
mod dev_command;
mod endpoints;
mod environment;
mod errata_command;
mod fail_stop;
mod force_command;
mod foreground;
mod inspect_command;
mod lock_arguments;
mod locks_command;
mod log;
mod members_command;
mod merge_command;
mod node_command;
mod node_file;
mod node_processes;
mod ordeal;
mod ordeal_command;
mod output;
mod peer_processes;
mod peers_command;
mod plan_arguments;
mod progress;
mod random_command;
mod recommend_command;
mod recommend_report;
mod record_file;
mod report_folder;
mod reproduce_command;
mod run_command;
mod seat_command;
mod signals;
mod simulate_command;
mod sockets_command;
mod storm_command;
mod swarm_command;
mod swarm_exhaustive;
mod sweep_command;
mod sweep_file;
mod sweep_grid;
mod sweep_report;
mod sweep_results;
mod table;
mod trace_command;
mod trace_file;
mod watch_command;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Locks without a coordinator, and the workbench for the algorithms behind them.
#[derive(Parser)]
#[command(name = "tokenwood", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Dev(dev_command::Arguments),
    Run(run_command::Arguments),
    Acquire(acquire_command::AcquireArguments),
    Renew(acquire_command::RenewArguments),
    Release(acquire_command::ReleaseArguments),
    /// List holders and waiters at all nodes of the cluster
    Locks(cluster::Asking),
    Inspect(inspect_command::Arguments),
    Watch(watch_command::Arguments),
    Define(define_command::DefineArguments),
    Resize(define_command::ResizeArguments),
    Undefine(define_command::UndefineArguments),
    /// List all definitions
    Definitions(cluster::Asking),
    /// Show the state of all nodes of the cluster
    Status(cluster::Asking),
    Members(members_command::Arguments),
    Node(node_command::Arguments),
    Bench(bench_command::Arguments),
    Storm(storm_command::Arguments),
    Swarm(swarm_command::Arguments),
    Ordeal(ordeal_command::Arguments),
    #[command(hide = true)]
    OrdealClient(ordeal::editor::Arguments),
    #[command(hide = true)]
    OrdealStrangers(ordeal::strangers::process::Arguments),
    /// A command that prints the time until it is killed
    #[command(hide = true)]
    OrdealBeat,
    #[command(hide = true)]
    StormClients(storm_command::ClientArguments),
    Check(Box<check_arguments::Arguments>),
    Simulate(Box<simulate_command::Arguments>),
    Sweep(Box<sweep_command::Arguments>),
    Merge(merge_command::Arguments),
    Reproduce(reproduce_command::Arguments),
    Recommend(Box<recommend_command::Arguments>),
    Algorithms(algorithms_command::Arguments),
    Trace(trace_command::Arguments),
    Errata(errata_command::Arguments),
    Seat(seat_command::Arguments),
}

/// How a command ended, beyond errors in its usage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    /// All that was checked holds.
    Well = 0,
    /// Stopped at a limit, nothing violated so far.
    Unknown = 3,
    /// A property is violated.
    Violated = 1,
}

const GUIDE: &str = "\
Tokenwood: locks without a coordinator, and the workbench for the algorithms behind them.

Locks:
  tokenwood dev                                     a cluster of three nodes on this machine, to try things
  tokenwood run backup -- ./backup.sh               run a command while holding a lock
  tokenwood run gpu --slots 2 -- ./train.sh         at most two holders at once
  tokenwood locks                                   holders and waiters of all locks
  tokenwood inspect gpu                             everything about one lock
  tokenwood watch                                   events at all nodes, as they happen
  tokenwood status                                  the state of all nodes
  tokenwood members                                 the nodes of the cluster; 'members invite' adds one
  grant=$(tokenwood acquire backup --quiet)         hold a lock in a script, then
  tokenwood release $grant                          release it
  tokenwood define gpu --slots 4                    define a name for all clients
  tokenwood resize gpu 8                            change its number of slots, in use or not
  tokenwood release --force gpu --slot 3            revoke a lock from its holder
  tokenwood bench                                   measure what locks cost, beside a bare round trip
  tokenwood bench --peers                           measure Redis, etcd and ZooKeeper beside it
  tokenwood storm                                   kill clients, cut connections, and check that locks hold
  tokenwood swarm --runs 1000                       whole clusters with faults, in simulated time
  tokenwood ordeal                                  real nodes: killed, stopped, cut off, out of disk

The workbench:
  tokenwood algorithms                              list the algorithms: kind, source, needs, cost
  tokenwood check naimi-trehel --nodes 3            explore every run of three nodes
  tokenwood check bulgannawar-vaidya --nodes 3 --tokens 2 --requests 2
  tokenwood check bulgannawar-vaidya --defect holding-not-set
                                                    put a defect back and see what it does
  tokenwood trace FILE                              replay what a check found, step by step
  tokenwood check --list-defects                    list the defects: errors of the papers, and mutants
  tokenwood errata                                  put all of them back and print what each leads to
  tokenwood check --all                             the standard suite

  tokenwood simulate bulgannawar-vaidya --rate 0.1  how long clients wait, how many messages it takes
  tokenwood recommend --nodes 30 --tokens 3 --rate 0.01 --cs 0.0002 --transit 0.8
                                                    which algorithm fits a load
  tokenwood sweep raymond-k --vary rate=0.01..1x10 --out load.csv
                                                    measure every combination; resumable, shardable
  tokenwood reproduce --all --quick --out report    the papers' figures and claims, computed again
  tokenwood reproduce --sockets --out sockets       the thesis' experiment with nine processes over TCP

'tokenwood COMMAND --help' describes one command.
";

fn main() -> ExitCode {
    let matches = environment::without_empty_variables(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let Some(command) = cli.command else {
        output::print(format_args!("{GUIDE}"));
        return ExitCode::SUCCESS;
    };
    let ended = match command {
        Command::Dev(arguments) => dev_command::run(&arguments),
        // It ends as its command does.
        Command::Run(arguments) => return finish(run_command::run(&arguments)),
        Command::Acquire(arguments) => return finish(acquire_command::acquire(&arguments)),
        Command::Renew(arguments) => return finish(acquire_command::renew(&arguments)),
        Command::Release(arguments) => return finish(acquire_command::release(&arguments)),
        Command::Locks(arguments) => return finish(locks_command::list(&arguments)),
        Command::Inspect(arguments) => return finish(inspect_command::run(&arguments)),
        Command::Watch(arguments) => watch_command::run(&arguments),
        Command::Define(arguments) => define_command::define(&arguments),
        Command::Resize(arguments) => define_command::resize(&arguments),
        Command::Undefine(arguments) => define_command::undefine(&arguments),
        Command::Definitions(arguments) => define_command::list(&arguments),
        Command::Status(arguments) => return finish(locks_command::status(&arguments)),
        Command::Members(arguments) => members_command::run(&arguments),
        Command::Node(arguments) => node_command::run(&arguments),
        Command::Bench(arguments) => bench_command::run(&arguments),
        Command::Storm(arguments) => storm_command::run(&arguments),
        Command::Swarm(arguments) => swarm_command::run(&arguments),
        Command::Ordeal(arguments) => return finish(ordeal_command::run(&arguments)),
        Command::OrdealClient(arguments) => ordeal::editor::run(&arguments),
        Command::OrdealStrangers(arguments) => ordeal::strangers::process::run(&arguments),
        Command::OrdealBeat => ordeal::failover::beat(),
        Command::StormClients(arguments) => storm_command::clients(&arguments),
        Command::Check(arguments) => check_command::run(&arguments),
        Command::Simulate(arguments) => simulate_command::run(&arguments),
        Command::Sweep(arguments) => sweep_command::run(&arguments),
        Command::Merge(arguments) => merge_command::run(&arguments),
        Command::Reproduce(arguments) => reproduce_command::run(&arguments),
        Command::Recommend(arguments) => recommend_command::run(&arguments),
        Command::Algorithms(arguments) => algorithms_command::run(&arguments),
        Command::Trace(arguments) => trace_command::run(&arguments),
        Command::Errata(arguments) => errata_command::run(&arguments),
        Command::Seat(arguments) => seat_command::run(&arguments),
    };
    finish(ended.map(|ended| ended as u8))
}

fn finish(code: anyhow::Result<u8>) -> ExitCode {
    match code {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::note!("tokenwood: {error:#}");
            ExitCode::from(2)
        }
    }
}
