//! Every kind of certificate at every kind of port: what passes, and why the others do not.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::fixture::{
    CLUSTER, HOUR, Pair, TestFolder, authority, client, node, period, self_signed, unchecked, unusual_params,
};
use crate::certificate::unix_time;
use crate::issue::{Authority, Issued, Period};
use crate::trust::{Trust, Use, certificates};
use crate::{CLIENTS, CONTROL, Callers, CertificateFault, Holder, Identity, PEERS, SecurityError, caller};

/// What a port says: who it took the other side for, or why it refused.
type Verdict = Result<Option<String>, CertificateFault>;

fn verdict(connected: Result<Pair, rustls::Error>, of: fn(&Pair) -> &rustls::CommonState) -> Verdict {
    let fault = |error: SecurityError| match error {
        SecurityError::Certificate(fault) => fault,
        other => panic!("{other}"),
    };
    match connected {
        Ok(pair) => caller(of(&pair)).map(|who| who.map(|who| who.to_string())).map_err(fault),
        Err(error) => Err(CertificateFault::of(&error).unwrap_or_else(|| panic!("{error}"))),
    }
}

/// Shows the certificate to a port of node 1.
fn accepted(ours: &Authority, shown: Option<&Issued>, protocol: &'static [u8], callers: Callers) -> Verdict {
    let bundle = ours.certificate();
    let answering = unchecked(&bundle, Some(&node(ours, 1))).accepting(&[protocol], callers);
    let calling = unchecked(&bundle, shown).calling(&[protocol], None);
    verdict(Pair::connect(&calling, &answering), |pair| &pair.answering)
}

/// Shows the certificate to a client that calls node 2.
fn called(ours: &Authority, shown: Option<&Issued>) -> Verdict {
    let bundle = ours.certificate();
    let answering = unchecked(&bundle, shown).accepting(&[CLIENTS], Callers::Clients);
    let calling = unchecked(&bundle, Some(&client(ours, "ci"))).calling(&[CLIENTS], Some(Holder::Node(2)));
    verdict(Pair::connect(&calling, &answering), |pair| &pair.calling)
}

fn identity(text: &str) -> Identity {
    text.parse().unwrap()
}

/// Asks all ports.
fn verdicts(ours: &Authority, shown: &Issued) -> [Verdict; 5] {
    [
        accepted(ours, Some(shown), PEERS, Callers::Nodes),
        accepted(ours, Some(shown), CLIENTS, Callers::Clients),
        accepted(ours, Some(shown), CONTROL, Callers::Both),
        accepted(ours, Some(shown), CLIENTS, Callers::Both),
        called(ours, Some(shown)),
    ]
}

fn refused_everywhere(ours: &Authority, shown: &Issued, fault: &CertificateFault) {
    for verdict in verdicts(ours, shown) {
        assert_eq!(verdict.as_ref(), Err(fault));
    }
}

#[test]
fn a_node_passes_everywhere() {
    let ours = authority();
    let expected = Ok(Some("tokenwood://prod/node/2".to_string()));
    for verdict in verdicts(&ours, &node(&ours, 2)) {
        assert_eq!(verdict, expected);
    }
}

#[test]
fn another_node_passes_unless_one_is_expected() {
    let ours = authority();
    let shown = node(&ours, 3);
    let third = "tokenwood://prod/node/3";
    let passes = Ok(Some(third.to_string()));
    let other = CertificateFault::OtherHolder { presented: identity(third), expected: Holder::Node(2) };
    let expected = [passes.clone(), passes.clone(), passes.clone(), passes, Err(other)];
    assert_eq!(verdicts(&ours, &shown), expected);
}

#[test]
fn a_client_passes_where_clients_do() {
    let ours = authority();
    let shown = client(&ours, "ci/build");
    let name = "tokenwood://prod/client/ci/build";
    let not_a_node = Err(CertificateFault::NotANode(identity(name)));
    let passes = Ok(Some(name.to_string()));
    let expected = [not_a_node.clone(), passes.clone(), not_a_node.clone(), passes, not_a_node];
    assert_eq!(verdicts(&ours, &shown), expected);
}

#[test]
fn no_certificate_passes_where_a_token_can_follow() {
    let ours = authority();
    let missing = Err(CertificateFault::Missing);
    assert_eq!(accepted(&ours, None, PEERS, Callers::Nodes), missing);
    assert_eq!(accepted(&ours, None, CLIENTS, Callers::Clients), Ok(None));
    assert_eq!(accepted(&ours, None, CLIENTS, Callers::Both), Ok(None));
    assert_eq!(accepted(&ours, None, CONTROL, Callers::Both), missing);
    let bundle = ours.certificate();
    let answering = unchecked(&bundle, None).accepting(&[CLIENTS], Callers::Clients);
    let calling = unchecked(&bundle, None).calling(&[CLIENTS], None);
    assert!(Pair::connect(&calling, &answering).is_err(), "a node without a certificate cannot answer");
}

