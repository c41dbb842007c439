//! `tokenwood locks` and `tokenwood status`: who holds what, and how the nodes are doing.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};
use service::core::{Held, Listing, Status};

use crate::check_arguments::Format;
use crate::endpoints::{Endpoints, runtime};
use crate::output::say;
use crate::{Ended, table};

/// List who holds what and who waits, at all nodes that are named
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    endpoints: Endpoints,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Show how the nodes are doing that are named
#[derive(Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    endpoints: Endpoints,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn list(arguments: &Arguments) -> Result<Ended> {
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    let answers = runtime()?.block_on(async {
        let mut answers = Vec::new();
        for (endpoint, tokenwood) in arguments.endpoints.connect_each().await {
            let listings = match tokenwood {
                Ok(tokenwood) => tokenwood.list().await,
                Err(error) => Err(error),
            };
            answers.push((endpoint, listings));
        }
        answers
    });
    refuse_if_nobody_answers(&answers)?;
    for (endpoint, listings) in answers {
        match listings {
            Ok(listings) => {
                for listing in listings {
                    rows.extend(listing.clients.iter().map(|client| row(&endpoint, &listing, client)));
                    found.push(as_json(&endpoint, &listing));
                }
            }
            Err(error) => eprintln!("tokenwood: {error}"),
        }
    }
    if arguments.format == Format::Json {
        say!("{}", json!({ "locks": found }));
        return Ok(Ended::Well);
    }
    if rows.is_empty() {
        say!("Nobody holds or waits for anything.");
        return Ok(Ended::Well);
    }
    // Whoever holds something before those who wait for it.
    rows.sort();
    let heading = ["name", "what", "client", "slot", "fence", "for", "node"].map(str::to_string).to_vec();
    table::print(&[vec![heading], rows.into_iter().map(|(_, cells)| cells).collect()].concat());
    Ok(Ended::Well)
}

type Row = ((String, bool, std::cmp::Reverse<u128>), Vec<String>);

fn row(endpoint: &str, listing: &Listing, client: &Held) -> Row {
    let (what, slot, fence) = match client.granted {
        Some((slot, fence)) => ("holds", slot.to_string(), fence.to_string()),
        None => ("waits", "–".to_string(), "–".to_string()),
    };
    let since = format!("{:.1} s", client.since.as_secs_f64());
    let session = format!("{}/{}", client.session.number, client.request);
    let key = (listing.name.clone(), client.granted.is_none(), std::cmp::Reverse(client.since.as_nanos()));
    (key, vec![listing.name.clone(), what.to_string(), session, slot, fence, since, endpoint.to_string()])
}

fn as_json(endpoint: &str, listing: &Listing) -> Value {
    let clients: Vec<Value> = listing
        .clients
        .iter()
        .map(|client| {
            json!({
                "session": client.session.number,
                "request": client.request,
                "slot": client.granted.map(|(slot, _)| slot),
                "fence": client.granted.map(|(_, fence)| fence),
                "seconds": client.since.as_secs_f64(),
            })
        })
        .collect();
    json!({
        "name": listing.name,
        "endpoint": endpoint,
        "home": listing.home,
        "slots_here": listing.slots.iter().map(|(slot, _)| slot).collect::<Vec<_>>(),
        "clients": clients,
    })
}

pub(crate) fn status(arguments: &StatusArguments) -> Result<Ended> {
    let answers = runtime()?.block_on(async {
        let mut answers = Vec::new();
        for (endpoint, tokenwood) in arguments.endpoints.connect_each().await {
            let status = match tokenwood {
                Ok(tokenwood) => tokenwood.status().await,
                Err(error) => Err(error),
            };
            answers.push((endpoint, status));
        }
        answers
    });
    refuse_if_nobody_answers(&answers)?;
    if arguments.format == Format::Json {
        let nodes: Vec<Value> = answers
            .iter()
            .map(|(endpoint, status)| match status {
                Ok(status) => json!({ "endpoint": endpoint, "status": status }),
                Err(error) => json!({ "endpoint": endpoint, "error": error.to_string() }),
            })
            .collect();
        say!("{}", json!({ "nodes": nodes }));
        return Ok(Ended::Well);
    }
    let heading = ["endpoint", "node", "sessions", "hold or wait", "names", "grants", "sent", "received"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    for (endpoint, status) in &answers {
        match status {
            Ok(Some(status)) => rows.push(status_row(endpoint, status)),
            Ok(None) => {}
            Err(error) => eprintln!("tokenwood: {error}"),
        }
    }
    table::print(&rows);
    Ok(Ended::Well)
}

fn status_row(endpoint: &str, status: &Status) -> Vec<String> {
    let counts = status.counts;
    let numbers = [
        status.sessions as u64,
        status.requests as u64,
        status.resources as u64,
        counts.grants,
        counts.sent,
        counts.received,
    ];
    let mut row = vec![endpoint.to_string(), format!("{} of {}", status.node, status.members)];
    row.extend(numbers.map(table::grouped));
    row
}

/// If no node at all answers, that is an error; if some do not, the others are shown.
fn refuse_if_nobody_answers<T>(answers: &[(String, Result<T, client::Error>)]) -> Result<()> {
    if answers.iter().any(|(_, answer)| answer.is_ok()) {
        return Ok(());
    }
    let why: Vec<String> =
        answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().err()?.to_string())).collect();
    bail!(
        "{}. Is a cluster running? 'tokenwood dev' starts one here; --endpoint names another",
        why.join("; ")
    )
}
