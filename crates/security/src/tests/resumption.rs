//! Resumed sessions: the same identity, and none where a full handshake would be refused.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::HandshakeKind;

use super::fixture::{HOUR, Pair, TestFolder, authority, client, node, unchecked};
use crate::caller::caller_at;
use crate::{CLIENTS, Callers, CertificateFault, PEERS, SecurityError, caller};

#[test]
fn a_resumed_session_has_the_identity_of_its_first_handshake() {
    let ours = authority();
    let (nodes, clients) = (TestFolder::new(), TestFolder::new());
    let answering = nodes.load(&ours.certificate(), &node(&ours, 1)).unwrap();
    let calling = clients.load(&ours.certificate(), &client(&ours, "ci")).unwrap();
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
        let pair = Pair::connect(
            &calling.call_config(&[CLIENTS], None),
            &answering.accept_config(&[CLIENTS], Callers::Clients),
        )
        .unwrap();
        assert_eq!(
            (pair.calling.handshake_kind(), pair.answering.handshake_kind()),
            (Some(kind), Some(kind))
        );
        assert_eq!(caller(&pair.answering).unwrap(), calling.identity());
        assert_eq!(caller(&pair.calling).unwrap(), answering.identity());
    }
}

#[test]
fn a_resumed_session_ends_with_its_certificate() {
    let ours = authority();
    let bundle = ours.certificate();
    let answering = unchecked(&bundle, Some(&node(&ours, 1))).accepting(&[CLIENTS], Callers::Clients);
    let calling = unchecked(&bundle, Some(&client(&ours, "ci"))).calling(&[CLIENTS], None);
    let first = Pair::connect(&calling, &answering).unwrap();
    let resumed = Pair::connect(&calling, &answering).unwrap();
    assert_eq!(resumed.answering.handshake_kind(), Some(HandshakeKind::Resumed));
    for pair in [first, resumed] {
        let later = caller_at(&pair.answering, SystemTime::now() + 2 * HOUR);
        let expired = matches!(later, Err(SecurityError::Certificate(CertificateFault::Expired)));
        assert!(expired, "{later:?}");
    }
}

#[test]
fn a_ticket_of_a_port_for_clients_is_worth_nothing_at_a_port_for_nodes() {
    let ours = authority();
    let bundle = ours.certificate();
    let node_1 = unchecked(&bundle, Some(&node(&ours, 1)));
    let protocols = &[PEERS, CLIENTS];
    let without_certificate = unchecked(&bundle, None).calling(protocols, None);
    Pair::connect(&without_certificate, &node_1.accepting(protocols, Callers::Clients)).unwrap();
    let refused = Pair::connect(&without_certificate, &node_1.accepting(protocols, Callers::Nodes)).err();
    assert_eq!(refused.as_ref().and_then(CertificateFault::of), Some(CertificateFault::Missing));
}

#[test]
fn a_session_resumed_with_another_protocol_is_judged_by_that_protocol() {
    let ours = authority();
    let bundle = ours.certificate();
    let answering = unchecked(&bundle, Some(&node(&ours, 1))).accepting(&[PEERS, CLIENTS], Callers::Both);
    for (shown, fault) in [
        (None, CertificateFault::Missing),
        (
            Some(client(&ours, "ci")),
            CertificateFault::NotANode("tokenwood://prod/client/ci".parse().unwrap()),
        ),
    ] {
        let as_client = unchecked(&bundle, shown.as_ref()).calling(&[CLIENTS], None);
        Pair::connect(&as_client, &answering).unwrap();
        // It shares the memory of sessions, as an attacker's would.
        let mut as_peer = (*as_client).clone();
        as_peer.alpn_protocols = vec![PEERS.to_vec()];
        let pair = Pair::connect(&Arc::new(as_peer), &answering).unwrap();
        assert_eq!(pair.answering.handshake_kind(), Some(HandshakeKind::Resumed));
        match caller(&pair.answering) {
            Err(SecurityError::Certificate(found)) => assert_eq!(found, fault),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn early_data_is_off() {
    let ours = authority();
    let bundle = ours.certificate();
    let configs = unchecked(&bundle, Some(&node(&ours, 1)));
    assert_eq!(configs.accepting(&[CLIENTS], Callers::Clients).max_early_data_size, 0);
    assert!(!configs.calling(&[CLIENTS], None).enable_early_data);
}
