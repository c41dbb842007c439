//! What can be wrong with identities and their files: each text says what to do next.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::fault::CertificateFault;
use crate::identity::{Identity, LONGEST_NAME};

/// Why a text is not the identity of a node or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// It does not begin with `tokenwood://`.
    Scheme,
    /// It has another form than CLUSTER/node/ID or CLUSTER/client/NAME.
    Form,
    /// The name of the cluster is empty, too long, or has other characters than are allowed.
    Cluster,
    /// The id of the node is not a number as it is printed.
    Node,
    /// The name of the client is empty, too long, or has other characters than are allowed.
    Client,
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdentityError::Scheme => write!(f, "an identity begins with tokenwood://"),
            IdentityError::Form => {
                write!(f, "an identity is tokenwood://CLUSTER/node/ID or tokenwood://CLUSTER/client/NAME")
            }
            IdentityError::Cluster => write!(
                f,
                "the name of a cluster in a certificate has 1 to {LONGEST_NAME} letters, digits or . _ -"
            ),
            IdentityError::Node => {
                write!(f, "the id of a node is a number up to {}, without leading zeros", u32::MAX)
            }
            IdentityError::Client => {
                write!(f, "the name of a client has 1 to {LONGEST_NAME} letters, digits or . _ / @ -")
            }
        }
    }
}

impl Error for IdentityError {}

/// Why keys or certificates cannot be used.
#[derive(Debug)]
pub enum SecurityError {
    /// A certificate names no valid identity.
    Identity(IdentityError),
    /// The certificate of the other side of a connection is refused.
    Certificate(CertificateFault),
    /// The certificate in one of our own files is refused.
    OwnCertificate(PathBuf, CertificateFault),
    /// A certificate without a key, or a key without a certificate.
    Incomplete,
    /// The file has no certificate in PEM.
    NoCertificate(PathBuf),
    /// The file has no private key in PEM, or one of a kind that we cannot use.
    NoKey(PathBuf),
    /// The key does not belong to the certificate.
    OtherKey {
        /// The file of the key.
        key: PathBuf,
        /// The file of the certificate.
        certificate: PathBuf,
    },
    /// The bundle has a certificate that is no CA.
    NotACa(PathBuf),
    /// The bundle has a CA of another cluster.
    ForeignCa {
        /// The bundle.
        file: PathBuf,
        /// The cluster of that CA.
        theirs: String,
        /// Our cluster.
        ours: String,
    },
    /// Without a certificate of our own, neither the caller nor the CAs say which cluster is ours.
    ClusterUnknown(PathBuf),
    /// The files are of another holder than at the start.
    IdentityChanged {
        /// The holder at the start, if there was a certificate.
        before: Option<Identity>,
        /// The holder that the files name now.
        now: Option<Identity>,
    },
    /// No CA of the bundle belongs to the key that signs.
    NoSigner {
        /// The key.
        key: PathBuf,
        /// The bundle.
        bundle: PathBuf,
    },
    /// The CA has expired.
    CaExpired(PathBuf),
    /// A CA is not renewed as other certificates are.
    IsACa(PathBuf),
    /// A certificate still needs a CA that would be removed.
    StillNeeded(PathBuf),
    /// The lifetime is longer than dates can say.
    Lifetime,
    /// A key cannot be made, or a certificate cannot be signed.
    Issue(rcgen::Error),
    /// The file is there already.
    Exists(PathBuf),
    /// Other users can read or write the key, which has these permissions.
    KeyNotPrivate(PathBuf, u32),
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file cannot be written.
    Write(PathBuf, io::Error),
}

impl fmt::Display for SecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecurityError::Identity(error) => error.fmt(f),
            SecurityError::Certificate(fault) => fault.fmt(f),
            SecurityError::OwnCertificate(file, fault) => write!(f, "{}: {fault}", file.display()),
            SecurityError::Incomplete => {
                write!(f, "a certificate and its key belong together: name both files, or neither")
            }
            SecurityError::ForeignCa { file, theirs, ours } => write!(
                f,
                "{} has a CA of the cluster {theirs}, and we are in {ours}: remove it from the bundle",
                file.display()
            ),
            SecurityError::ClusterUnknown(file) => write!(
                f,
                "neither a certificate nor the CA in {} says which cluster this is: name the cluster",
                file.display()
            ),
            SecurityError::IdentityChanged { before, now } => write!(
                f,
                "the files now name {}, and this process is {}: put its own files back, or start it again",
                or_nobody(now.as_ref()),
                or_nobody(before.as_ref())
            ),
            SecurityError::Lifetime => write!(f, "the lifetime is too long: take fewer days"),
            SecurityError::Issue(error) => write!(f, "cannot issue the certificate: {error}"),
            other => other.fmt_of_files(f),
        }
    }
}

fn or_nobody(identity: Option<&Identity>) -> String {
    identity.map_or("no holder".to_string(), Identity::to_string)
}

impl SecurityError {
    /// The texts that begin with a file.
    fn fmt_of_files(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecurityError::NoCertificate(file) => {
                write!(f, "{} has no certificate in PEM: name a file of 'tokenwood certs'", file.display())
            }
            SecurityError::NoKey(file) => write!(
                f,
                "{} has no private key in PEM that can be used: name a .key file of 'tokenwood certs'",
                file.display()
            ),
            SecurityError::OtherKey { key, certificate } => write!(
                f,
                "the key {} does not belong to the certificate {}: copy both again, from the same folder",
                key.display(),
                certificate.display()
            ),
            SecurityError::NotACa(file) => {
                write!(f, "{} has a certificate that is no CA: remove it from the bundle", file.display())
            }
            SecurityError::CaExpired(file) => write!(
                f,
                "the CA in {} has expired: replace it with 'tokenwood certs rotate'",
                file.display()
            ),
            SecurityError::IsACa(file) => {
                write!(f, "{} is a CA: replace it with 'tokenwood certs rotate'", file.display())
            }
            SecurityError::NoSigner { key, bundle } => write!(
                f,
                "{} is not the key of a CA in {}: put the files of the same CA there",
                key.display(),
                bundle.display()
            ),
            SecurityError::StillNeeded(file) => write!(
                f,
                "{} is signed by a CA that would be removed: run 'tokenwood certs renew {}' first",
                file.display(),
                file.display()
            ),
            SecurityError::Exists(file) => write!(
                f,
                "{} is there already and is not overwritten: move it away, renew it, or name another folder",
                file.display()
            ),
            SecurityError::KeyNotPrivate(file, mode) => write!(
                f,
                "other users can reach the key {} (mode {mode:04o}): run 'chmod 600 {}'",
                file.display(),
                file.display()
            ),
            SecurityError::Read(file, error) => write!(f, "cannot read {}: {error}", file.display()),
            SecurityError::Write(file, error) => write!(f, "cannot write {}: {error}", file.display()),
            // `fmt` has said the others.
            _ => Ok(()),
        }
    }
}

// Without a source: each text says its cause already, and a chain of causes would say it twice.
impl Error for SecurityError {}

impl From<IdentityError> for SecurityError {
    fn from(error: IdentityError) -> SecurityError {
        SecurityError::Identity(error)
    }
}
