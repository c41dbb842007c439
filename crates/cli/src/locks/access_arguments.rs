//! How a command gets in: the files that it trusts and shows.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use security::{Credentials, Files};
use tokenwood::auth::Secret;
use tokenwood::{Access, Encryption};

/// The variable with the token. There is no flag for it: others can read command lines.
const VARIABLE: &str = "TOKENWOOD_TOKEN";

/// How to get in.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Getting in")]
pub(crate) struct AccessArguments {
    /// Encrypt, and trust nodes with a certificate of this CA (a PEM file of 'tokenwood certs init')
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CA")]
    ca: Option<PathBuf>,
    /// Show this certificate (a PEM file of 'tokenwood certs client')
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_CERTIFICATE", requires_all = ["ca", "key"])]
    certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", env = "TOKENWOOD_KEY", requires = "certificate")]
    key: Option<PathBuf>,
    /// A file with the token that says who you are, readable by you alone; or TOKENWOOD_TOKEN has the token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl AccessArguments {
    /// Reads the files.
    pub(crate) fn access(&self) -> Result<Access> {
        let AccessArguments { ca, certificate, key, token_file } = self.clone();
        // A variable that is empty counts as not set.
        let named = |file: Option<PathBuf>| file.filter(|file| !file.as_os_str().is_empty());
        let token = token(token_file.as_deref())?;
        let Some(ca) = named(ca) else { return Ok(Access { token, ..Access::default() }) };
        let files = Files { ca, certificate: named(certificate), key: named(key) };
        let credentials = Credentials::load(files, None).context("cannot get in")?;
        Ok(Access { encryption: Encryption::Required(credentials), token })
    }
}

/// The token in this file, or in the environment.
fn token(file: Option<&Path>) -> Result<Option<Secret>> {
    let (text, from) = match file {
        Some(file) => (private(file)?, file.display().to_string()),
        None => (std::env::var(VARIABLE).unwrap_or_default(), VARIABLE.to_string()),
    };
    if text.is_empty() && file.is_none() {
        return Ok(None);
    }
    Ok(Some(text.parse().context(from)?))
}

fn private(file: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", file.display());
    let is_private = fs::metadata(file).with_context(cannot)?.mode() & 0o077 == 0;
    ensure!(
        is_private,
        "{0} can be read by other users, and a token is a secret: chmod 600 {0}",
        file.display()
    );
    fs::read_to_string(file).with_context(cannot)
}
