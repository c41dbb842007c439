//! The conformance suite with every client that there is, and with clients that do something wrong.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use sync::IgnorePoison;

use crate::cluster::TOKENWOOD;
use crate::folder::{not_run, text};
use crate::json_schema::{against, document, schema};

/// One after the other, so that they do not slow each other down.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The suite with this agent: its exit code, and what it says.
fn conformance(agents: &[&str], arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(TOKENWOOD);
    command.arg("conformance").args(arguments).args(["--format", "json"]);
    command.args(agents.iter().flat_map(|agent| ["--agent", agent]));
    command.env("PYTHONPATH", root().join("clients/python/src"));
    let output = command.output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
    let told = document(&output.stdout);
    assert_eq!(told["schema"], "tokenwood.conformance/1");
    (output.status.code(), told)
}

fn ours(client: &str) -> String {
    format!("'{TOKENWOOD}' conformance-agent {client}")
}

fn python(flag: &str) -> Option<String> {
    let oldest = "import sys; sys.exit(sys.version_info < (3, 10))";
    if !Command::new("python3").args(["-c", oldest]).status().is_ok_and(|status| status.success()) {
        not_run("there is no Python 3.10 or newer");
        return None;
    }
    let agent = root().join("clients/python/conformance_agent.py");
    Some(format!("python3 '{}' {flag}", agent.display()))
}

fn with_verdict(told: &Value, verdict: &str) -> Vec<String> {
    let cases = told["cases"].as_array().unwrap().iter().filter(|case| case["verdict"] == verdict);
    cases.map(|case| case["case"].as_str().unwrap().to_string()).collect()
}

/// The client passes all cases but those that need what it cannot do, and the page says what that is, and why.
fn passes(agents: &[&str], without: &[&str], left_out: &[&str]) {
    let _alone = ONE_AT_A_TIME.lock().ignore_poison();
    let arguments: Vec<&str> = without.iter().flat_map(|name| ["--without", name]).collect();
    let (code, told) = conformance(agents, &arguments);
    assert_eq!(code, Some(0), "{told:#}");
    assert_eq!(with_verdict(&told, "not-run"), left_out, "{told:#}");
    let cases = std::fs::read_dir(root().join("conformance")).unwrap().count();
    assert_eq!(with_verdict(&told, "passed").len() + left_out.len(), cases, "{told:#}");
    let page = std::fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for case in told["cases"].as_array().unwrap().iter().filter_map(|case| case["not_run"].as_str()) {
        let (_, why) = case.split_once(": ").unwrap();
        assert!(page.contains(why), "docs/conformance.md does not say: {why}");
    }
}

#[test]
fn the_rust_library_conforms() {
    passes(&[&ours("library")], &["release-twice"], &["release-twice"]);
}

#[test]
fn http_by_hand_conforms() {
    passes(&[&ours("http")], &[], &[]);
}

#[test]
fn run_conforms() {
    passes(&[&ours("run")], &["release-twice", "session"], &["release-twice", "session-close"]);
}

#[test]
fn acquire_renew_and_release_conform() {
    let without = ["node-loss", "revocation", "session"];
    let left_out = ["force", "node-killed", "session-close"];
    passes(&[&ours("script")], &without, &left_out);
}

#[test]
fn python_threads_conform() {
    let Some(agent) = python("") else { return };
    passes(&[&agent], &["cancel"], &["cancel"]);
}

#[test]
fn python_tasks_conform() {
    let Some(agent) = python("--asyncio") else { return };
    passes(&[&agent], &[], &[]);
}

/// The actors of a case use different clients: all of them mean the same locks.
#[test]
fn clients_of_different_kinds_conform_together() {
    let agents = [ours("library"), ours("http"), ours("run")];
    let cases = ["contention", "force", "node-killed", "pause", "room"];
    let arguments = [&cases[..], &["--without", "release-twice,session"]].concat();
    let (code, told) = conformance(&agents.each_ref().map(String::as_str), &arguments);
    assert_eq!(
        (code, with_verdict(&told, "passed")),
        (Some(0), cases.map(str::to_string).to_vec()),
        "{told:#}"
    );
}

/// A wrong client fails this case, for this reason.
fn is_found(defect: &str, case: &str, said: &str) {
    let agent = ours(&format!("library --defect {defect}"));
    let (code, told) = conformance(&[&agent], &[case, "--without", "release-twice"]);
    assert_eq!(
        (code, with_verdict(&told, "failed")),
        (Some(1), vec![case.to_string()]),
        "{defect}: {told:#}"
    );
    assert!(told["cases"][0]["wrong"].to_string().contains(said), "{defect}: {told:#}");
}

#[test]
fn a_client_that_hides_a_loss_is_found() {
    is_found("hides-loss", "pause", "expected lost, and not held");
}

#[test]
fn a_client_that_releases_late_is_found() {
    is_found("releases-late", "fence-order", "b: expected granted, and not timed-out");
}

#[test]
fn a_client_that_does_not_wait_is_found() {
    is_found("does-not-wait", "stale-release", "at the same time");
}

#[test]
fn a_client_that_cancels_and_keeps_waiting_is_found() {
    is_found("keeps-waiting", "cancel", "expected 1 to hold");
}

#[test]
fn a_client_with_wrong_fences_is_found() {
    is_found("wrong-fence", "fence-order", "a.fence < b.fence does not hold: 7 and 7");
}

#[test]
fn what_a_client_cannot_do_is_not_left_out_silently() {
    let (code, told) = conformance(&[&ours("library")], &["release-twice", "any-of"]);
    assert_eq!(code, Some(3), "{told:#}");
    assert!(told["unexpected"][0].as_str().unwrap().contains("--without does not say so"), "{told:#}");
    let without = ["any-of", "--without", "release-twice,cancel"];
    let (code, told) = conformance(&[&ours("library")], &without);
    assert_eq!((code, with_verdict(&told, "passed").len()), (Some(3), 1), "{told:#}");
    assert!(told["unexpected"][0].as_str().unwrap().contains("--without says 'cancel'"), "{told:#}");
}

#[test]
fn an_agent_that_is_none_is_refused() {
    for (agent, said) in [
        ("true", "said nothing"),
        (r#"echo '{"event":"hello","protocol":2,"client":"c"}'"#, "it speaks version 2"),
        (
            r#"echo '{"event":"hello","protocol":1,"client":"c","cannot":{"fly":"no wings"}}'"#,
            "no capability 'fly'",
        ),
        (r#"echo '{"event":"hello","protocol":1,"client":"c","cannot":{"cancel":""}}'"#, "does not say why"),
    ] {
        let output =
            Command::new(TOKENWOOD).args(["conformance", "any-of", "--agent", agent]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(said), "{agent}: {}", text(&output.stderr));
    }
}

#[test]
fn every_case_fits_its_schema() {
    let output =
        Command::new(TOKENWOOD).args(["conformance", "--list", "--format", "json"]).output().unwrap();
    let said = text(&output.stdout);
    let cases: Vec<Value> = said.lines().map(document).collect();
    for case in &cases {
        let file = root().join(format!("conformance/{}.json", case["name"].as_str().unwrap()));
        let written: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(&written, case);
        assert_eq!(case["schema"], "tokenwood.conformance-case/1");
        assert_eq!(against(&schema("conformance-case"), &written), [""; 0]);
    }
    assert_eq!(cases.len(), std::fs::read_dir(root().join("conformance")).unwrap().count());
}
