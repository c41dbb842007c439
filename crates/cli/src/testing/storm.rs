//! `tokenwood storm`: a cluster and many clients as processes, some of which are killed, connections that are cut, and a
//! judge that finds out whether a slot ever had two holders.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use robustness::storm::{self, Outcome, Storm};
use serde_json::json;

use crate::Ended;
use crate::locks::endpoints::{duration, runtime};
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::table::count;

/// Kill clients, cut connections, and check that locks hold
///
/// Starts nodes and clients as processes of their own. Clients acquire, try, wait, cancel and release at random; some are
/// killed without warning; connections of clients and between nodes are cut all the time. Afterwards a judge checks what all
/// clients recorded: never too many holders, fences that rise, and every wait ended. The nodes must remember nothing that no
/// client uses. Exit code 1 if anything is wrong.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many nodes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=20))]
    nodes: u32,
    /// How many clients, ten to a process
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    clients: u64,
    /// How long it lasts
    #[arg(long, value_parser = duration, default_value = "60s")]
    time: Duration,
    /// How long a session lives without its client
    #[arg(long, value_parser = duration, default_value = "3s")]
    ttl: Duration,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let &Arguments { nodes, clients, time, ttl, seed, .. } = arguments;
    let outcome = runtime()?.block_on(storm::run(&Storm { nodes, clients, time, ttl, seed }))?;
    let Outcome { ledger, killed, cut, mut wrong } = outcome;
    wrong.extend(ledger.judge().iter().map(ToString::to_string));
    let tally = ledger.tally();
    match arguments.format {
        Format::Json => json::say(
            Schema::Storm,
            &json!({
                "stays": ledger.stays(),
                "granted": tally.granted,
                "refused": tally.refused,
                "given_up": tally.given_up,
                "lost": tally.lost,
                "killed": killed,
                "cut": cut,
                "wrong": wrong,
            }),
        ),
        Format::Table => {
            say!("Clients recorded {}.", count(ledger.stays() as u64, "grant"));
            say!(
                "Clients that were not killed: {} granted, {} refused, {} gave up, {} lost their session.",
                tally.granted,
                tally.refused,
                tally.given_up,
                tally.lost
            );
            say!("Killed: {}. Cut: {}.", count(killed.into(), "process"), count(cut.into(), "connection"));
            wrong.iter().for_each(|wrong| say!("WRONG: {wrong}"));
            if wrong.is_empty() {
                say!("Never too many holders, fences rose, every wait ended, and nothing was left behind.");
            }
        }
    }
    Ok(if wrong.is_empty() { Ended::Well } else { Ended::Violated })
}
