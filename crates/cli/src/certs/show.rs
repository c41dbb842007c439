//! `tokenwood certs show`: what files hold, as a table or as JSON.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use security::{CertificateFault, Contents, Facts};
use serde_json::{Value, json};

use crate::daemon::log::timestamp;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::schema::Schema;
use crate::terminal::table;

const DAY: u64 = 24 * 60 * 60;
/// As many digits of a fingerprint tell certificates apart for people. JSON has all.
const SHORT_FINGERPRINT: usize = 16;

pub(crate) fn run(files: &[PathBuf], format: Format) -> Result<()> {
    let now = SystemTime::now();
    let mut found = Vec::new();
    for file in files {
        found.push((file, Contents::of(file)?));
    }
    if format == Format::Json {
        let files = found.iter().map(|(file, contents)| as_json(file, contents, now));
        json::say(Schema::CertsFiles, &json!({ "files": files.collect::<Vec<_>>() }));
        return Ok(());
    }
    let heading = ["file", "is", "holder", "signed by", "valid from", "until", "", "fingerprint"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    for (file, contents) in &found {
        let name = file.display().to_string();
        rows.extend(contents.certificates.iter().map(|facts| row(&name, facts, now)));
        if contents.has_key {
            let is = format!("key, mode {:04o}", contents.mode);
            rows.push(vec![name, is]);
        }
    }
    table::print(&rows);
    Ok(())
}

fn row(file: &str, facts: &Facts, now: SystemTime) -> Vec<String> {
    let (kind, holder) = holder(facts);
    let issuer = if facts.issuer == facts.subject { "itself".to_string() } else { facts.issuer.clone() };
    let day = |moment| timestamp(moment)[.."2026-01-31".len()].to_string();
    vec![
        file.to_string(),
        kind.heading().to_string(),
        holder.unwrap_or_else(|| facts.subject.clone()),
        issuer,
        day(facts.valid_from),
        day(facts.valid_until),
        standing(facts, now),
        facts.fingerprint[..SHORT_FINGERPRINT].to_string(),
    ]
}

/// What the holder of a certificate is.
#[derive(Clone, Copy)]
enum Kind {
    Ca,
    Node,
    Client,
    Unknown,
}

impl Kind {
    /// Its name in JSON.
    fn name(self) -> &'static str {
        match self {
            Kind::Ca => "ca",
            Kind::Node => "node",
            Kind::Client => "client",
            Kind::Unknown => "unknown",
        }
    }

    /// Its name in the table.
    fn heading(self) -> &'static str {
        match self {
            Kind::Ca => "CA",
            Kind::Unknown => "no holder",
            other => other.name(),
        }
    }
}

/// What the holder is, and its URI.
fn holder(facts: &Facts) -> (Kind, Option<String>) {
    match (facts.authority_of(), facts.identity()) {
        (Some(cluster), _) => (Kind::Ca, Some(format!("tokenwood://{cluster}/ca"))),
        (None, _) if facts.is_ca => (Kind::Ca, None),
        (None, Ok(identity)) => match identity.holder() {
            security::Holder::Node(_) => (Kind::Node, Some(identity.to_string())),
            security::Holder::Client(_) => (Kind::Client, Some(identity.to_string())),
        },
        (None, Err(_)) => (Kind::Unknown, None),
    }
}

fn standing(facts: &Facts, now: SystemTime) -> String {
    match facts.check_dates(now) {
        Err(CertificateFault::NotYetValid) => "not yet valid".to_string(),
        Err(_) => "expired".to_string(),
        Ok(()) => table::count(days_left(facts, now), "day") + " left",
    }
}

/// Whole days, so that a certificate with less than one has none.
fn days_left(facts: &Facts, now: SystemTime) -> u64 {
    seconds_left(facts, now) / DAY
}

fn seconds_left(facts: &Facts, now: SystemTime) -> u64 {
    facts.valid_until.duration_since(now).map_or(0, |left| left.as_secs())
}

pub(super) fn unix_seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn as_json(file: &Path, contents: &Contents, now: SystemTime) -> Value {
    let certificates = contents.certificates.iter().map(|facts| {
        let (kind, identity) = holder(facts);
        json!({
            "kind": kind.name(),
            "identity": identity,
            "subject": facts.subject,
            "issuer": facts.issuer,
            "valid_from_unix_seconds": unix_seconds(facts.valid_from),
            "valid_until_unix_seconds": unix_seconds(facts.valid_until),
            "left_seconds": seconds_left(facts, now),
            "valid": facts.check_dates(now).is_ok(),
            "fingerprint": facts.fingerprint,
        })
    });
    json!({
        "file": file.display().to_string(),
        "mode": format!("{:04o}", contents.mode),
        "has_key": contents.has_key,
        "certificates": certificates.collect::<Vec<_>>(),
    })
}
