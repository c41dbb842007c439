//! How `tokenwood auth` shows rights.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::json;
use tokenwood::auth::{Action, Decision, Rights, Secret, Token};

use super::{facts, rights};
use crate::locks::cluster::Asking;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::table;

/// Shows a secret, for the only time.
pub(super) fn secret(what: &str, secret: &Secret, token: &Token, quiet: bool, asking: &Asking) -> Result<u8> {
    let (text, id) = (secret.reveal(), secret.hash().id());
    match asking.format {
        Format::Json => json::say(Schema::AuthToken, &facts::secret(secret, token)),
        Format::Table if quiet => say!("{text}"),
        Format::Table => {
            say!("{what}, with the id {id}. It is shown now and never again:\n\n  {text}\n");
            say!("Pass it as TOKENWOOD_TOKEN, or in a file of mode 600 with --token-file.");
        }
    }
    Ok(0)
}

/// Shows the decision on what this principal wants to do with this name.
pub(super) fn decision(
    Decision { allowed, why }: &Decision,
    (principal, action, name): (Option<&str>, Action, &str),
    asking: &Asking,
) -> Result<u8> {
    match asking.format {
        Format::Json => {
            let name = Some(name).filter(|name| !name.is_empty());
            let (action, why) = (action.name(), why.to_string());
            let facts = json!({
                "allowed": allowed, "principal": principal, "action": action, "name": name, "why": why,
            });
            json::say(Schema::AuthDecision, &facts);
        }
        Format::Table => say!("{}: {why}.", if *allowed { "Allowed" } else { "Denied" }),
    }
    Ok(u8::from(!allowed))
}

pub(super) fn all(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    if asking.format == Format::Json {
        json::say(Schema::AuthRights, &facts::rights(&rights));
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
    let quotas = quotas.map(|(of, quota)| {
        let limits = [quota.sessions, quota.names, quota.waiters, quota.slots];
        std::iter::once(of.to_string()).chain(limits.map(most)).collect()
    });
    print_if_any(&["quota at each node", "sessions", "names", "waiters", "slots"], quotas);
    Ok(0)
}

pub(super) fn tokens(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    match asking.format {
        Format::Json => json::say(Schema::AuthTokens, &json!({ "tokens": facts::tokens(&rights) })),
        Format::Table => print_tokens(&rights),
    }
    Ok(0)
}

pub(super) fn rules(asking: &Asking) -> Result<u8> {
    let rights = rights(asking)?;
    match asking.format {
        Format::Json => json::say(Schema::AuthRules, &json!({ "rules": facts::rules(&rights) })),
        Format::Table => print_rules(&rights),
    }
    Ok(0)
}

fn joined<'a>(texts: impl Iterator<Item = &'a std::sync::Arc<str>>) -> String {
    texts.map(|text| &**text).collect::<Vec<_>>().join(", ")
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
