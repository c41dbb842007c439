//! Runs in which things go wrong, recorded and replayed; and systems that do not fit into memory.

use std::process::Output;

use crate::folder::Folder;
use crate::json_schema::document;

impl Folder {
    /// Arguments one by one: those of faults have spaces in them.
    fn run_each_word(&self, arguments: &[&str]) -> Output {
        self.command("").args(arguments).output().unwrap()
    }
}

const FAULTS: &[(&str, &str)] = &[
    ("--loss", "0.1"),
    ("--lose", "TOKEN:3,START,REQUEST:7"),
    ("--duplicate", "0.2"),
    ("--reorder", "0.2"),
    ("--fault", "crash any every 40 for 15"),
    ("--fault", "pause any every 30 for 10"),
    ("--fault", "partition 0-2 at 20 for 60"),
];

fn record_and_replay(folder: &Folder, algorithm: &str, faults: &[(&str, &str)]) -> Option<i32> {
    let mut arguments = vec!["simulate", algorithm, "--nodes", "5", "--cs", "1", "--entries", "150"];
    arguments.extend(["--warmup", "0", "--trace", "it.json"]);
    faults.iter().for_each(|(flag, value)| arguments.extend([*flag, *value]));
    let simulated = folder.run_each_word(&arguments);
    let replayed = folder.run_each_word(&["trace", "it.json"]);
    let error = String::from_utf8_lossy(&replayed.stderr);
    assert_eq!(replayed.status.code(), Some(0), "{arguments:?}: {error}");
    simulated.status.code()
}

#[test]
fn drs_gme_goes_on_and_its_run_can_be_replayed() {
    let folder = Folder::new("tolerated");
    for fault in FAULTS {
        assert_eq!(record_and_replay(&folder, "drs-gme", &[*fault]), Some(0), "{fault:?}");
    }
    assert_eq!(record_and_replay(&folder, "drs-gme", FAULTS), Some(0));
}

#[test]
fn damage_is_reported_and_can_be_replayed() {
    let folder = Folder::new("damage");
    assert_eq!(record_and_replay(&folder, "naimi-trehel", &FAULTS[..1]), Some(1));
    assert_eq!(record_and_replay(&folder, "suzuki-kasami", &FAULTS[4..5]), Some(1));
}

#[test]
fn a_message_that_is_never_sent_cannot_be_lost() {
    let folder = Folder::new("lose");
    let refused = |lose: &str| {
        let output = folder.run_each_word(&["simulate", "drs-gme", "--entries", "50", "--lose", lose]);
        assert_eq!(output.status.code(), Some(2), "{lose}");
        String::from_utf8_lossy(&output.stderr).to_string()
    };
    assert!(refused("TOKN").contains("the run sent no TOKN; it sent COMPLETE, HINT, REQUEST, START, TOKEN"));
    assert!(refused("TOKEN:9999").contains("take more entries"));
    assert!(refused("TOKEN:none").contains("write a kind of message"));
}

#[test]
fn memory_per_node_is_told() {
    let folder = Folder::new("memory");
    let bytes = |nodes: &str| {
        let arguments = ["simulate", "suzuki-kasami", "--entries", "5", "--format", "json", "--nodes", nodes];
        let output = folder.run_each_word(&arguments);
        let found = document(&output.stdout);
        assert!(found.get("bytes_per_node").is_some());
        found["bytes_per_node"].as_u64()
    };
    // Where it can be measured at all: four bytes for each node on each node, and something besides.
    if let (Some(few), Some(many)) = (bytes("10"), bytes("1000")) {
        assert!((100..1500).contains(&few), "{few}");
        assert!((4000..6000).contains(&many), "{many}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new("large");
    for algorithm in ["suzuki-kasami", "drs-gme"] {
        let output = folder.run_each_word(&["simulate", algorithm, "--nodes", "100000", "--entries", "1"]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("on each of 100000 nodes") && error.trim_end().lines().count() == 1,
            "{error}"
        );
    }
}
