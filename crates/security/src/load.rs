//! One reading of the files of a process, with all checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ring::digest::{Digest, SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::certificate::{Facts, unix_time};
use crate::configs::Configs;
use crate::credentials::Files;
use crate::error::SecurityError;
use crate::fault::CertificateFault;
use crate::identity::{Holder, Identity};
use crate::private_files;
use crate::trust::{Trust, Use, certificates};

/// What expires first of all that a process uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The last second in which it is valid.
    pub at: SystemTime,
    /// The file that it stands in.
    pub file: PathBuf,
    /// Its names, as X.500 writes them.
    pub subject: String,
}

/// What the files say.
pub(crate) struct Loaded {
    /// Of the contents of each file.
    digests: Vec<Digest>,
    pub(crate) cluster: String,
    pub(crate) identity: Option<Identity>,
    pub(crate) expiry: Expiry,
    pub(crate) fingerprints: Vec<String>,
    pub(crate) configs: Configs,
}

/// Our own certificate, with what stands in it.
struct Own {
    digests: [Digest; 2],
    certified: Arc<CertifiedKey>,
    facts: Facts,
    identity: Identity,
    file: PathBuf,
}

impl Loaded {
    pub(crate) fn read(
        files: &Files,
        cluster: Option<&str>,
        now: SystemTime,
    ) -> Result<Loaded, SecurityError> {
        let bundle = read(&files.ca)?;
        let trust = Arc::new(Trust::read(&files.ca, &bundle, now)?);
        let own = match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => Some(Own::read(certificate, key)?),
            (None, None) => None,
            _ => return Err(SecurityError::Incomplete),
        };
        let identity = own.as_ref().map(|own| own.identity.clone());
        let cluster = choose_cluster(&files.ca, &trust, identity.as_ref(), cluster)?;
        if let Some(own) = &own {
            own.check(&trust, &cluster, now)?;
        }
        let mut digests = vec![digest(&SHA256, &bundle)];
        digests.extend(own.iter().flat_map(|own| own.digests));
        Ok(Loaded {
            digests,
            expiry: first_expiry(&files.ca, &trust, own.as_ref()),
            fingerprints: trust.facts().map(|facts| facts.fingerprint.clone()).collect(),
            configs: Configs::new(trust, cluster.clone(), own.map(|own| own.certified)),
            cluster,
            identity,
        })
    }

    /// Whether both were read from files with the same contents.
    pub(crate) fn is_of_same_bytes(&self, other: &Loaded) -> bool {
        self.digests.iter().map(Digest::as_ref).eq(other.digests.iter().map(Digest::as_ref))
    }
}

impl Own {
    fn read(certificate: &Path, key: &Path) -> Result<Own, SecurityError> {
        let chain_pem = read(certificate)?;
        let chain = certificates(certificate, &chain_pem)?;
        private_files::check_key(key)?;
        let key_pem = Zeroizing::new(read(key)?);
        let own = |fault| SecurityError::OwnCertificate(certificate.to_owned(), fault);
        let facts = Facts::of(leaf(&chain)).map_err(own)?;
        let identity = facts.identity().map_err(own)?;
        Ok(Own {
            digests: [digest(&SHA256, &chain_pem), digest(&SHA256, &key_pem)],
            certified: Arc::new(certified(chain, certificate, &key_pem, key)?),
            facts,
            identity,
            file: certificate.to_owned(),
        })
    }

    /// What others will check, so that they do not have to refuse us.
    fn check(&self, trust: &Trust, cluster: &str, now: SystemTime) -> Result<(), SecurityError> {
        let own = |fault| SecurityError::OwnCertificate(self.file.clone(), fault);
        if self.identity.cluster() != cluster {
            let (presented, ours) = (self.identity.clone(), cluster.to_string());
            return Err(own(CertificateFault::OtherCluster { presented, ours }));
        }
        let uses: &[Use] = match self.identity.holder() {
            Holder::Node(_) => &[Use::Answering, Use::Calling],
            Holder::Client(_) => &[Use::Calling],
        };
        let chain = &self.certified.cert;
        for used_for in uses {
            let checked = trust.check(leaf(chain), &chain[1..], *used_for, unix_time(now));
            let fault = |error: rustls::Error| {
                own(CertificateFault::of(&error).unwrap_or(CertificateFault::Chain(error.to_string())))
            };
            checked.map_err(fault)?;
        }
        Ok(())
    }
}

/// A chain as `certificates` returns it is never empty.
fn leaf<'a>(chain: &'a [CertificateDer<'static>]) -> &'a CertificateDer<'static> {
    &chain[0]
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    certificate: &Path,
    key_pem: &[u8],
    key: &Path,
) -> Result<CertifiedKey, SecurityError> {
    let no_key = || SecurityError::NoKey(key.to_owned());
    let der = Zeroizing::new(PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| no_key())?);
    // Not the provider's function: it takes the key, and drops it without wiping it.
    let signing = any_supported_type(&der).map_err(|_| no_key())?;
    let certified = CertifiedKey::new(chain, signing);
    match certified.keys_match() {
        Ok(()) => Ok(certified),
        Err(_) => Err(SecurityError::OtherKey { key: key.to_owned(), certificate: certificate.to_owned() }),
    }
}

fn choose_cluster(
    file: &Path,
    trust: &Trust,
    identity: Option<&Identity>,
    given: Option<&str>,
) -> Result<String, SecurityError> {
    let named: Vec<String> = trust.facts().filter_map(Facts::authority_of).collect();
    let ours = given.map(str::to_string).or_else(|| identity.map(|identity| identity.cluster().to_string()));
    let ours = ours.or_else(|| named.first().cloned());
    let ours = ours.ok_or_else(|| SecurityError::ClusterUnknown(file.to_owned()))?;
    // A CA could sign for any cluster. That it is for one alone is a promise which only its bundle can keep.
    match named.into_iter().find(|theirs| *theirs != ours) {
        Some(theirs) => Err(SecurityError::ForeignCa { file: file.to_owned(), theirs, ours }),
        None => Ok(ours),
    }
}

fn first_expiry(file: &Path, trust: &Trust, own: Option<&Own>) -> Expiry {
    let expiry = |file: &Path, facts: &Facts| Expiry {
        at: facts.valid_until,
        file: file.to_owned(),
        subject: facts.subject.clone(),
    };
    let authorities = trust.facts().map(|facts| expiry(file, facts));
    let all = own.map(|own| expiry(&own.file, &own.facts)).into_iter().chain(authorities);
    all.min_by_key(|expiry| expiry.at).expect("a bundle has a CA")
}

fn read(file: &Path) -> Result<Vec<u8>, SecurityError> {
    fs::read(file).map_err(|error| SecurityError::Read(file.to_owned(), error))
}
