//! The folder of a CA: its files, and those of the certificates that it has signed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use zeroize::Zeroizing;

use crate::certificate::{Facts, unix_time};
use crate::error::SecurityError;
use crate::fault::CertificateFault;
use crate::identity::{Holder, Identity};
use crate::issue::{Authority, CA_LIFETIME, Issued, Period};
use crate::private_files;
use crate::trust::{Trust, Use, certificates};

/// The files that were written for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The certificate, or the bundle of CAs.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// A folder with `ca.pem`, `ca.key`, and a `.pem` and a `.key` for each holder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// It need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into() }
    }

    /// Makes the CA of a cluster, and the folder for it.
    pub fn init(&self, cluster: &str) -> Result<Written, SecurityError> {
        // First, so that a wrong name leaves no folder behind.
        let (_, issued) = Authority::create(cluster, Period::starting(SystemTime::now(), CA_LIFETIME)?)?;
        private_files::make_folder(&self.path)?;
        let files = self.authority_files();
        create(&files, &issued)?;
        Ok(files)
    }

    /// The CA whose key is here.
    pub fn authority(&self) -> Result<Authority, SecurityError> {
        let files = self.authority_files();
        let bundle = read(&files.certificate)?;
        private_files::check_key(&files.key)?;
        let key = Zeroizing::new(read(&files.key)?);
        let text = str::from_utf8(&key).map_err(|_| SecurityError::NoKey(files.key.clone()))?;
        Authority::read(&files.certificate, &bundle, &files.key, text)
    }

    /// The CA, if what it signs is worth anything.
    fn signer(&self) -> Result<Authority, SecurityError> {
        let authority = self.authority()?;
        if authority.has_expired(SystemTime::now()) {
            return Err(SecurityError::CaExpired(self.authority_files().certificate));
        }
        Ok(authority)
    }

    /// Issues a certificate to a holder that has none here.
    pub fn issue(&self, holder: &Holder, days: u32) -> Result<Written, SecurityError> {
        self.issue_for_hosts(holder, &[], days)
    }

    /// The same, with the names and addresses of hosts.
    pub fn issue_for_hosts(
        &self,
        holder: &Holder,
        hosts: &[String],
        days: u32,
    ) -> Result<Written, SecurityError> {
        let period = Period::days(SystemTime::now(), days)?;
        let issued = self.signer()?.issue_for_hosts(holder, hosts, period)?;
        let files = self.files(&holder.file_stem());
        create(&files, &issued)?;
        Ok(files)
    }

    /// Replaces a certificate and its key by new ones of the same holder, with the same hosts.
    ///
    /// The key is replaced first. If the second step fails, the two do not match, and the next call mends it.
    pub fn renew(&self, certificate: &Path, days: u32) -> Result<(Identity, Written), SecurityError> {
        let (identity, hosts) = identity_in(certificate)?;
        let authority = self.signer()?;
        if identity.cluster() != authority.cluster() {
            let fault =
                CertificateFault::OtherCluster { presented: identity, ours: authority.cluster().to_string() };
            return Err(SecurityError::OwnCertificate(certificate.to_owned(), fault));
        }
        let period = Period::days(SystemTime::now(), days)?;
        let issued = authority.issue_for_hosts(identity.holder(), &hosts, period)?;
        let key = certificate.with_extension("key");
        private_files::replace(&key, issued.key.as_bytes())?;
        private_files::replace(certificate, issued.certificate.as_bytes())?;
        Ok((identity, Written { certificate: certificate.to_owned(), key }))
    }

    /// Makes a second CA, which signs from now on. The bundle has both, so that certificates of both are trusted
    /// wherever it is copied to.
    pub fn begin_rotation(&self) -> Result<Written, SecurityError> {
        let cluster = self.authority()?.cluster().to_string();
        let (_, issued) = Authority::create(&cluster, Period::starting(SystemTime::now(), CA_LIFETIME)?)?;
        let files = self.authority_files();
        let mut bundle = issued.certificate.into_bytes();
        bundle.extend(read(&files.certificate)?);
        // The bundle first: it has the CA of either key, so an end between the two steps leaves a whole CA.
        private_files::replace(&files.certificate, &bundle)?;
        private_files::replace(&files.key, issued.key.as_bytes())?;
        Ok(files)
    }

    /// Removes all CAs from the bundle but the one that signs. It refuses while a certificate in the folder needs one
    /// of the others.
    pub fn finish_rotation(&self) -> Result<Written, SecurityError> {
        let authority = self.authority()?;
        let files = self.authority_files();
        let (bundle, now) = (authority.certificate(), SystemTime::now());
        let trust = Trust::read(&files.certificate, bundle.as_bytes(), now)?;
        for file in self.certificates()? {
            // Files of others may be here, too.
            let Ok(chain) = certificates(&file, &read(&file)?) else { continue };
            let checked = trust.check(&chain[0], &chain[1..], Use::Calling, unix_time(now));
            let fault = checked.err().and_then(|error| CertificateFault::of(&error));
            if fault == Some(CertificateFault::UnknownIssuer) {
                return Err(SecurityError::StillNeeded(file));
            }
        }
        private_files::replace(&files.certificate, bundle.as_bytes())?;
        Ok(files)
    }

    /// All certificates of holders in the folder, in the order of their names.
    fn certificates(&self) -> Result<Vec<PathBuf>, SecurityError> {
        let failed = |error| SecurityError::Read(self.path.clone(), error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let is_pem = file.extension().is_some_and(|extension| extension == "pem");
            if is_pem && file != self.authority_files().certificate {
                found.push(file);
            }
        }
        found.sort();
        Ok(found)
    }

    fn authority_files(&self) -> Written {
        self.files("ca")
    }

    fn files(&self, stem: &str) -> Written {
        // Not `with_extension`: a client's name may have a dot.
        let file = |extension: &str| self.path.join(format!("{stem}.{extension}"));
        Written { certificate: file("pem"), key: file("key") }
    }
}

/// Writes both files, or neither.
fn create(files: &Written, issued: &Issued) -> Result<(), SecurityError> {
    if files.certificate.exists() {
        return Err(SecurityError::Exists(files.certificate.clone()));
    }
    private_files::create(&files.key, issued.key.as_bytes())?;
    private_files::create(&files.certificate, issued.certificate.as_bytes()).inspect_err(|_| {
        // A key without a certificate is worth nothing, and would be in the way of the next attempt.
        _ = fs::remove_file(&files.key);
    })
}

/// The holder of a certificate, and the hosts that it names.
fn identity_in(certificate: &Path) -> Result<(Identity, Vec<String>), SecurityError> {
    let chain = certificates(certificate, &read(certificate)?)?;
    let own = |fault| SecurityError::OwnCertificate(certificate.to_owned(), fault);
    let facts = Facts::of(&chain[0]).map_err(own)?;
    if facts.is_ca {
        return Err(SecurityError::IsACa(certificate.to_owned()));
    }
    Ok((facts.identity().map_err(own)?, facts.hosts))
}

fn read(file: &Path) -> Result<Vec<u8>, SecurityError> {
    fs::read(file).map_err(|error| SecurityError::Read(file.to_owned(), error))
}
