//! `tokenwood certs` as its users meet it: files, modes, refusals, renewal and rotation.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::folder::{Folder, code, not_run, text};
use crate::json_schema::document;

impl Folder {
    fn certs(&self, arguments: &str) -> String {
        let output = self.run(&format!("certs {arguments}"));
        assert_eq!(code(&output), 0, "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Why the command refuses. It prints nothing else, and changes no file.
    fn certs_refusal(&self, arguments: &str) -> String {
        let before = self.contents();
        let output = self.run(&format!("certs {arguments}"));
        let said = text(&output.stderr);
        assert_eq!((code(&output), text(&output.stdout)), (2, String::new()), "{arguments}: {said}");
        assert!(self.contents() == before, "{arguments} changed a file");
        said
    }

    /// All files in `certs`, with their bytes.
    fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let Ok(entries) = fs::read_dir(self.0.join("certs")) else { return Vec::new() };
        let mut found: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), fs::read(&path).unwrap()))
            .collect();
        found.sort();
        found
    }

    fn names(&self) -> Vec<String> {
        self.contents().into_iter().map(|(name, _)| name).collect()
    }

    /// What `show` says of the only certificate in a file.
    fn shown(&self, file: &str) -> Value {
        let told = document(self.certs(&format!("show {file} --format json")));
        assert_eq!(told["schema"], "tokenwood.certs-files/1");
        told["files"][0]["certificates"][0].clone()
    }
}

