//! How a node encrypts: its files and flags, what is refused, and files that are read again when they change.

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use node::{Encryption, OnFirstToken, reach};
use security::{Credentials, Files, Holder};
use serde::Deserialize;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};

use crate::daemon::node_file::{NodeFile, Settings};
use crate::terminal::output;

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(5);
/// From so long before a certificate ends, every day is a warning.
pub(crate) const CERTIFICATE_ENDS_SOON: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often that is said.
const WARN_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// What is said about encryption, by flags and the environment.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Encryption")]
pub(crate) struct EncryptionArguments {
    /// The CA that certificates of nodes and clients come from: a PEM file of 'tokenwood certs init'. It may hold several
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CA")]
    ca: Option<PathBuf>,
    /// The certificate of this node: a PEM file of 'tokenwood certs node ID'
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CERTIFICATE")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_KEY")]
    key: Option<PathBuf>,
    /// Which connections are encrypted: all (required), those of callers that can (optional: on the way from off to required in
    /// a cluster that runs), or none (off) [default: required with a certificate, otherwise off]
    #[arg(long, value_enum, env = "TOKENWOOD_ENCRYPTION", hide_possible_values = true)]
    encryption: Option<Mode>,
    /// In a new cluster: only callers with rights may do anything (on), or everything is allowed until 'tokenwood auth on' (off).
    /// With on, the founder has the token of the principal 'admin' [default: on if all connections are encrypted]
    #[arg(long, value_enum, env = "TOKENWOOD_RIGHTS", hide_possible_values = true)]
    rights: Option<Rights>,
    /// Let other machines connect without encryption: anyone on the network can then read and forge everything
    #[arg(long, env = "TOKENWOOD_INSECURE", value_parser = clap::builder::FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    insecure: bool,
    /// Listen at this Unix socket, too, for clients on this machine: the mode of the file says who may connect
    #[arg(long, value_name = "PATH", env = "TOKENWOOD_SOCKET")]
    socket: Option<PathBuf>,
}

/// Which connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// None.
    Off,
    /// Those of callers that can.
    Optional,
    /// All.
    Required,
}

/// Whether a new cluster begins with rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rights {
    /// Only callers with rights may do anything.
    On,
    /// Everything is allowed.
    Off,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Optional => "optional",
            Mode::Required => "required",
        }
    }
}

/// What is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) mode: Mode,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) rights: Rights,
    pub(crate) insecure: bool,
    pub(crate) socket: Option<PathBuf>,
}

impl EncryptionArguments {
    /// What is in effect: flags over the file over what the folder remembers.
    pub(crate) fn choose(&self, file: &NodeFile, kept: &NodeFile) -> Choice {
        let path = |flag: &Option<PathBuf>, of: fn(&NodeFile) -> &Option<PathBuf>| {
            // A variable that is empty counts as not set.
            let flag = flag.clone().filter(|path| !path.as_os_str().is_empty());
            // The folder remembers it, and the next start may be elsewhere.
            let flag = flag.map(|path| std::path::absolute(&path).unwrap_or(path));
            flag.or(of(file).clone()).or(of(kept).clone())
        };
        let certificate = path(&self.certificate, |file| &file.certificate);
        let usual = if certificate.is_some() { Mode::Required } else { Mode::Off };
        let mode = self.encryption.or(file.encryption).or(kept.encryption).unwrap_or(usual);
        let usual = if mode == Mode::Required { Rights::On } else { Rights::Off };
        Choice {
            mode,
            rights: self.rights.or(file.rights).or(kept.rights).unwrap_or(usual),
            ca: path(&self.ca, |file| &file.ca),
            key: path(&self.key, |file| &file.key),
            certificate,
            insecure: self.insecure || file.insecure.or(kept.insecure).unwrap_or(false),
            socket: path(&self.socket, |file| &file.socket),
        }
    }
}

/// Reads the files, and refuses what is not safe.
pub(crate) fn load(settings: &Settings) -> Result<Encryption> {
    let choice = &settings.encryption;
    if choice.mode == Mode::Off {
        refuse_plain_text(settings)?;
        return Ok(Encryption::Off);
    }
    let id = settings.id;
    let (Some(ca), Some(certificate), Some(key)) = (&choice.ca, &choice.certificate, &choice.key) else {
        bail!(
            "encryption needs three files: --ca, --certificate and --key. 'tokenwood certs init' and 'tokenwood certs node \
             {id}' make them"
        );
    };
    let files = Files { ca: ca.clone(), certificate: Some(certificate.clone()), key: Some(key.clone()) };
    let credentials = Credentials::load(files, Some(&settings.cluster))?;
    match credentials.identity() {
        Some(identity) if *identity.holder() == Holder::Node(id) => {}
        Some(other) => bail!(
            "{} is the certificate of {other}, and this is node {id}: 'tokenwood certs node {id}' makes one",
            certificate.display()
        ),
        None => bail!("{} says of no node whose it is", certificate.display()),
    }
    Ok(if choice.mode == Mode::Optional {
        Encryption::Optional(credentials)
    } else {
        Encryption::Required(credentials)
    })
}

