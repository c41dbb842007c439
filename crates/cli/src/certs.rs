//! `tokenwood certs`: the CA of a cluster, and certificates for its nodes and clients.

mod show;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand, value_parser};
use security::issue::{Folder, LEAF_DAYS, Written};
use security::{Contents, Holder, Identity};
use serde_json::json;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::json;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;

/// Make and renew the certificates of a cluster: its CA, its nodes, its clients
///
/// A certificate says who its holder is: tokenwood://CLUSTER/node/ID or tokenwood://CLUSTER/client/NAME. Keys are readable
/// by their owner alone. No file is overwritten, except by 'renew' and 'rotate'.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make the CA of a cluster, valid for ten years: ca.pem and ca.key
    Init {
        /// The name of the cluster: up to 64 letters, digits or . _ -
        #[arg(long, value_name = "NAME")]
        cluster: String,
        #[command(flatten)]
        place: Place,
    },
    /// Issue a certificate to a node: node-ID.pem and node-ID.key
    Node {
        /// The number of the node
        id: u32,
        /// A name or an address at which HTTP clients reach the node; repeat it for each. Other clients do not look at it
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        lifetime: Lifetime,
    },
    /// Issue a certificate to a client: client-NAME.pem and client-NAME.key
    Client {
        /// The name of the client: up to 64 letters, digits or . _ / @ -
        name: String,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        lifetime: Lifetime,
    },
    /// Show what files hold: whose they are, who signed them, how long they are valid
    Show {
        /// Certificates, bundles of CAs or keys
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Replace certificates and their keys by new ones for the same holders
    ///
    /// The key is the file beside the certificate, with the ending .key. Processes that use the files have to read both
    /// again.
    Renew {
        /// Certificates
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The folder of the CA; default: the folder of each certificate
        #[arg(long, value_name = "DIR")]
        ca: Option<PathBuf>,
        #[command(flatten)]
        lifetime: Lifetime,
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Replace the CA: first by a bundle of the old and the new, then by the new alone
    Rotate {
        /// Remove the old CA from ca.pem. Refused while a certificate in the folder needs it
        #[arg(long)]
        finish: bool,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Args)]
struct Place {
    /// The folder of the CA, where files are written
    #[arg(long, value_name = "DIR", default_value = "certs")]
    out: PathBuf,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Args)]
struct Lifetime {
    /// For how many days the certificate is valid, but never for longer than its CA
    #[arg(long, default_value_t = LEAF_DAYS, value_parser = value_parser!(u32).range(1..=3650))]
    days: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    match &arguments.action {
        Action::Init { cluster, place } => init(cluster, place)?,
        Action::Node { id, hosts, place, lifetime } => issue(&Holder::Node(*id), hosts, place, lifetime)?,
        Action::Client { name, place, lifetime } => {
            issue(&Holder::Client(name.clone()), &[], place, lifetime)?;
        }
        Action::Show { files, format } => show::run(files, *format)?,
        Action::Renew { files, ca, lifetime, format } => renew(files, ca.as_deref(), lifetime, *format)?,
        Action::Rotate { finish, place } => rotate(*finish, place)?,
    }
    Ok(Ended::Well)
}

fn init(cluster: &str, Place { out, format }: &Place) -> Result<()> {
    let written = Folder::new(out).init(cluster).with_context(|| format!("no CA for cluster '{cluster}'"))?;
    match format {
        Format::Json => say_json(&format!("tokenwood://{cluster}/ca"), &written)?,
        Format::Table => {
            say!("The CA of cluster '{cluster}': {}", written.certificate.display());
            say!(
                "Its key: {}. Keep it off the nodes: it can make any node and any client.",
                written.key.display()
            );
            let folder =
                if out == Path::new("certs") { String::new() } else { format!(" --out {}", out.display()) };
            say!("\nNext, for each node and each client:\n\n  tokenwood certs node 1{folder}");
            say!("  tokenwood certs client NAME{folder}");
        }
    }
    Ok(())
}

fn issue(
    holder: &Holder,
    hosts: &[String],
    Place { out, format }: &Place,
    lifetime: &Lifetime,
) -> Result<()> {
    let folder = Folder::new(out);
    let failed = || match out.join("ca.key").exists() {
        true => format!("no certificate for {holder}"),
        false => format!(
            "no certificate for {holder}: no CA here, make one with 'tokenwood certs init' or name its folder with --out"
        ),
    };
    let written = folder.issue_for_hosts(holder, hosts, lifetime.days).with_context(failed)?;
    let identity = Identity::new(folder.authority()?.cluster(), holder.clone())?;
    tell(&identity, &written, lifetime.days, *format)
}

fn renew(files: &[PathBuf], ca: Option<&Path>, lifetime: &Lifetime, format: Format) -> Result<()> {
    for file in files {
        let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = Folder::new(ca.or(beside).unwrap_or(Path::new(".")));
        let renewed = folder.renew(file, lifetime.days);
        let (identity, written) = renewed.with_context(|| format!("{} is not renewed", file.display()))?;
        tell(&identity, &written, lifetime.days, format)?;
    }
    Ok(())
}

fn rotate(finish: bool, Place { out, format }: &Place) -> Result<()> {
    let folder = Folder::new(out);
    let written = if finish { folder.finish_rotation() } else { folder.begin_rotation() };
    let written = written.context(if finish { "the old CA stays" } else { "the CA stays as it was" })?;
    let bundle = written.certificate.display();
    match (format, finish) {
        (Format::Json, _) => {
            let cluster = folder.authority()?.cluster().to_string();
            say_json(&format!("tokenwood://{cluster}/ca"), &written)?;
        }
        (Format::Table, false) => {
            say!("{bundle} has the old CA and a new one, which signs from now on. Next:\n");
            say!("  1. Copy {bundle} to all nodes and clients, and let them read it");
            say!("  2. Renew all certificates with 'tokenwood certs renew', and copy them");
            say!("  3. Run 'tokenwood certs rotate --finish', and copy {bundle} again");
        }
        (Format::Table, true) => {
            say!("{bundle} has the new CA alone. Copy it to all nodes and clients, and let them read it.");
        }
    }
    Ok(())
}

fn tell(identity: &Identity, written: &Written, days: u32, format: Format) -> Result<()> {
    match format {
        Format::Json => say_json(&identity.to_string(), written)?,
        Format::Table => {
            let (certificate, key) = (written.certificate.display(), written.key.display());
            say!("{identity}: {certificate} and {key}, for {days} days");
        }
    }
    Ok(())
}

/// The end comes from the file: no certificate outlives its CA, whatever was asked for. In a bundle, the CA that signs is first.
fn say_json(identity: &str, Written { certificate, key }: &Written) -> Result<()> {
    let contents = Contents::of(certificate)?;
    let newest = contents.certificates.first().context("the certificate that was written is not there")?;
    let facts = json!({
        "identity": identity,
        "certificate": certificate.display().to_string(),
        "key": key.display().to_string(),
        "valid_until_unix_seconds": show::unix_seconds(newest.valid_until),
    });
    json::say(Schema::Certs, &facts);
    Ok(())
}
