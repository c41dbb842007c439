//! The HTTP door of a secure cluster, with curl as its client.

use std::process::{Command, Output};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::folder::{code, not_run, text};

#[test]
fn curl_gets_in_with_the_ca_and_a_token_and_not_otherwise() {
    if Command::new("curl").arg("--version").output().is_err() {
        return not_run("curl");
    }
    let cluster = Cluster::start_with("http", 2, false, |_, dev| _ = dev.arg("--secure"));
    let file = |name: &str| cluster.ready[name].as_str().unwrap().to_string();
    let http = cluster.ready["nodes"][1]["http"].as_str().unwrap().to_string();
    let token = std::fs::read_to_string(file("token_file")).unwrap();
    let header = format!("authorization: Bearer {}", token.trim());
    let curl = |url: &str, arguments: &[&str]| -> Output {
        let mut command = Command::new("curl");
        command.args(["-sS", "-w", "\n%{http_code}", url]).args(arguments).output().unwrap()
    };
    let status = |output: &Output| text(&output.stdout).lines().last().unwrap_or_default().to_string();
    let (ca, url) = (file("ca"), format!("https://{http}/v1/locks/x/acquire"));
    let granted = curl(&url, &["--cacert", &ca, "-H", &header, "-X", "POST"]);
    assert_eq!(status(&granted), "200", "{granted:?}");
    let facts: Value = serde_json::from_str(text(&granted.stdout).lines().next().unwrap()).unwrap();
    assert_eq!(facts["node"], 1);
    assert_eq!(status(&curl(&url, &["--cacert", &ca, "-X", "POST"])), "401");
    // A certificate says who a client is, too: this one has no rights.
    let shown = ["--cacert", &ca, "--cert", &file("certificate"), "--key", &file("key"), "-X", "POST"];
    assert_eq!(status(&curl(&url, &shown)), "403");
    assert_ne!(code(&curl(&url, &["-X", "POST"])), 0, "a stranger's CA is not trusted");
    assert_ne!(code(&curl(&format!("http://{http}/livez"), &[])), 0, "it speaks HTTPS only");
}

#[test]
fn ui_prints_where_the_page_is_and_fails_where_there_is_none() {
    let cluster = Cluster::start("ui", 1, false);
    let door = format!("http://{}", cluster.ready["nodes"][0]["http"].as_str().unwrap());
    // The first is a node that speaks no HTTP, as is a port where nothing listens.
    let doors = format!("http://{},{door}/", cluster.endpoints[0]);
    assert_eq!(cluster.says(0, &["ui", "--no-open", "--http", &doors]), format!("{door}/ui/\n"));
    let nowhere = format!("http://{}", cluster.endpoints[0]);
    let failed = cluster.run(0, &["ui", "--no-open", "--http", &nowhere]);
    assert_eq!(code(&failed), 2);
    assert!(text(&failed.stderr).contains("no HTTP door answers"), "{failed:?}");
}
