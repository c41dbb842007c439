//! Rights as JSON: what `tokenwood auth --format json` says of tokens, rules, quotas and changes.

use serde::Serialize;
use serde_json::{Value, json};
use tokenwood::auth::{Action, Actions, Change, Quota, QuotaOf, Rights, Secret, Token, TokenHash, Who};

/// A token without its secret.
fn token_of(hash: &TokenHash, token: &Token) -> Value {
    json!({ "id": hash.id(), "principal": &*token.principal, "expires_unix_seconds": token.expires })
}

/// A token with its secret.
pub(super) fn secret(secret: &Secret, token: &Token) -> Value {
    let mut facts = token_of(&secret.hash(), token);
    facts["token"] = secret.reveal().into();
    facts
}

pub(super) fn tokens(rights: &Rights) -> Vec<Value> {
    rights.tokens.iter().map(|(hash, token)| token_of(hash, token)).collect()
}

pub(super) fn rules(rights: &Rights) -> Vec<Value> {
    let rules = rights.rules.iter();
    rules
        .map(|((who, prefix), actions)| {
            json!({ "who": who.to_string(), "prefix": &**prefix, "actions": names(*actions) })
        })
        .collect()
}

pub(super) fn rights(rights: &Rights) -> Value {
    let groups = rights.groups.iter().map(|(group, of)| json!({ "group": &**group, "principals": of }));
    let quotas = rights.quotas.iter().map(|(of, quota)| {
        let (principal, namespace) = subject_of(of);
        json!({
            "principal": principal,
            "namespace": namespace,
            "sessions": quota.sessions,
            "names": quota.names,
            "waiters": quota.waiters,
            "slots": quota.slots,
        })
    });
    json!({
        "on": rights.on,
        "tokens": tokens(rights),
        "groups": groups.collect::<Vec<_>>(),
        "rules": rules(rights),
        "barred": rights.barred,
        "quotas": quotas.collect::<Vec<_>>(),
    })
}

fn names(actions: Actions) -> Vec<&'static str> {
    Action::ALL.into_iter().filter(|action| actions.has(*action)).map(Action::name).collect()
}

/// The principal or the namespace of a quota, which is written with its slash, as in names.
fn subject_of(of: &QuotaOf) -> (Option<String>, Option<String>) {
    match of {
        QuotaOf::Principal(name) => (Some(name.to_string()), None),
        QuotaOf::Namespace(name) => (None, Some(format!("{name}/"))),
    }
}

/// What was changed. What a change is not about stays null.
#[derive(Default, Serialize)]
pub(super) struct Changed {
    done: bool,
    change: &'static str,
    token: Option<String>,
    group: Option<String>,
    principal: Option<String>,
    who: Option<String>,
    prefix: Option<String>,
    actions: Option<Vec<&'static str>>,
    namespace: Option<String>,
    sessions: Option<u64>,
    names: Option<u64>,
    waiters: Option<u64>,
    slots: Option<u64>,
}

impl Changed {
    fn new(change: &'static str) -> Changed {
        Changed { done: true, change, ..Changed::default() }
    }

    fn rule(change: &'static str, who: &Who, prefix: &str, actions: Actions) -> Changed {
        let (who, prefix) = (Some(who.to_string()), Some(prefix.to_string()));
        Changed { who, prefix, actions: Some(names(actions)), ..Changed::new(change) }
    }

    fn group(change: &'static str, group: &str, principal: &str) -> Changed {
        let (group, principal) = (Some(group.to_string()), Some(principal.to_string()));
        Changed { group, principal, ..Changed::new(change) }
    }

    fn token(change: &'static str, hash: &TokenHash) -> Changed {
        Changed { token: Some(hash.id()), ..Changed::new(change) }
    }
}

/// What a change that is committed has changed.
pub(super) fn change(change: &Change) -> Changed {
    match change {
        Change::Secure { admin } => Changed::token("security_on", admin),
        Change::AddToken { hash, .. } => Changed::token("token_added", hash),
        Change::RemoveToken(hash) => Changed::token("token_removed", hash),
        Change::AddToGroup { group, principal } => Changed::group("group_member_added", group, principal),
        Change::RemoveFromGroup { group, principal } => {
            Changed::group("group_member_removed", group, principal)
        }
        Change::Allow { who, prefix, actions } => Changed::rule("rule_added", who, prefix, *actions),
        Change::Disallow { who, prefix, actions } => Changed::rule("rule_removed", who, prefix, *actions),
        Change::Bar { principal, barred } => {
            let principal = Some(principal.to_string());
            Changed { principal, ..Changed::new(if *barred { "barred" } else { "unbarred" }) }
        }
        Change::SetQuota { of, quota } => {
            let (principal, namespace) = subject_of(of);
            let change = if *quota == Quota::default() { "quota_removed" } else { "quota_set" };
            let Quota { sessions, names, waiters, slots } = *quota;
            Changed { principal, namespace, sessions, names, waiters, slots, ..Changed::new(change) }
        }
    }
}
