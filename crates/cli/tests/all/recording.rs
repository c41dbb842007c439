//! `watch --record`, `swarm --record`, and what `trace` makes of their files.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::{Cluster, SOON, TOKENWOOD, ended_within, error, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::{against, document, schema};
use crate::nodes::{Nodes, free_ports};

/// The lines of a recording, each as the schema says.
fn lines(file: &Path) -> Vec<Value> {
    let (text, schema) = (fs::read_to_string(file).unwrap(), schema("recording"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        let problems = against(&schema, line);
        assert!(problems.is_empty(), "{}\n{line}", problems.join("\n"));
    }
    assert_eq!(lines[0]["schema"], "tokenwood.recording/1");
    let times: Vec<f64> = lines.iter().skip(1).map(|line| line["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "lines are in the order of time");
    lines
}

fn is(event: &str, node: Option<u64>) -> impl Fn(&Value) -> bool {
    move |line| line["event"] == event && (node.is_none() || line["node"].as_u64() == node)
}

/// Whether a file that is still written has such a line.
fn has(file: &Path, wanted: impl Fn(&Value) -> bool) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).any(|line| wanted(&line))
}

/// Whether something comes true soon.
fn until(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < SOON {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// A watch that is ended with the test.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn watch(cluster: &Cluster, file: &Path) -> Watching {
    let mut watch = cluster.client(0, &["watch", "--record", file.to_str().unwrap()]);
    let child = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(until(|| has(file, is("view", None))), "the recording begins");
    Watching(child)
}

#[test]
fn a_cluster_is_recorded_with_the_death_of_a_node() {
    let cluster = Cluster::start("record-cluster", 3, true);
    let file = cluster.folder.0.join("cluster.jsonl");
    // Two hold before it begins, and one waits.
    cluster.says(1, &["acquire", "before", "--ttl", "1h", "--label", "early"]);
    cluster.says(2, &["acquire", "doomed", "--ttl", "1h"]);
    let mut waits = Watching(cluster.client(0, &["run", "before", "--", "true"]).spawn().unwrap());
    cluster.until("before", 1, 1);
    let mut watching = watch(&cluster, &file);
    // Events are seen once all nodes are watched; before that, runs leave no trace.
    let seen = || {
        cluster.says(0, &["run", "build", "--label", "build 17", "--", "true"]);
        has(&file, is("released", None))
    };
    assert!(until(seen), "{}", fs::read_to_string(&file).unwrap());
    kill("-KILL", cluster.pids[2]);
    assert!(until(|| has(&file, is("no_answer", Some(2)))), "the death is seen");
    let goes_on = |line: &Value| line["event"] == "view" && line["members"] == serde_json::json!([0, 1]);
    assert!(until(|| has(&file, goes_on)), "{}", fs::read_to_string(&file).unwrap());
    assert!(has(&file, is("out_of_view", Some(2))), "what the cluster says of it is there, too");
    cluster.says(0, &["release", "--force", "before", "--now"]);
    assert_eq!(ended_within(&mut waits.0, SOON).unwrap().code(), Some(0));
    assert!(until(|| has(&file, |line| line["event"] == "released" && line["name"] == "before")));
    kill("-INT", watching.0.id().into());
    assert_eq!(ended_within(&mut watching.0, SOON).unwrap().code(), Some(0));

    let lines = lines(&file);
    assert_eq!((&lines[0]["kind"], &lines[0]["nodes"]), (&"cluster".into(), &serde_json::json!([0, 1, 2])));
    assert!(lines[0]["began_unix_seconds"].is_f64());
    for node in 0..3 {
        assert_eq!(lines.iter().filter(|line| is("listed", Some(node))(line)).count(), 1, "node {node}");
    }
    let listed = |event: &str, node| {
        let found: Vec<&Value> = lines.iter().filter(|line| is(event, Some(node))(line)).collect();
        assert_eq!(found.len(), 1, "{event} at node {node}: {found:?}");
        (found[0]["name"].as_str().unwrap(), found[0]["request"].clone(), found[0]["session"].clone())
    };
    assert_eq!((listed("holding", 1).0, listed("holding", 2).0), ("before", "doomed"));
    let early = lines.iter().find(|line| is("holding", Some(1))(line)).unwrap();
    assert_eq!((&early["slot"], &early["label"]["text"]), (&0.into(), &"early".into()));
    assert!(early["seconds"].as_f64() > early["time"].as_f64(), "it held before the start: {early}");
    // What happens to the waiter later is told of the same request.
    let waiter = listed("waiting", 0);
    let entered = lines.iter().find(|line| line["event"] == "granted" && line["name"] == "before").unwrap();
    assert_eq!(waiter, ("before", entered["request"].clone(), entered["session"].clone()));
    let granted = lines.iter().find(|line| line["event"] == "granted" && line["name"] == "build").unwrap();
    assert_eq!((&granted["name"], &granted["label"]["text"]), (&"build".into(), &"build 17".into()));
    assert!(granted["fence"].as_u64() > Some(1 << 40), "{granted}");
    assert!(lines.iter().any(is("leads", None)));
    assert!(is("ends", None)(lines.last().unwrap()));

    let folder = &cluster.folder;
    let told = folder.run("trace cluster.jsonl");
    assert_eq!(code(&told), 0, "{}", error(&told));
    for part in ["3 nodes", "no answer", "granted", "with nodes 0, 1\n"] {
        assert!(text(&told.stdout).contains(part), "{part}: {}", text(&told.stdout));
    }
    let summary = document(folder.run("trace cluster.jsonl --format json").stdout);
    assert_eq!((&summary["complete"], &summary["kind"]), (&true.into(), &"cluster".into()));
    assert!(summary["events"]["granted"].as_u64() >= Some(1), "{summary}");

    // What was recorded before is kept.
    let refused = cluster.run(0, &["watch", "--record", file.to_str().unwrap()]);
    assert_eq!(code(&refused), 2);
    assert!(error(&refused).contains("is not empty"), "{}", error(&refused));
}

#[test]
fn a_watch_that_is_killed_leaves_whole_lines() {
    let cluster = Cluster::start("record-killed", 1, false);
    let file = cluster.folder.0.join("killed.jsonl");
    fs::write(&file, "").unwrap();
    let mut watching = watch(&cluster, &file);
    let seen = || {
        cluster.says(0, &["run", "build", "--", "true"]);
        has(&file, is("granted", None))
    };
    assert!(until(seen));
    cluster.says(0, &["acquire", "build"]);
    cluster.says(0, &["release", "--force", "build", "--now"]);
    assert!(until(|| has(&file, is("taken_away", Some(0)))), "a forced release is recorded");
    assert!(has(&file, is("force_released", Some(0))));
    watching.0.kill().unwrap();
    watching.0.wait().unwrap();
    assert!(fs::read_to_string(&file).unwrap().ends_with('\n'));
    assert!(lines(&file).iter().any(is("granted", Some(0))));
    let told = text(&cluster.folder.run("trace killed.jsonl").stdout);
    assert!(told.contains("without its last line"), "{told}");
    // A part of a line at the end is not read; anywhere else it is an error.
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.clone() + r#"{"time":1"#).unwrap();
    assert_eq!(code(&cluster.folder.run("trace killed.jsonl")), 0);
    fs::write(&file, whole + "{\"time\":1\n{}\n").unwrap();
    let refused = cluster.folder.run("trace killed.jsonl");
    assert_eq!(code(&refused), 2);
    assert!(error(&refused).contains("line "), "{}", error(&refused));

    for (file, why) in [("/dev/full", "No space left"), ("/nowhere/at/all", "cannot write there")] {
        let refused = cluster.run(0, &["watch", "--record", file]);
        assert_eq!(code(&refused), 2, "{file}");
        assert!(error(&refused).contains(why), "{file}: {}", error(&refused));
    }
}

/// Starts a node again at another address for clients, after it ended in good order.
fn move_clients(nodes: &mut Nodes, node: usize) {
    kill("-TERM", nodes.pid(node));
    assert!(ended_within(&mut nodes.nodes[node], SOON).is_some());
    nodes.endpoints[node] = free_ports(1).remove(0);
    let mut again = Command::new(TOKENWOOD);
    again.args(["node", "--clients", &nodes.endpoints[node], "--data"]).arg(nodes.data(node));
    again.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    nodes.nodes[node] = again.spawn().unwrap();
}

#[test]
fn a_watch_follows_a_node_that_comes_back_at_another_address() {
    let mut nodes = Nodes::start("followed", 3, |_, _| {});
    assert!(until(|| nodes.members(0) == Some(3)));
    let (seen, recording) = (nodes.data(0).join("../seen.jsonl"), nodes.data(0).join("../recording.jsonl"));
    let mut watch = nodes.client(0, &["watch", "--format", "json"]);
    let _watches = Watching(watch.stdout(fs::File::create(&seen).unwrap()).spawn().unwrap());
    let mut records = nodes.client(0, &["watch", "--record", recording.to_str().unwrap()]);
    let _records = Watching(records.spawn().unwrap());
    let begun =
        || (0..3).all(|id| has(&seen, is("watching", Some(id))) && has(&recording, is("listed", Some(id))));
    assert!(until(begun), "{}", fs::read_to_string(&seen).unwrap());

    move_clients(&mut nodes, 2);
    let entered = |file: &Path| has(file, is("granted", Some(2)));
    let followed = until(|| {
        nodes.run(2, &["run", "elsewhere", "--wait", "1s", "--", "true"]);
        entered(&seen) && entered(&recording)
    });
    let text = |file: &Path| fs::read_to_string(file).unwrap();
    assert!(followed, "{}\n{}", text(&seen), text(&recording));
    assert!(until(|| has(&recording, is("answers", Some(2)))), "{}", text(&recording));
}

#[test]
fn a_run_of_the_swarm_is_recorded_and_stays_the_same() {
    let folder = Folder::new("record-swarm");
    let quiet = |output: &std::process::Output| {
        // Speeds differ from run to run.
        let kept = text(&output.stdout);
        let lines = kept.lines().filter(|line| !line.contains("simulated") && !line.starts_with("Recorded"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let plain = folder.run("swarm --seed 7 --runs 1 --log");
    let recorded = folder.run("swarm --seed 7 --log --record run.jsonl");
    assert_eq!(code(&recorded), 0, "{}", error(&recorded));
    assert_eq!(quiet(&plain), quiet(&recorded));
    assert!(text(&recorded.stdout).ends_with("tokenwood trace run.jsonl --open\n"));
    let run = lines(&folder.0.join("run.jsonl"));
    assert_eq!(run[0]["command"], "tokenwood swarm --seed 7 --runs 1");
    for event in ["view", "leads", "died", "comes_back", "waits", "granted", "released", "ends"] {
        assert!(run.iter().any(is(event, None)), "no '{event}'");
    }
    let log =
        text(&plain.stdout).lines().filter(|line| line.split_whitespace().nth(3) == Some("holds")).count();
    assert_eq!(run.iter().filter(|line| line["event"] == "granted").count(), log);

    let failed = document(folder.run("swarm --defect no-margin --record failed.jsonl --format json").stdout);
    assert_eq!(failed["recorded"], "failed.jsonl");
    let run = lines(&folder.0.join("failed.jsonl"));
    let command = run[0]["command"].as_str().unwrap();
    assert_eq!(failed["again"], format!("{command} --log"), "the shrunk run is recorded");
    let found: Vec<&Value> = run.iter().filter(|line| line["event"] == "finding").collect();
    assert_eq!((found.len(), &found[0]["kind"]), (1, &"violation".into()), "{found:?}");
    // What repeats it finds the same.
    let again = folder.run(&command.replacen("tokenwood ", "", 1));
    assert!(text(&again.stdout).contains(found[0]["words"].as_str().unwrap()), "{}", text(&again.stdout));
    assert!(text(&folder.run("trace failed.jsonl").stdout).contains("found: "));

    for (flags, why) in [
        ("--seed 7 --record run.jsonl", "is not empty"),
        ("--seed 7 --record /dev/full", "No space left"),
        ("--runs 2 --record two.jsonl", "one run"),
    ] {
        let refused = folder.run(&format!("swarm {flags}"));
        assert_eq!(code(&refused), 2, "{flags}");
        assert!(error(&refused).contains(why), "{flags}: {}", error(&refused));
    }
}
