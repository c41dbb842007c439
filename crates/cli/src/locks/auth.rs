//! `tokenwood auth`: who may do what.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use tokenwood::auth::{
    Action, Actions, Change, FIRST_ADMIN, Quota, QuotaOf, Rights, Secret, Token, TokenHash, Who, decide,
};

use crate::locks::cluster::Asking;
use crate::locks::endpoints::duration;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;

mod facts;
mod show;

/// Say who may do what: tokens, groups, rules, quotas; turn security on
///
/// Before security is on, everything is allowed. After that, everything is denied that no rule allows. A principal is a name
/// such as ci/build: that of a token, of a client's certificate, or uid/1000 for a user of the node's machine. WHO is a
/// principal, @GROUP, or * for everyone. A rule is about names that begin with PREFIX: 'team' also covers 'teams', so write
/// 'team/' for a namespace, and '' for all names. Actions: acquire, read, define, force, admin; 'locks' is all but admin. None
/// implies another.
///
/// Tokens come from TOKENWOOD_TOKEN or --token-file, never from the command line.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    change: Subject,
}

#[derive(Subcommand)]
enum Subject {
    /// Turn security on, and print the token of the first administrator, once
    On {
        /// Print the token and nothing else
        #[arg(long)]
        quiet: bool,
        #[command(flatten)]
        asking: Asking,
    },
    /// Show all tokens, groups, rules and quotas
    List(Asking),
    /// Say whether a principal may do something, and which rule decides
    Why {
        /// The principal; '-' for a caller that shows nothing
        principal: String,
        /// What it wants to do
        action: Action,
        /// The name; none for admin
        #[arg(default_value = "")]
        name: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Tokens: a program that has one is its principal
    #[command(subcommand)]
    Token(TokenChange),
    /// Groups of principals
    #[command(subcommand)]
    Group(GroupChange),
    /// Rules: what is allowed
    #[command(subcommand)]
    Rule(RuleChange),
    /// Deny a principal everything, whatever it shows
    Bar {
        /// The principal
        principal: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// End that
    Unbar {
        /// The principal
        principal: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Bound what each node keeps for a principal or a namespace; without a number, remove the quota
    Quota {
        /// A principal, or NAMESPACE/ for the names that begin so
        of: String,
        /// Open sessions, at each node; for principals only
        #[arg(long)]
        sessions: Option<u64>,
        /// Names that are held or waited for, at each node; of a namespace also those defined in the cluster
        #[arg(long)]
        names: Option<u64>,
        /// Requests that wait, at each node
        #[arg(long)]
        waiters: Option<u64>,
        /// Slots that are held or waited for, at each node
        #[arg(long)]
        slots: Option<u64>,
        #[command(flatten)]
        asking: Asking,
    },
}

#[derive(Subcommand)]
enum TokenChange {
    /// Add a token, and print it, once
    Add {
        /// Whose token it is
        principal: String,
        /// How long it counts [default: until it is removed]
        #[arg(long, value_parser = duration)]
        expires: Option<Duration>,
        /// Print the token and nothing else
        #[arg(long)]
        quiet: bool,
        #[command(flatten)]
        asking: Asking,
    },
    /// List tokens: ids, principals and when they expire
    List(Asking),
    /// Remove a token: its sessions live as long as was promised, and no longer
    Remove {
        /// The id, as 'list' shows it
        id: String,
        #[command(flatten)]
        asking: Asking,
    },
}

#[derive(Subcommand)]
enum GroupChange {
    /// Add a principal to a group
    Add(Membership),
    /// Remove a principal from a group
    Remove(Membership),
}

#[derive(Args)]
struct Membership {
    /// The group
    group: String,
    /// The principal
    principal: String,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Subcommand)]
enum RuleChange {
    /// Allow more
    Add {
        /// To whom: a principal, @GROUP, or * for everyone
        who: Who,
        /// On names that begin so; '' for all
        prefix: String,
        /// What, with commas between
        actions: Actions,
        #[command(flatten)]
        asking: Asking,
    },
    /// List the rules
    List(Asking),
    /// Allow less
    Remove {
        /// To whom
        who: Who,
        /// The prefix of the rule
        prefix: String,
        /// What [default: all of the rule]
        actions: Option<Actions>,
        #[command(flatten)]
        asking: Asking,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    match &arguments.change {
        Subject::On { quiet, asking } => {
            let secret = new_secret()?;
            change(asking, &Change::Secure { admin: secret.hash() })?;
            let what = "Security is on. The token of the principal 'admin', who may do everything";
            let token = Token { principal: FIRST_ADMIN.into(), expires: None };
            show::secret(what, &secret, &token, *quiet, asking)
        }
        Subject::List(asking) => show::all(asking),
        Subject::Why { principal, action, name, asking } => {
            let rights = rights(asking)?;
            let principal = Some(&**principal).filter(|principal| *principal != "-");
            let decision = decide(&rights, principal, *action, name);
            show::decision(&decision, (principal, *action, name), asking)
        }
        Subject::Token(change) => token(change),
        Subject::Group(GroupChange::Add(Membership { group, principal, asking })) => {
            let (group, principal) = (group.as_str().into(), principal.as_str().into());
            done(asking, &Change::AddToGroup { group, principal })
        }
        Subject::Group(GroupChange::Remove(Membership { group, principal, asking })) => {
            let (group, principal) = (group.as_str().into(), principal.as_str().into());
            done(asking, &Change::RemoveFromGroup { group, principal })
        }
        Subject::Rule(change) => rule(change),
        Subject::Bar { principal, asking } => {
            done(asking, &Change::Bar { principal: principal.as_str().into(), barred: true })
        }
        Subject::Unbar { principal, asking } => {
            done(asking, &Change::Bar { principal: principal.as_str().into(), barred: false })
        }
        Subject::Quota { of, sessions, names, waiters, slots, asking } => {
            let of = match of.strip_suffix('/') {
                Some(namespace) => QuotaOf::Namespace(namespace.into()),
                None => QuotaOf::Principal(of.as_str().into()),
            };
            let quota = Quota { sessions: *sessions, names: *names, waiters: *waiters, slots: *slots };
            done(asking, &Change::SetQuota { of, quota })
        }
    }
}

fn token(change_of: &TokenChange) -> Result<u8> {
    match change_of {
        TokenChange::Add { principal, expires, quiet, asking } => {
            let secret = new_secret()?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let expires = expires.map(|expires| now.saturating_add(expires).as_secs());
            let token = Token { principal: principal.as_str().into(), expires };
            change(asking, &Change::AddToken { hash: secret.hash(), token: token.clone() })?;
            show::secret(
                &format!("The token of the principal '{principal}'"),
                &secret,
                &token,
                *quiet,
                asking,
            )
        }
        TokenChange::List(asking) => show::tokens(asking),
        TokenChange::Remove { id, asking } => {
            let hash: Option<TokenHash> = rights(asking)?.token_of_id(id);
            let hash =
                hash.with_context(|| format!("there is no token '{id}': see 'tokenwood auth token list'"))?;
            done(asking, &Change::RemoveToken(hash))
        }
    }
}

fn rule(change_of: &RuleChange) -> Result<u8> {
    match change_of {
        RuleChange::Add { who, prefix, actions, asking } => {
            let (who, prefix): (Who, Arc<str>) = (who.clone(), prefix.as_str().into());
            done(asking, &Change::Allow { who, prefix, actions: *actions })
        }
        RuleChange::List(asking) => show::rules(asking),
        RuleChange::Remove { who, prefix, actions, asking } => {
            let (who, prefix): (Who, Arc<str>) = (who.clone(), prefix.as_str().into());
            let actions = actions.unwrap_or_else(Actions::all);
            done(asking, &Change::Disallow { who, prefix, actions })
        }
    }
}

/// 256 random bits of the operating system.
pub(crate) fn new_secret() -> Result<Secret> {
    let mut bytes = [0; 32];
    getrandom::getrandom(&mut bytes).context("the operating system has no random bytes")?;
    Ok(Secret::new(bytes))
}

fn rights(asking: &Asking) -> Result<Rights> {
    asking.with_first(async |admin| admin.rights().await)
}

fn change(asking: &Asking, change: &Change) -> Result<()> {
    asking.with_first(async |admin| admin.change_rights(change.clone()).await)
}

fn done(asking: &Asking, what: &Change) -> Result<u8> {
    change(asking, what)?;
    match asking.format {
        Format::Json => json::say(Schema::AuthChange, &facts::change(what)),
        Format::Table => say!("Done: all nodes hear of it."),
    }
    Ok(0)
}
