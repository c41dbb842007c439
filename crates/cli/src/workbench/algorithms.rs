//! `tokenwood algorithms`: lists them.

use algorithms::info::{Kind, Needs, Order, Timing, Tokens};
use algorithms::{Info, registry};
use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// List all algorithms: kind, source, needs of the network, message cost.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Only this one
    name: Option<String>,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let listed = match &arguments.name {
        Some(name) => std::slice::from_ref(registry::info(name)?),
        None => registry::ALL,
    };
    if arguments.format == Format::Json {
        let all: Vec<_> = listed.iter().map(as_json).collect();
        json::say(Schema::Algorithms, &json!({ "algorithms": all }));
        return Ok(Ended::Well);
    }
    columns(listed, ["name", "kind", "tokens", "needs"], |info| {
        vec![kind(info.kind).to_string(), tokens(info.tokens).to_string(), needs(&info.needs)]
    });
    columns(listed, ["name", "messages per entry"], |info| vec![info.cost.to_string()]);
    columns(listed, ["name", "source"], |info| vec![info.source.to_string()]);
    if listed.iter().any(|info| !info.options.is_empty()) {
        say!("Options (--set name=value):");
    }
    for info in listed {
        for option in info.options {
            let values = option.values.join(" | ");
            let line = format!("  {}: {} = {values}: {}", info.name, option.name, option.help);
            say!("{}", table::flowed(&line, 4));
        }
    }
    if arguments.name.is_some() {
        return Ok(Ended::Well);
    }
    let partitioned =
        "partitioned(NAME) divides the nodes into k clusters and runs NAME with one token in each.";
    say!("\n{}", table::flowed(partitioned, 0));
    Ok(Ended::Well)
}

/// A table with a row for each algorithm, and a blank line.
fn columns<const N: usize>(listed: &[Info], heading: [&str; N], row: impl Fn(&Info) -> Vec<String>) {
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    rows.extend(listed.iter().map(|info| [vec![info.name.to_string()], row(info)].concat()));
    table::print(&rows);
    say!();
}

fn as_json(info: &Info) -> serde_json::Value {
    json!({
        "name": info.name,
        "title": info.title,
        "kind": kind(info.kind),
        "tokens": tokens(info.tokens),
        "needs": needs_as_json(&info.needs),
        "messages_per_entry": info.cost,
        "source": info.source,
        "options": info.options.iter().map(|option| json!({
            "name": option.name, "values": option.values, "help": option.help,
        })).collect::<Vec<_>>(),
        "defects": info.defects.iter().map(|defect| defect.name).collect::<Vec<_>>(),
    })
}

/// What is needed of the network, for scripts.
pub(crate) fn needs_as_json(needs: &Needs) -> serde_json::Value {
    json!({
        "fifo": match needs.order {
            Order::Fifo => "always",
            Order::FifoIfSeveral => "for two tokens or more",
            Order::Any => "no",
        },
        "tolerates_loss": needs.tolerates_loss,
        "tolerates_duplicates": needs.tolerates_duplicates,
        "tolerates_crashes": needs.tolerates_crashes,
        "timing": timing(needs.timing),
    })
}

pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "mutex",
        Kind::KMutex => "k-mutex",
        Kind::GroupMutex => "group mutex",
    }
}

fn tokens(tokens: Tokens) -> &'static str {
    match tokens {
        Tokens::None => "-",
        Tokens::One => "1",
        Tokens::PerSlot => "k",
    }
}

fn timing(timing: Timing) -> &'static str {
    match timing {
        Timing::Asynchronous => "nothing",
        Timing::BoundsForRecovery => "bounds for recovery",
        Timing::BoundedDelayConstantSections => "bounded delay, constant sections",
    }
}

pub(crate) fn needs(needs: &Needs) -> String {
    let mut words = vec![match needs.order {
        Order::Fifo => "FIFO",
        Order::FifoIfSeveral => "FIFO if k > 1",
        Order::Any => "any order",
    }];
    words.push(if needs.tolerates_loss { "tolerates loss" } else { "no loss" });
    words.push(if needs.tolerates_crashes { "tolerates crashes" } else { "no crash" });
    if needs.timing != Timing::Asynchronous {
        words.push(timing(needs.timing));
    }
    words.join(", ")
}
