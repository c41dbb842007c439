//! How `tokenwood auth` shows rights.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};
use tokenwood::auth::{Decision, Rights, Secret};

use super::rights;
use crate::locks::cluster::Asking;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::table;

/// Shows a secret, for the only time.
pub(super) fn secret(what: &str, secret: &Secret, quiet: bool, asking: &Asking) -> Result<u8> {
    let (text, id) = (secret.reveal(), secret.hash().id());
    match asking.format {
        Format::Json => say!("{}", json!({ "token": text, "id": id })),
        Format::Table if quiet => say!("{text}"),
        Format::Table => {
            say!("{what}, with the id {id}. It is shown now and never again:\n\n  {text}\n");
            say!("Pass it as TOKENWOOD_TOKEN, or in a file of mode 600 with --token-file.");
        }
    }
    Ok(0)
}

pub(super) fn decision(decision: &Decision, asking: &Asking) -> Result<u8> {
    let Decision { allowed, why } = decision;
    match asking.format {
        Format::Json => say!("{}", json!({ "allowed": allowed, "why": why.to_string() })),
        Format::Table => say!("{}: {why}.", if *allowed { "Allowed" } else { "Denied" }),
    }
    Ok(u8::from(!allowed))
}

pub(super) fn all(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    if asking.format == Format::Json {
        let groups: Vec<Value> =
            rights.groups.iter().map(|(group, of)| json!({ "group": &**group, "principals": of })).collect();
        let quotas = rights.quotas.iter().map(|(of, quota)| {
            json!({ "of": of.to_string(), "sessions": quota.sessions, "requests": quota.requests })
        });
        let value = json!({
            "on": rights.on,
            "tokens": tokens_as_json(&rights),
            "groups": groups,
            "rules": rules_as_json(&rights),
            "barred": rights.barred,
            "quotas": quotas.collect::<Vec<_>>(),
        });
        say!("{value}");
        return Ok(0);
    }
    if !rights.on {
        say!("Security is off: everything is allowed. 'tokenwood auth on' turns it on.");
        return Ok(0);
    }
    print_tokens(&rights);
    say!("");
    print_rules(&rights);
    let groups = rights.groups.iter().map(|(group, of)| vec![format!("@{group}"), joined(of.iter())]);
    print_if_any(&["group", "principals"], groups);
    print_if_any(&["barred"], rights.barred.iter().map(|principal| vec![principal.to_string()]));
    let most = |most: Option<u64>| most.map_or("–".to_string(), |most| most.to_string());
    let quotas = rights.quotas.iter();
    let quotas = quotas.map(|(of, quota)| vec![of.to_string(), most(quota.sessions), most(quota.requests)]);
    print_if_any(&["quota at each node", "sessions", "requests"], quotas);
    Ok(0)
}

pub(super) fn tokens(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    match asking.format {
        Format::Json => say!("{}", json!({ "tokens": tokens_as_json(&rights) })),
        Format::Table => print_tokens(&rights),
    }
    Ok(0)
}

pub(super) fn rules(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    match asking.format {
        Format::Json => say!("{}", json!({ "rules": rules_as_json(&rights) })),
        Format::Table => print_rules(&rights),
    }
    Ok(0)
}

fn joined<'a>(texts: impl Iterator<Item = &'a std::sync::Arc<str>>) -> String {
    texts.map(|text| &**text).collect::<Vec<_>>().join(", ")
}

fn tokens_as_json(rights: &Rights) -> Vec<Value> {
    let token = rights.tokens.iter();
    token
        .map(|(hash, token)| json!({ "id": hash.id(), "principal": &*token.principal, "expires": token.expires }))
        .collect()
}

fn rules_as_json(rights: &Rights) -> Vec<Value> {
    let rules = rights.rules.iter();
    rules
        .map(|((who, prefix), actions)| {
            json!({ "who": who.to_string(), "prefix": &**prefix, "actions": actions.to_string() })
        })
        .collect()
}

fn print_tokens(rights: &Rights) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let lasts = |expires: Option<u64>| match expires.map(|expires| expires.checked_sub(now)) {
        None => "never".to_string(),
        Some(None | Some(0)) => "expired".to_string(),
        Some(Some(left @ ..86_400)) => format!("in {} min", left / 60),
        Some(Some(left)) => format!("in {} days", left / 86_400),
    };
    let rows = rights.tokens.iter();
    let rows = rows.map(|(hash, token)| vec![hash.id(), token.principal.to_string(), lasts(token.expires)]);
    print(&["token", "principal", "expires"], rows);
}

fn print_rules(rights: &Rights) {
    let rows = rights.rules.iter().map(|((who, prefix), actions)| {
        let prefix = if prefix.is_empty() { "(all)".to_string() } else { prefix.to_string() };
        vec![who.to_string(), prefix, actions.to_string()]
    });
    print(&["who", "names", "may"], rows);
}

fn print(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let heading = heading.iter().map(|text| text.to_string()).collect();
    table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
}

fn print_if_any(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        say!("");
        print(heading, rows);
    }
}
