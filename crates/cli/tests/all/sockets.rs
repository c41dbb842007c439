//! `tokenwood reproduce --sockets` as a user meets it: processes that measure, records that replay, runs that fail.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::folder::{Folder, code, text};
use crate::json_schema::document;
use serde_json::Value;

/// The processes that call this process their parent.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // The name, in brackets, may hold blanks.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        if after_name.split_whitespace().nth(1) == Some(&parent.to_string()) {
            found.push(pid);
        }
    }
    found
}

fn is_there(pid: u32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap()
}

/// Whether all have ended, within some seconds.
fn all_end(pids: &[u32]) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !pids.iter().any(|pid| is_there(*pid))
    })
}

fn kill(signal: &str, pid: u32) {
    _ = Command::new("sh").args(["-c", &format!("kill {signal} {pid}")]).status();
}

#[test]
fn three_processes_measure_and_their_records_replay() {
    let folder = Folder::new("measure");
    let output = folder.run(
        "reproduce --sockets --nodes 3 --tokens 2 --entries 10 --rates 0.2,1 --seeds 2 --record runs --out report \
         --format json",
    );
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let told = document(&output.stdout);
    assert_eq!(told["schema"], "tokenwood.reproduce/1");
    let exhibits: Vec<&str> =
        told["exhibits"].as_array().unwrap().iter().map(|exhibit| exhibit["id"].as_str().unwrap()).collect();
    assert_eq!(exhibits, ["sockets-30", "sockets-31", "sockets-table-1", "sockets-table-2", "sockets-runs"]);
    let report = folder.0.join("report");
    let chart = fs::read_to_string(report.join("sockets-30.csv")).unwrap();
    for curve in ["bulgannawar-vaidya", "raymond-k"] {
        for origin in ["measured", "simulated"] {
            let rows = chart.lines().filter(|line| line.contains(curve) && line.ends_with(origin)).count();
            assert_eq!(rows, 2, "{curve}, {origin}: {chart}");
        }
    }
    assert!(report.join("sockets-31.png").exists());
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("4 runs over TCP, 120 entries") && page.contains("every effect the same"));
    // Each of Raymond's entries asks both others, who both answer.
    let runs = fs::read_to_string(report.join("sockets-runs.csv")).unwrap();
    let raymond = runs.lines().find(|line| line.starts_with("raymond-k,1,")).unwrap();
    let messages: f64 = raymond.split(',').nth(5).unwrap().parse().unwrap();
    assert!((3.0..=4.0).contains(&messages), "{raymond}");

    let replay = folder.run("trace runs/bulgannawar-vaidya-1.json");
    assert_eq!(code(&replay), 0, "{}", text(&replay.stderr));
    let shown = text(&replay.stdout);
    assert!(shown.starts_with("bulgannawar-vaidya: 3 nodes, 2 tokens, choose=last-seen"), "{shown}");
    assert!(shown.contains("30 entries") && shown.contains("every effect is the same"), "{shown}");
    let replayed = document(&folder.run("trace runs/raymond-k-0.2.json --format json").stdout);
    assert_eq!(replayed["schema"], "tokenwood.replay/1");
    assert_eq!((&replayed["entries"], &replayed["identical"]), (&30.into(), &true.into()));
    damaged_records_are_refused(&folder);
}

fn damaged_records_are_refused(folder: &Folder) {
    let good = fs::read_to_string(folder.0.join("runs/raymond-k-1.json")).unwrap();
    let mut other_effect: Value = serde_json::from_str(&good).unwrap();
    let steps = other_effect["reports"][1]["record"].as_array_mut().unwrap();
    let step = steps.iter_mut().find(|step| !step["effects"].as_array().unwrap().is_empty()).unwrap();
    step["effects"][0] = "made up".into();
    let mut missing: Value = serde_json::from_str(&good).unwrap();
    missing["reports"].as_array_mut().unwrap().pop();
    for (damaged, said) in [
        (other_effect.to_string(), "made up"),
        (missing.to_string(), "3 nodes, but 2 reports"),
        (good[..good.len() / 2].to_string(), "not a trace that can be read"),
        (good.replace("\"version\":1", "\"version\":9"), "version 9, this program reads 1"),
        (good.replace("\"reports\"", "\"report\""), "not a readable record of a run"),
    ] {
        fs::write(folder.0.join("damaged.json"), damaged).unwrap();
        let refused = folder.run("trace damaged.json");
        let error = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{said}: {error}");
        assert!(error.contains(said) && error.trim_end().lines().count() == 1, "{said}: {error}");
    }
}

