//! Rights as operators and programs meet them: security turned on, a token for a program, and what it may not do.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::cluster::{Cluster, TOKENWOOD, error};
use crate::folder::code;

const TOKEN: &str = "TOKENWOOD_TOKEN";

fn output(command: &mut Command) -> String {
    let Output { stdout, status, .. } = command.output().unwrap();
    assert!(status.success(), "{command:?}");
    String::from_utf8(stdout).unwrap().trim().to_owned()
}

#[test]
fn a_program_with_a_token_does_what_its_rules_allow() {
    let cluster = Cluster::start("rights", 1, false);
    let admin = cluster.says(0, &["auth", "on", "--quiet"]).trim().to_owned();
    let again = cluster.run(0, &["auth", "on"]);
    assert!(code(&again) == 2 && error(&again).contains("may not admin"), "{}", error(&again));
    let as_admin = |arguments: &[&str]| output(cluster.client(0, arguments).env(TOKEN, &admin));
    let ci = as_admin(&["auth", "token", "add", "ci/build", "--expires", "30d", "--quiet"]);
    as_admin(&["auth", "group", "add", "ci", "ci/build"]);
    as_admin(&["auth", "rule", "add", "@ci", "ci/", "acquire"]);
    assert!(as_admin(&["auth", "why", "ci/build", "acquire", "ci/gpu"]).contains("the rule for '@ci'"));

    let run = |name: &str| cluster.client(0, &["run", name, "--", "true"]).env(TOKEN, &ci).output().unwrap();
    assert_eq!(code(&run("ci/gpu")), 0);
    let refused = run("db/main");
    assert!(
        error(&refused).contains("you are 'ci/build', and may not acquire 'db/main'"),
        "{}",
        error(&refused)
    );

    // A grant of a script is released also when its token is gone.
    let grant = output(cluster.client(0, &["acquire", "ci/x", "--quiet"]).env(TOKEN, &ci));
    let tokens: serde_json::Value =
        serde_json::from_str(&as_admin(&["auth", "token", "list", "--format", "json"])).unwrap();
    let mine = tokens["tokens"].as_array().unwrap().iter().find(|token| token["principal"] == "ci/build");
    as_admin(&["auth", "token", "remove", mine.unwrap()["id"].as_str().unwrap()]);
    let tool = |command: &str| Command::new(TOKENWOOD).args([command, &grant]).output().unwrap();
    assert_eq!((code(&tool("renew")), code(&tool("release"))), (76, 0));
    assert!(as_admin(&["audit"]).contains("ci/build at "));

    let file = std::env::temp_dir().join(format!("tokenwood-token-{}", std::process::id()));
    std::fs::write(&file, &admin).unwrap();
    let with_mode = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        cluster.run(0, &["auth", "list", "--token-file", file.to_str().unwrap()])
    };
    assert!(error(&with_mode(0o644)).contains("can be read by other users"));
    assert_eq!(code(&with_mode(0o600)), 0);
    std::fs::remove_file(&file).unwrap();
}
