//! The folder of a CA: what is written, renewed, rotated and refused.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::fixture::{HOUR, TestFolder, period};
use crate::issue::{Authority, Folder, LEAF_DAYS, Period, Written};
use crate::{Credentials, Files, Holder, SecurityError, private_files};

fn load(folder: &TestFolder, own: &Written) -> Result<Credentials, SecurityError> {
    let files = Files {
        ca: folder.0.join("ca.pem"),
        certificate: Some(own.certificate.clone()),
        key: Some(own.key.clone()),
    };
    Credentials::load(files, Some("prod"))
}

fn bytes(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap()
}

#[test]
fn what_is_issued_can_be_loaded() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    issuing.init("prod").unwrap();
    for holder in [Holder::Node(3), Holder::Client("ci/build.eu@host".to_string())] {
        let written = issuing.issue(&holder, LEAF_DAYS).unwrap();
        let credentials = load(&folder, &written).unwrap();
        assert_eq!(credentials.identity().unwrap().holder(), &holder);
        assert_eq!(credentials.expires().file, written.certificate);
    }
    let ca_alone = Files { ca: folder.0.join("ca.pem"), certificate: None, key: None };
    let end_of_ca = Credentials::load(ca_alone, None).unwrap().expires().at;
    let long = issuing.issue(&Holder::Node(4), 36_500).unwrap();
    assert_eq!(load(&folder, &long).unwrap().expires().at, end_of_ca, "none outlives its CA");
}

#[test]
fn a_renewed_certificate_has_the_same_holder_and_another_key() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    issuing.init("prod").unwrap();
    let written = issuing.issue(&Holder::Client("ci.build".to_string()), 1).unwrap();
    let (key, before) = (bytes(&written.key), load(&folder, &written).unwrap());
    let (identity, renewed) = issuing.renew(&written.certificate, LEAF_DAYS).unwrap();
    assert_eq!(renewed, written);
    assert_eq!(before.identity(), Some(identity));
    assert_ne!(bytes(&written.key), key);
    let at = before.expires().at;
    assert!(before.reload().unwrap() && before.expires().at > at);
}

#[test]
fn an_interrupted_renewal_is_mended_by_the_next() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    issuing.init("prod").unwrap();
    let written = issuing.issue(&Holder::Node(1), 1).unwrap();
    let certificate = bytes(&written.certificate);
    issuing.renew(&written.certificate, 1).unwrap();
    fs::write(&written.certificate, certificate).unwrap();
    assert!(matches!(load(&folder, &written), Err(SecurityError::OtherKey { .. })));
    issuing.renew(&written.certificate, 1).unwrap();
    load(&folder, &written).unwrap();
}

#[test]
fn a_rotation_ends_when_no_certificate_needs_the_old_ca() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    issuing.init("prod").unwrap();
    let old = issuing.issue(&Holder::Node(1), 1).unwrap();
    let credentials = load(&folder, &old).unwrap();
    let first = credentials.fingerprints();
    issuing.begin_rotation().unwrap();
    assert!(credentials.reload().unwrap(), "the bundle has both CAs, and the certificate stays");
    assert_eq!(credentials.fingerprints().len(), 2);
    load(&folder, &issuing.issue(&Holder::Node(2), 1).unwrap()).unwrap();

    match issuing.finish_rotation() {
        Err(SecurityError::StillNeeded(file)) => assert_eq!(file, old.certificate),
        other => panic!("{other:?}"),
    }
    issuing.renew(&old.certificate, 1).unwrap();
    fs::write(folder.0.join("notes.pem"), "no certificate").unwrap();
    issuing.finish_rotation().unwrap();
    assert!(credentials.reload().unwrap());
    assert_eq!(credentials.fingerprints().len(), 1);
    assert_ne!(credentials.fingerprints(), first);
}

#[test]
fn a_rotation_interrupted_before_its_key_leaves_a_ca_that_signs() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    let files = issuing.init("prod").unwrap();
    let old_key = bytes(&files.key);
    issuing.begin_rotation().unwrap();
    fs::write(&files.key, old_key).unwrap();
    load(&folder, &issuing.issue(&Holder::Node(1), 1).unwrap()).unwrap();
    issuing.finish_rotation().unwrap();
    load(&folder, &issuing.issue(&Holder::Node(2), 1).unwrap()).unwrap();
}

#[test]
fn nothing_is_overwritten_and_nothing_half_stays_behind() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    let ca = issuing.init("prod").unwrap();
    let before = bytes(&ca.key);
    assert!(matches!(issuing.init("prod"), Err(SecurityError::Exists(_))));
    assert_eq!(bytes(&ca.key), before);
    let written = issuing.issue(&Holder::Node(1), 1).unwrap();
    assert!(matches!(issuing.issue(&Holder::Node(1), 1), Err(SecurityError::Exists(_))));
    fs::remove_file(&written.key).unwrap();
    assert!(matches!(issuing.issue(&Holder::Node(1), 1), Err(SecurityError::Exists(_))));
    assert!(!written.key.exists());
    let elsewhere = TestFolder::new();
    Folder::new(&elsewhere.0).init("prod").unwrap();
    fs::copy(elsewhere.0.join("ca.key"), &ca.key).unwrap();
    assert!(matches!(issuing.issue(&Holder::Node(2), 1), Err(SecurityError::NoSigner { .. })));
}

#[test]
fn a_ca_that_has_expired_signs_nothing_and_can_be_replaced() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    let now = SystemTime::now();
    let expired = Authority::create("prod", Period { from: now - 2 * HOUR, until: now - HOUR }).unwrap().1;
    let own = Authority::create("prod", period()).unwrap().0.issue(&Holder::Node(1), period()).unwrap();
    let files = folder.write(&expired.certificate, &own);
    private_files::create(&folder.0.join("ca.key"), expired.key.as_bytes()).unwrap();
    assert!(matches!(Credentials::load(files, None), Err(SecurityError::CaExpired(_))));
    let error = issuing.issue(&Holder::Node(2), 1).unwrap_err();
    assert!(error.to_string().contains("tokenwood certs rotate"), "{error}");
    assert!(matches!(issuing.renew(&folder.0.join("own.pem"), 1), Err(SecurityError::CaExpired(_))));
    issuing.begin_rotation().unwrap();
    let renewed = issuing.renew(&folder.0.join("own.pem"), 1).unwrap().1;
    load(&folder, &renewed).unwrap();
    issuing.finish_rotation().unwrap();
    load(&folder, &renewed).unwrap();
}

#[test]
fn a_ca_is_rotated_instead_of_renewed() {
    let folder = TestFolder::new();
    let issuing = Folder::new(&folder.0);
    let files = issuing.init("prod").unwrap();
    let before = bytes(&files.key);
    let error = issuing.renew(&files.certificate, 1).unwrap_err();
    assert!(error.to_string().contains("tokenwood certs rotate"), "{error}");
    assert_eq!(bytes(&files.key), before);
}
