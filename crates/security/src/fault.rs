//! What can be wrong with a certificate: of the other side of a connection, or of our own.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use rustls::{CertificateError, OtherError};

use crate::error::IdentityError;
use crate::identity::{Holder, Identity};

/// Why a certificate is refused. Each text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateFault {
    /// No CA of the bundle has signed it.
    UnknownIssuer,
    /// Its last second is over.
    Expired,
    /// Its first second is still to come.
    NotYetValid,
    /// It has no URI that begins with `tokenwood:`.
    NoIdentity,
    /// It has several URIs that begin with `tokenwood:`.
    SeveralIdentities,
    /// Its URI is no identity.
    Identity(IdentityError),
    /// Its holder belongs to another cluster.
    OtherCluster {
        /// The holder.
        presented: Identity,
        /// Our cluster.
        ours: String,
    },
    /// Its holder is another than the one that was called.
    OtherHolder {
        /// The holder.
        presented: Identity,
        /// The holder that was called.
        expected: Holder,
    },
    /// Its holder is a client, where only a node is accepted.
    NotANode(Identity),
    /// The other side presented none, where a node has to present one.
    Missing,
    /// It cannot be read as a certificate.
    Malformed,
    /// Anything else that the check of the chain finds: its own words.
    Chain(String),
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateFault::UnknownIssuer => write!(
                f,
                "no CA of the bundle has signed the certificate: add its CA to ca.pem, or issue it with ours"
            ),
            CertificateFault::Expired => {
                write!(f, "the certificate has expired: renew it with 'tokenwood certs renew'")
            }
            CertificateFault::NotYetValid => {
                write!(f, "the certificate is not valid yet: compare the clocks of both sides")
            }
            CertificateFault::NoIdentity => write!(
                f,
                "the certificate has no tokenwood:// URI: issue it with 'tokenwood certs node' or 'client'"
            ),
            CertificateFault::SeveralIdentities => {
                write!(f, "the certificate has several tokenwood:// URIs: issue one for each holder")
            }
            CertificateFault::Identity(error) => write!(f, "the URI of the certificate is wrong: {error}"),
            CertificateFault::OtherCluster { presented, ours } => {
                write!(f, "{presented} belongs to another cluster than {ours}: use a certificate of {ours}")
            }
            CertificateFault::OtherHolder { presented, expected } => {
                write!(f, "{presented} answered instead of {expected}: check the address and its certificate")
            }
            CertificateFault::NotANode(presented) => {
                write!(
                    f,
                    "{presented} is a client, and only nodes are accepted here: use a node's certificate"
                )
            }
            CertificateFault::Missing => {
                write!(f, "only nodes are accepted here, and the caller has no certificate: give it one")
            }
            CertificateFault::Malformed => {
                write!(f, "the certificate cannot be read: look at it with 'tokenwood certs show'")
            }
            CertificateFault::Chain(error) => write!(f, "the certificate is refused: {error}"),
        }
    }
}

impl Error for CertificateFault {}

impl From<IdentityError> for CertificateFault {
    fn from(error: IdentityError) -> CertificateFault {
        CertificateFault::Identity(error)
    }
}

impl CertificateFault {
    /// The fault that a handshake failed with. None if it failed for a reason outside of certificates, or if the
    /// other side found the fault: then all we know is its alert.
    pub fn of(error: &rustls::Error) -> Option<CertificateFault> {
        match error {
            rustls::Error::InvalidCertificate(error) => Some(error.into()),
            rustls::Error::NoCertificatesPresented => Some(CertificateFault::Missing),
            _ => None,
        }
    }

    /// As rustls reports it, and tells the other side by an alert: the alerts for issuers and dates are precise.
    pub(crate) fn into_rustls(self) -> rustls::Error {
        let error = match self {
            CertificateFault::UnknownIssuer => CertificateError::UnknownIssuer,
            CertificateFault::Expired => CertificateError::Expired,
            CertificateFault::NotYetValid => CertificateError::NotValidYet,
            CertificateFault::Malformed => CertificateError::BadEncoding,
            other => CertificateError::Other(OtherError(Arc::new(other))),
        };
        error.into()
    }
}

impl From<&CertificateError> for CertificateFault {
    fn from(error: &CertificateError) -> CertificateFault {
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                CertificateFault::UnknownIssuer
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => CertificateFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                CertificateFault::NotYetValid
            }
            CertificateError::BadEncoding => CertificateFault::Malformed,
            CertificateError::Other(OtherError(other)) => match other.downcast_ref::<CertificateFault>() {
                Some(fault) => fault.clone(),
                None => CertificateFault::Chain(other.to_string()),
            },
            other => CertificateFault::Chain(other.to_string()),
        }
    }
}
