//! The CA of a cluster, and the certificates that it signs.

mod folder;

use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pem::Pem;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateDer;
use zeroize::Zeroizing;

use crate::certificate::{Facts, hexadecimal};
use crate::error::SecurityError;
use crate::fault::CertificateFault;
use crate::identity::{Holder, Identity, authority_uri};
use crate::trust::certificates;

pub use folder::{Folder, Written};

/// How long a CA is valid.
pub const CA_LIFETIME: Duration = Duration::from_secs(10 * 365 * DAY);
/// How long a certificate is valid if nothing else is said.
pub const LEAF_DAYS: u32 = 90;

const DAY: u64 = 24 * 60 * 60;
/// Clocks of other computers may be late by this much.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// From when until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first second.
    pub from: SystemTime,
    /// The last second.
    pub until: SystemTime,
}

impl Period {
    /// From now on, and from a little before, for clocks that are late.
    pub fn starting(now: SystemTime, lifetime: Duration) -> Result<Period, SecurityError> {
        let until = now.checked_add(lifetime).filter(|until| *until <= last_date());
        Ok(Period { from: now - CLOCK_TOLERANCE, until: until.ok_or(SecurityError::Lifetime)? })
    }

    /// This many days from now on.
    pub fn days(now: SystemTime, days: u32) -> Result<Period, SecurityError> {
        Period::starting(now, Duration::from_secs(u64::from(days) * DAY))
    }
}

/// The year 9999 is the last that a certificate can name; a round number of seconds near it will do.
fn last_date() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(250_000_000_000)
}

/// A certificate and its key, in PEM.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: Zeroizing<String>,
}

/// A CA with its key.
pub struct Authority {
    cluster: String,
    certificate: CertificateDer<'static>,
    valid_until: SystemTime,
    key: Zeroizing<KeyPair>,
}

impl Authority {
    /// Makes a CA for a cluster, and returns it with its files.
    ///
    /// That it is for this cluster stands in its URI. It is no name constraint: those of RFC 5280 compare hosts, and
    /// webpki refuses every URI below a CA that has one.
    pub fn create(cluster: &str, period: Period) -> Result<(Authority, Issued), SecurityError> {
        let uri = authority_uri(cluster)?;
        let key = Zeroizing::new(KeyPair::generate().map_err(SecurityError::Issue)?);
        let mut params = params(&uri, period)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // Two CAs of one cluster are told apart by their names, in a rotation.
        let number = hexadecimal(&params.key_identifier(&*key)[..4]);
        params.distinguished_name.push(DnType::OrganizationName, cluster);
        params.distinguished_name.push(DnType::CommonName, format!("Tokenwood CA {number}"));
        let certificate = params.self_signed(&*key).map_err(SecurityError::Issue)?;
        let issued = Issued { certificate: certificate.pem(), key: Zeroizing::new(key.serialize_pem()) };
        let (cluster, certificate) = (cluster.to_string(), certificate.der().clone());
        Ok((Authority { cluster, certificate, valid_until: period.until, key }, issued))
    }

    /// Takes the CA of the bundle that the key belongs to.
    fn read(bundle: &Path, bundle_pem: &[u8], key: &Path, key_pem: &str) -> Result<Authority, SecurityError> {
        let pair = KeyPair::from_pem(key_pem).map_err(|_| SecurityError::NoKey(key.to_owned()))?;
        let pair = Zeroizing::new(pair);
        for certificate in certificates(bundle, bundle_pem)? {
            let own = |fault| SecurityError::OwnCertificate(bundle.to_owned(), fault);
            let facts = Facts::of(&certificate).map_err(own)?;
            if facts.has_public_key(&pair) {
                let cluster = facts.authority_of().ok_or_else(|| own(CertificateFault::NoIdentity))?;
                return Ok(Authority { cluster, certificate, valid_until: facts.valid_until, key: pair });
            }
        }
        Err(SecurityError::NoSigner { key: key.to_owned(), bundle: bundle.to_owned() })
    }

    /// The cluster that it signs for.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        self.valid_until < now
    }

    /// Its own certificate, in PEM.
    pub fn certificate(&self) -> String {
        pem::encode(&Pem::new("CERTIFICATE", self.certificate.as_ref()))
    }

    /// Makes a key and signs a certificate for the holder. None is valid for longer than the CA.
    pub fn issue(&self, holder: &Holder, period: Period) -> Result<Issued, SecurityError> {
        self.issue_for_hosts(holder, &[], period)
    }

    /// The same, and the certificate also has the names and addresses of hosts: clients of HTTP look at these.
    pub fn issue_for_hosts(
        &self,
        holder: &Holder,
        hosts: &[String],
        period: Period,
    ) -> Result<Issued, SecurityError> {
        let identity = Identity::new(&self.cluster, holder.clone())?;
        let period = Period { until: period.until.min(self.valid_until), ..period };
        let mut params = params(&identity.to_string(), period)?;
        for host in hosts {
            params.subject_alt_names.push(match host.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(host.as_str().try_into().map_err(SecurityError::Issue)?),
            });
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name.push(DnType::OrganizationName, self.cluster.as_str());
        match holder {
            Holder::Node(id) => {
                params.distinguished_name.push(DnType::OrganizationalUnitName, "node");
                params.distinguished_name.push(DnType::CommonName, id.to_string());
                let uses = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
                params.extended_key_usages = uses.to_vec();
            }
            Holder::Client(name) => {
                params.distinguished_name.push(DnType::OrganizationalUnitName, "client");
                params.distinguished_name.push(DnType::CommonName, name.as_str());
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }
        }
        self.sign(&params)
    }

    /// Makes a key and signs what it is given.
    pub(crate) fn sign(&self, params: &CertificateParams) -> Result<Issued, SecurityError> {
        let issuer = Issuer::from_ca_cert_der(&self.certificate, &*self.key).map_err(SecurityError::Issue)?;
        let key = Zeroizing::new(KeyPair::generate().map_err(SecurityError::Issue)?);
        let certificate = params.signed_by(&*key, &issuer).map_err(SecurityError::Issue)?;
        Ok(Issued { certificate: certificate.pem(), key: Zeroizing::new(key.serialize_pem()) })
    }
}

/// With one URI, without other names.
fn params(uri: &str, period: Period) -> Result<CertificateParams, SecurityError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.subject_alt_names = vec![SanType::URI(uri.try_into().map_err(SecurityError::Issue)?)];
    params.not_before = period.from.into();
    params.not_after = period.until.into();
    Ok(params)
}
