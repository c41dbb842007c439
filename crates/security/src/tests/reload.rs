//! Files that are wrong, that change, and a rotation of the CA while connections are open.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use rustls::HandshakeKind;

use super::fixture::{CLUSTER, HOUR, Pair, TestFolder, authority, client, node, period, unusual_params};
use crate::issue::{Authority, Issued, Period};
use crate::{CLIENTS, Callers, CertificateFault, Credentials, Files, Holder, PEERS, SecurityError, caller};

fn connect(calling: &Credentials, answering: &Credentials) -> Result<Pair, CertificateFault> {
    let (calling, answering) =
        (calling.call_config(&[PEERS], None), answering.accept_config(&[PEERS], Callers::Nodes));
    Pair::connect(&calling, &answering)
        .map_err(|error| CertificateFault::of(&error).expect("a certificate's"))
}

#[test]
fn wrong_files_are_refused_with_what_to_do() {
    let ours = authority();
    let bundle = ours.certificate();
    let folder = TestFolder::new();
    let text = |bundle: &str, own: &Issued| folder.load(bundle, own).unwrap_err().to_string();
    let right = node(&ours, 1);

    let mut other_key = node(&ours, 1);
    other_key.key = right.key.clone();
    assert!(text(&bundle, &other_key).contains("own.key does not belong to the certificate"));
    assert!(text(&bundle, &node(&authority(), 1)).contains("no CA of the bundle"));
    let now = SystemTime::now();
    let expired = ours.issue(&Holder::Node(1), Period { from: now - 2 * HOUR, until: now - HOUR }).unwrap();
    assert!(text(&bundle, &expired).contains("tokenwood certs renew"));
    let elsewhere = ours.sign(&unusual_params(&["tokenwood://test/node/1"])).unwrap();
    assert!(text(&bundle, &elsewhere).contains("another cluster than prod"));
    assert!(text("nothing", &right).contains("ca.pem has no certificate"));
    assert!(text(&right.certificate, &right).contains("no CA: remove it"));
    let theirs = Authority::create("test", period()).unwrap().0.certificate();
    assert!(text(&(bundle.clone() + &theirs), &right).contains("a CA of the cluster test"));

    folder.load(&bundle, &right).unwrap();
    let key = folder.0.join("own.key");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let error = Credentials::load(folder.files(), None).unwrap_err();
    assert!(error.to_string().contains(&format!("chmod 600 {}", key.display())), "{error}");
    let incomplete = Files { key: None, ..folder.files() };
    assert!(matches!(Credentials::load(incomplete, None), Err(SecurityError::Incomplete)));
}

#[test]
fn what_the_files_say_is_told() {
    let ours = authority();
    let folder = TestFolder::new();
    let credentials = folder.load(&ours.certificate(), &node(&ours, 1)).unwrap();
    assert_eq!(credentials.identity().unwrap().to_string(), "tokenwood://prod/node/1");
    assert_eq!(credentials.fingerprints().len(), 1);
    assert_eq!(credentials.fingerprints()[0].len(), 64);

    let short = Period { until: SystemTime::now() + HOUR / 2, ..period() };
    let credentials =
        folder.load(&ours.certificate(), &ours.issue(&Holder::Node(1), short).unwrap()).unwrap();
    assert_eq!(credentials.expires().file, folder.0.join("own.pem"));
    let ending = Authority::create(CLUSTER, Period { until: SystemTime::now() + HOUR / 4, ..period() });
    let bundle = ours.certificate() + &ending.unwrap().0.certificate();
    let credentials = folder.load(&bundle, &node(&ours, 1)).unwrap();
    assert_eq!(credentials.expires().file, folder.0.join("ca.pem"));
    assert_eq!(credentials.fingerprints().len(), 2);
    let printed = format!("{credentials:?}");
    assert!(printed.contains("Node(1)") && !printed.contains("PRIVATE"), "{printed}");
}

#[test]
fn without_a_certificate_the_ca_or_the_caller_names_the_cluster() {
    let ours = authority();
    let (nodes, folder) = (TestFolder::new(), TestFolder::new());
    let answering = nodes.load(&ours.certificate(), &node(&ours, 1)).unwrap();
    fs::write(folder.0.join("ca.pem"), ours.certificate()).unwrap();
    let files = Files { certificate: None, key: None, ..folder.files() };
    let calling = Credentials::load(files.clone(), None).unwrap();
    assert_eq!((calling.cluster().as_str(), calling.identity()), (CLUSTER, None));
    let calling = calling.call_config(&[CLIENTS], Some(Holder::Node(1)));
    let pair = Pair::connect(&calling, &answering.accept_config(&[CLIENTS], Callers::Clients)).unwrap();
    assert_eq!(caller(&pair.answering).unwrap(), None);
    let other = Credentials::load(files.clone(), Some("test")).unwrap_err();
    assert!(matches!(other, SecurityError::ForeignCa { .. }), "{other}");

    let mut params = unusual_params(&[]);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    fs::write(folder.0.join("ca.pem"), super::fixture::self_signed(&params).certificate).unwrap();
    assert!(matches!(Credentials::load(files.clone(), None), Err(SecurityError::ClusterUnknown(_))));
    assert_eq!(Credentials::load(files, Some(CLUSTER)).unwrap().cluster(), CLUSTER);
}

