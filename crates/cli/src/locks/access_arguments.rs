//! How a command gets in: the files that it trusts and shows.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use security::{Credentials, Files};
use tokenwood::{Access, Encryption};

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
}

impl AccessArguments {
    /// Reads the files.
    pub(crate) fn access(&self) -> Result<Access> {
        let AccessArguments { ca, certificate, key } = self.clone();
        // A variable that is empty counts as not set.
        let named = |file: Option<PathBuf>| file.filter(|file| !file.as_os_str().is_empty());
        let Some(ca) = named(ca) else { return Ok(Access::default()) };
        let files = Files { ca, certificate: named(certificate), key: named(key) };
        let credentials = Credentials::load(files, None).context("cannot get in")?;
        Ok(Access { encryption: Encryption::Required(credentials) })
    }
}