/// Each request is for one of several groups, in the processes, in the replay and in the simulation beside them.
#[test]
fn group_mutexes_are_run_with_groups() {
    let folder = Folder::new("groups");
    let flags = "--nodes 3 --entries 10 --rates 1 --seeds 1 --record runs --format json";
    let output = folder
        .run(&format!("reproduce --sockets --algorithm ra1 --algorithm drs-gme --algorithm rooms {flags}"));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let told = document(&output.stdout);
    let measured = told["measured"].as_str().unwrap();
    assert!(measured.starts_with("3 runs over TCP, 90 entries in 3 groups, "), "{measured}");
    for algorithm in ["ra1", "drs-gme", "rooms"] {
        let replayed = document(&folder.run(&format!("trace runs/{algorithm}-1.json --format json")).stdout);
        assert_eq!((&replayed["groups"], &replayed["tokens"]), (&3.into(), &1.into()), "{algorithm}");
        let steps = replayed["steps"].as_array().unwrap();
        let asks =
            |group: &str| steps.iter().filter(|step| step["step"].as_str().unwrap().ends_with(group)).count();
        assert!(asks(":1") > 0 && asks(":2") > 0, "{algorithm}: {steps:?}");
    }
    let output = folder.run(&format!("reproduce --sockets --algorithm ra1 --groups 2 {flags}"));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(document(&output.stdout)["measured"].as_str().unwrap().contains(" entries in 2 groups, "));
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_started() {
    let folder = Folder::new("refused");
    for (arguments, said) in [
        ("--sockets --algorithm makki", "makki is nothing without bounds on time, which sockets do not keep"),
        ("--sockets --algorithm naimi-trehel --tokens 2", "tokens must be 1"),
        ("--sockets --groups 2", "bulgannawar-vaidya has no groups"),
        ("collectors --groups 2", "--groups is for --sockets"),
        ("--sockets --algorithm no-such", "no-such"),
        ("--sockets --algorithm raymond-k --algorithm raymond-k", "is given twice"),
        ("--sockets --nodes 65", "--nodes must be between 1 and 64"),
        ("--sockets --nodes 2", "tokens must be between 1 and the number of nodes (2)"),
        ("--sockets --entries 0", "--entries must be between 1 and"),
        ("--sockets --rates 0.1,0", "--rates must be between"),
        ("--sockets --rates much", "expected a number"),
        ("--sockets --hop soon", "not a length of time"),
        ("--sockets --all", "cannot be used with"),
        ("--all --entries 3", "--entries is for --sockets"),
        ("thesis-30 --algorithm raymond-k", "--algorithm is for --sockets"),
    ] {
        let output = folder.run(&format!("reproduce {arguments} --out report"));
        assert_eq!(code(&output), 2, "{arguments}");
        assert!(text(&output.stderr).contains(said), "{arguments}: {}", text(&output.stderr));
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "nothing is written");
    let alone = folder.run("seat --collector 127.0.0.1:1 --node 0");
    assert!(text(&alone.stderr).contains("no collector answers at 127.0.0.1:1"), "{}", text(&alone.stderr));
    assert!(
        !text(&folder.run("seat --help").stdout).contains("--collector"),
        "that is for the program itself"
    );
}

/// A long run, and its processes once all are there.
fn long_run(folder: &Folder) -> (std::process::Child, Vec<u32>) {
    let mut command =
        folder.command("reproduce --sockets --nodes 3 --entries 10000 --rates 0.1 --out report");
    let mut run = command.stderr(Stdio::piped()).spawn().unwrap();
    let processes = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Some(children(run.id())).filter(|processes| processes.len() == 3)
    });
    let Some(processes) = processes else {
        run.kill().unwrap();
        panic!("the processes are not there: {}", run.wait().unwrap());
    };
    (run, processes)
}

#[test]
fn a_killed_node_is_told_and_leaves_nobody_behind() {
    let folder = Folder::new("killed");
    let (run, processes) = long_run(&folder);
    std::thread::sleep(Duration::from_millis(300));
    kill("-KILL", processes[1]);
    let output = run.wait_with_output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(code(&output), 2, "{error}");
    let said = format!("({}) ended during the run (signal: 9", processes[1]);
    assert!(error.contains(&said) && error.contains("bulgannawar-vaidya, rate 0.1: "), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(all_end(&processes));
}

#[test]
fn however_the_launcher_ends_its_processes_do_too() {
    for signal in ["-TERM", "-KILL"] {
        let folder = Folder::new(signal);
        let (mut run, processes) = long_run(&folder);
        kill(signal, run.id());
        assert!(!run.wait().unwrap().success());
        assert!(all_end(&processes), "{signal}");
    }
}
