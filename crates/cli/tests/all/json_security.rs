//! `--format json` of certificates, rights and the audit: the real program, and each document against its schema.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::folder::{Folder, code, text};
use crate::json_schema::document;

const TOKEN: &str = "TOKENWOOD_TOKEN";

#[test]
fn every_certificate_that_is_written_is_a_document() {
    let folder = Folder::new("json-certs");
    let certs = |arguments: &str| {
        let output = folder.run(&format!("certs {arguments} --format json"));
        assert_eq!(code(&output), 0, "{arguments}: {}", text(&output.stderr));
        text(&output.stdout).lines().map(document).collect::<Vec<Value>>()
    };
    let mut ends = Vec::new();
    for (arguments, holders) in [
        ("init --cluster prod", &["ca"][..]),
        ("node 1", &["node/1"]),
        ("client ci --days 7", &["client/ci"]),
        ("renew certs/node-1.pem certs/client-ci.pem", &["node/1", "client/ci"]),
        ("rotate", &["ca"]),
        ("renew certs/node-1.pem certs/client-ci.pem", &["node/1", "client/ci"]),
        ("rotate --finish", &["ca"]),
    ] {
        let told = certs(arguments);
        assert_eq!(told.len(), holders.len(), "{arguments}");
        for (told, holder) in told.iter().zip(holders) {
            assert_eq!(told["schema"], "tokenwood.certs/1", "{arguments}");
            assert_eq!(told["identity"], format!("tokenwood://prod/{holder}"), "{arguments}");
            ends.push(told["valid_until_unix_seconds"].as_u64().unwrap());
        }
    }
    assert!(ends[2] < ends[1] && ends[1] < ends[0], "a week, 90 days, ten years: {ends:?}");
    let files = certs("show certs/ca.pem certs/ca.key certs/client-ci.pem");
    let [told] = &files[..] else { panic!("one document: {files:?}") };
    assert_eq!(told["schema"], "tokenwood.certs-files/1");
    let file = |number: usize| &told["files"][number];
    assert_eq!((&file(0)["has_key"], &file(0)["certificates"][0]["kind"]), (&false.into(), &"ca".into()));
    assert_eq!((&file(1)["has_key"], &file(1)["certificates"]), (&true.into(), &Value::Array(Vec::new())));
    let end = file(2)["certificates"][0]["valid_until_unix_seconds"].as_u64().unwrap();
    assert_eq!(Some(&end), ends.iter().rev().nth(1), "the one that was renewed last");
}

/// What changes, and what the document says of it beyond that.
const CHANGES: [(&[&str], &str, &str, &str); 10] = [
    (&["group", "add", "ci", "ci/build"], "group_member_added", "group", r#""ci""#),
    (&["rule", "add", "@ci", "ci/", "read,acquire"], "rule_added", "actions", r#"["acquire","read"]"#),
    (&["rule", "add", "*", "", "read"], "rule_added", "prefix", r#""""#),
    (&["rule", "remove", "*", ""], "rule_removed", "who", r#""*""#),
    (&["quota", "ci/build", "--sessions", "9"], "quota_set", "sessions", "9"),
    (&["quota", "team/", "--slots", "8", "--names", "7"], "quota_set", "namespace", r#""team/""#),
    (&["quota", "ci/build"], "quota_removed", "principal", r#""ci/build""#),
    (&["bar", "ci/left"], "barred", "principal", r#""ci/left""#),
    (&["bar", "ci/other"], "barred", "principal", r#""ci/other""#),
    (&["unbar", "ci/other"], "unbarred", "principal", r#""ci/other""#),
];

#[test]
fn what_a_secured_cluster_says_is_as_its_schemas_say() {
    let cluster = Cluster::start("json-rights", 1, false);
    let on = cluster.json(0, &["auth", "on"]);
    assert_eq!((&on["schema"], &on["principal"]), (&"tokenwood.auth-token/1".into(), &"admin".into()));
    let admin = on["token"].as_str().unwrap();
    let said = |arguments: &[&str], expected: i32| {
        let arguments = [arguments, &["--format", "json"]].concat();
        let output = cluster.client(0, &arguments).env(TOKEN, admin).output().unwrap();
        assert_eq!(code(&output), expected, "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let auth = |arguments: &[&str], schema: &str| {
        let told = document(said(&[&["auth"], arguments].concat(), 0));
        assert_eq!(told["schema"], schema, "{arguments:?}");
        told
    };
    let ci = auth(&["token", "add", "ci/build", "--expires", "30d"], "tokenwood.auth-token/1");
    for (arguments, change, field, value) in CHANGES {
        let told = auth(arguments, "tokenwood.auth-change/1");
        assert_eq!((&told["change"], told[field].to_string()), (&change.into(), value.to_string()), "{told}");
    }
    let rights = auth(&["list"], "tokenwood.auth-rights/1");
    assert_eq!((&rights["on"], &rights["barred"][0]), (&true.into(), &"ci/left".into()));
    assert_eq!(
        (&rights["groups"][0]["principals"][0], &rights["quotas"][0]["slots"]),
        (&"ci/build".into(), &8.into())
    );
    assert_eq!(auth(&["token", "list"], "tokenwood.auth-tokens/1")["tokens"], rights["tokens"]);
    assert_eq!(auth(&["rule", "list"], "tokenwood.auth-rules/1")["rules"], rights["rules"]);
    let mine = rights["tokens"].as_array().unwrap().iter().find(|token| token["id"] == ci["id"]).unwrap();
    assert_eq!(mine["expires_unix_seconds"], ci["expires_unix_seconds"]);

    let allowed = auth(&["why", "ci/build", "acquire", "ci/gpu"], "tokenwood.auth-decision/1");
    assert_eq!((&allowed["allowed"], &allowed["name"]), (&true.into(), &"ci/gpu".into()));
    let denied = document(said(&["auth", "why", "-", "admin"], 1));
    assert_eq!((&denied["principal"], &denied["name"]), (&Value::Null, &Value::Null));
    auth(&["group", "remove", "ci", "ci/build"], "tokenwood.auth-change/1");
    let removed = auth(&["token", "remove", ci["id"].as_str().unwrap()], "tokenwood.auth-change/1");
    assert_eq!((&removed["change"], &removed["token"]), (&"token_removed".into(), &ci["id"]));

    let stranger = cluster.run(0, &["locks", "--format", "json"]);
    assert_eq!(text(&stranger.stdout), "");
    let audit: Vec<Value> = said(&["audit"], 0).lines().map(document).collect();
    assert!(audit.iter().all(|entry| entry["schema"] == "tokenwood.audit/1"), "{audit:?}");
    assert!(audit.iter().any(|entry| entry["allowed"] == true && entry["principal"] == "admin"), "{audit:?}");
    let refused = audit.iter().find(|entry| entry["allowed"] == false);
    assert_eq!(refused.expect("the stranger's call")["principal"], Value::Null, "{audit:?}");
}