#[test]
fn a_reload_takes_new_files_and_keeps_the_old_on_an_error() {
    let ours = authority();
    let bundle = ours.certificate();
    let folder = TestFolder::new();
    let first = node(&ours, 1);
    let credentials = folder.load(&bundle, &first).unwrap();
    let shared = credentials.clone();
    let before = credentials.accept_config(&[PEERS], Callers::Nodes);
    let is_as_before = || std::sync::Arc::ptr_eq(&shared.accept_config(&[PEERS], Callers::Nodes), &before);
    assert!(!credentials.changed_on_disk());

    folder.write(&bundle, &first);
    assert!(credentials.changed_on_disk(), "the files are others");
    assert!(!credentials.reload().unwrap(), "what they say is the same");
    assert!(!credentials.changed_on_disk() && is_as_before());

    for (own, expected) in
        [(node(&ours, 2), "start it again"), (node(&authority(), 1), "no CA of the bundle")]
    {
        folder.write(&bundle, &own);
        let error = credentials.reload().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(credentials.changed_on_disk() && is_as_before());
    }
    fs::remove_file(folder.0.join("own.pem")).unwrap();
    assert!(matches!(credentials.reload(), Err(SecurityError::Read(..))));
    connect(&credentials, &credentials).unwrap();

    folder.write(&bundle, &node(&ours, 1));
    assert!(credentials.reload().unwrap());
    assert!(!credentials.changed_on_disk() && !is_as_before(), "clones share the reload");
}

#[test]
fn a_rotation_loses_no_connection_and_ends_the_old_ca() {
    let (old, new) = (authority(), authority());
    let both = old.certificate() + &new.certificate();
    let folders = [TestFolder::new(), TestFolder::new()];
    let [one, two] =
        [0, 1].map(|at| folders[at].load(&old.certificate(), &node(&old, at as u32 + 1)).unwrap());
    let mut open = connect(&two, &one).unwrap();
    let old_calls = two.call_config(&[PEERS], None);
    connect(&two, &one).unwrap();

    let write = |at: usize, bundle: &str, authority: &Authority| {
        folders[at].write(bundle, &node(authority, at as u32 + 1));
    };
    // Both trust both CAs; then each has a certificate of the new one; then the old CA goes.
    for (bundle, signers) in [(&both, [&old, &old]), (&both, [&new, &old]), (&both, [&new, &new])] {
        write(0, bundle, signers[0]);
        write(1, bundle, signers[1]);
        assert!(one.reload().unwrap() && two.reload().unwrap());
        for (calling, answering) in [(&one, &two), (&two, &one)] {
            let pair = connect(calling, answering).unwrap();
            assert_eq!(pair.calling.handshake_kind(), Some(HandshakeKind::Full), "tickets end with a reload");
            assert_eq!(caller(&pair.answering).unwrap(), calling.identity());
        }
    }
    write(0, &new.certificate(), &new);
    assert!(one.reload().unwrap());
    connect(&two, &one).unwrap();

    let refused = Pair::connect(&old_calls, &one.accept_config(&[PEERS], Callers::Nodes)).err();
    let fault = refused.as_ref().and_then(CertificateFault::of);
    assert_eq!(
        fault,
        Some(CertificateFault::UnknownIssuer),
        "neither the old certificate nor its tickets count"
    );

    open.calling.writer().write_all(b"still here").unwrap();
    open.exchange().unwrap();
    let mut received = [0; 10];
    open.answering.reader().read_exact(&mut received).unwrap();
    assert_eq!(&received, b"still here");
}

#[test]
fn a_client_keeps_its_name_over_a_reload() {
    let ours = authority();
    let folder = TestFolder::new();
    let credentials = folder.load(&ours.certificate(), &client(&ours, "ci")).unwrap();
    folder.write(&ours.certificate(), &client(&ours, "other"));
    assert!(matches!(credentials.reload(), Err(SecurityError::IdentityChanged { .. })));
    assert_eq!(credentials.identity().unwrap().to_string(), "tokenwood://prod/client/ci");
}
