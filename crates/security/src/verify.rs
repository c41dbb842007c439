//! Which certificates pass in a handshake: signed by a CA that we trust, and of a holder that belongs there.

use std::cell::Cell;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::verify_tls13_signature;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, PeerIncompatible, SignatureScheme};

use crate::certificate::Facts;
use crate::fault::CertificateFault;
use crate::identity::{Holder, Identity};
use crate::trust::{PROVIDER, Trust, Use};

/// Who may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callers {
    /// Nodes of the cluster alone, each with its certificate.
    Nodes,
    /// Clients and nodes of the cluster with their certificates, and callers without one: these have to show a
    /// token next.
    Clients,
    /// Nodes and clients on one port, told apart by the protocol that the handshake chooses. [`crate::caller()`]
    /// then refuses everyone but nodes where the protocol is one between nodes.
    Both,
}

/// Who passes, by the certificate's holder.
#[derive(Debug)]
enum Rule {
    Everyone,
    AnyNode,
    Only(Holder),
}

/// The rules for the other side of a connection.
#[derive(Debug)]
pub(crate) struct Verifier {
    trust: Arc<Trust>,
    cluster: String,
    rule: Rule,
    needs_certificate: bool,
}

impl Verifier {
    pub(crate) fn of_callers(trust: Arc<Trust>, cluster: String, callers: Callers) -> Verifier {
        match callers {
            Callers::Nodes => Verifier { trust, cluster, rule: Rule::AnyNode, needs_certificate: true },
            Callers::Clients | Callers::Both => {
                Verifier { trust, cluster, rule: Rule::Everyone, needs_certificate: false }
            }
        }
    }

    pub(crate) fn of_called(trust: Arc<Trust>, cluster: String, expect: Option<Holder>) -> Verifier {
        let rule = expect.map_or(Rule::AnyNode, Rule::Only);
        Verifier { trust, cluster, rule, needs_certificate: true }
    }

    fn check(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        used_for: Use,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let chain = self.trust.check(certificate, intermediates, used_for, now);
        let holder = Facts::of(certificate).and_then(|facts| self.check_holder(&facts));
        match (chain, holder) {
            (Ok(()), holder) => holder.map_err(CertificateFault::into_rustls),
            // A client's certificate may not be used to answer. That it is a client's is the better reason.
            (Err(chain), Err(fault @ CertificateFault::NotANode(_))) if is_wrong_purpose(&chain) => {
                Err(fault.into_rustls())
            }
            (Err(chain), _) => Err(chain),
        }
    }

    fn check_holder(&self, facts: &Facts) -> Result<(), CertificateFault> {
        let presented = facts.identity()?;
        if presented.cluster() != self.cluster {
            return Err(CertificateFault::OtherCluster { presented, ours: self.cluster.clone() });
        }
        match &self.rule {
            Rule::Everyone => Ok(()),
            Rule::AnyNode => check_node(presented),
            Rule::Only(expected) => {
                let is_expected = presented.holder() == expected;
                check_node(presented.clone())?;
                let other = CertificateFault::OtherHolder { presented, expected: expected.clone() };
                if is_expected { Ok(()) } else { Err(other) }
            }
        }
    }
}

pub(crate) fn check_node(presented: Identity) -> Result<(), CertificateFault> {
    match presented.holder() {
        Holder::Node(_) => Ok(()),
        Holder::Client(_) => Err(CertificateFault::NotANode(presented)),
    }
}

thread_local! {
    static REFUSED: Cell<Option<Identity>> = const { Cell::new(None) };
}

/// Whom the certificate names that this thread has refused last; none if it could not be read, or if it was taken before.
///
/// Nothing vouches for it: it is what a caller says. It is not in the error of the handshake, because rustls sends a
/// precise alert only for its own errors, which have no place for it.
pub fn take_refused() -> Option<Identity> {
    REFUSED.take()
}

fn is_wrong_purpose(error: &rustls::Error) -> bool {
    use CertificateError::{InvalidPurpose, InvalidPurposeContext};
    matches!(error, rustls::Error::InvalidCertificate(InvalidPurpose | InvalidPurposeContext { .. }))
}

fn check_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    verify_tls13_signature(message, certificate, signed, &PROVIDER.signature_verification_algorithms)
}

/// Unreachable, since no configuration offers TLS 1.2.
fn refuse_tls12() -> Result<HandshakeSignatureValid, rustls::Error> {
    Err(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into())
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.needs_certificate
    }

    /// Callers have one certificate each: the names of our CAs would help none of them to choose.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let checked = self.check(certificate, intermediates, Use::Calling, now);
        REFUSED.set(checked.is_err().then(|| Facts::of(certificate).ok()?.identity().ok()).flatten());
        checked.map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for Verifier {
    /// The name of the server is not looked at: the identity in the certificate says who answers.
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(certificate, intermediates, Use::Answering, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}
