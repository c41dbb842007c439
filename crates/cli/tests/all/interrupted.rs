//! Long computations that a signal stops: what they have found so far is printed, with how to go on.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::{SOON, ended_within, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::document;

/// More than anything takes before it listens, on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// Whether a process handles SIGINT and SIGTERM by itself.
fn listens(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    [2, 15].iter().all(|signal| caught >> (signal - 1) & 1 == 1)
}

impl Folder {
    /// The program, some time after it has begun to listen for signals.
    fn begun(&self, arguments: &str, after: Duration) -> Child {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !listens(child.id()) {
            assert_eq!(child.try_wait().unwrap(), None, "{arguments}: it ended before it listened");
            if begun.elapsed() > LONG {
                _ = child.kill();
                panic!("{arguments}: it does not listen");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(after);
        child
    }

    /// What it says when a signal stops it.
    fn stopped(&self, signal: &str, arguments: &str) -> Output {
        let child = self.begun(arguments, Duration::from_millis(600));
        kill(signal, child.id().into());
        child.wait_with_output().unwrap()
    }

    /// What it prints after Ctrl-C.
    fn interrupted(&self, arguments: &str) -> String {
        let output = self.stopped("-INT", arguments);
        let told = text(&output.stdout);
        assert_eq!(code(&output), 130, "{arguments}: {told} {}", text(&output.stderr));
        told
    }

    fn interrupted_json(&self, arguments: &str) -> Value {
        let told = self.interrupted(&format!("{arguments} --format json"));
        let found = document(&told);
        assert_eq!(found["partial"], true, "{arguments}: {found}");
        found
    }
}

/// States for minutes.
const SEARCH: &str = "check forest --nodes 3 --tokens 2 --requests 3 --clients 2 --threads 1";
/// A simulation of minutes.
const RUNS: &str = "simulate naimi-trehel --entries 900000000";

#[test]
fn a_search_says_what_it_has_explored() {
    let folder = Folder::new("stop-check");
    let told = folder.interrupted(SEARCH);
    assert!(
        told.contains("Interrupted: no violation so far in ") && told.contains(" was explored"),
        "{told}"
    );
    assert!(told.contains("--symmetry on") && told.contains("--random"), "it says how to go on: {told}");
    let found = folder.interrupted_json(SEARCH);
    assert_eq!((&found["stopped_by"], &found["verdict"]), (&"interrupt".into(), &"unknown".into()));
    assert!(found["states"].as_u64().unwrap() > 100);
    let terminated = folder.stopped("-TERM", SEARCH);
    assert_eq!(code(&terminated), 143);
    assert!(text(&terminated.stdout).contains("Interrupted"));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new("stop-twice");
    // While it is told what to do it does nothing else: its output is not read.
    let mut child = folder.begun("check --all --threads 1", Duration::from_millis(300));
    kill("-STOP", child.id().into());
    kill("-INT", child.id().into());
    kill("-CONT", child.id().into());
    kill("-INT", child.id().into());
    let ended = ended_within(&mut child, SOON).expect("it ends");
    assert_eq!(ended.code(), Some(130));
}

#[test]
fn suites_and_random_runs_say_how_far_they_came() {
    let folder = Folder::new("stop-suite");
    let told = folder.interrupted("check --all --threads 1");
    assert!(told.contains("Interrupted: ") && told.contains(" settings were checked"), "{told}");
    let found = folder.interrupted_json("check --all --threads 1");
    assert!(found["checks"].is_array());
    let random = "check bulgannawar-vaidya --nodes 6 --tokens 3 --requests 5 --random 100000000 --seed 7";
    let told = folder.interrupted(random);
    assert!(told.contains("Interrupted: no violation so far in "), "{told}");
    let next = told.split("--seed ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(next.parse::<u64>().unwrap() > 7, "{told}");
    let found = folder.interrupted_json(random);
    assert_eq!(found["of_runs"], 100_000_000);
}

#[test]
fn a_simulation_says_what_it_has_measured() {
    let folder = Folder::new("stop-simulate");
    let told = folder.interrupted(RUNS);
    assert!(told.contains("none of 1 run is finished") && told.contains("time to enter"), "{told}");
    let several = "simulate naimi-trehel --nodes 5 --entries 2000 --seeds 1000000";
    let told = folder.interrupted(several);
    assert!(told.contains(" of 1,000,000 runs are measured, from the seeds 1-"), "{told}");
    assert!(told.contains("--seed ") && told.contains("simulates the rest"), "{told}");
    let found = folder.interrupted_json(several);
    let finished = found["seeds_finished"].as_array().unwrap().len();
    assert_eq!((found["seeds"].as_u64().unwrap() as usize, finished > 0), (finished, true));
}

#[test]
fn a_sweep_keeps_its_points_and_says_how_to_resume() {
    let folder = Folder::new("stop-sweep");
    let sweep = "sweep naimi-trehel --vary rate=0.1,1,10 --nodes 4 --entries 2000 --out a.csv";
    // The third point takes minutes more than the others.
    let slow = "sweep naimi-trehel --vary entries=1000,2000,900000000 --nodes 4 --out b.csv";
    let told = folder.interrupted(slow);
    assert!(told.contains("Interrupted: 2 of 3 points are kept in b.journal"), "{told}");
    let resume = told.lines().find_map(|line| line.strip_prefix("tokenwood ")).expect("the command");
    assert!(resume.starts_with("sweep naimi-trehel --vary entries=1000,2000,900000000"), "{resume}");
    let again = folder.interrupted_json(resume);
    assert_eq!(again["points"].as_array().unwrap().len(), 2, "{again}");
    assert!(!folder.0.join("b.csv").exists(), "results are written when they are complete");
    let whole = folder.run(sweep);
    assert_eq!(code(&whole), 0, "{}", text(&whole.stderr));
    assert!(text(&std::fs::read(folder.0.join("a.json")).unwrap()).contains("\"partial\":false"));
}

#[test]
fn maps_and_recommendations_show_what_is_done() {
    let folder = Folder::new("stop-map");
    let map = "map --nodes 4 --rates 0.1,1 --sections 1 --entries 9000000 --seeds 2 --measure wait";
    let told = folder.interrupted(map);
    assert!(told.contains("Interrupted: ") && told.contains('…'), "{told}");
    let found = folder.interrupted_json(map);
    assert_eq!(found["maps"][0]["cells"][0]["wait"], Value::Null);
    let recommend = "recommend --nodes 5 --tokens 1 --entries 4000000";
    let told = folder.interrupted(recommend);
    assert!(told.contains("Interrupted: ") && told.contains(" candidates were tried"), "{told}");
    folder.interrupted_json(recommend);
}

#[test]
fn a_report_has_the_exhibits_that_are_complete() {
    let folder = Folder::new("stop-reproduce");
    let told = folder.interrupted("reproduce --all --seeds 5000 --out report");
    assert!(told.contains("Interrupted: ") && told.contains("tokenwood reproduce "), "{told}");
    folder.interrupted_json("reproduce --all --seeds 5000 --out json");
}

#[test]
fn errata_are_printed_as_far_as_they_are_found() {
    let folder = Folder::new("stop-errata");
    let output = folder.stopped("-INT", "errata");
    assert_eq!(code(&output), 130, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("# Errors of the printed texts"));
    assert!(
        text(&output.stderr).contains("Interrupted: the page is not complete"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_swarm_says_which_seeds_are_done() {
    let folder = Folder::new("stop-swarm");
    let told = folder.interrupted("swarm --runs 1000000 --seed 5");
    let last = told.lines().last().unwrap();
    assert!(last.starts_with("Interrupted: ") && last.contains("takes the others"), "{last}");
    let found = folder.interrupted_json("swarm --runs 1000000 --seed 5");
    assert_eq!(found["next_seed"].as_u64().unwrap(), 5 + found["runs"].as_u64().unwrap());
    let explored = "swarm --exhaustive --with nodes=3,rounds=2,failures=2,most-states=100000000";
    assert!(folder.interrupted(explored).contains("Interrupted: nothing is wrong so far"));
    folder.interrupted_json(explored);
}