/// What becomes of the first token, if this node founds a cluster whose rights are on from the beginning. At a terminal it is
/// printed, once. Elsewhere output may be kept where others can read it, so the token stays in its file.
pub(crate) fn on_first_token(choice: &Choice) -> Option<OnFirstToken> {
    if choice.rights == Rights::Off {
        return None;
    }
    Some(Box::new(|secret, file| {
        let what = "Rights are on. The token of the principal 'admin', who may do everything";
        if io::stdout().is_terminal() {
            let text = secret.reveal();
            output::announce(format_args!("{what}. It is shown now and never again:\n\n  {text}\n\n"));
            if let Err(error) = fs::remove_file(file) {
                warn!(target: "tokenwood", "remove {} yourself, the token is in it: {error}", file.display());
            }
        } else {
            output::announce(format_args!("{what}, is in {}\n", file.display()));
        }
    }))
}

/// Without encryption, only this machine may connect, unless that was said.
fn refuse_plain_text(settings: &Settings) -> Result<()> {
    if settings.encryption.insecure {
        return Ok(());
    }
    let http = settings.http.iter().map(|http| ("HTTP", http));
    for (what, address) in
        [("peers", &settings.listen), ("clients", &settings.clients)].into_iter().chain(http)
    {
        if !reach::is_loopback(&address.to_string()) {
            bail!(
                "other machines could connect to {address} ({what}) without encryption, and read and forge everything. Make \
                 certificates ('tokenwood certs init', 'tokenwood certs node {}') and name them with --ca, --certificate and \
                 --key; or, on a network that you trust, say --insecure",
                settings.id
            );
        }
    }
    Ok(())
}

/// Reads the files again on SIGHUP and when they change, and warns before a certificate ends. Connections that stand go on.
pub(crate) async fn keep_fresh(encryption: Encryption) -> Result<()> {
    let mut hang_ups = signal(SignalKind::hangup()).context("cannot listen for signals")?;
    let mut warned: Option<SystemTime> = None;
    loop {
        if let Some(credentials) = encryption.credentials() {
            warn_of_end(credentials, &mut warned);
        }
        tokio::select! {
            heard = hang_ups.recv() => match (heard, encryption.credentials()) {
                (None, _) => return Ok(()),
                (Some(()), Some(credentials)) => read_again(credentials, "SIGHUP"),
                (Some(()), None) => info!(target: "tokenwood", "SIGHUP: nothing to read again, the node goes on"),
            },
            () = tokio::time::sleep(LOOK) => if let Some(credentials) = encryption.credentials()
                && credentials.changed_on_disk()
            {
                read_again(credentials, "files of certificates changed");
            },
        }
    }
}

fn read_again(credentials: &Credentials, why: &str) {
    match credentials.reload() {
        Ok(true) => info!(target: "audit", "{why}: new connections use the new certificates"),
        Ok(false) => info!(target: "tokenwood", "{why}: the certificates are the same"),
        Err(trouble) => error!(
            target: "tokenwood",
            "{why}: the certificates of before stay in force, because the new ones cannot be used: {trouble}"
        ),
    }
}

fn warn_of_end(credentials: &Credentials, warned: &mut Option<SystemTime>) {
    let (expiry, now) = (credentials.expires(), SystemTime::now());
    let left = expiry.at.duration_since(now).unwrap_or_default();
    let lately = warned.is_some_and(|at| now.duration_since(at).is_ok_and(|passed| passed < WARN_AGAIN));
    if left > CERTIFICATE_ENDS_SOON || lately {
        return;
    }
    *warned = Some(now);
    let days = left.as_secs() / (24 * 3600);
    warn!(
        target: "tokenwood",
        days,
        "the certificate in {} ends in {days} days, and then no new connection comes about: 'tokenwood certs renew' \
         makes another",
        expiry.file.display()
    );
}

/// As the lines of a file that say the same; nothing, if all of it is as usual.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice { mode, ca, certificate, key, rights, insecure, socket } = self;
        let files = [("ca", ca), ("certificate", certificate), ("key", key), ("socket", socket)];
        for (name, file) in files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?))) {
            // Strings in TOML are written as in JSON.
            writeln!(f, "{name} = {}", json!(file.display().to_string()))?;
        }
        if *mode != Mode::Off {
            writeln!(f, "encryption = {}", json!(mode.name()))?;
        }
        if *mode != Mode::Off || *rights == Rights::On {
            writeln!(f, "rights = {}", json!(if *rights == Rights::On { "on" } else { "off" }))?;
        }
        if *insecure {
            writeln!(f, "insecure = true")?;
        }
        Ok(())
    }
}
