//! What was found is not lost: verdicts come before files, limits end a search in order, and what would be ignored or
//! would run nothing is refused.

use std::fs;

use serde_json::Value;

use crate::folder::{Folder, code, text};
use crate::json_schema::document;

impl Folder {
    /// A file that nothing can be written to: its folder is a file.
    fn unwritable(&self) -> &'static str {
        fs::write(self.0.join("file"), "").unwrap();
        "file/it.json"
    }

    /// The refusal of a command, which must have run nothing.
    fn refusal(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let (said, told) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(code(&output), 2, "{arguments}: {said} {told}");
        assert!(told.is_empty(), "{arguments}: {told}");
        said
    }
}

#[test]
fn a_verdict_is_printed_also_where_its_trace_cannot_be_saved() {
    let folder = Folder::new("unsaved");
    let file = folder.unwritable();
    let violated = "check bulgannawar-vaidya --nodes 2 --defect holding-not-set";
    let random = "check bulgannawar-vaidya --nodes 2 --defect holding-not-set --random 50";
    let simulated = "simulate naimi-trehel --loss 0.5 --workload burst --nodes 5 --entries 200";
    for command in [violated, random, simulated] {
        let output = folder.run(&format!("{command} --trace {file}"));
        let (told, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(code(&output), 1, "{command}: {said}");
        assert!(told.to_lowercase().contains("violated"), "{command}: {told}");
        assert!(said.contains("cannot save the trace to file/it.json"), "{command}: {said}");
        let output = folder.run(&format!("{command} --trace {file} --format json"));
        let found = document(&output.stdout);
        assert_eq!(code(&output), 1, "{command}");
        assert!(!found["violated"].is_null() || !found["violation"].is_null(), "{command}: {found}");
    }
    let wanted = folder.run(&format!("simulate naimi-trehel --nodes 3 --entries 50 --trace {file}"));
    assert_eq!(code(&wanted), 2, "what is asked for and not done is an error");
    assert!(text(&wanted.stdout).contains("every property held"), "but it is measured");
}

#[test]
fn random_runs_save_their_trace_where_they_are_told_to() {
    let folder = Folder::new("random-trace");
    let check = "check bulgannawar-vaidya --nodes 2 --defect holding-not-set --random 50 --trace it.json";
    assert_eq!(code(&folder.run(check)), 1);
    assert_eq!(code(&folder.run("trace it.json")), 0);
}

#[test]
fn memory_has_a_limit_and_a_clear_end() {
    let folder = Folder::new("memory");
    let check = "check forest --nodes 3 --tokens 2 --requests 3 --clients 2 --max-memory";
    let output = folder.run(&format!("{check} 40MiB"));
    let told = text(&output.stdout);
    assert_eq!(code(&output), 3, "{told}");
    for wanted in ["the search took 40 MiB", "no violation so far in", "--max-memory 160MiB", "--symmetry on"]
    {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let output = folder.run(&format!("{check} 40MiB --format json"));
    let found = document(&output.stdout);
    assert_eq!((&found["stopped_by"], &found["partial"]), (&"memory".into(), &true.into()));
    assert_eq!(found["max_memory_bytes"], 40 << 20);
    let usual = document(&folder.run("check lamport --nodes 2 --format json").stdout);
    assert_eq!((&usual["partial"], &usual["stopped_by"]), (&false.into(), &Value::Null));
    assert!(folder.refusal(&format!("{check} 8")).contains("write a number with its unit, for example 8GiB"));
}

#[test]
fn flags_that_would_be_ignored_are_refused() {
    let folder = Folder::new("ignored");
    let cases = [
        ("check lamport --all --loss 5 --defect nosuch", "--all"),
        ("check --all --nodes 4", "--nodes"),
        ("check --all --trace it.json", "--trace"),
        ("check --all --seed 4", "--seed is for random runs"),
        ("check --all --random 5 --pause 2", "--pause"),
        ("check --all --random 5 --threads 2", "--threads"),
        ("check --list-defects --nodes 4", "--nodes"),
        ("check --list-defects --random 4", "--random"),
        ("check lamport --seed 5", "--seed is for random runs"),
        ("check lamport --pause 5", "--pause is for random runs"),
        ("check lamport --random 5 --max-states 9", "--max-states is for exploring everything"),
        ("check lamport --random 5 --threads 2", "--threads is for exploring everything"),
        ("check lamport --random 5 --max-memory 1GiB", "--max-memory is for exploring everything"),
        ("check lamport --random 5 --delay 2", "--delay is for exploring everything"),
        ("check lamport --firings 2", "lamport has no timers"),
        ("check drs-gme --firings 0 --early 2", "timers are off"),
        ("check lamport --any-of", "--any-of is about requests that name several groups"),
        ("check bulgannawar-vaidya --set choose=random --choose last-seen", "choose is given twice"),
        ("simulate lamport --rate 1 --rate 2", "rate is given twice"),
        ("simulate bulgannawar-vaidya --inform 1 --set inform=2", "inform is given twice"),
        (
            "simulate lamport --group-choice own",
            "--group-choice makes no difference, because there is one group",
        ),
        ("simulate lamport --workload once:0-3 --rate 5", "--rate makes no difference"),
        ("simulate lamport --timers on", "the algorithm has no timers"),
        ("sweep lamport --vary rate=1,2 --group-choice own --out a.csv", "group-choice makes no difference"),
        ("sweep lamport --vary timers=on,off --out a.csv", "timers makes no difference"),
        ("recommend --group-choice own", "--group-choice makes no difference"),
        ("recommend --rate 1 --rate 2", "rate is given twice"),
        ("reproduce --list --quick", "--quick"),
        ("reproduce --list --seeds 3", "--seeds"),
        ("swarm --defects --runs 5", "--runs"),
        ("swarm --log --format json --runs 1", "leave out one of the two"),
    ];
    for (command, wanted) in cases {
        let said = folder.refusal(command);
        assert!(said.contains(wanted), "{command}: {said}");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "nothing is written");
}

#[test]
fn unknown_names_are_refused() {
    let folder = Folder::new("unknown");
    for (command, wanted) in [
        ("errata nosuch", "there is no algorithm 'nosuch'"),
        ("errata raymond", "did you mean raymond-k or raymond-tree"),
        ("errata partitioned(lamport)", "name that one alone"),
        ("check --list-defects nosuch", "there is no algorithm 'nosuch'"),
        ("check partitioned(lamport) --all", "has no suite"),
        ("check nosuch --all", "there is no algorithm 'nosuch'"),
    ] {
        let said = folder.refusal(command);
        assert!(said.contains(wanted), "{command}: {said}");
    }
}

#[test]
fn runs_that_would_run_nothing_are_refused() {
    let folder = Folder::new("empty");
    let top = u64::MAX;
    let cases = [
        ("check lamport --random 0".to_string(), "--random 0 takes no run"),
        ("check --all --random 0".to_string(), "--random 0 takes no run"),
        (format!("check lamport --random 2 --seed {top}"), "take a smaller --seed"),
        (format!("check --all --random 2 --seed {top}"), "take a smaller --seed"),
        ("simulate lamport --seeds 0".to_string(), "at least one seed"),
        (format!("simulate lamport --seeds 2 --seed {top}"), "take a smaller first seed"),
        ("recommend --seeds 0".to_string(), "at least one seed"),
        (format!("recommend --seeds 2 --seed {top}"), "take a smaller --seed"),
        (format!("sweep lamport --seeds 2 --seed {top} --out a.csv"), "take a smaller first seed"),
        (format!("map --nodes 3 --seeds 2 --seed {top}"), "take a smaller --seed"),
        ("swarm --runs 0".to_string(), "--runs 0 runs nothing"),
        ("swarm --minutes 0".to_string(), "--minutes 0 leaves no time"),
        (format!("swarm --runs 2 --seed {top}"), "take a smaller --seed"),
    ];
    for (command, wanted) in cases {
        let said = folder.refusal(&command);
        assert!(said.contains(wanted), "{command}: {said}");
    }
    let last = folder.run(&format!("check lamport --random 1 --seed {top}"));
    assert_eq!(code(&last), 0, "the last seed is one");
    assert!(text(&last.stdout).contains("1 random run,"), "{}", text(&last.stdout));
}

#[test]
fn findings_are_told_in_words() {
    let folder = Folder::new("words");
    let told = text(&folder.run("swarm --defect restart-replaces").stdout)
        + &text(&folder.run("swarm --runs 2 --log").stdout);
    assert!(told.contains("VIOLATION a node grants slot 0 of name 0 with fence "), "{told}");
    for of_debug in [" { ", " }", "Some(", "HeldGrant", "Grant {"] {
        assert!(!told.contains(of_debug), "{of_debug}: {told}");
    }
    let explored = folder.run("swarm --exhaustive --defect fence-without-view");
    let told = text(&explored.stdout);
    assert_eq!(code(&explored), 1, "{told}");
    // Threads share the search, so which of several violations is found first depends on them.
    assert!(told.contains("WRONG after ") && !told.contains(" { "), "{told}");
}

#[test]
fn one_of_something_is_not_called_several() {
    let folder = Folder::new("plurals");
    let told = text(&folder.run("check naimi-trehel --nodes 1 --max-states 1").stdout);
    assert!(told.contains("1 node, 1 token, 1 request each"), "{told}");
    let told = text(&folder.run("simulate naimi-trehel --nodes 1 --entries 1 --warmup 0").stdout);
    assert!(told.contains("1 node, ") && told.contains("1 entry in 1 run"), "{told}");
    let told = text(&folder.run("swarm --runs 1").stdout);
    assert!(told.contains("\n1 run, "), "{told}");
    let told = text(&folder.run("sweep naimi-trehel --nodes 2 --entries 9 --out a.csv").stdout);
    assert!(told.contains("1 point in "), "{told}");
}
