//! What a file holds: certificates, a private key, or both.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::certificate::Facts;
use crate::error::SecurityError;

/// The contents of a PEM file, unverified.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its certificates, in their order.
    pub certificates: Vec<Facts>,
    /// Whether it has a private key.
    pub has_key: bool,
    /// The permissions of the file.
    pub mode: u32,
}

impl Contents {
    /// Reads the file. One without a certificate and without a key is an error.
    pub fn of(file: &Path) -> Result<Contents, SecurityError> {
        let failed = |error| SecurityError::Read(file.to_owned(), error);
        // It may have a key.
        let pem = Zeroizing::new(fs::read(file).map_err(failed)?);
        let mode = fs::metadata(file).map_err(failed)?.permissions().mode() & 0o7777;
        let has_key = PrivateKeyDer::from_pem_slice(&pem).map(Zeroizing::new).is_ok();
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|_| SecurityError::NoCertificate(file.to_owned()))?;
            let facts = Facts::of(&certificate);
            certificates.push(facts.map_err(|fault| SecurityError::OwnCertificate(file.to_owned(), fault))?);
        }
        if certificates.is_empty() && !has_key {
            return Err(SecurityError::NoCertificate(file.to_owned()));
        }
        Ok(Contents { certificates, has_key, mode })
    }
}
