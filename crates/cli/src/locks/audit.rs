//! `tokenwood audit`: who did what at the nodes, and what was refused.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tokenwood::auth::AuditEntry;
use tokenwood::{Admin, Error};

use crate::locks::cluster::Asking;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;

/// How often to ask for what is new.
const EVERY: Duration = Duration::from_secs(1);

/// Show who did what at all nodes: orders, changes of members, leases and rights, and refused calls
///
/// Each node keeps its newest entries until it is restarted; the log of a node has them for longer. Needs the right 'admin'
/// where security is on.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Go on with what happens from now on
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    asking: Asking,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let mut read: BTreeMap<u32, u64> = BTreeMap::new();
    loop {
        let after = read.clone();
        let answers = arguments.asking.ask_all(move |admin| {
            let after = after.get(&admin.node().id).copied().unwrap_or(0);
            entries(admin, after)
        })?;
        let mut entries = Vec::new();
        for node in answers.nodes {
            match node.answer {
                Ok(found) => {
                    // A node that was started again counts from 1.
                    let last = found.last().map(|entry| entry.number);
                    last.map(|last| read.insert(node.id, last));
                    entries.extend(found.into_iter().map(|entry| (node.id, entry)));
                }
                Err(why) => note!("tokenwood: node {} does not tell: {why}", node.id),
            }
        }
        entries.sort_by_key(|(_, entry)| entry.at);
        entries.iter().for_each(|(node, entry)| show(arguments.asking.format, *node, entry));
        if !arguments.follow {
            return Ok(0);
        }
        std::thread::sleep(EVERY);
    }
}

/// All entries after this number.
async fn entries(mut admin: Admin, mut after: u64) -> Result<Vec<AuditEntry>, Error> {
    let mut all = Vec::new();
    loop {
        let page = admin.audit(after).await?;
        all.extend(page.entries);
        if !page.more || page.next <= after {
            return Ok(all);
        }
        after = page.next;
    }
}

fn show(format: Format, node: u32, entry: &AuditEntry) {
    if format == Format::Json {
        return json::say(Schema::Audit, &as_json(node, entry));
    }
    let clock = entry.at % 86_400;
    let clock = format!("{:02}:{:02}:{:02}", clock / 3600, clock / 60 % 60, clock % 60);
    let again =
        if entry.repeated > 0 { format!(" (and {} times more)", entry.repeated) } else { String::new() };
    say!("{clock}  node {node}  {entry}{again}");
}

fn as_json(node: u32, entry: &AuditEntry) -> Value {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_string());
    json!({
        "node": node,
        "number": entry.number,
        "unix_seconds": entry.at,
        "principal": known(&entry.principal),
        "address": entry.address,
        "what": entry.what,
        "name": known(&entry.name),
        "allowed": entry.allowed,
        "why": entry.why,
        "repeated": entry.repeated,
    })
}
