//! Every `--format json`: the real program, and each document against its schema.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc;

use serde_json::Value;

use crate::cluster::{Cluster, SOON, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::{document, folder};

/// The schema of what a command prints, the command, and its exit code. A later one uses the files of those before.
const WORKBENCH: [(&str, &str, i32); 32] = [
    ("tokenwood.algorithms/1", "algorithms", 0),
    ("tokenwood.check/1", "check naimi-trehel --nodes 2", 0),
    ("tokenwood.check/1", "check bulgannawar-vaidya --defect holding-not-set --trace t.json", 1),
    ("tokenwood.check-suite/1", "check lodha-kshemkalyani --all --max-states 2000", 3),
    ("tokenwood.check-random/1", "check lamport --nodes 3 --random 3", 0),
    ("tokenwood.check-random/1", "check lamport --all --random 3", 0),
    ("tokenwood.check-random/1", "check bulgannawar-vaidya --defect holding-not-set --random 50", 1),
    ("tokenwood.defects/1", "check --list-defects", 0),
    ("tokenwood.simulate/1", "simulate naimi-trehel --nodes 4 --entries 50 --seeds 2 --trace run.json", 0),
    ("tokenwood.simulate/1", "simulate drs-gme --nodes 4 --groups 3 --entries 50 --no-check", 0),
    ("tokenwood.simulate/1", "simulate suzuki-kasami --nodes 4 --workload once", 0),
    (
        "tokenwood.sweep/1",
        "sweep makki,lamport --tokens 2 --skip-refused --nodes 4 --entries 40 --out a.csv",
        0,
    ),
    (
        "tokenwood.sweep/1",
        "sweep lamport --vary rate=0.1,1 --nodes 4 --entries 40 --shard 1/2 --out s.csv",
        0,
    ),
    (
        "tokenwood.sweep/1",
        "sweep lamport --vary rate=0.1,1 --nodes 4 --entries 40 --shard 2/2 --out s.csv",
        0,
    ),
    ("tokenwood.sweep/1", "merge s.1-of-2.journal s.2-of-2.journal --out s.csv", 0),
    ("tokenwood.recommend/1", "recommend --nodes 4 --tokens 1 --entries 20 --seeds 1", 0),
    ("tokenwood.recommend/1", "recommend --nodes 4 --groups 2 --entries 20 --seeds 1", 0),
    (
        "tokenwood.map/1",
        "map --nodes 4 --rates 0.1 --sections 1 --entries 20 --seeds 2 --measure wait --output m.svg",
        0,
    ),
    ("tokenwood.map/1", "map --nodes 4 --groups=2 --skews 0 --entries 20 --seeds 2", 0),
    ("tokenwood.exhibits/1", "reproduce --list", 0),
    ("tokenwood.reproduce/1", "reproduce thesis-table-1 --quick --seeds 1 --out report", 0),
    ("tokenwood.trace/1", "trace t.json", 0),
    ("tokenwood.trace/1", "trace run.json", 0),
    ("tokenwood.bench-scenarios/1", "bench --list", 0),
    ("tokenwood.bench-workloads/1", "bench --peers --list", 0),
    ("tokenwood.ordeal-scenarios/1", "ordeal --list", 0),
    ("tokenwood.swarm/1", "swarm --runs 2", 0),
    ("tokenwood.swarm/1", "swarm --defect no-margin", 1),
    ("tokenwood.swarm-exhaustive/1", "swarm --exhaustive --with nodes=2,rounds=1,failures=0", 0),
    ("tokenwood.swarm-defects/1", "swarm --defects", 0),
    ("tokenwood.swarm/1", "swarm --seed 11 --record swarm.jsonl", 0),
    ("tokenwood.recording-summary/1", "trace swarm.jsonl", 0),
];

/// The documents on standard output; those on standard error are read as well.
fn documents(output: &Output) -> Vec<Value> {
    for line in text(&output.stderr).lines() {
        let told = document(line);
        let known = ["tokenwood.error/1", "tokenwood.note/1"];
        assert!(known.iter().any(|schema| told["schema"] == *schema), "{line}");
    }
    text(&output.stdout).lines().map(document).collect()
}

/// The one error on standard error.
fn failure(output: &Output) -> Value {
    let said = text(&output.stderr);
    let errors = said.lines().map(document).filter(|told| told["schema"] == "tokenwood.error/1");
    let [error] = &errors.collect::<Vec<_>>()[..] else { panic!("not one error: {said}") };
    assert_eq!(error["error"]["exit_code"], code(output), "{said}");
    error["error"].clone()
}

#[test]
fn what_the_workbench_prints_is_as_its_schemas_say() {
    let folder = Folder::new("json-workbench");
    for (schema, command, expected) in WORKBENCH {
        let output = folder.run(&format!("{command} --format json"));
        assert_eq!(code(&output), expected, "{command}: {}", text(&output.stderr));
        let told = documents(&output);
        assert!(!told.is_empty(), "{command} prints nothing");
        assert!(
            told.iter().all(|document| document["schema"] == schema),
            "{command}: {}",
            text(&output.stdout)
        );
    }
    let saved =
        document(folder.run("check bulgannawar-vaidya --defect holding-not-set --format json").stdout);
    let file = saved["trace_file"].as_str().unwrap();
    assert_eq!(code(&folder.run(&format!("trace {file}"))), 0, "the document says where the trace is");
}

#[test]
fn a_trace_that_no_longer_does_what_it_says_is_told() {
    let folder = Folder::new("json-trace");
    folder.run("check bulgannawar-vaidya --defect holding-not-set --trace t.json");
    let file = folder.0.join("t.json");
    let mut trace: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let told = |folder: &Folder| document(folder.run("trace t.json --format json").stdout);
    assert_eq!(told(&folder)["changed_at_step"], Value::Null);
    trace["steps"][1]["shows"][0] = "made up".into();
    fs::write(&file, trace.to_string()).unwrap();
    assert_eq!(told(&folder)["changed_at_step"], 2);
    // What it prints can be replayed.
    fs::write(&file, told(&folder).to_string()).unwrap();
    assert_eq!(told(&folder)["changed_at_step"], Value::Null);
}

#[test]
fn a_measurement_can_be_compared_in_json() {
    let folder = Folder::new("json-bench");
    let bench = "bench own-lock --rounds 1 --time 20ms --format json";
    documents(&folder.run(&format!("{bench} --save b.json")));
    let saved = fs::read_to_string(folder.0.join("b.json")).unwrap();
    assert_eq!(crate::json_schema::problems(&serde_json::from_str(&saved).unwrap()), [""; 0]);
    let [told] = &documents(&folder.run(&format!("{bench} --compare b.json")))[..] else { panic!("one") };
    assert_eq!(told["schema"], "tokenwood.bench/1");
    let figure = &told["scenarios"][0]["figures"][0];
    assert!(figure["before"].is_number() && figure["differs"].is_boolean(), "{figure}");
    let peers = "bench --peers --time 20ms --rounds 1 uncontended --format json";
    let output = folder.command(peers).env("PATH", &folder.0).output().unwrap();
    assert_eq!(documents(&output)[0]["schema"], "tokenwood.bench-peers/1", "{}", text(&output.stderr));
}

#[test]
fn what_a_cluster_says_is_as_its_schemas_say() {
    let cluster = Cluster::start("json-cluster", 3, false);
    let ready = fs::read_to_string(cluster.folder.0.join("ready.json")).unwrap();
    assert!(ready.contains("\"tokenwood.ready/1\""), "{ready}");
    let room = cluster.json(0, &["acquire", "model", "--group", "v1,v2", "--label", "build 17"]);
    assert_eq!((&room["schema"], &room["group"]), (&"tokenwood.grant/1".into(), &"v1".into()));
    let held = cluster.json(1, &["acquire", "backup"]);
    let mut waiter = cluster.client(2, &["run", "model", "--group", "v3", "--", "true"]).spawn().unwrap();
    cluster.until("model", 1, 1);
    let commands = [
        ("tokenwood.locks/1", &["locks"][..]),
        ("tokenwood.inspect/1", &["inspect", "model"]),
        ("tokenwood.inspect/1", &["inspect", "not-used"]),
        ("tokenwood.definition/1", &["define", "gpu", "--slots", "2"]),
        ("tokenwood.definition/1", &["resize", "gpu", "3"]),
        ("tokenwood.definition/1", &["define", "config", "--rwlock"]),
        ("tokenwood.definitions/1", &["definitions"]),
        ("tokenwood.definition/1", &["undefine", "gpu"]),
        ("tokenwood.status/1", &["status"]),
        ("tokenwood.health/1", &["health"]),
        ("tokenwood.members/1", &["members"]),
        ("tokenwood.members-change/1", &["members", "lease", "4s"]),
        ("tokenwood.invitation/1", &["members", "invite"]),
        ("tokenwood.invitations/1", &["members", "invite", "--list"]),
        ("tokenwood.members-change/1", &["members", "invite", "--withdraw", "3"]),
        ("tokenwood.force-release/1", &["release", "--force", "model"]),
    ];
    for (schema, arguments) in commands {
        assert_eq!(cluster.json(0, arguments)["schema"], schema, "{arguments:?}");
    }
    let grant = held["grant"].as_str().unwrap();
    for (schema, command) in [("tokenwood.grant/1", "renew"), ("tokenwood.release/1", "release")] {
        let output = cluster.folder.run(&format!("{command} {grant} --format json"));
        assert_eq!(documents(&output)[0]["schema"], schema, "{}", text(&output.stderr));
    }
    waiter.wait().unwrap();
}

#[test]
fn errors_are_json_on_standard_error() {
    let cluster = Cluster::start("json-errors", 1, false);
    let at = format!("--endpoint {}", cluster.endpoints[0]);
    cluster.says(0, &["acquire", "backup"]);
    let nowhere = "--endpoint 127.0.0.1:1";
    for (command, exit_code, message, hint) in [
        (&format!("locks {nowhere}")[..], 69, "127.0.0.1:1", "'tokenwood dev' starts one here"),
        (&format!("acquire x {nowhere}"), 69, "lock 'x': ", "'tokenwood dev' starts one here"),
        (&format!("acquire backup --try {at}"), 75, "lock 'backup' ", "leave out --try"),
        (&format!("acquire backup --wait 1ms {at}"), 75, "timed out after 1 ms", ""),
        (
            &format!("renew 0.1.1.1.1.{}@{}", "0".repeat(32), cluster.endpoints[0]),
            76,
            "the grant is no longer held",
            "",
        ),
        (&format!("resize unknown 3 {at}"), 2, "lock 'unknown': ", ""),
        ("check no-such-algorithm", 2, "there is no algorithm 'no-such-algorithm'", ""),
        ("check lamport --nodes three", 2, "'three' is no value for --nodes", ""),
        ("locks --nonsense", 2, "unexpected argument '--nonsense' found", "Usage: "),
        ("lcoks", 2, "unrecognized subcommand 'lcoks'", "Usage: "),
        ("ordeal nonsense", 2, "there is no scenario 'nonsense'", ""),
    ] {
        for flag in ["--format json", "--format=json"] {
            let output = cluster.folder.run(&format!("{command} {flag}"));
            assert_eq!((code(&output), &text(&output.stdout)[..]), (exit_code, ""), "{command}");
            let error = failure(&output);
            assert!(error["message"].as_str().unwrap().contains(message), "{command}: {error}");
            assert!(error["hint"].as_str().unwrap_or_default().contains(hint), "{command}: {error}");
        }
        let plain = text(&cluster.folder.run(command).stderr);
        assert!(plain.contains(message) && !plain.contains("\"schema\""), "{command}: {plain}");
    }
    let help = cluster.folder.run("locks --format json --help");
    assert!(code(&help) == 0 && text(&help.stdout).contains("Usage:"), "help is no error");
}

#[test]
fn an_error_may_accompany_a_document() {
    let cluster = Cluster::start("json-both", 1, false);
    let nothing = cluster.run(0, &["release", "--force", "nothing", "--format", "json"]);
    assert_eq!(code(&nothing), 76);
    assert_eq!(documents(&nothing)[0]["released"], Value::Array(Vec::new()));
    assert_eq!(failure(&nothing)["message"], "no client holds 'nothing'");
    let unreached = cluster.folder.run("health --endpoint 127.0.0.1:1 --format json");
    assert_eq!(code(&unreached), 69);
    let [told] = &documents(&unreached)[..] else { panic!("one") };
    assert!(told["healthy"] == false && told["reason"].is_string() && told["node"].is_null(), "{told}");
    failure(&unreached);
    let folder = Folder::new("json-merge");
    folder.run("sweep lamport --vary rate=0.1,1 --nodes 4 --entries 40 --shard 1/2 --out s.csv");
    let missing = folder.run("merge s.1-of-2.journal --out s.csv --format json");
    let error = failure(&missing);
    assert_eq!(code(&missing), 3);
    assert!(error["hint"].as_str().unwrap().starts_with("run: tokenwood sweep lamport"), "{error}");
}

/// A watcher that ends with its test.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn a_watcher_says_in_its_stream_which_nodes_it_hears() {
    let cluster = Cluster::start("json-watch", 2, true);
    let mut watcher = cluster.client(0, &["watch", "--format", "json"]);
    let mut watcher = Watcher(watcher.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let (sender, lines) = mpsc::channel();
    let printed = BufReader::new(watcher.0.stdout.take().unwrap()).lines();
    std::thread::spawn(move || printed.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // Each line is there as soon as it has happened, and not when a buffer is full.
    let until = |wanted: &mut Vec<(&str, u64)>| {
        let mut seen = Vec::new();
        while !wanted.is_empty() {
            let line = lines.recv_timeout(SOON);
            let event = document(line.unwrap_or_else(|_| panic!("no {wanted:?} after {seen:#?}")));
            assert_eq!(event["schema"], "tokenwood.watch/1");
            wanted.retain(|(what, node)| event["event"] != *what || event["node"] != *node);
            seen.push(event);
        }
        seen
    };
    until(&mut vec![("watching", 0), ("watching", 1)]);
    cluster.says(0, &["run", "model", "--group", "v1,v2", "--label", "build 17", "--", "true"]);
    let seen = until(&mut vec![("granted", 0), ("released", 0), ("session_ended", 0)]);
    let granted = seen.iter().find(|event| event["event"] == "granted").unwrap();
    assert_eq!((&granted["group"], &granted["label"]["text"]), (&"v1".into(), &"build 17".into()));
    cluster.says(0, &["acquire", "x"]);
    cluster.says(0, &["release", "--force", "x", "--now"]);
    until(&mut vec![("force_released", 0), ("taken_away", 0)]);
    kill("-KILL", cluster.pids[1]);
    until(&mut vec![("no_answer", 1)]);
}

#[test]
fn every_schema_is_of_a_document_that_a_test_reads() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all");
    let sources = fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().path());
    let sources: String = sources.filter_map(|file| fs::read_to_string(file).ok()).collect();
    let listed = text(&Folder::new("json-schemas").run("schema").stdout);
    let mut schemas = 0;
    for file in fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(sources.contains(&format!("\"tokenwood.{name}/")), "no test reads a document of {name}");
        assert!(listed.contains(&format!("tokenwood.{name}/")), "'tokenwood schema' does not list {name}");
        let printed = Folder::new("json-schema").run(&format!("schema {name}"));
        assert_eq!(text(&printed.stdout), fs::read_to_string(&file).unwrap(), "{name}");
        schemas += 1;
    }
    assert!(schemas > 30, "{schemas} schemas");
}
