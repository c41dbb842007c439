//! What stands in a certificate: its holder, its dates, and whether it is a CA.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use rcgen::KeyPair;
use ring::digest;
use rustls::pki_types::{CertificateDer, UnixTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::error::SecurityError;
use crate::fault::CertificateFault;
use crate::identity::{Identity, SCHEME, authority_cluster};

/// Who the certificate says its holder is. It must have exactly one URI that begins with `tokenwood:`; names of
/// other kinds and other schemes are ignored.
///
/// It says nothing about who signed the certificate.
pub fn identity_of(certificate: &CertificateDer<'_>) -> Result<Identity, SecurityError> {
    Ok(Facts::of(certificate)?.identity()?)
}

/// The facts of a certificate, unverified.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The names of the holder, as X.500 writes them.
    pub subject: String,
    /// The names of the CA that signed it.
    pub issuer: String,
    /// The first second in which it is valid.
    pub valid_from: SystemTime,
    /// The last second in which it is valid.
    pub valid_until: SystemTime,
    /// Whether it may sign others.
    pub is_ca: bool,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub fingerprint: String,
    /// The names and addresses of hosts that it has: only clients of HTTP look at them.
    pub hosts: Vec<String>,
    public_key: Vec<u8>,
    own_uris: Vec<String>,
}

impl Facts {
    /// Reads the certificate.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Facts, CertificateFault> {
        let (rest, parsed) =
            X509Certificate::from_der(certificate).map_err(|_| CertificateFault::Malformed)?;
        if !rest.is_empty() {
            return Err(CertificateFault::Malformed);
        }
        let moment = |seconds: i64| {
            let seconds = u64::try_from(seconds).map_err(|_| CertificateFault::Malformed)?;
            Ok::<_, CertificateFault>(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        Ok(Facts {
            subject: printable(&parsed.subject().to_string()),
            issuer: printable(&parsed.issuer().to_string()),
            valid_from: moment(parsed.validity().not_before.timestamp())?,
            valid_until: moment(parsed.validity().not_after.timestamp())?,
            is_ca: parsed.is_ca(),
            fingerprint: hexadecimal(digest::digest(&digest::SHA256, certificate).as_ref()),
            hosts: hosts(&parsed)?,
            public_key: parsed.public_key().subject_public_key.data.to_vec(),
            own_uris: own_uris(&parsed)?,
        })
    }

    /// The node or the client that holds it.
    pub fn identity(&self) -> Result<Identity, CertificateFault> {
        Ok(self.own_uri()?.parse()?)
    }

    /// The cluster that a CA is for, if it is a CA that says so: one of `tokenwood certs init`.
    pub fn authority_of(&self) -> Option<String> {
        let uri = self.own_uri().ok().filter(|_| self.is_ca)?;
        authority_cluster(uri)
    }

    /// Whether it is valid at this moment, by its dates.
    pub fn check_dates(&self, now: SystemTime) -> Result<(), CertificateFault> {
        match () {
            () if whole_seconds(now) < whole_seconds(self.valid_from) => Err(CertificateFault::NotYetValid),
            () if whole_seconds(now) > whole_seconds(self.valid_until) => Err(CertificateFault::Expired),
            () => Ok(()),
        }
    }

    pub(crate) fn has_public_key(&self, key: &KeyPair) -> bool {
        self.public_key == key.public_key_raw()
    }

    fn own_uri(&self) -> Result<&str, CertificateFault> {
        match self.own_uris.as_slice() {
            [] => Err(CertificateFault::NoIdentity),
            [uri] => Ok(uri),
            _ => Err(CertificateFault::SeveralIdentities),
        }
    }
}

/// The names and addresses of hosts in a certificate.
fn hosts(certificate: &X509Certificate<'_>) -> Result<Vec<String>, CertificateFault> {
    let names = certificate.subject_alternative_name().map_err(|_| CertificateFault::Malformed)?;
    let names = names.iter().flat_map(|names| &names.value.general_names);
    let host = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some(printable(name)),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    };
    Ok(names.filter_map(host).collect())
}

/// All spellings of the scheme count, so that a second identity cannot hide behind capitals.
fn own_uris(parsed: &X509Certificate<'_>) -> Result<Vec<String>, CertificateFault> {
    let names = parsed.subject_alternative_name().map_err(|_| CertificateFault::Malformed)?;
    let names = names.map_or(&[][..], |names| names.value.general_names.as_slice());
    let scheme = SCHEME.trim_end_matches('/').as_bytes();
    let is_own = |uri: &str| {
        let start = uri.as_bytes().get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let mut found = Vec::new();
    for name in names {
        match name {
            GeneralName::URI(uri) if is_own(uri) => found.push((*uri).to_string()),
            GeneralName::Invalid(..) => return Err(CertificateFault::Malformed),
            _ => {}
        }
    }
    Ok(found)
}

/// A stranger's certificate may hold letters that a terminal would obey.
fn printable(text: &str) -> String {
    let is_obeyed = |letter: char| {
        letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|letter| if is_obeyed(letter) { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Certificates count in whole seconds, and their last second is part of them.
fn whole_seconds(moment: SystemTime) -> u64 {
    moment.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(crate) fn unix_time(moment: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(whole_seconds(moment)))
}

pub(crate) fn system_time(moment: UnixTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(moment.as_secs())
}

impl From<CertificateFault> for SecurityError {
    fn from(fault: CertificateFault) -> SecurityError {
        match fault {
            CertificateFault::Identity(error) => SecurityError::Identity(error),
            other => SecurityError::Certificate(other),
        }
    }
}
