//! The CAs that we trust, and the check that one of them has signed a certificate.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};

use crate::certificate::{Facts, system_time};
use crate::error::SecurityError;
use crate::fault::CertificateFault;

/// Passed to rustls explicitly: a second provider in the same program then changes nothing here.
pub(crate) static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(ring::default_provider()));

/// What the holder of a certificate does with it.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Calling,
    Answering,
}

/// A bundle of CAs, during a rotation more than one.
#[derive(Debug)]
pub(crate) struct Trust {
    authorities: Vec<(CertificateDer<'static>, Facts)>,
    roots: Roots,
}

/// The CAs that are valid at a moment, ready for use.
#[derive(Clone, Debug)]
struct Roots {
    /// For each CA of the bundle, whether it is among them.
    valid: Vec<bool>,
    answering: Arc<RootCertStore>,
    calling: Arc<dyn ClientCertVerifier>,
}

impl Trust {
    /// Reads a bundle. Its CAs may have expired, but not all of them.
    pub(crate) fn read(file: &Path, pem: &[u8], now: SystemTime) -> Result<Trust, SecurityError> {
        let own = |fault| SecurityError::OwnCertificate(file.to_owned(), fault);
        let mut authorities = Vec::new();
        for certificate in certificates(file, pem)? {
            let facts = Facts::of(&certificate).map_err(own)?;
            if !facts.is_ca {
                return Err(SecurityError::NotACa(file.to_owned()));
            }
            authorities.push((certificate, facts));
        }
        let roots = Roots::at(&authorities, now).map_err(|fault| match fault {
            CertificateFault::Expired => SecurityError::CaExpired(file.to_owned()),
            other => own(other),
        })?;
        Ok(Trust { authorities, roots })
    }

    pub(crate) fn facts(&self) -> impl Iterator<Item = &Facts> {
        self.authorities.iter().map(|(_, facts)| facts)
    }

    /// Whether a CA that is itself valid now has signed the certificate for this use.
    pub(crate) fn check(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        used_for: Use,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let roots = self.roots_at(now).map_err(CertificateFault::into_rustls)?;
        match used_for {
            Use::Answering => verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(certificate)?,
                &roots.answering,
                intermediates,
                now,
                PROVIDER.signature_verification_algorithms.all,
            ),
            Use::Calling => roots.calling.verify_client_cert(certificate, intermediates, now).map(|_| ()),
        }
    }

    /// The check of a chain does not look at the dates of a trusted CA: one that expires while we run has to be
    /// left out here.
    fn roots_at(&self, now: UnixTime) -> Result<Cow<'_, Roots>, CertificateFault> {
        let now = system_time(now);
        let valid = self.facts().map(|facts| facts.check_dates(now).is_ok());
        if valid.eq(self.roots.valid.iter().copied()) {
            return Ok(Cow::Borrowed(&self.roots));
        }
        Roots::at(&self.authorities, now).map(Cow::Owned)
    }
}

impl Roots {
    fn at(
        authorities: &[(CertificateDer<'static>, Facts)],
        now: SystemTime,
    ) -> Result<Roots, CertificateFault> {
        let mut roots = RootCertStore::empty();
        let mut valid = Vec::new();
        let mut fault = CertificateFault::UnknownIssuer;
        for (certificate, facts) in authorities {
            let dates = facts.check_dates(now);
            valid.push(dates.is_ok());
            match dates {
                Ok(()) => roots.add(certificate.clone()).map_err(|_| CertificateFault::Malformed)?,
                Err(outside) => fault = outside,
            }
        }
        let answering = Arc::new(roots);
        let calling =
            WebPkiClientVerifier::builder_with_provider(answering.clone(), PROVIDER.clone()).build();
        // It refuses only an empty set of roots.
        let calling = calling.map_err(|_| fault)?;
        Ok(Roots { valid, answering, calling })
    }
}

/// All certificates of a file, at least one.
pub(crate) fn certificates(file: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(SecurityError::NoCertificate(file.to_owned())),
    }
}