/// Whole days until a certificate ends.
fn days_left(certificate: &Value) -> u64 {
    certificate["left_seconds"].as_u64().unwrap() / (24 * 60 * 60)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_cluster_gets_its_files_for_its_owner_alone() {
    let folder = Folder::new("certs");
    let told = folder.certs("init --cluster prod");
    assert!(told.contains("certs/ca.pem") && told.contains("tokenwood certs node 1"), "{told}");
    let told = folder.certs("node 3");
    assert!(told.contains("tokenwood://prod/node/3: certs/node-3.pem and certs/node-3.key"), "{told}");
    let told = document(folder.certs("client ci/build@eu.1 --days 7 --format json"));
    assert_eq!(told["identity"], "tokenwood://prod/client/ci/build@eu.1");
    assert_eq!(told["key"], "certs/client-ci+build@eu.1.key");

    let stems = ["ca", "client-ci+build@eu.1", "node-3"];
    let expected: Vec<String> =
        stems.iter().flat_map(|stem| [format!("{stem}.key"), format!("{stem}.pem")]).collect();
    assert_eq!(folder.names(), expected);
    let certs = folder.0.join("certs");
    assert_eq!(mode(&certs), 0o700);
    for name in folder.names() {
        assert_eq!(mode(&certs.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn show_says_whose_a_file_is_and_how_long_it_is_valid() {
    let folder = Folder::new("certs-show");
    folder.certs("init --cluster prod --out keys");
    folder.certs("node 3 --out keys");
    folder.certs("client ci --out keys --days 1");
    let told = folder.certs("show keys/ca.pem keys/node-3.pem keys/client-ci.pem keys/node-3.key");
    let row =
        |file: &str| told.lines().find(|line| line.starts_with(file)).unwrap_or_else(|| panic!("{told}"));
    for (file, wanted) in [
        ("keys/ca.pem", ["CA", "tokenwood://prod/ca", "itself"]),
        ("keys/node-3.pem", ["node", "tokenwood://prod/node/3", "Tokenwood CA"]),
        ("keys/client-ci.pem", ["client", "tokenwood://prod/client/ci", "0 days left"]),
        ("keys/node-3.key", ["key", "mode", "0600"]),
    ] {
        assert!(wanted.iter().all(|wanted| row(file).contains(wanted)), "{told}");
    }
    assert!(!told.contains("PRIVATE"), "{told}");

    let node = folder.shown("keys/node-3.pem");
    assert_eq!((&node["kind"], &node["identity"]), (&"node".into(), &"tokenwood://prod/node/3".into()));
    assert_eq!((days_left(&node), &node["valid"]), (89, &true.into()));
    assert_eq!(node["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(node["issuer"], folder.shown("keys/ca.pem")["subject"]);
    assert_eq!(days_left(&folder.shown("keys/ca.pem")), 3649);
}

#[test]
fn renew_keeps_the_holder_and_changes_the_key() {
    let folder = Folder::new("certs-renew");
    folder.certs("init --cluster prod");
    folder.certs("node 1 --days 2");
    folder.certs("client ci.build --days 2");
    let (files, before) = (["certs/client-ci.build.pem", "certs/node-1.pem"], folder.contents());
    let told = folder.certs(&format!("renew {} --days 30", files.join(" ")));
    assert!(told.contains("tokenwood://prod/client/ci.build: ") && told.contains("for 30 days"), "{told}");
    let after = folder.contents();
    assert_eq!(before.len(), after.len(), "nothing is left behind");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.1 == after.1, before.0.starts_with("ca."), "{}", before.0);
    }
    for file in files {
        assert_eq!(days_left(&folder.shown(file)), 29);
        assert_eq!(mode(&folder.0.join(file)), 0o600);
    }
    fs::create_dir(folder.0.join("elsewhere")).unwrap();
    fs::copy(folder.0.join("certs/node-1.pem"), folder.0.join("elsewhere/node-1.pem")).unwrap();
    folder.certs("renew elsewhere/node-1.pem --ca certs");
    assert_eq!(mode(&folder.0.join("elsewhere/node-1.key")), 0o600);
}

#[test]
fn a_rotation_goes_over_a_bundle_of_both_cas() {
    let folder = Folder::new("certs-rotate");
    folder.certs("init --cluster prod");
    folder.certs("node 1");
    let first = folder.shown("certs/ca.pem")["fingerprint"].clone();
    let told = folder.certs("rotate");
    assert!(told.contains("tokenwood certs rotate --finish"), "{told}");
    let both = document(folder.certs("show certs/ca.pem --format json"));
    assert_eq!(both["files"][0]["certificates"].as_array().unwrap().len(), 2);
    assert_ne!(folder.shown("certs/ca.pem")["fingerprint"], first, "the new one signs");

    let said = folder.certs_refusal("rotate --finish");
    assert!(said.contains("tokenwood certs renew certs/node-1.pem"), "{said}");
    folder.certs("renew certs/node-1.pem");
    folder.certs("rotate --finish");
    let one = document(folder.certs("show certs/ca.pem --format json"));
    assert_eq!(one["files"][0]["certificates"].as_array().unwrap().len(), 1);
    assert_eq!(folder.shown("certs/node-1.pem")["issuer"], folder.shown("certs/ca.pem")["subject"]);
}

#[test]
fn refusals_say_what_to_do() {
    let folder = Folder::new("certs-refusals");
    let said = folder.certs_refusal("node 1");
    assert!(said.contains("certs/ca.pem") && said.contains("tokenwood certs init"), "{said}");
    for name in ["a/b", "a%62", "größe", &"c".repeat(65)] {
        let said = folder.certs_refusal(&format!("init --cluster {name}"));
        assert!(said.contains("1 to 64 letters, digits or . _ -"), "{name}: {said}");
        assert!(!folder.0.join("certs").exists(), "{name}");
    }
    folder.certs("init --cluster prod");
    folder.certs("node 1");
    for (arguments, wanted) in [
        ("init --cluster other", "certs/ca.pem is there already and is not overwritten"),
        ("node 1", "certs/node-1.pem is there already and is not overwritten"),
        ("node -1", "-1"),
        ("node one", "one"),
        ("node 4294967296", "4294967296"),
        ("node 2 --days 0", "--days"),
        ("client a:b", "letters, digits or . _ / @ -"),
        ("client a%2fb", "letters, digits or . _ / @ -"),
        ("show certs/none.pem", "cannot read certs/none.pem"),
        ("renew certs/none.pem", "cannot read certs/none.pem"),
        ("renew certs/ca.pem", "tokenwood certs rotate"),
        ("renew certs/node-1.key", "certs/node-1.key has no certificate"),
    ] {
        let said = folder.certs_refusal(arguments);
        assert!(said.contains(wanted), "{arguments}: {said}");
    }
}

#[test]
fn keys_that_are_foreign_or_open_to_others_sign_nothing() {
    let folder = Folder::new("certs-foreign");
    folder.certs("init --cluster prod");
    folder.certs("init --cluster prod --out others");
    folder.certs("init --cluster test --out test");
    folder.certs("node 1 --out test");
    let said = folder.certs_refusal("renew test/node-1.pem --ca certs");
    assert!(said.contains("another cluster than prod"), "{said}");
    let key = folder.0.join("certs/ca.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let said = folder.certs_refusal("node 1");
    assert!(said.contains("chmod 600 certs/ca.key"), "{said}");
    fs::remove_file(&key).unwrap();
    fs::copy(folder.0.join("others/ca.key"), &key).unwrap();
    let said = folder.certs_refusal("node 1");
    assert!(said.contains("certs/ca.key is not the key of a CA in certs/ca.pem"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new("certs-unwritable");
    // A file in the place of the folder stops every user, also the one who may write everywhere.
    fs::write(folder.0.join("certs"), "").unwrap();
    let said = text(&folder.run("certs init --cluster prod").stderr);
    assert!(said.contains("cannot write certs"), "{said}");
}

#[test]
fn openssl_agrees() {
    if Command::new("openssl").arg("version").output().is_err() {
        return not_run("openssl is not there: no other program has read the certificates");
    }
    let folder = Folder::new("certs-openssl");
    folder.certs("init --cluster prod");
    folder.certs("node 3");
    folder.certs("client ci");
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        let output = command.args(arguments.split(' ')).current_dir(folder.0.join("certs")).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let node = openssl("x509 -in node-3.pem -noout -text");
    for wanted in [
        "URI:tokenwood://prod/node/3",
        "prime256v1",
        "Digital Signature",
        "TLS Web Server Authentication, TLS Web Client Authentication",
    ] {
        assert!(node.contains(wanted), "{wanted}: {node}");
    }
    let client = openssl("x509 -in client-ci.pem -noout -text");
    assert!(client.contains("URI:tokenwood://prod/client/ci") && !client.contains("Server Authentication"));
    let ca = openssl("x509 -in ca.pem -noout -text");
    assert!(ca.contains("CA:TRUE, pathlen:0") && ca.contains("Certificate Sign"), "{ca}");
    openssl("verify -CAfile ca.pem -purpose sslserver node-3.pem");
    openssl("verify -CAfile ca.pem -purpose sslclient client-ci.pem");
}
