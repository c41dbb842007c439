//! Nodes that fail: the process says why and ends with 70, at once, and the others go on. And what does not end a node.

use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cluster::{SOON, TOKENWOOD, ended_within, kill};
use crate::nodes::{Nodes, until};
use serde_json::Value;

/// From the fault to the end of the process: a second for a part that hangs, three for a single thread, and what a busy machine
/// takes.
const ENDS_WITHIN: Duration = Duration::from_secs(6);

/// Starts nodes with these arguments; the first one finds these variables.
fn start(name: &str, count: usize, arguments: &[&str], variables: &[(&str, &str)]) -> Nodes {
    Nodes::start(name, count, |id, command| {
        command.args(arguments);
        if id == 0 {
            command.envs(variables.iter().copied());
        }
    })
}

/// Node 0 of one fails in this way; returns how long after it said that it listens it ended, and what it logged.
fn fails(fault: &str) -> (Duration, String) {
    let mut nodes = start(fault, 1, &[], &[("TOKENWOOD_FAULT", &format!("{fault}@500ms"))]);
    let mut listens = [0; 1];
    nodes.nodes[0].stdout.take().unwrap().read_exact(&mut listens).unwrap();
    let begun = Instant::now();
    let ended = ended_within(&mut nodes.nodes[0], SOON);
    let log = nodes.log(0);
    assert_eq!(ended.and_then(|status| status.code()), Some(70), "{fault}: {ended:?} {log}");
    (begun.elapsed(), log)
}

#[test]
fn a_node_that_fails_says_why_and_ends() {
    for (fault, why) in [
        ("panic-task", "a task was told to panic"),
        ("panic-member", "the member was told to panic"),
        ("end-task", "the task 'one that is to end' has ended"),
        ("block-runtime", "hangs: no sign of life for 1000 ms"),
        ("block-thread", "the runtime, on one of its threads, hangs: no sign of life for 3000 ms"),
        ("hold-member", "hangs: no sign of life for 1000 ms"),
    ] {
        let (after, log) = fails(fault);
        assert!(log.contains(why) && log.contains("this process has failed and ends"), "{fault}: {log}");
        assert!(after < Duration::from_millis(500) + ENDS_WITHIN, "{fault}: {after:?}");
    }
}

#[test]
fn the_others_go_on_without_a_node_that_fails() {
    let mut nodes = start("others", 3, &[], &[("TOKENWOOD_FAULT", "panic-member@4000ms")]);
    let whole = |nodes: &Nodes| (0..3).all(|node| nodes.log(node).contains("with nodes 0, 1, 2"));
    assert!(until(|| whole(&nodes)), "they are never three");
    // Held through the node that is about to fail.
    assert!(nodes.run(0, &["acquire", "x", "--ttl", "1m"]));
    let ended = ended_within(&mut nodes.nodes[0], SOON);
    let failed = Instant::now();
    assert_eq!(ended.and_then(|status| status.code()), Some(70), "{}", nodes.log(0));
    assert!(nodes.run(1, &["acquire", "x", "--wait", "20s"]), "{}", nodes.log(1));
    // 1.25 leases, and what it takes to start a command on a busy machine.
    assert!(failed.elapsed() < Duration::from_millis(1250 + 1500), "{:?}", failed.elapsed());
    assert!(nodes.run(2, &["run", "y", "--", "true"]));
}

#[test]
fn a_node_that_was_stopped_for_long_goes_on() {
    let nodes = start("stopped", 1, &[], &[]);
    nodes.until_logged(0, "view 1 with nodes 0");
    let process = nodes.pid(0);
    for _ in 0..2 {
        kill("-STOP", process);
        std::thread::sleep(Duration::from_secs(3));
        kill("-CONT", process);
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(nodes.run(0, &["run", "x", "--", "true"]), "{}", nodes.log(0));
}

#[test]
fn a_lost_terminal_does_not_end_a_node() {
    let mut nodes = start("hang-up", 1, &[], &[]);
    nodes.until_logged(0, "view 1 with nodes 0");
    let process = nodes.pid(0);
    for _ in 0..2 {
        kill("-HUP", process);
        nodes.until_logged(0, "SIGHUP: nothing to read again");
    }
    assert!(nodes.run(0, &["run", "x", "--", "true"]), "{}", nodes.log(0));
    kill("-TERM", process);
    assert_eq!(ended_within(&mut nodes.nodes[0], SOON).and_then(|status| status.code()), Some(0));
}

/// Whether this begins like `2026-11-17T00:23:26.123Z`.
fn begins_with_a_timestamp(line: &str) -> bool {
    let digits: String = line.chars().take(24).map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    digits == "0000-00-00T00:00:00.000Z"
}

#[test]
fn lines_for_people_begin_with_the_time_and_the_audit_is_never_left_out() {
    // Variables that are empty count as not set.
    let nodes = start("text", 1, &["--log-level", "error"], &[("TOKENWOOD_LOG_FORMAT", "")]);
    assert!(until(|| nodes.run(0, &["acquire", "x", "--ttl", "1m"])), "{}", nodes.log(0));
    assert!(nodes.run(0, &["release", "--force", "x"]));
    nodes.until_logged(0, " audit: forced release of x");
    let log = nodes.log(0);
    assert!(log.lines().all(begins_with_a_timestamp) && !log.contains("view 1"), "{log}");
}

#[test]
fn lines_for_programs_are_json() {
    let nodes = start("json", 1, &["--log-format", "json", "--log-level", "debug"], &[]);
    nodes.until_logged(0, "view 1 with nodes 0");
    assert!(nodes.run(0, &["acquire", "x", "--ttl", "1m"]) && nodes.run(0, &["release", "--force", "x"]));
    nodes.until_logged(0, "forced release of x");
    let log = nodes.log(0);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    for line in &lines {
        assert!(line["timestamp"].as_str().is_some_and(begins_with_a_timestamp), "{line}");
        assert!(
            line["level"].is_string() && line["message"].is_string() && line["fields"].is_object(),
            "{line}"
        );
    }
    let of = |target: &str| lines.iter().find(|line| line["target"] == target).expect(target);
    assert_eq!((&of("audit")["level"], &of("audit")["fields"]["name"]), (&"info".into(), &"x".into()));
    assert_eq!(of("node")["fields"]["node"], 0);
    assert!(lines.iter().any(|line| line["message"] == "how many files may be open"), "{log}");
    assert!(lines.iter().any(|line| line["target"].as_str().unwrap().starts_with("openraft")), "{log}");
}

#[test]
fn empty_variables_count_as_not_set() {
    let mut command = Command::new(TOKENWOOD);
    for name in ["ENDPOINTS", "ID", "CONFIG", "LEASE", "MEMBERS", "LOG", "LOG_FORMAT", "JOIN"] {
        command.env(format!("TOKENWOOD_{name}"), "");
    }
    let printed = command.args(["node", "--id", "7", "--print-config"]).output().unwrap();
    let text = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    assert!(text.contains("id = 7\n") && text.contains("log_level = \"info\"\n"), "{text}");
    // Nothing listens there, and that is what is said: not that an address is wrong.
    let mut command = Command::new(TOKENWOOD);
    let status = command.arg("status").env("TOKENWOOD_ENDPOINTS", "").output().unwrap();
    let said = String::from_utf8_lossy(&status.stderr);
    assert!(
        status.status.success() || said.contains("127.0.0.1:7710") || said.contains("is a cluster running"),
        "{said}"
    );
}
