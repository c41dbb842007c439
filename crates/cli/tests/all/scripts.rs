//! What scripts and those who look do with a cluster: grants that are passed on, every node asked, events as they happen.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, TOKENWOOD, error, kill};
use crate::folder::code;
use crate::json_schema::document;
use serde_json::Value;

#[test]
fn every_node_is_asked_whichever_is_named() {
    let cluster = Cluster::start("every-node", 3, true);
    let grants: Vec<String> =
        (0..3).map(|node| cluster.says(node, &["acquire", &format!("x{node}"), "--quiet"])).collect();
    for asked in 0..3 {
        let locks = cluster.json(asked, &["locks"]);
        let found: Vec<(&str, u64)> = locks["locks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|lock| (lock["name"].as_str().unwrap(), lock["node"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, [("x0", 0), ("x1", 1), ("x2", 2)]);
        let status = cluster.json(asked, &["status"]);
        for (id, node) in status["nodes"].as_array().unwrap().iter().enumerate() {
            assert_eq!(node["endpoint"], cluster.endpoints[id]);
            assert_eq!(node["status"]["node"], id);
            assert_eq!(node["members"].as_array().unwrap().len(), 3, "{node:#}");
        }
    }
    release(&grants[1]);
    // A node that does not answer is shown as such, and the others are.
    kill("-KILL", cluster.pids[2]);
    let partial = |node: usize, arguments: &[&str]| {
        let output = cluster.run(node, arguments);
        assert_eq!(code(&output), 69, "{arguments:?}: {}", error(&output));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let status = (0..500).find_map(|_| {
        let status = cluster.run(0, &["status", "--format", "json"]);
        let status = document(&status.stdout);
        let seen = status["nodes"][0]["members"][2]["unreachable_seconds"].is_number();
        (seen && status["nodes"][2]["error"].is_string()).then_some(status)
    });
    assert!(status.is_some(), "node 0 notices that node 2 is gone");
    let (table, _) = partial(1, &["status"]);
    assert!(table.contains("no answer: ") && table.contains("cannot reach 2"), "{table}");
    let (table, notes) = partial(1, &["locks"]);
    assert!(
        table.contains("x0") && !table.contains("x1  ") && notes.contains("node 2 at "),
        "{table}{notes}"
    );
    let (locks, _) = partial(1, &["locks", "--format", "json"]);
    let silent = &document(locks)["no_answer"];
    assert_eq!(silent[0]["node"], 2, "{silent}");
}

#[test]
fn everything_about_a_name() {
    let cluster = Cluster::start("inspect", 3, false);
    assert!(cluster.says(0, &["inspect", "model"]).contains("no client uses it; at home at node "));
    let held = cluster.says(1, &["acquire", "model", "--group", "v1,v2", "--quiet"]);
    let mut waits = cluster.client(2, &["run", "model", "--group", "v3", "--", "true"]).spawn().unwrap();
    cluster.until("model", 1, 1);
    let found = cluster.json(0, &["inspect", "model"]);
    assert_eq!((&found["kind"], &found["slots"]), (&Value::from("room"), &Value::from(1)));
    assert_eq!(found["tokens"][0]["node"], 1, "{found:#}");
    assert_eq!(found["tokens"][0]["next_nodes"], serde_json::json!([2]), "{found:#}");
    let pointers = found["pointers"].as_array().unwrap();
    assert!(pointers.iter().all(|pointer| pointer["from"] == 0 && pointer["slot"] == 0), "{found:#}");
    let (holder, waiter) = (&found["holders"][0], &found["waiters"][0]);
    assert_eq!((&holder["group"], &holder["node"]), (&Value::from("v1"), &Value::from(1)));
    assert_eq!((&waiter["groups"][0], &waiter["node"]), (&Value::from("v3"), &Value::from(2)));
    let table = cluster.says(0, &["inspect", "model"]);
    for expected in
        ["model: a room, at home at node ", "The token is at node 1", "holds (group v1)", "waits (group v3)"]
    {
        assert!(table.contains(expected), "{expected:?} in {table}");
    }
    release(&held);
    assert!(waits.wait().unwrap().success());
    let _one = cluster.says(0, &["acquire", "gpu", "--slots", "3", "--quiet"]);
    let table = cluster.says(2, &["inspect", "gpu"]);
    assert!(table.contains("gpu: a semaphore with 3 slots") && table.contains(" at node "), "{table}");
}

/// Releases a grant, which has to be held.
fn release(grant: &str) {
    let released = Command::new(TOKENWOOD).args(["release", grant.trim()]).output().unwrap();
    assert_eq!(code(&released), 0, "{}", error(&released));
}

#[test]
fn a_grant_is_passed_on_prolonged_and_given_back() {
    let cluster = Cluster::start("passed-on", 2, false);
    let taken = cluster.json(0, &["acquire", "x", "--ttl", "2s"]);
    let grant = taken["grant"].as_str().unwrap();
    assert!(taken["seconds"].as_f64().unwrap() < 2.0 && taken["seconds"].as_f64().unwrap() > 1.0, "{taken}");
    assert_eq!((&taken["slot"], &taken["name"]), (&Value::from(0), &Value::from("x")));
    assert_eq!(code(&cluster.run(1, &["acquire", "x", "--try"])), 75);
    let tool = |command: &str| Command::new(TOKENWOOD).args([command, grant]).output().unwrap();
    let began = Instant::now();
    let mut read = Command::new(TOKENWOOD);
    let mut read = read.args(["renew", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(read.stdin.take().unwrap(), "{grant}").unwrap();
    assert!(read.wait().unwrap().success(), "a grant from standard input");
    while began.elapsed() < Duration::from_millis(3500) {
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(code(&tool("renew")), 0);
    }
    assert_eq!(
        code(&cluster.run(1, &["acquire", "x", "--try"])),
        75,
        "it is held for as long as it is renewed"
    );
    assert_eq!(code(&tool("release")), 0);
    for command in ["release", "renew"] {
        let gone = tool(command);
        assert_eq!(code(&gone), 76);
        assert!(error(&gone).contains("no longer held"), "{}", error(&gone));
    }
    // It is not renewed: then it is lost, and another client is granted the lock.
    let taken = cluster.json(0, &["acquire", "x", "--ttl", "600ms"]);
    assert_eq!(code(&cluster.run(1, &["run", "x", "--wait", "10s", "--", "true"])), 0);
    let late = Command::new(TOKENWOOD).args(["release", taken["grant"].as_str().unwrap()]).output().unwrap();
    assert_eq!(code(&late), 76);
    let nonsense = Command::new(TOKENWOOD).args(["release", "nonsense"]).output().unwrap();
    assert_eq!(code(&nonsense), 2);
    assert!(error(&nonsense).contains("is not a grant"), "{}", error(&nonsense));
}

#[test]
fn a_client_interrupted_while_it_waits_is_granted_nothing_later() {
    let cluster = Cluster::start("interrupted", 1, false);
    let held = cluster.says(0, &["acquire", "x", "--quiet"]);
    for arguments in [&["acquire", "x"][..], &["run", "x", "--", "true"]] {
        let mut waits = cluster.client(0, arguments).spawn().unwrap();
        cluster.until("x", 1, 1);
        kill("-INT", u64::from(waits.id()));
        assert_eq!(waits.wait().unwrap().code(), Some(128 + 2));
        cluster.until("x", 1, 0);
    }
    release(&held);
    cluster.until("x", 0, 0);
}

/// A script that uses the commands as the page about the service shows.
#[test]
fn a_shell_script_holds_a_lock() {
    let cluster = Cluster::start("script", 2, true);
    let script = "
        set -e
        grant=$(\"$TOKENWOOD\" acquire nightly --ttl 30s --quiet)
        \"$TOKENWOOD\" acquire nightly --try 2> /dev/null || test $? = 75
        \"$TOKENWOOD\" renew $grant > /dev/null
        \"$TOKENWOOD\" release $grant
        \"$TOKENWOOD\" acquire nightly --try --ttl 1s > /dev/null
        echo done";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("TOKENWOOD", TOKENWOOD);
    let done = shell.env("TOKENWOOD_ENDPOINTS", cluster.endpoints.join(",")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "done\n", "{}", error(&done));
}

#[test]
fn clusters_that_start_at_once_do_not_fight_over_ports() {
    std::thread::scope(|scope| {
        for name in ["at-once-1", "at-once-2", "at-once-3"] {
            scope.spawn(move || Cluster::start(name, 1, true).says(0, &["run", "x", "--", "true"]));
        }
    });
}

/// A watcher, once it watches all nodes.
fn watch(cluster: &Cluster, arguments: &[&str]) -> Child {
    let mut command = cluster.client(0, &[&["watch", "--format", "json"], arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines().take(cluster.endpoints.len());
    for line in said {
        let line = line.unwrap();
        assert!(line.contains("watching node"), "{line}");
    }
    child
}

#[test]
fn what_happens_at_any_node_is_seen_as_it_happens() {
    let cluster = Cluster::start("watch", 3, true);
    let mut all = watch(&cluster, &[]);
    let mut some = watch(&cluster, &["backup", "--prefix", "jobs/"]);
    let mut two = watch(&cluster, &["--count", "2"]);
    cluster.says(1, &["acquire", "backup", "--ttl", "500ms"]);
    assert_eq!(code(&cluster.run(2, &["run", "backup", "--wait", "30ms", "--", "true"])), 75);
    cluster.says(0, &["run", "other", "--", "true"]);
    cluster.says(0, &["run", "jobs/1", "--shared", "--", "true"]);
    // The grant is not renewed, so it is lost, and another client is granted the lock.
    cluster.says(0, &["run", "backup", "--wait", "10s", "--", "true"]);
    assert_eq!(seen(&mut two).count(), 2);
    assert!(two.wait().unwrap().success());
    let (all, some) = (until_the_end(&mut all), until_the_end(&mut some));
    for (what, name, node) in [
        ("granted", "backup", 1),
        ("waits", "backup", 2),
        ("gave_up", "backup", 2),
        ("granted", "jobs/1", 0),
        ("released", "jobs/1", 0),
        ("lost", "backup", 1),
        ("granted", "backup", 0),
    ] {
        for events in [&all, &some] {
            assert!(
                events.iter().any(|event| is_about(event, what, name, node)),
                "{what} {name} in {events:#?}"
            );
        }
    }
    assert!(
        all.iter().any(|event| event["name"] == "other") && some.iter().all(|event| event["name"] != "other")
    );
    let ended = |ran_out: bool| all.iter().any(|event| event["ran_out"] == ran_out);
    assert!(ended(true) && ended(false), "{all:#?}");
    assert!(some.iter().all(|event| event["event"] != "session_ended"), "{some:#?}");
    let refused = some.iter().find(|event| event["event"] == "gave_up").unwrap();
    assert_eq!((&refused["kind"], refused["why"].is_string()), (&Value::from("mutex"), true));
}

/// The events that a watcher prints.
fn seen(watcher: &mut Child) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let events = lines.map(|line| document(line.unwrap()));
    events.filter(|event| event["event"] != "watching")
}

fn is_about(event: &Value, what: &str, name: &str, node: u64) -> bool {
    event["event"] == what && event["name"] == name && event["node"] == node
}

/// All events up to the last one of the test; then it ends the watcher.
fn until_the_end(watcher: &mut Child) -> Vec<Value> {
    let mut events = Vec::new();
    for event in seen(watcher) {
        let last = is_about(&event, "released", "backup", 0);
        events.push(event);
        if last {
            break;
        }
    }
    kill("-INT", u64::from(watcher.id()));
    assert!(watcher.wait().unwrap().success());
    events
}
