//! `tokenwood bench --peers`: what is measured beside other services, and what is said of those that are not installed.
//!
//! Which services are installed is up to the search path that the command is given, so no test depends on more than Redis.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::folder::{Folder, code, not_run};
use crate::json_schema::document;
use serde_json::Value;

const QUICK: &str = "bench --peers --time 100ms --rounds 1";

/// Runs the command with only this folder to look for programs in.
fn run(folder: &Folder, arguments: &str) -> Output {
    let output = folder.command(arguments).env("PATH", &folder.0).output().unwrap();
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Where Redis is. Without it these tests show little, so a gate must have it.
fn redis() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("redis-server")).find(|file| file.is_file());
    if found.is_none() {
        not_run("redis-server is not installed: nothing is compared with it");
    }
    found
}

fn folder_with_redis(name: &str) -> Option<Folder> {
    let redis = redis()?;
    let folder = Folder::new(name);
    symlink(redis, folder.0.join("redis-server")).unwrap();
    Some(folder)
}

/// The value of a figure, of a peer in a workload.
fn figure(told: &Value, workload: &str, peer: &str, what: &str) -> f64 {
    let results = told["results"].as_array().unwrap();
    let is_it = |result: &&Value| result["workload"] == workload && result["peer"] == peer;
    let result = results.iter().find(is_it).unwrap_or_else(|| panic!("no {peer} in {workload}: {told:#}"));
    let figures = result["figures"].as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["what"] == what);
    figure.unwrap_or_else(|| panic!("no {what}: {result:#}"))["value"].as_f64().unwrap()
}

#[test]
fn redis_is_measured_beside_ours() {
    let Some(folder) = folder_with_redis("json") else { return };
    let told = document(text(&run(&folder, &format!("{QUICK} --format json"))));
    for workload in ["uncontended", "contended", "many-names"] {
        for peer in ["tokenwood", "tokenwood, joined", "redis", "redis, joined"] {
            for what in ["grants", "wait p50", "wait p99", "fairness (Jain)", "grants / redis"] {
                assert!(figure(&told, workload, peer, what) > 0.0, "{workload} {peer} {what}");
            }
            for what in ["server CPU per grant", "client CPU per grant", "total CPU / redis"] {
                assert!(figure(&told, workload, peer, what) >= 0.0, "{workload} {peer} {what}");
            }
        }
        assert_eq!(figure(&told, workload, "redis", "grants / redis"), 1.0);
    }
    assert!(figure(&told, "contended", "tokenwood", "hand-off / bare round trip") > 0.0);
    assert!(told["bare_round_trips_micros"][0].as_f64().unwrap() > 0.0);
    let not_run: Vec<&Value> = told["not_run"].as_array().unwrap().iter().map(|peer| &peer["peer"]).collect();
    assert_eq!(not_run, ["etcd", "zookeeper"]);
}

#[test]
fn a_table_for_people() {
    let Some(folder) = folder_with_redis("table") else { return };
    let said = text(&run(&folder, &format!("{QUICK} contended --placement one-core")));
    for part in [
        "contended: 30 clients",
        "grants / redis",
        "redis, joined",
        "bare round trip:",
        "not installed: etcd",
    ] {
        assert!(said.contains(part), "no '{part}' in\n{said}");
    }
    assert!(!said.contains("many-names"), "{said}");
}

#[test]
fn what_is_not_installed_is_said() {
    let folder = Folder::new("alone");
    let said = text(&run(&folder, &format!("{QUICK} uncontended")));
    for name in ["redis-server", "etcd", "zookeeper"] {
        assert!(said.contains(&format!("not installed: {name}")), "{said}");
    }
    assert!(said.contains("tokenwood") && !said.contains("/ redis"), "{said}");
}

#[test]
fn an_unknown_workload_is_refused() {
    let output = Folder::new("unknown").run("bench --peers locks");
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no workload 'locks'"));
}

/// A signal to the command ends the servers that it started, too.
#[test]
fn a_command_that_is_stopped_leaves_no_servers_behind() {
    let folder = Folder::new("peers-stopped");
    let mut command = folder.command("bench --peers --time 100s --rounds 5 uncontended");
    let mut bench = command.env("PATH", &folder.0).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("uncontended:")), "it begins to measure");
    let pid = bench.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    assert!(children.split_whitespace().count() >= 3, "three nodes: {children}");
    let asked = Instant::now();
    let stopped = Command::new("/bin/kill").arg(pid.to_string()).status().unwrap();
    assert!(stopped.success() && !bench.wait().unwrap().success());
    // It was measuring the bare round trip, for 20 s.
    assert!(asked.elapsed() < Duration::from_secs(10), "after {:?}", asked.elapsed());
    for child in children.split_whitespace() {
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "process {child} is left behind");
    }
}