#[test]
fn foreign_and_self_signed_certificates_are_refused() {
    let ours = authority();
    refused_everywhere(&ours, &node(&authority(), 2), &CertificateFault::UnknownIssuer);
    let own = self_signed(&unusual_params(&["tokenwood://prod/node/2"]));
    refused_everywhere(&ours, &own, &CertificateFault::UnknownIssuer);
}

#[test]
fn certificates_count_from_their_first_second_to_their_last() {
    let ours = authority();
    let issue =
        |from: SystemTime, until: SystemTime| ours.issue(&Holder::Node(2), Period { from, until }).unwrap();
    let now = SystemTime::now();
    let minute = Duration::from_secs(60);
    refused_everywhere(&ours, &issue(now - HOUR, now - minute), &CertificateFault::Expired);
    refused_everywhere(&ours, &issue(now + minute, now + HOUR), &CertificateFault::NotYetValid);
}

#[test]
fn a_holder_of_another_cluster_is_refused_even_if_our_ca_signed() {
    let ours = authority();
    let other = "tokenwood://test/node/2";
    let shown = ours.sign(&unusual_params(&[other])).unwrap();
    let fault = CertificateFault::OtherCluster { presented: identity(other), ours: CLUSTER.to_string() };
    refused_everywhere(&ours, &shown, &fault);
}

#[test]
fn a_certificate_names_exactly_one_holder() {
    let ours = authority();
    let sign = |uris: &[&str]| ours.sign(&unusual_params(uris)).unwrap();
    refused_everywhere(&ours, &sign(&[]), &CertificateFault::NoIdentity);
    refused_everywhere(&ours, &sign(&["spiffe://prod/node/2"]), &CertificateFault::NoIdentity);
    for second in ["tokenwood://prod/node/3", "tokenwood://prod/node/2", "TokenWood:x"] {
        let both = sign(&["tokenwood://prod/node/2", second]);
        refused_everywhere(&ours, &both, &CertificateFault::SeveralIdentities);
    }
    for wrong in ["Tokenwood://prod/node/2", "tokenwood://prod/node/02", "tokenwood://prod/ca"] {
        let shown = sign(&[wrong]);
        for verdict in verdicts(&ours, &shown) {
            assert!(matches!(verdict, Err(CertificateFault::Identity(_))), "{wrong}: {verdict:?}");
        }
    }
    let beside = sign(&["spiffe://prod/x", "tokenwood://prod/node/2"]);
    assert!(verdicts(&ours, &beside).iter().all(Result::is_ok), "names of other schemes do not count");
}

#[test]
fn a_ca_is_no_holder() {
    let (ours, files) = Authority::create(CLUSTER, period()).unwrap();
    for verdict in verdicts(&ours, &files) {
        assert!(matches!(verdict, Err(CertificateFault::Chain(_))), "{verdict:?}");
    }
}

#[test]
fn a_ca_that_expires_meanwhile_is_trusted_no_longer() {
    let now = SystemTime::now();
    let short = Authority::create(CLUSTER, Period { from: now - HOUR, until: now + HOUR }).unwrap().0;
    let long = Authority::create(CLUSTER, Period { from: now - HOUR, until: now + 9 * HOUR }).unwrap().0;
    let bundle = short.certificate() + &long.certificate();
    let trust = Trust::read(Path::new("ca.pem"), bundle.as_bytes(), now).unwrap();
    // Not clamped to the CA, as a CA of others may do it.
    let mut params = unusual_params(&["tokenwood://prod/node/2"]);
    params.not_after = (now + 9 * HOUR).into();
    for (authority, passes_later) in [(&short, false), (&long, true)] {
        let issued = authority.sign(&params).unwrap();
        let leaf = &certificates(Path::new("own.pem"), issued.certificate.as_bytes()).unwrap()[0];
        for used_for in [Use::Answering, Use::Calling] {
            assert!(trust.check(leaf, &[], used_for, unix_time(now)).is_ok());
            let later = trust.check(leaf, &[], used_for, unix_time(now + 2 * HOUR));
            assert_eq!(later.is_ok(), passes_later, "{later:?}");
        }
    }
}

#[test]
fn protocols_must_agree() {
    let ours = authority();
    let folder = TestFolder::new();
    let credentials = folder.load(&ours.certificate(), &node(&ours, 1)).unwrap();
    let answering = credentials.accept_config(&[PEERS, CONTROL], Callers::Nodes);
    for (protocol, agrees) in [(PEERS, true), (CONTROL, true), (CLIENTS, false)] {
        let connected = Pair::connect(&credentials.call_config(&[protocol], None), &answering);
        assert_eq!(connected.is_ok(), agrees);
        if let Ok(pair) = connected {
            assert_eq!(pair.answering.alpn_protocol(), Some(protocol));
            assert_eq!(pair.answering.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        }
    }
    let again = credentials.accept_config(&[PEERS, CONTROL], Callers::Nodes);
    assert!(Arc::ptr_eq(&again, &answering), "it is built once");
}
