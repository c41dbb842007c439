//! `tokenwood acquire`, `renew` and `release`: locks for scripts, held without a program that stays.

use std::io::stdin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use rustix::process::getppid;
use serde_json::{Value, json};
use tokenwood::{Detached, Error, GrantAgain, NotAGrant};

use crate::locks::access_arguments::AccessArguments;
use crate::locks::cluster::Asking;
use crate::locks::endpoints::{duration, runtime};
use crate::locks::force;
use crate::locks::lock_arguments::{LOST, LockArguments, Process};
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{failure, json, table};

const EXAMPLES: &str = "\
Examples:
    grant=$(tokenwood acquire nightly --ttl 5m --quiet) || exit
    tokenwood renew $grant --quiet || exit              # for another 5 minutes from now
    tokenwood release $grant";

/// Acquire a lock and leave it held, for scripts
///
/// Prints the grant: 'tokenwood release' releases it, 'tokenwood renew' prolongs it. The grant is a secret: a program that has
/// it can do both. No process watches over it: when its ttl has run out, another client may hold the lock, so stop before.
/// 'tokenwood run' is safer where it can be used. Exit code 75: timed out waiting for the lock, or --try found it held.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AcquireArguments {
    #[command(flatten)]
    lock: LockArguments,
    /// How long the lock is held unless it is renewed
    #[arg(long, value_parser = duration, default_value = "60s")]
    ttl: Duration,
    #[command(flatten)]
    shown: Shown,
}

/// Hold a grant of 'tokenwood acquire' for another ttl from now
///
/// Exit code 76: the grant is no longer held.
#[derive(Args)]
pub(crate) struct RenewArguments {
    /// The grant that 'tokenwood acquire' printed; - reads it from standard input, where no other user of the machine sees it
    grant: String,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    access: AccessArguments,
}

/// Release a grant of 'tokenwood acquire', or with --force revoke a lock from its holder
///
/// With --force the node tells the holder that it has lost the lock. The next waiter is granted the lock when the holder has
/// released it, or when the holder has certainly stopped counting on it. Exit code 76: the grant was no longer held, or with
/// --force no client holds the lock.
#[derive(Args)]
pub(crate) struct ReleaseArguments {
    /// The grant that 'tokenwood acquire' printed, or - to read it from standard input; with --force the name of a lock
    #[arg(value_name = "GRANT|NAME")]
    what: String,
    /// Revoke the lock from its holder; the node logs the address that ordered it
    #[arg(long)]
    force: bool,
    /// Which slot, if several are held
    #[arg(long, requires = "force")]
    slot: Option<u32>,
    /// Do not wait until the holder knows: this breaks exclusion, and only fences tell the two holders apart
    #[arg(long, requires = "force")]
    now: bool,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
struct Shown {
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print the grant and nothing else
    #[arg(long, short, conflicts_with = "format")]
    quiet: bool,
}

pub(crate) fn acquire(arguments: &AcquireArguments) -> Result<u8> {
    runtime()?.block_on(async {
        let guard = match arguments.lock.take(arguments.ttl, script()).await? {
            Ok(guard) => guard,
            Err(code) => return Ok(code),
        };
        let name = &arguments.lock.name;
        let mut facts =
            vec![("name", json!(name)), ("slot", json!(guard.slot())), ("fence", json!(guard.fence()))];
        facts.extend(arguments.lock.group(&guard).map(|group| ("group", json!(group))));
        let (grant, left) = guard.detach().await.with_context(|| format!("lock '{name}'"))?;
        arguments.shown.say(facts, &grant, left);
        Ok(0)
    })
}

/// The script that this program is called by: it holds the lock when this program has ended.
fn script() -> Process {
    let parent = getppid().map_or(0, |parent| parent.as_raw_pid().cast_unsigned());
    let command = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    Process { id: parent, command: command.trim().to_string() }
}

pub(crate) fn renew(arguments: &RenewArguments) -> Result<u8> {
    let grant = grant(&arguments.grant).map_err(anyhow::Error::msg)?;
    match runtime()?.block_on(grant.renew(&arguments.access.access()?)) {
        Ok(left) => {
            let facts = vec![("fence", json!(grant.fence()))];
            arguments.shown.say(facts, &grant, left);
            Ok(0)
        }
        Err(error) => not_held(error),
    }
}

pub(crate) fn release(arguments: &ReleaseArguments) -> Result<u8> {
    let ReleaseArguments { what, force, slot, now, asking } = arguments;
    if *force {
        let grant_again = if *now { GrantAgain::AtOnce } else { GrantAgain::WhenSafe };
        return force::force(what, *slot, grant_again, asking);
    }
    let grant = grant(what).map_err(anyhow::Error::msg)?;
    match runtime()?.block_on(grant.release(&asking.access()?)) {
        Ok(()) => {
            if asking.format == Format::Json {
                json::say(Schema::Release, &json!({ "released": true, "grant": grant.to_string() }));
            }
            Ok(0)
        }
        Err(error) => not_held(error),
    }
}

/// Reads a grant, from standard input if it is named there.
fn grant(text: &str) -> Result<Detached, String> {
    let mut line = String::new();
    let text = match text {
        "-" => {
            stdin().read_line(&mut line).map_err(|error| format!("cannot read standard input: {error}"))?;
            line.trim()
        }
        text => text,
    };
    text.parse().map_err(|error: NotAGrant| error.to_string())
}

/// A refusal says that the grant is no longer held. Without an answer that is not known.
fn not_held(error: Error) -> Result<u8> {
    match error {
        Error::Refused(refusal) => {
            Ok(failure::fail(LOST, format_args!("the grant is no longer held: {refusal}"), None))
        }
        error => Err(error.into()),
    }
}

impl Shown {
    /// Shows what is known of a grant that is held for so long from now on.
    fn say(&self, facts: Vec<(&str, Value)>, grant: &Detached, left: Duration) {
        if self.quiet {
            say!("{grant}");
            return;
        }
        let until = (SystemTime::now() + left).duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.format == Format::Json {
            let mut value = json!({ "name": null, "slot": null, "group": null });
            facts.into_iter().for_each(|(key, fact)| value[key] = fact);
            value["seconds"] = json!(left.as_secs_f64());
            value["until_unix_seconds"] = json!(until.as_secs_f64());
            value["grant"] = json!(grant.to_string());
            json::say(Schema::Grant, &value);
            return;
        }
        let (mut heading, mut row): (Vec<String>, Vec<String>) =
            facts.into_iter().map(|(key, value)| (key.to_string(), in_words(&value))).unzip();
        let clock = until.as_secs() % 86_400;
        let until = format!("{:02}:{:02}:{:02} UTC", clock / 3600, clock / 60 % 60, clock % 60);
        heading.extend(["for", "until", "grant"].map(str::to_string));
        row.extend([format!("{:.1} s", left.as_secs_f64()), until, grant.to_string()]);
        table::print(&[heading, row]);
    }
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
